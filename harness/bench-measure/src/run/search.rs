//! Searches for the load from which servers fail, in a folder of their own inside a run's. Every trial is written
//! before the next begins, and what comes next follows from what is written, so searches can be stopped and resumed at
//! any trial.

use std::fmt::Display;

use anyhow::{Context, Result};
use serde::de::DeserializeOwned;

use super::stage::Stage;
use super::terminal_view::View;
use bench_analysis::interleaved_searches::Searches;
use bench_analysis::invalid_reason;
use bench_analysis::search::{Judgement, Rule};
use bench_model::observation::{Observation, Sample};
use bench_model::plan::Trial;

/// Searches that can be run, and what is kept and shown of their trials.
pub(super) trait Runnable: Searches<Rule: Rule<Found: Display>> + DeserializeOwned {
    /// The file that only the folder of such searches has.
    const FILE: &str;

    /// What is shown at the start, when this many searches have not ended.
    fn announce(&self, left: usize) -> String;

    /// What is wrong with a trial that did not pass, with its figures.
    fn wrong(&self, observation: &Observation) -> String;
}

/// Runs searches from wherever they are to their end.
pub(super) fn search<S: Runnable>(stage: &Stage<'_>) -> Result<()> {
    let folder = &stage.folder;
    let searches: S = folder.read_json(S::FILE)?;
    let place = || format!("{} does not hold what was searched", folder.0.display());
    let mut schedule = searches.replay(&folder.observations()?).with_context(place)?.schedule;
    if schedule.next().is_none() {
        return Ok(());
    }
    let (truths, _running) = stage.truths()?;
    stage.note_ready_lines()?;
    let bench = stage.bench(&truths);
    let view = View::new();
    view.line(&searches.announce(schedule.left()));
    while let Some(next) = schedule.next() {
        let trial = searches.trial(next);
        view.running.set_message(head(&trial));
        let observation = bench.run(&trial)?;
        let judgement = searches.judgement(&observation);
        if judgement.passed() == Some(true) {
            folder.forget_tool_output(&trial)?;
        }
        folder.append(&observation)?;
        schedule.take(judgement);
        view.line(&format!("{}  {}", head(&trial), shown(&searches, &observation, judgement)));
        let search = &schedule.searches()[next.search];
        if search.next().is_none() {
            let Trial { server, workload, rate, .. } = &trial;
            let client = if rate.is_none() { format!(" {}", trial.client.name()) } else { String::new() };
            let (found, left) = (search.found(), schedule.left());
            view.line(&format!("{server} {workload}{client}: {found}; searches left: {left}"));
        }
    }
    Ok(())
}

/// A trial on one line.
fn head(trial: &Trial) -> String {
    let Trial { number, block, server, workload, connections, rate, window_ms, .. } = trial;
    let load = match rate {
        None => format!("{:<8} {connections:>5} connections", trial.client.name()),
        Some(rate) => format!("{rate:>6}/s for {} ms", window_ms.unwrap_or_default()),
    };
    format!("[{number:>4}] round {block:<3} {server:<17} {workload:<10} {load}")
}

/// What a trial showed.
fn shown<S: Runnable>(searches: &S, observation: &Observation, judgement: Judgement) -> String {
    let evidence = observation.outcome.evidence();
    let figure = || evidence.map_or_else(String::new, |sample| figure(sample, observation.trial.rate));
    let wrong = || searches.wrong(observation);
    match judgement {
        Judgement::Measured { passed: true, .. } => format!("pass, {}", figure()),
        Judgement::Measured { passed: false, .. } => format!("FAIL: {}", wrong()),
        Judgement::NotReached => format!("LOAD NOT REACHED: {}", wrong()),
        Judgement::Nothing => format!("NOTHING: {}", evidence.and_then(invalid_reason).unwrap_or_else(wrong)),
    }
}

/// The figure that decides: the slowest request, or the 99th percentile of latency where there is a rate.
pub(super) fn figure(sample: &Sample, rate: Option<u32>) -> String {
    match rate {
        None => format!("slowest {:.0} ms", sample.load.latency_us.max / 1e3),
        Some(_) => format!("p99 {:.1} ms", sample.load.latency_us.p99 / 1e3),
    }
}
