//! The first screen of a report: few sentences, all short, and one table that says what the run
//! measured.

use std::path::{Path, PathBuf};

use bench_model::config::ConfigDir;
use bench_model::figure::Figure;
use bench_model::results::RunFolder;
use bench_stats::Estimate;

use crate::kept::newest;

/// Words of a sentence that a reader takes in at once.
const WORDS: usize = 25;

/// Lines of a report that stand open.
const LINES: usize = 120;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The newest kept run of a campaign.
fn kept(campaign: &str) -> bench_report::Run {
    bench_report::Run::load(&RunFolder::open(&newest(campaign).unwrap()).unwrap()).unwrap()
}

/// The sentences of a page's list, without its marks.
fn sentences(page: &str) -> Vec<String> {
    let items = page.lines().filter_map(|line| line.strip_prefix("- "));
    let items = items.map(|item| item.replace("**", ""));
    items.flat_map(|item| item.split(". ").map(str::to_owned).collect::<Vec<_>>()).collect()
}

#[test]
fn before_its_sweep_a_run_has_the_duets_rows_and_misses_nothing() {
    let mut run = kept("quick");
    run.summary = bench_analysis::summarize(&run.plan.campaign, &run.plan.levels(), &run.plan.trials, &[]);
    let so_far = bench_report::so_far(&run);
    assert!(so_far.contains("| CPU per request, getBlocks") && !so_far.contains("| requests/s"), "{so_far}");
    assert!(!so_far.contains("**not compared**") && !so_far.contains("Not measured here"), "{so_far}");
}

#[test]
fn the_answer_is_short() {
    for campaign in ["quick", "isolation"] {
        let run = kept(campaign);
        let first = bench_report::headline(&run);
        let is_compared = run.plan.campaign.baseline.is_some();
        assert_eq!(first.contains("| question "), is_compared, "{campaign}: {first}");
        let sentences = sentences(&first);
        assert!(sentences.len() > 3, "{campaign}: {first}");
        for sentence in sentences {
            let words = sentence.split_whitespace().count();
            assert!(words <= WORDS, "{campaign}: {words} words: {sentence}");
        }
        let (mut open, mut is_folded) = (0, false);
        for line in bench_report::markdown(&run, false).lines() {
            is_folded |= line == "<details>";
            open += usize::from(!is_folded);
            is_folded &= line != "</details>";
        }
        assert!(open <= LINES, "{campaign}: {open} lines stand open");
    }
}

/// What the table shows is what the run's summary holds.
#[test]
fn the_table_holds_the_run_s_figures() {
    let run = kept("quick");
    let first = bench_report::headline(&run);
    let duets = run.duets.as_ref().unwrap();
    for pair in &duets.summary.comparisons {
        let start = format!("| CPU per request, {} ", pair.workload);
        let row = first.lines().find(|line| line.starts_with(&start)).unwrap();
        let shown = format!("{:.2}", pair.cpu.ratio.value);
        assert!(row.contains(&shown), "{} over {}: {shown} is not in {row}", pair.server, pair.over);
    }
}

#[test]
fn several_that_may_be_the_best_are_said_with_the_range_of_their_figures() {
    let mut run = kept("quick");
    let comparisons = &mut run.duets.as_mut().unwrap().summary.comparisons;
    comparisons.retain(|pair| pair.over == "legacy");
    for pair in comparisons {
        let (value, low, high) = match &*pair.server {
            "actix" => (0.6, 0.5, 0.7),
            "axum" => (0.65, 0.6, 0.7),
            _ => (0.9, 0.88, 0.92),
        };
        pair.cpu.ratio = Estimate { value, interval: Some((low, high)) };
    }
    let first = bench_report::headline(&run);
    let line = first.lines().find(|line| line.contains("Least CPU per request")).unwrap();
    for words in ["actix-web or axum.**", "0.60 to 0.65 for getBalance", "getBalance 1.5 to 1.7 times"] {
        assert!(line.contains(words), "{words}: {line}");
    }
}

/// What blocks have in common widens each server's own interval, and not that of a ratio within blocks.
#[test]
fn p99_is_compared_within_blocks() {
    let mut run = kept("quick");
    let shown = |run: &bench_report::Run| {
        let first = bench_report::headline(run);
        let row = first.lines().find(|line| line.starts_with("| p99, getBalance")).unwrap();
        row.split('|').map(|cell| cell.trim().trim_matches('*').to_owned()).collect::<Vec<_>>()
    };
    let set = |run: &mut bench_report::Run, interval| {
        let pairs = run.summary.comparisons.iter_mut().filter(|pair| pair.workload == "getBalance");
        pairs.for_each(|pair| pair.p99_ratio = Some(Estimate { value: 1.1, interval: Some(interval) }));
    };
    set(&mut run, (1.05, 1.15));
    assert!(shown(&run)[3..=5].iter().all(|cell| cell.ends_with("ms")), "{:?}", shown(&run));
    set(&mut run, (0.95, 1.25));
    assert!(shown(&run)[3..=5].iter().all(|cell| cell.ends_with("ms\u{a0}?")), "{:?}", shown(&run));
    // One pair without a ratio, and all are compared by their own intervals, which overlap.
    set(&mut run, (1.05, 1.15));
    let is_axum = |pair: &&mut bench_analysis::Comparison| pair.server == "axum";
    run.summary.comparisons.iter_mut().filter(is_axum).for_each(|pair| pair.p99_ratio = None);
    for cell in run.summary.cells.iter_mut() {
        let figure = cell.figures.get_mut(&Figure::P99Us);
        figure.into_iter().for_each(|p99| p99.interval = Some((1.0, 1e9)));
    }
    assert!(shown(&run)[3..=5].iter().all(|cell| cell.ends_with("ms\u{a0}?")), "{:?}", shown(&run));
}

#[test]
fn memory_for_a_connection_is_said_of_each_request() {
    let first = bench_report::headline(&kept("quick"));
    for request in ["getBalance with 125 in use", "getBlocks with 500 in use"] {
        assert!(first.contains(&format!("| memory for a connection, {request} ")), "{first}");
    }
}

#[test]
fn the_same_price_is_said_once() {
    let mut run = kept("quick");
    for pair in run.summary.comparisons.iter_mut().filter(|pair| pair.server == "actix") {
        pair.p99_ratio = Some(Estimate { value: 2.0, interval: Some((1.9, 2.1)) });
    }
    let first = bench_report::headline(&run);
    assert_eq!(first.matches("The price: p99").count(), 1, "{first}");
}

/// actix has the least memory for a connection in the kept run, or is one of two that have.
#[test]
fn memory_that_did_not_grow_wins_nothing() {
    let mut run = kept("quick");
    let least = |first: &str| {
        let line = first.lines().find(|line| line.contains("**Least memory for a connection:"));
        line.is_some_and(|line| line.split_once(".**").is_some_and(|(names, _)| names.contains("actix-web")))
    };
    assert!(least(&bench_report::headline(&run)));
    for cell in run.summary.cells.iter_mut().filter(|cell| cell.server == "actix") {
        cell.figures
            .insert(Figure::ConnectionMemoryBytes, Estimate { value: 0.0, interval: Some((0.0, 0.0)) });
    }
    let first = bench_report::headline(&run);
    assert!(!least(&first) && !first.contains("0 B"), "{first}");
    let row = first.lines().find(|line| line.starts_with("| memory for a connection")).unwrap();
    assert_eq!(row.split('|').nth(4).map(str::trim), Some("not measured"), "{row}");
}

/// Intervals that overlap decide nothing, but a reader sees whose figure is the better one.
#[test]
fn another_server_that_is_ahead_is_named_as_such() {
    let of = |legacy: f64| {
        let mut run = kept("quick");
        for cell in run.summary.cells.iter_mut() {
            let own = match (&*cell.server, &*cell.workload) {
                ("legacy", "getBalance") => legacy,
                ("actix", _) => 20_000.0,
                _ => 40_000.0,
            };
            let estimate = Estimate { value: own, interval: Some((own - 3_000.0, own + 3_000.0)) };
            cell.figures.insert(Figure::ConnectionMemoryBytes, estimate);
        }
        bench_report::headline(&run)
    };
    for (legacy, words) in [(18_000.0, "is ahead, though not surely"), (22_000.0, "may be as good")] {
        let said =
            format!("**Least memory for a connection: actix-web; for getBalance, jsonrpc-core {words}.**");
        assert!(of(legacy).contains(&said), "{said}: {}", of(legacy));
    }
}

/// What an answer says that no campaign measures, or only some do, is so: of other methods than the two, and of
/// networks.
#[test]
fn what_is_measured_elsewhere_is_named() {
    let folder = |name: &str| ConfigDir(root().join("bench-scripts")).files(name).unwrap().into_iter();
    let is_other = |file: &PathBuf| {
        let text = std::fs::read_to_string(file).unwrap();
        let methods = text.split("method").skip(1).filter_map(|rest| {
            let value = rest.trim_start_matches(['"', ' ']).strip_prefix([':', '='])?;
            value.split('"').nth(1)
        });
        methods.into_iter().any(|method| !["getBalance", "getBlocks"].contains(&method))
    };
    let others: Vec<String> =
        folder("workloads").filter(|(_, file)| is_other(file)).map(|(name, _)| name).collect();
    assert!(others.contains(&"wallet".to_owned()), "{others:?}");
    let (mut methods, mut networks) = (Vec::new(), Vec::new());
    for (name, file) in folder("campaigns") {
        let text = std::fs::read_to_string(&file).unwrap();
        let campaign: toml::Value = toml::from_str(&text).unwrap();
        let workloads = campaign.get("workloads").and_then(|all| all.as_array()).cloned().unwrap_or_default();
        // The sentence is about servers that answer a validator's questions.
        let is_other_service = file.parent().is_some_and(|folder| folder.ends_with("ethereum"));
        if !is_other_service
            && workloads.iter().any(|one| others.iter().any(|other| one.as_str() == Some(other)))
        {
            methods.push(format!("`{name}`"));
        }
        if campaign.get("axes").is_some_and(|axes| axes.get("network").is_some()) {
            networks.push(format!("`{name}`"));
        }
    }
    let methods = methods.join(", ");
    let said = bench_report::headline(&kept("quick"));
    let only = said.lines().find(|line| line.contains("No campaign measures")).unwrap();
    assert!(only.contains(&format!("other methods ({methods})")), "{methods}: {only}");
    assert!(networks.len() == 3 && networks.iter().all(|name| only.contains(name)), "{networks:?}: {only}");
}
