//! What a page quotes of a why run: its sentences, its ladder and its charts.

use super::words::headline;
use super::{WhyRun, sections};

/// The quotation; `folder` is the way from the page to the run's folder.
pub(in crate::report) fn quotation(why: &WhyRun, folder: &str) -> String {
    let summary = &why.shown;
    let mut out = headline(summary);
    if let Ok(ladder) = &summary.ladder {
        out.push_str(&format!(
            "\n![CPU time for a request, by part]({folder}/ladder.svg)\n\n{}",
            sections::ladder_table(summary, ladder).markdown()
        ));
    }
    if summary.slope.is_some() {
        out.push_str(&format!("\n![CPU time for a request against slots returned]({folder}/slope.svg)\n"));
    }
    out
}
