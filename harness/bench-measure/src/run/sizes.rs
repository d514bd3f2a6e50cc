//! The trials in boxes: a part of a run with a folder of its own, in which each server stands once for each box.
//! Servers in the same box run after each other, in a drawn order; what comes next in a box follows from what is
//! written, so they can be stopped and resumed at any trial.

use anyhow::Result;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::stage::Stage;
use super::terminal_view::View;
use bench_analysis::sizes::{BoxLoad, Rungs, judge};
use bench_model::config::{Campaign, Server, SizedBox, Sizes};
use bench_model::observation::Observation;
use bench_model::plan::{Plan, Trial, shuffle};
use bench_model::results::SIZES;
use bench_system::probe::host;
use bench_system::readable_numbers::{count, percent};

/// Runs what is left of the trials in boxes, where a campaign has any.
pub(super) fn carry_out(outer: &Stage<'_>) -> Result<()> {
    let Some(sizes) = &outer.plan.campaign.sizes else { return Ok(()) };
    let stage = outer.inside(SIZES, |_| Ok(part(&outer.plan, sizes)))?;
    let (truths, _running) = stage.truths()?;
    stage.note_ready_lines()?;
    let bench = stage.bench(&truths);
    let view = View::new();
    let mut observations = stage.folder.observations()?;
    let cells = cells(&outer.plan, sizes);
    let all = cells.len();
    for (place, cell) in cells.into_iter().enumerate() {
        while let Some(trial) = next(&cell, sizes, &observations) {
            let load =
                trial.rate.map_or("closed loop".to_owned(), |rate| format!("{:>8}/s", count(rate.into())));
            let head = format!("[{}/{all}] {:<40} {:<10} {load}", place + 1, trial.server, trial.workload);
            view.running.set_message(head.clone());
            let mut observation = bench.run(&trial)?;
            let is_held = judge(sizes, host::cores()).judgement(&observation).passed() == Some(true);
            bench.keep(&mut observation, |sample| {
                let is_enough = is_held || trial.rate.is_none();
                if is_enough {
                    sample.load.quantiles.clear();
                    sample.load.series.clear();
                    sample.resources.clear();
                }
                is_enough
            })?;
            view.line(&format!("{head}  {}", shown(sizes, &observation)));
            observations.push(observation);
        }
    }
    Ok(())
}

/// The plan of the trials, without a list of them: every server in every box.
pub(super) fn part(plan: &Plan, sizes: &Sizes) -> Plan {
    let in_boxes = |server| sizes.boxes.iter().map(move |of| Sizes::inside(server, of));
    let servers = plan.servers.iter().flat_map(in_boxes).collect();
    let campaign = Campaign { sizes: Some(sizes.clone()), ..plan.campaign.part(SIZES) };
    plan.part(servers, campaign)
}

/// All cells: the trials of each have a block, a server in a box and a request, and no load yet. They are run in this
/// order: boxes in a drawn order, and in each the servers in a drawn order.
fn cells(plan: &Plan, sizes: &Sizes) -> Vec<Trial> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(plan.campaign.seed);
    let mut cells = Vec::new();
    for block in 1..=plan.campaign.max_blocks {
        let in_boxes = |workload| sizes.boxes.iter().map(move |of| (workload, of));
        let mut places: Vec<(&String, &SizedBox)> =
            plan.campaign.workloads.iter().flat_map(in_boxes).collect();
        shuffle(&mut places, &mut random);
        for (workload, of) in places {
            let mut servers: Vec<&Server> = plan.servers.iter().collect();
            shuffle(&mut servers, &mut random);
            cells.extend(servers.into_iter().map(|server| {
                let (server, workload) = (Sizes::arm(&server.name, of), workload.clone());
                Trial { block, server, workload, tool: plan.campaign.tool, ..Trial::default() }
            }));
        }
    }
    cells
}

/// The trial of a cell that comes next; `None` where the cell is done.
fn next(cell: &Trial, sizes: &Sizes, observations: &[Observation]) -> Option<Trial> {
    let is_own = |observation: &&Observation| {
        let Trial { block, server, workload, .. } = &observation.trial;
        (*block, server, workload) == (cell.block, &cell.server, &cell.workload)
    };
    let rungs = Rungs::new(sizes, host::cores(), observations.iter().filter(is_own));
    let (rate, connections) = match rungs.next()? {
        BoxLoad::Rate(rate) => (Some(rate), sizes.connections),
        BoxLoad::Closed => (None, sizes.closed_connections),
    };
    Some(Trial { number: observations.len() as u32 + 1, connections, rate, ..cell.clone() })
}

/// What a trial showed, on one line.
fn shown(sizes: &Sizes, observation: &Observation) -> String {
    let Some(sample) = observation.outcome.sample() else {
        return observation.outcome.failure().unwrap_or_default();
    };
    let throttled = sample.limited.and_then(|limited| limited.throttled_share());
    let throttled =
        throttled.map_or_else(String::new, |share| format!(", throttled in {} of periods", percent(share)));
    let p99_ms = sample.load.latency_us.p99 / 1e3;
    if observation.trial.rate.is_none() {
        let rate = sample.load.succeeded as f64 / sample.load.time_taken_s;
        return format!("{}/s, p99 {p99_ms:.1} ms{throttled}", count(rate as u64));
    }
    let missed = judge(sizes, host::cores()).missed(observation);
    if missed.is_empty() {
        return format!("held, p99 {p99_ms:.1} ms{throttled}");
    }
    let missed: Vec<String> = missed.iter().map(ToString::to_string).collect();
    format!("NOT HELD: {}{throttled}", missed.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bench_model::config::ConfigDir;

    fn shipped() -> (Plan, Sizes) {
        let config = ConfigDir::of_repository();
        let (plan, _) = super::super::resolve(&config, "sizes").unwrap();
        let sizes = plan.campaign.sizes.clone().unwrap();
        (plan, sizes)
    }

    #[test]
    fn every_server_stands_in_every_box_with_limits_of_its_own() {
        let (plan, sizes) = shipped();
        assert!(plan.trials.is_empty(), "the run itself has no trials");
        let part = part(&plan, &sizes);
        assert!(part.trials.is_empty(), "which trials come follows from those before");
        assert_eq!(part.servers.len(), plan.servers.len() * sizes.boxes.len());
        for server in &part.servers {
            assert!(!part.environment_of(server).size().is_empty(), "{}", server.name);
            assert!(server.lacks(&part.environment_of(server)).is_none());
        }
    }

    #[test]
    fn the_servers_of_a_box_run_after_each_other_and_each_cell_once_a_block() {
        let (plan, sizes) = shipped();
        let cells = cells(&plan, &sizes);
        assert_eq!(cells.len(), plan.servers.len() * sizes.boxes.len() * plan.campaign.max_blocks as usize);
        for group in cells.chunks(plan.servers.len()) {
            let boxes: std::collections::HashSet<String> = group
                .iter()
                .map(|cell| {
                    let server =
                        plan.servers.iter().find(|server| cell.server.starts_with(&server.name)).unwrap();
                    cell.server.strip_prefix(&server.name).unwrap().to_owned()
                })
                .collect();
            assert_eq!(boxes.len(), 1, "{group:?}");
        }
        let (mut sorted, all) = (cells.clone(), cells.len());
        sorted.sort_by(|a, b| a.server.cmp(&b.server));
        sorted.dedup();
        assert_eq!(sorted.len(), all);
    }

    #[test]
    fn a_new_cell_begins_with_a_rate_of_the_campaign() {
        let (plan, sizes) = shipped();
        let cell = &cells(&plan, &sizes)[0];
        let trial = next(cell, &sizes, &[]).unwrap();
        assert_eq!((trial.rate, trial.connections), (Some(sizes.always[0]), sizes.connections));
    }
}
