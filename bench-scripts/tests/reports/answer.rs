//! The first screen of a report and of the README: few sentences, all short, and one table that says what the run measured.

use std::path::{Path, PathBuf};

use rpc_bench::report;
use rpc_bench::results::RunFolder;

/// Words of a sentence that a reader takes in at once.
const WORDS: usize = 25;

/// Lines of a report that stand open.
const LINES: usize = 120;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn kept(campaign: &str) -> report::Run {
    let runs = std::fs::read_dir(root().join("results")).unwrap();
    let paths = runs.map(|entry| entry.unwrap().path());
    let of_campaign = |path: &PathBuf| path.to_string_lossy().ends_with(&format!("Z-{campaign}"));
    let newest = paths.filter(of_campaign).max().unwrap();
    report::Run::load(&RunFolder::open(&newest).unwrap()).unwrap()
}

/// The sentences of a page's list, without its marks.
fn sentences(page: &str) -> Vec<String> {
    let items = page.lines().filter_map(|line| line.strip_prefix("- "));
    let items = items.map(|item| item.replace("**", ""));
    items.flat_map(|item| item.split(". ").map(str::to_owned).collect::<Vec<_>>()).collect()
}

#[test]
fn the_answer_is_short() {
    for campaign in ["quick", "isolation", "recovery", "slo"] {
        let run = kept(campaign);
        let first = report::headline(&run);
        let is_compared = run.plan.campaign.baseline.is_some();
        assert_eq!(first.contains("| question "), is_compared, "{campaign}: {first}");
        let sentences = sentences(&first);
        assert!(sentences.len() > 3, "{campaign}: {first}");
        for sentence in sentences {
            let words = sentence.split_whitespace().count();
            assert!(words <= WORDS, "{campaign}: {words} words: {sentence}");
        }
        let (mut open, mut is_folded) = (0, false);
        for line in report::markdown(&run).lines() {
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
    let first = report::headline(&run);
    let duets = run.duets.as_ref().unwrap();
    for pair in &duets.summary.comparisons {
        let start = format!("| CPU per request, {} ", pair.workload);
        let row = first.lines().find(|line| line.starts_with(&start)).unwrap();
        let shown = format!("{:.2}", pair.cpu.ratio.value);
        assert!(row.contains(&shown), "{} over {}: {shown} is not in {row}", pair.server, pair.over);
    }
}

#[test]
fn the_readme_is_short_and_begins_with_the_answer() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    assert!(readme.lines().count() <= 100, "{} lines", readme.lines().count());
    let answer = readme.find("<!-- answer of pooled").unwrap();
    assert!(readme[..answer].lines().count() < 20);
}
