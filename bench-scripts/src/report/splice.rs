//! The README quotes a run between two markers; this writes what stands between them.

use anyhow::{Context, Result, ensure};

use super::{Run, headline};

const BEGIN: &str = "<!-- headline of results/";
const END: &str = "<!-- end of headline -->";

/// A README with its headline renewed.
#[derive(Debug, PartialEq, Eq)]
pub struct Spliced {
    /// The whole text.
    pub text: String,
    /// Whether anything changed.
    pub changed: bool,
}

/// The name of the run that a README quotes.
pub fn quoted(readme: &str) -> Option<&str> {
    readme.split_once(BEGIN)?.1.split_once(" -->").map(|(name, _)| name)
}

/// Puts a run's headline and chart between the README's markers.
///
/// # Errors
/// The README lacks a marker.
pub fn splice(readme: &str, run: &Run) -> Result<Spliced> {
    let missing = || format!("the README lacks the line {BEGIN}<run> --> or {END}");
    let (before, rest) = readme.split_once(BEGIN).with_context(missing)?;
    let (_, rest) = rest.split_once("-->").with_context(missing)?;
    let (_, after) = rest.split_once(END).with_context(missing)?;
    ensure!(!after.contains(BEGIN), "the README has two headlines");
    let text = format!("{before}{BEGIN}{} -->\n\n{}\n{END}{after}", run.name, quotation(run));
    let changed = text != readme;
    Ok(Spliced { text, changed })
}

fn quotation(run: &Run) -> String {
    let name = &run.name;
    let host = &run.conditions.host;
    let campaign = &run.plan.campaign;
    format!(
        "{}\n![Successful requests a second against connections](results/{name}/throughput.svg)\n\n\
         From [results/{name}](results/{name}/report.md), made by `{}` on {} cores of {} (server and load generator on \
         the same cores), {} trials in up to {} drawn blocks. Intervals of rates and times hold the true value with 95 % \
         confidence each; those of ratios are wider, so that all verdicts of the run hold together.\n",
        headline(run),
        run.conditions.command,
        host.cores,
        host.cpu,
        run.summary.observed,
        campaign.max_blocks,
    )
}
