//! What stands first in the report of a campaign of a user's own, which names no headline, or a ceiling of its own, or
//! compares nothing.

use bench_core::Verdict;
use bench_core::figure::Figure;
use bench_core::machine::ForeignCpu;
use bench_core::plan::Plan;
use bench_report::headline;

use crate::observed::{Reported, cells, observe_planned, resolved};
use crate::samples::sample;

/// A campaign over getBalance with these lines.
fn campaign(lines: &str) -> Plan {
    resolved(&include_str!("campaigns/own.toml").replace("LINES", lines))
}

/// A run of its first trials, at most this number of them, in which each connection gives 1,000 requests/s, and actix
/// takes half of the others' CPU time.
fn measured(lines: &str, trials: usize) -> Reported {
    let plan = campaign(lines);
    let observed = observe_planned(&plan, |trial| {
        let cpu_us =
            if trial.server == "actix" { 10.0 } else { 20.0 } * (1.0 + 0.001 * f64::from(trial.block));
        sample(1_000.0 * f64::from(trial.connections), cpu_us)
    });
    Reported::of(&plan, observed.into_iter().take(trials))
}

fn first_screen(lines: &str) -> String {
    headline(&measured(lines, usize::MAX).run).unwrap()
}

/// The cells of the row that begins so.
fn row(screen: &str, begins: &str) -> Vec<String> {
    let mut rows =
        screen.lines().map(cells).filter(|row| row.get(1).is_some_and(|cell| cell.starts_with(begins)));
    rows.next().unwrap_or_else(|| panic!("no row {begins:?} in {screen}"))
}

#[test]
fn a_run_of_which_no_trial_counts_says_so() {
    let plan = campaign("servers = [\"actix\"]\nconnections = [1]\nmax_extra_blocks = 0");
    let said = |valid: u32| {
        let observed = observe_planned(&plan, |trial| {
            let used_s = if trial.block <= valid { 0.0 } else { 120.0 * f64::from(trial.block) };
            let mut sample = sample(1_000.0, 20.0);
            sample.foreign_cpu = Some(ForeignCpu { used_s, of_s: 1_200.0, limit: 0.03, busiest: None });
            sample
        });
        let run = Reported::of(&plan, observed).run;
        assert_eq!(run.shortcomings().unwrap(), Vec::<String>::new(), "its answers were right");
        let (lines, screen) = (run.without_valid_trial().unwrap(), headline(&run).unwrap());
        assert!(lines.iter().all(|line| screen.starts_with(&format!("- **{}", &line[..40]))), "{screen}");
        lines
    };
    assert_eq!(said(1), [""; 0]);
    let none = "No valid trial of actix-web + hand-written JSON-RPC in 8 tries: other processes used 10 to 80 %. \
                getBalance at 1 connection";
    assert_eq!(said(0), [none]);
}

#[test]
fn an_incomplete_run_is_resumed_by_its_folder_and_a_gate_of_a_commit_never() {
    let mut run = measured("servers = [\"actix\"]\nconnections = [1, 8]", 1).run;
    let folder = std::path::Path::new("/my runs").join(&run.name);
    let said = bench_report::headline_in(&run, &folder).unwrap();
    assert!(said.contains(&format!("`cargo rpc-bench run --resume '{}'`", folder.display())), "{said}");
    let kept = headline(&run).unwrap();
    assert!(kept.contains(&format!("`cargo rpc-bench run --resume results/{}`", run.name)), "{kept}");
    let gate = "just gate --base-rev 1a2b3c --minutes 5";
    run.conditions.command = gate.to_owned();
    let said = headline(&run).unwrap();
    assert!(said.contains(&format!("start again: `{gate}`")) && said.contains("**Incomplete"), "{said}");
    assert!(!said.contains("--resume"), "{said}");
}

#[test]
fn a_run_that_compares_nothing_shows_the_figures_of_each_load() {
    let screen = first_screen("servers = [\"actix\"]\nconnections = [1, 8]");
    assert_eq!(row(&screen, "getBalance at 1")[3], "1,000");
    assert_eq!(row(&screen, "getBalance at 8")[3], "8,000");
    assert_eq!(row(&screen, "getBalance at 8")[6], "10.0 µs");
}

#[test]
fn without_a_headline_each_load_has_a_line() {
    let lines = "servers = [\"legacy\", \"actix\"]\nbaseline = \"legacy\"\nconnections = [1, 8]";
    let screen = first_screen(lines);
    for load in ["at 1 connection", "at 8 connections"] {
        let row = row(&screen, &format!("CPU per request, getBalance {load}"));
        assert!(row[2].starts_with("1 = ") && row[3].contains("0.50"), "{row:?}");
    }
    assert!(screen.contains("actix-web"), "{screen}");
    let stated = first_screen(&format!("{lines}\nheadline = {{ getBalance = 8 }}"));
    assert!(stated.contains("at 8 connections") && !stated.contains("at 1 connection"), "{stated}");
}

#[test]
fn a_ceiling_that_is_a_server_like_the_others_is_compared_as_they_are() {
    let lines =
        "servers = [\"legacy\", \"actix\"]\nbaseline = \"legacy\"\nceiling = \"actix\"\nconnections = [8]";
    let screen = first_screen(lines);
    assert!(row(&screen, "CPU per request, getBalance")[3].contains("0.50"), "{screen}");
    let control =
        lines.replace("\"actix\"", "\"control\"").replace("[\"legacy\", ", "[\"legacy\", \"actix\", ");
    let screen = first_screen(&control);
    assert!(row(&screen, "CPU per request, getBalance").len() == row(&screen, "question").len(), "{screen}");
    assert!(!screen.contains("control"), "it has one answer to all: {screen}");
}

/// A figure that no code names: the campaign says that it is judged, and nothing else.
#[test]
fn a_judged_figure_has_its_verdict_in_the_table_the_chart_and_the_first_screen() {
    let judged = |judge: &str| {
        let lines = "servers = [\"legacy\", \"actix\"]\nbaseline = \"legacy\"\nconnections = [8]";
        let plan = campaign(&format!("{lines}\n{judge}"));
        let observed = observe_planned(&plan, |trial| {
            let mut sample = sample(1_000.0, 20.0);
            let slower = if trial.server == "actix" { 1.5 } else { 1.0 };
            sample.load.latency_us.p99 = 400.0 * slower * (1.0 + 0.001 * f64::from(trial.block));
            sample.server_peak_memory_bytes = Some(if trial.server == "actix" { 1 << 20 } else { 1 << 22 });
            sample
        });
        let found = Reported::of(&plan, observed);
        let chart = found.read("ratios.svg");
        (found.run, found.report, chart)
    };
    let verdict = |report: &str, figure: &str| {
        let rows = report.lines().map(cells).filter(|row| row.len() == 10 && row[2].contains(" / "));
        rows.into_iter().find(|row| row[3] == figure).map(|row| row[6].clone())
    };
    let (run, report, chart) = judged("judge = [\"cpu_us_per_request\", \"p99_us\", \"peak_memory_bytes\"]");
    assert_eq!(verdict(&report, "p99").unwrap(), "worse");
    assert_eq!(verdict(&report, "most memory").unwrap(), "better");
    assert_eq!(verdict(&report, "CPU per request").unwrap(), "equivalent");
    assert_eq!(verdict(&report, "requests/s"), None);
    assert!(chart.contains("getBalance at 8: p99") && !chart.contains("requests/s"), "{chart}");
    let screen = headline(&run).unwrap();
    let p99 = row(&screen, "p99, getBalance at 8 connections");
    assert_eq!((&*p99[2], &*p99[3]), ("**1 = 402 µs**", "1.50 [1.50, 1.50]"), "{screen}");
    assert_eq!(row(&screen, "most memory, getBalance")[3], "**0.25** [0.25, 0.25]");
    let findings = &run.summary.comparisons[0].findings;
    assert_eq!(findings[&Figure::P99Us].verdict, Verdict::Slower);
    // Where it is left out, it has an interval of its own and no verdict.
    let (run, report, chart) = judged("");
    assert_eq!(verdict(&report, "p99").unwrap(), "not judged");
    assert_eq!(verdict(&report, "requests/s").unwrap(), "equivalent");
    assert!(!chart.contains("p99") && chart.contains("requests/s"), "{chart}");
    assert!(!headline(&run).unwrap().contains("| p99,"), "how many connections wait is no answer");
}
