//! docs/WHY.md quotes why runs, each between two markers; this writes what stands between them, and so can tell whether a page
//! still agrees with its runs.

use anyhow::{Context, Result, ensure};

use super::words::headline;
use super::{WhyRun, sections};
use crate::report::Spliced;

const BEGIN: &str = "<!-- why ";
const END: &str = "<!-- end of why -->";

/// A question of the page, and the run that answers it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The servers and the request: `actix legacy getBlocks`.
    pub asked: String,
    /// The run's name in results/; none where it was not measured yet.
    pub run: Option<String>,
}

/// The questions of a page, in order.
pub fn quoted(page: &str) -> Vec<Question> {
    let markers = page.split(BEGIN).skip(1).filter_map(|rest| rest.split_once(" -->")?.0.split_once(": "));
    markers
        .map(|(asked, run)| Question {
            asked: asked.to_owned(),
            run: run.strip_prefix("results/").map(str::to_owned),
        })
        .collect()
}

/// Puts a why run's sentences, ladder and chart where the page asks its question.
///
/// # Errors
/// The page does not ask it, asks it twice, or lacks an end.
pub fn splice(page: &str, why: &WhyRun) -> Result<Spliced> {
    let summary = &why.summary;
    let asked = format!("{} {} {}", summary.server, summary.over, summary.workload);
    let begin = format!("{BEGIN}{asked}: ");
    let (before, rest) =
        page.split_once(&begin).with_context(|| format!("the page does not ask: {begin}… -->"))?;
    let (_, rest) = rest.split_once("-->").with_context(|| format!("the marker {begin} has no end"))?;
    let (_, after) = rest.split_once(END).with_context(|| format!("the page lacks the line {END}"))?;
    ensure!(!after.contains(&begin), "the page asks twice: {begin}");
    let text = format!("{before}{begin}results/{} -->\n\n{}\n{END}{after}", why.run.name, quotation(why));
    let changed = text != page;
    Ok(Spliced { text, changed })
}

fn quotation(why: &WhyRun) -> String {
    let (name, summary) = (&why.run.name, &why.shown);
    let folder = format!("../results/{name}");
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
    let host = &why.run.conditions.host;
    out.push_str(&format!(
        "\nFrom [results/{name}]({folder}/report.md), made by `{}` on {} cores of {}.\n",
        why.run.conditions.command, host.cores, host.cpu
    ));
    out
}
