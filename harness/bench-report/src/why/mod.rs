//! The report of a why run: a sentence, the ladder, counts, and the cost of an answer's length; made from the folder
//! alone.

mod functions;
mod sections;
mod sentences;

use anyhow::{Context, Result};

use super::{Run, charts};
use bench_analysis::why::{Part, Seen, WhySummary, explain};
use bench_model::cost::{COUNTS, IN_PROCESS, InProcessObservation};
use bench_model::observation::Observation;
use bench_model::plan::Plan;
use bench_model::results::{LADDER, RunFolder, SLOPE, pretty};

pub use sections::markdown;
pub(super) use sections::quotation;
pub use sentences::headline;

/// What a why run's folder holds, and what it comes to.
#[derive(Debug)]
pub struct WhyRun {
    /// The pair's trials, as any run's.
    pub run: Run,
    /// What they come to.
    pub summary: WhySummary,
    /// The same with the servers' labels in place of their names.
    pub shown: WhySummary,
}

/// One stage, as its folder holds it.
type Kept = (Plan, Vec<Observation>, Vec<InProcessObservation>);

fn kept(folder: &RunFolder) -> Result<Kept> {
    Ok((folder.plan()?, folder.observations()?, folder.lines(IN_PROCESS)?))
}

fn seen((plan, observations, in_process): &Kept) -> Seen<'_> {
    Seen { plan, observations, in_process }
}

impl WhyRun {
    /// Reads a why run's folder and works it out.
    pub fn load(folder: &RunFolder) -> Result<Self> {
        let question = folder.why()?;
        let main = kept(folder)?;
        let inside = |name: &str| folder.inside(name).map(|inner| kept(&inner)).transpose();
        let ladder =
            inside(LADDER)?.with_context(|| format!("{} has no folder {LADDER}", folder.0.display()))?;
        let slope = inside(SLOPE)?;
        let slope = slope.as_ref().map(seen);
        let summary =
            explain(&question, &seen(&main), &seen(&ladder), slope.as_ref(), &folder.lines(COUNTS)?);
        let run = Run::load(folder)?;
        let shown = labelled(&run, &summary);
        Ok(Self { run, summary, shown })
    }
}

/// The summary as pages and charts show it: every server by its label.
fn labelled(run: &Run, summary: &WhySummary) -> WhySummary {
    let mut shown = summary.clone();
    let names = [&mut shown.server, &mut shown.over].into_iter();
    let names = names
        .chain(shown.sides.iter_mut().map(|side| &mut side.server))
        .chain(shown.counts.iter_mut().map(|count| &mut count.server))
        .chain(shown.instructions.iter_mut().map(|instructions| &mut instructions.server))
        .chain(shown.slope.iter_mut().flat_map(|slope| &mut slope.lines).map(|line| &mut line.server))
        .chain(shown.failed.iter_mut().map(|trial| &mut trial.server))
        .chain(shown.invalid.iter_mut().map(|trial| &mut trial.server));
    for name in names {
        *name = run.label(name).to_owned();
    }
    shown
}

/// Writes `summary.json`, the charts, `report.md` and `report.html`, in place of earlier ones. Gives the summary as it
/// is shown.
pub fn write(folder: &RunFolder) -> Result<WhySummary> {
    let why = WhyRun::load(folder)?;
    folder.write_derived("summary.json", &pretty(&why.summary)?)?;
    crate::write_report(folder, &sections::markdown(&why), &drawn(&why))?;
    Ok(why.shown)
}

/// The charts of a why run's report, by their files.
pub(super) fn drawn(why: &WhyRun) -> Vec<(String, charts::Chart)> {
    let ladder = why.shown.ladder.iter().map(|ladder| ("ladder.svg", charts::ladder(&why.shown, ladder)));
    let slope = why.shown.slope.iter().map(|slope| {
        let named = why.summary.slope.iter().flat_map(|slope| &slope.lines);
        let styles: Vec<charts::Style> = named.map(|line| charts::style(&why.run, &line.server)).collect();
        ("slope.svg", charts::slope(slope, &styles))
    });
    ladder.chain(slope).map(|(file, chart)| (file.to_owned(), chart)).collect()
}

/// What a part is called.
pub(super) fn name(part: Part) -> &'static str {
    match part {
        Part::State => "the method itself (state)",
        Part::Framework => "parsing, dispatch, serialising",
        Part::HttpUser => "HTTP in the program (user)",
        Part::System => "in the kernel (system)",
    }
}
