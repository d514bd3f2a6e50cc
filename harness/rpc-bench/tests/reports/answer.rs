//! The first screen of a report: few sentences, all short, and one table that says what the run
//! measured.

use bench_core::figure::Figure;
use bench_core::results::RunFolder;

use crate::kept::newest;

/// Words of a sentence that a reader takes in at once.
const WORDS: usize = 25;

/// Lines of a report that stand open.
const LINES: usize = 120;

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
fn the_answer_is_short() {
    for campaign in ["quick", "isolation"] {
        let run = kept(campaign);
        let first = bench_report::headline(&run).unwrap();
        // Views are the answer where a campaign states them.
        let is_compared = run.summary.views.is_empty();
        assert_eq!(first.contains("| question "), is_compared, "{campaign}: {first}");
        let sentences = sentences(&first);
        assert!(!sentences.is_empty(), "{campaign}: {first}");
        for sentence in sentences {
            // An interval is no words.
            let is_word =
                |word: &&str| !word.starts_with('[') && !word.ends_with(']') && !word.ends_with("])");
            let words = sentence.split_whitespace().filter(is_word).count();
            assert!(words <= WORDS, "{campaign}: {words} words: {sentence}");
        }
        let (mut open, mut is_folded) = (0, false);
        for line in bench_report::markdown(&run, false).unwrap().lines() {
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
    let first = bench_report::headline(&run).unwrap();
    let duets = run.duets.as_ref().unwrap();
    for pair in &duets.summary.comparisons {
        let load = pair.level.rate.map_or("saturation".to_owned(), |rate| format!("{},000/s", rate / 1_000));
        let start = format!("| CPU per request, {} at {load} ", pair.workload);
        let row = first.lines().find(|line| line.starts_with(&start)).unwrap();
        let row = row.replace("**", "");
        let (low, high) = pair.findings[&Figure::CpuUsPerRequest].ratio.interval.unwrap();
        let shown =
            format!("{:.2} [{low:.2}, {high:.2}]", pair.findings[&Figure::CpuUsPerRequest].ratio.value);
        assert!(row.contains(&shown), "{} over {}: {shown} is not in {row}", pair.server, pair.over);
    }
}
