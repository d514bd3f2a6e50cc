//! What the load tool can send on this machine, measured before any server is searched: a search of its own on the
//! server that answers at once, in a folder inside the searches'.

use anyhow::Result;

use crate::run::ceilings::{WINDOW_MS, on_ceiling};
use crate::run::stage::Stage;
use crate::run::{Bench, Truths, begin_inside};
use bench_analysis::ceilings::{Ceiling, holds};
use bench_analysis::interleaved_searches::NextTrial;
use bench_analysis::search::Judgement;
use bench_analysis::slo::{Goal, Rules, Search, SloPlan, Tested};
use bench_model::config::Slo;
use bench_model::observation::{Observation, Outcome};
use bench_model::results::{CEILINGS, RunFolder};

/// How it is searched: 10 % apart; the tool holds a rate that it held in one window of two.
const RULES: Rules = Rules {
    width: 0.1,
    initial_trial_ms: WINDOW_MS,
    goal: Goal { final_trial_ms: WINDOW_MS, duration_sum_ms: 2 * WINDOW_MS, exceed_ratio: 0.5 },
    most_trials: 24,
};

/// Finds the highest rate of a campaign that its tool can send.
///
/// # Errors
/// The run is ended, or the campaign names no server that answers at once.
pub(super) fn find(folder: &RunFolder, outer: &Stage<'_>, slo: &Slo) -> Result<Ceiling> {
    let plan = on_ceiling(&outer.plan)?;
    let inner = begin_inside(folder, CEILINGS, &plan, outer.tools, &outer.folder.conditions()?.command)?;
    let truths = Truths::of(&plan)?;
    let Stage { tools, interrupt, .. } = *outer;
    let bench = Bench { folder: &inner, plan: &plan, tools, truths: &truths, interrupt };
    bench_system::note!("slo: what {} can send, measured on {}", slo.tool.name(), plan.campaign.servers[0]);
    let mut search = Search::new(slo.from, slo.most, RULES);
    let mut number = 0;
    let (server, workload) = (&plan.campaign.servers[0], &plan.campaign.workloads[0]);
    while let Some(load) = search.next() {
        number += 1;
        let trial = SloPlan::trial_of(slo, NextTrial { search: 0, round: 1, number, load }, server, workload);
        let observation = bench.run(&trial)?;
        inner.forget_tool_output(&trial)?;
        inner.append(&observation)?;
        let judgement = judgement(&observation);
        let held = if judgement.passed() == Some(true) { "held" } else { "not held" };
        bench_system::note!("  {:>6}/s {held}", load.rate);
        search.take(judgement);
    }
    let found = search.found();
    let rate = |end: Option<Tested>| end.map(|end| end.rate);
    Ok(Ceiling { tool: slo.tool, held: rate(found.lower), not_held: rate(found.upper) })
}

/// What a trial showed of the tool. A server that ends or answers wrongly shows nothing of it.
fn judgement(observation: &Observation) -> Judgement {
    match &observation.outcome {
        Outcome::Completed(sample) => Judgement::Measured { passed: holds(&sample.load), missed: 0.0 },
        Outcome::NoSuccess(_) | Outcome::Silent(_) | Outcome::NotHeld(_) | Outcome::Unanswered { .. } => {
            Judgement::FAIL
        }
        _ => Judgement::Nothing,
    }
}
