//! Two runs side by side: what differs between them, the ratios, and how far these can be believed. Works
//! nothing out but words; the numbers are [`bench_analysis::two_runs`]'s.

use std::collections::BTreeSet;

use anyhow::Result;

use super::columns::Columns;
use super::differences::{self, warnings};
use super::format::{at, count, known, list, ratio};
use super::headline::{meanings, with_marks};
use super::open_loop::disturbed;
use bench_analysis::two_runs::{Between, Both, Change, Measured};
use bench_analysis::{Finding, Mark, Verdict};
use bench_model::results::RunFolder;

/// What the judged figures are called, in the order of [`Change::findings`].
const FIGURES: [&str; 2] = ["requests/s", "CPU per request"];

const MISSING: &str = "not measured";

/// Reads a run with all its observations.
///
/// # Errors
/// One line: a file is missing or not of this version's format.
pub fn load(folder: &RunFolder) -> Result<Measured> {
    Ok(Measured {
        name: folder.name(),
        plan: folder.plan()?,
        conditions: folder.conditions()?,
        observations: folder.observations()?,
    })
}

/// The whole comparison.
pub fn markdown(runs: Both<&Measured>, between: &Between) -> String {
    let Both { before, after } = runs.map(|run| &run.name);
    let warnings = warnings(runs, between).into_iter();
    let warnings = warnings.map(|warning| format!("> **Warning:** {warning}.\n\n"));
    let unshared = [("before", before, &between.unshared.before), ("after", after, &between.unshared.after)];
    let unshared = unshared.into_iter().filter(|(.., what)| !what.is_empty());
    let unshared = unshared
        .map(|(when, name, what)| format!("Only {when} ({name}), and so not compared: {}.\n\n", list(what)));
    format!(
        "# {after} after {before}\n\nBefore: {before}. After: {after}. Every ratio is after over before.\n\n\
         {}## What differs\n\n{}\n{}{}{}{}",
        warnings.collect::<String>(),
        differences::table(runs),
        unshared.collect::<String>(),
        known(between.reference.as_ref(), "", |reference| relative(between, reference)),
        absolute(between),
        how_to_read(between)
    )
}

fn relative(between: &Between, reference: &str) -> String {
    format!(
        "## Relative to {reference}\n\nWithin each run a server's figures are divided by {reference}'s of the same \
         block, and then the two runs are compared. A machine that is slower as a whole slows both, so it cancels to \
         first order: read this table first. It holds as far as {reference} itself is the same program in both \
         runs.\n\n{}\n{}\n\n",
        table(between, &between.relative, true),
        drift(between, reference)
    )
}

/// What the reference itself did, which says what the absolute ratios are worth.
fn drift(between: &Between, reference: &str) -> String {
    let of_reference = || between.absolute.iter().filter(|change| change.server == reference);
    let lines = of_reference().map(|change| {
        let figures = FIGURES.iter().zip(change.findings());
        let figures =
            figures.filter_map(|(name, (_, finding))| Some(format!("{name} {}", ratio(finding?.ratio))));
        format!("\n- {}: {}", at(&change.workload, change.level), list(figures))
    });
    let findings = || of_reference().flat_map(|change| change.findings().map(|(_, finding)| finding));
    let verdict = if findings().all(|finding| finding.is_some_and(is_within)) {
        "That is within the margin everywhere, so the absolute ratios below are evidence too."
    } else if findings().flatten().any(|finding| finding.verdict.claims_difference()) {
        "So the machine, or this server, changed between the runs. Where it did, the absolute ratios below are no \
         evidence of what the other servers did."
    } else {
        "That is not known to be within the margin everywhere, so the absolute ratios below are weak evidence: what \
         they show may be the machine."
    };
    format!("{reference} itself, after over before:{}\n\n{verdict}", lines.collect::<String>())
}

/// Known to differ by no more than the margin.
fn is_within(finding: &Finding) -> bool {
    finding.verdict == Verdict::Equivalent || finding.surely_small
}

fn absolute(between: &Between) -> String {
    let why = match between.reference {
        Some(_) => "",
        None => {
            "The runs share no ceiling and no baseline, so there is nothing to cancel the machine with.\n\n"
        }
    };
    let marks: BTreeSet<Mark> = between.absolute.iter().flat_map(|change| marks(between, change)).collect();
    let end = if marks.is_empty() { "" } else { "\n" };
    let table = table(between, &between.absolute, false);
    format!("## Absolute\n\n{why}{table}\n{}{end}", meanings(marks))
}

fn table(between: &Between, changes: &[Change], more_blocks_help: bool) -> String {
    let unit = changes.first().map_or("connections", |change| change.level.unit());
    let shown = |finding: Option<Finding>| known(finding, MISSING, |finding| ratio(finding.ratio));
    let said = |finding: &Option<Finding>, verdict: fn(&Finding) -> String| {
        known(finding.as_ref(), MISSING, |finding| words(finding, verdict, more_blocks_help))
    };
    Columns::of(2, changes)
        .column("workload", |change| &change.workload)
        .column("server", |change| &change.server)
        .column(unit, |change| count(change.level.amount().into()) + disturbed(change.level))
        .column("ratio of rates", |change| with_marks(shown(change.rate), &marks(between, change)))
        .column("by rate", |change| said(&change.rate, Finding::words))
        .column("ratio of CPU per request", |change| shown(change.cpu))
        .column("by CPU per request", |change| said(&change.cpu, Finding::cpu_words))
        .column("ratio of p99", |change| known(change.p99_ratio, MISSING, ratio))
        .column("blocks before, after", |change| format!("{}, {}", change.blocks.before, change.blocks.after))
        .markdown()
}

/// More blocks narrow what varies from block to block; what changed between the runs stays as it is.
fn words(finding: &Finding, verdict: fn(&Finding) -> String, more_blocks_help: bool) -> String {
    match (finding.verdict, finding.blocks_needed) {
        (Verdict::Inconclusive, Some(blocks)) if more_blocks_help => {
            format!("inconclusive (about {blocks} blocks in each run would tell)")
        }
        (Verdict::Inconclusive, _) => "inconclusive".to_owned(),
        _ => verdict(finding),
    }
}

/// What to distrust in a cell of either run.
fn marks(between: &Between, change: &Change) -> Vec<Mark> {
    let Both { before, after } = &between.summaries;
    let cells = [before, after].map(|of| of.cell(&change.server, &change.workload, change.level));
    let marks: BTreeSet<Mark> = cells.into_iter().flatten().flat_map(|cell| cell.marks.clone()).collect();
    marks.into_iter().collect()
}

fn how_to_read(between: &Between) -> String {
    let Both { before, after } = between.invalid_trials;
    format!(
        "## How to read this\n\nThe margin is {}, the second run's: what lies within it does not matter. In each \
         table all cells share an error of 5 % for each of the two judged ratios (Holm); the estimate is the \
         Hodges–Lehmann shift of the logarithms, the interval that of Mann and Whitney. The ratio of p99s is not \
         judged; its interval is right by itself with 95 %. Trials from which the hypervisor or the control group \
         took time are left out: {before} before, {after} after.\n\n\
         These intervals are wider than those of a campaign. Within a campaign two servers stand in the same block, \
         next to each other, and what the machine does then hits both and cancels. Blocks of two runs can't be \
         paired, so all that drifts from block to block stays in the absolute ratios. What lies between the runs is \
         worse: the intervals do not know of it at all. A machine that was slower in that hour shows as servers that \
         are slower, with a narrow interval around the wrong value. An absolute ratio of two runs is evidence only \
         where the reference server's own ratio is near 1, or where nothing else can be had. The relative ratios \
         cancel what slows all servers alike, not what slows one kind of work more than another (system calls more \
         than parsing, say), nor what changes from one trial to the next. The best comparison of two versions is one \
         campaign that holds both as servers.\n",
        between.margin
    )
}
