//! Two runs for a person and for CI: what differs between them, the ratios, and how far these can be believed. Works
//! nothing out but words; the numbers are [`bench_analysis::two_runs`]'s.

use std::fmt::Write;

use anyhow::{Result, ensure};

use super::differences::{self, warnings};
use super::format::{Table, at, count, known, list, ratio};
use super::headline::{meanings, with_marks};
use bench_analysis::two_runs::{Between, Both, Change, Gate, Measured};
use bench_analysis::{Better, Finding, Mark, Summary, Verdict};
use bench_model::results::RunFolder;

/// What the judged figures are called, in the order of [`Change::findings`].
const FIGURES: [&str; 2] = ["requests/s", "CPU per request"];

const MISSING: &str = "not measured";

/// Reads a run with all its observations.
///
/// # Errors
/// One line: a file is missing or not of this version's format, or the folder is a calibration's.
pub fn load(folder: &RunFolder) -> Result<Measured> {
    ensure!(
        !folder.is_calibration(),
        "{} is a calibration, whose servers are handicapped on purpose; give a campaign's run",
        folder.0.display()
    );
    Ok(Measured {
        name: folder.name(),
        plan: folder.plan()?,
        conditions: folder.conditions()?,
        observations: folder.observations()?,
    })
}

/// The whole comparison.
pub fn markdown(runs: Both<&Measured>, between: &Between) -> String {
    let mut out = format!(
        "# {} after {}\n\nBefore: {}. After: {}. Every ratio is after over before.\n\n",
        runs.after.name, runs.before.name, runs.before.name, runs.after.name
    );
    for warning in warnings(runs, between) {
        // Writing to a String can't fail, here and below.
        let _ = writeln!(out, "> **Warning:** {warning}.\n");
    }
    let _ = writeln!(out, "## What differs\n\n{}", differences::table(runs).markdown());
    for (when, name, what) in [
        ("before", &runs.before.name, &between.unshared.before),
        ("after", &runs.after.name, &between.unshared.after),
    ] {
        if !what.is_empty() {
            let _ = writeln!(out, "Only {when} ({name}), and so not compared: {}.\n", what.join(", "));
        }
    }
    if let Some(reference) = &between.reference {
        out.push_str(&relative(between, reference));
    }
    out.push_str(&absolute(between));
    out.push_str(&how_to_read(between));
    out
}

fn relative(between: &Between, reference: &str) -> String {
    format!(
        "## Relative to {reference}\n\nWithin each run a server's figures are divided by {reference}'s of the same \
         block, and then the two runs are compared. A machine that is slower as a whole slows both, so it cancels to \
         first order: read this table first. It holds as far as {reference} itself is the same program in both \
         runs.\n\n{}\n{}\n\n",
        table(between, &between.relative, true).markdown(),
        drift(between, reference)
    )
}

/// What the reference itself did, which says what the absolute ratios are worth.
fn drift(between: &Between, reference: &str) -> String {
    let mut out = format!("{reference} itself, after over before:");
    let of_reference = || between.absolute.iter().filter(|change| change.server == reference);
    for change in of_reference() {
        let figures = FIGURES.iter().zip(change.findings());
        let figures =
            figures.filter_map(|(name, (_, finding))| Some(format!("{name} {}", ratio(finding?.ratio))));
        let _ = write!(out, "\n- {}: {}", at(&change.workload, change.level), list(figures));
    }
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
    format!("{out}\n\n{verdict}")
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
    let mut out = format!("## Absolute\n\n{why}{}\n", table(between, &between.absolute, false).markdown());
    let mut marks: Vec<Mark> = between.absolute.iter().flat_map(|change| marks(between, change)).collect();
    marks.sort_unstable();
    marks.dedup();
    if !marks.is_empty() {
        out += &meanings(marks);
        out.push('\n');
    }
    out
}

fn table(between: &Between, changes: &[Change], more_blocks_help: bool) -> Table {
    let unit = changes.first().map_or("connections", |change| change.level.unit());
    let headers = format!(
        "workload | server | {unit} | ratio of rates | by rate | ratio of CPU per request | by CPU per request | ratio \
         of p99 | blocks before, after"
    );
    let shown = |finding: &Option<Finding>| known(*finding, MISSING, |finding| ratio(finding.ratio));
    let said = |finding: &Option<Finding>, verdict: fn(&Finding) -> String| {
        known(*finding, MISSING, |finding| words(&finding, verdict, more_blocks_help))
    };
    let rows = changes.iter().map(|change| {
        vec![
            change.workload.clone(),
            change.server.clone(),
            count(change.level.amount().into()) + if change.level.disturbed { ", disturbed" } else { "" },
            with_marks(shown(&change.rate), &marks(between, change)),
            said(&change.rate, Finding::words),
            shown(&change.cpu),
            said(&change.cpu, Finding::cpu_words),
            known(change.p99_ratio, MISSING, ratio),
            format!("{}, {}", change.blocks.before, change.blocks.after),
        ]
    });
    Table::of(&headers, 2, rows)
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
    let of = |summary: &Summary| {
        let cell = summary.cell(&change.server, &change.workload, change.level);
        cell.map_or_else(Vec::new, |cell| cell.marks.clone())
    };
    let mut marks = of(&between.summaries.before);
    marks.extend(of(&between.summaries.after));
    marks.sort_unstable();
    marks.dedup();
    marks
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

/// The judgement for CI in a few lines, and what it comes to.
pub fn gate(runs: Both<&Measured>, between: &Between) -> (String, Gate) {
    let how = match &between.reference {
        Some(reference) => format!("relative to {reference}"),
        None => {
            "absolute, because the runs share no ceiling and no baseline: a slower machine shows as slower \
            servers"
                .to_owned()
        }
    };
    let mut out = format!(
        "before: {}\nafter:  {}\njudged: {} cells by requests/s and CPU per request, {how}; margin {}\n",
        runs.before.name,
        runs.after.name,
        between.judged().len(),
        between.margin
    );
    for warning in warnings(runs, between) {
        let _ = writeln!(out, "warning: {warning}");
    }
    for missing in &between.unshared.before {
        let _ = writeln!(out, "warning: {missing} is not in the second run and is not judged");
    }
    let judgements = judgements(between);
    let lines = |wanted: Gate| {
        let lines = judgements.iter().filter(|(gate, _)| *gate == wanted);
        lines.map(|(_, line)| line.as_str()).collect::<String>()
    };
    out.push_str(&lines(Gate::Fails));
    let failed = &between.summaries.after.failed;
    for trial in failed {
        let _ = writeln!(out, "failed: trial {} of {}: {}", trial.number, trial.server, trial.reason);
    }
    out.push_str(&lines(Gate::Open));
    let worst = judgements.iter().map(|(gate, _)| *gate).max().unwrap_or(Gate::Open);
    let (gate, verdict) = match worst {
        Gate::Fails => (Gate::Fails, "slower by more than the margin"),
        _ if !failed.is_empty() => (Gate::Fails, "a trial failed"),
        Gate::Open => (Gate::Open, "none is known to be slower, and not all are resolved"),
        Gate::Passes => (Gate::Passes, "none is slower by more than the margin"),
    };
    let passed = judgements.iter().filter(|(gate, _)| *gate == Gate::Passes).count();
    let _ = writeln!(out, "{passed} of {} comparisons pass: {verdict}", judgements.len());
    (out, gate)
}

/// Every judged figure of every judged cell, with its line.
fn judgements(between: &Between) -> Vec<(Gate, String)> {
    let mut out = Vec::new();
    for change in between.judged() {
        let Change { server, workload, level, .. } = change;
        for (name, (better, finding)) in FIGURES.iter().zip(change.findings()) {
            let verdict = if better == Better::Less { Finding::cpu_words } else { Finding::words };
            let shown = known(finding, MISSING, |finding| {
                format!("{}: {}", ratio(finding.ratio), words(finding, verdict, between.reference.is_some()))
            });
            let line = format!("{server} {}: {name} {shown}\n", at(workload, *level));
            out.push((Gate::of(finding, better), line));
        }
    }
    out
}
