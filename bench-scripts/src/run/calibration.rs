//! Carrying a calibration out: first the handicaps are sized, then blocks are run until there are enough comparisons or the
//! time is up. It can be stopped and resumed at any trial.

use std::collections::HashSet;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::{Bench, Truths, begin_folder, note_ready_lines};
use crate::analysis::calibration::finished;
use crate::analysis::{Observed, log_ratios};
use crate::config::{Arm, Build, Calibration, ConfigDir, Server, Sizing};
use crate::figure::Figure;
use crate::interrupt::Interrupt;
use crate::load::toolchain::Tools;
use crate::observation::{Observation, Outcome};
use crate::plan::{self, Trial};
use crate::plan::{CalibrationPlan, Plan};
use crate::probe::host;
use crate::results::{CALIBRATION, RunFolder, pretty};
use crate::stats::{hodges_lehmann, median};

/// The server again, under another name.
const TWIN: &str = "twin";

/// The server with a handicap from which the cost of a round is taken.
const SIZER: &str = "sizer";

/// Rounds of the sizer; a round takes one to a few nanoseconds, a request some ten thousand. Not much larger than what is sized by
/// it: a server that works twice as long for a request also meets its requests in other batches.
const SIZER_ROUNDS: u64 = 2_000;

/// Blocks after which the comparisons are counted again.
const COUNT_EVERY: u32 = 20;

/// When to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// This number of comparisons of the server with its twin is finished.
    Comparisons(u32),
    /// This time has passed.
    Time(Duration),
}

/// Starts a calibration: its folder, the sizes of the handicaps, its plan.
pub fn begin(
    config: &ConfigDir,
    results: &Path,
    tools: &Tools,
    command: &str,
    interrupt: &Interrupt,
) -> Result<RunFolder> {
    let (calibration, text) = config.calibration()?;
    let server = handicap_build(config.server(&calibration.server)?)?;
    let workload = config.workload(&calibration.workload)?;
    workload.body().context("calibration.toml, field workload")?;
    super::build_servers(std::slice::from_ref(&server))?;
    let folder = RunFolder::create(results, "calibrate")?;
    eprintln!("results go to {}", folder.0.display());
    let plan = |others: &[(&str, u64)], blocks: u32| Plan {
        campaign: calibration.campaign(others.iter().map(|(name, _)| (*name).to_owned()).collect(), blocks),
        workloads: vec![workload.clone()],
        servers: std::iter::once(handicapped(&server, &server.name, 0))
            .chain(others.iter().map(|(name, rounds)| handicapped(&server, name, *rounds)))
            .collect(),
        threads: calibration.environment.threads.unwrap_or_else(|| host::cores() as u32),
        ..Plan::default()
    };
    let sizing_plan = plan(&[(SIZER, SIZER_ROUNDS)], calibration.sizing_blocks);
    let sizing = size(&folder, &sizing_plan, tools, command, interrupt)?;
    let arms = arms(&calibration, &sizing);
    let others: Vec<(&str, u64)> = arms.iter().map(|arm| (arm.name.as_str(), arm.rounds)).collect();
    begin_folder(&folder, &plan(&others, calibration.max_blocks), &text, tools, command)?;
    folder.write_new(CALIBRATION, &pretty(&CalibrationPlan { calibration, sizing, arms })?)?;
    Ok(folder)
}

/// The server as its handicap build: what is compared elsewhere has no handicap compiled in.
fn handicap_build(server: Server) -> Result<Server> {
    let Some(Build { build, program }) = server.handicap.clone() else {
        bail!(
            "servers.toml, server {}: has no handicap build, which a calibration needs; add the field handicap, or name \
             another server in calibration.toml",
            server.name
        );
    };
    Ok(Server { build, program, ..server })
}

/// The server under a name, with as many extra rounds for each request, and one. All of them run the same code, the base
/// too: without any round a call leaves the handicap early, and would differ by more than the rounds.
fn handicapped(server: &Server, name: &str, rounds: u64) -> Server {
    // Only its name distinguishes it from the base.
    let mut twin = Server { name: name.to_owned(), label: None, colour: None, ..server.clone() };
    twin.args.extend(["--handicap-rounds".to_owned(), (rounds + 1).to_string()]);
    twin
}

/// Runs the trials that show what a round costs, in a folder of their own.
fn size(
    folder: &RunFolder,
    plan: &Plan,
    tools: &Tools,
    command: &str,
    interrupt: &Interrupt,
) -> Result<Sizing> {
    eprintln!("sizing the handicaps: {} trials", plan.campaign.max_blocks * 2);
    let inner = RunFolder::create_inside(folder, "sizing")?;
    let plan = Plan { trials: plan::trials(&plan.campaign), ..plan.clone() };
    begin_folder(&inner, &plan, "", tools, command)?;
    let truths = Truths::of(&plan)?;
    let bench = Bench { folder: &inner, plan: &plan, tools, truths: &truths, interrupt };
    let mut observations = Vec::new();
    run(&bench, &plan.trials.iter().collect::<Vec<_>>(), &mut observations)?;
    let observed = Observed::new(&observations);
    let campaign = &plan.campaign;
    let (workload, connections) = (&campaign.workloads[0], campaign.connections[0]);
    let placement = campaign.environment.placement;
    let samples =
        |name: &str, other: &str| observed.samples_in(placement, [name, other], workload, connections);
    let server = &campaign.servers[0];
    let (base, sizer) = (samples(server, SIZER), samples(SIZER, server));
    let failed = || {
        let reason = observations.iter().find_map(|observation| observation.outcome.failure());
        format!(
            "the handicaps can't be sized: {}",
            reason.unwrap_or_else(|| "no trial was measured".to_owned())
        )
    };
    let base_us: Vec<f64> =
        base.values().filter_map(|sample| sample.figure(Figure::CpuUsPerRequest)).collect();
    let base_cpu_us = median(&base_us).with_context(failed)?;
    let ratios: Vec<f64> = log_ratios(Figure::CpuUsPerRequest, &sizer, &base).into_values().collect();
    let ratio = hodges_lehmann(&ratios).with_context(failed)?;
    let round_ns = ratio.map(|log_ratio| log_ratio.exp_m1() * base_cpu_us.value * 1e3 / SIZER_ROUNDS as f64);
    ensure!(
        round_ns.value > 0.0,
        "the handicaps can't be sized: {SIZER_ROUNDS} rounds did not show; the machine is too busy, try again"
    );
    Ok(Sizing { base_cpu_us, round_ns })
}

fn arms(calibration: &Calibration, sizing: &Sizing) -> Vec<Arm> {
    let twin = Arm { name: TWIN.to_owned(), handicap: 0.0, rounds: 0 };
    let handicapped = calibration.handicaps.iter().map(|handicap| Arm {
        name: format!("plus-{}", handicap.to_string().replace('%', "").replace('.', "-")),
        handicap: handicap.0,
        rounds: (handicap.0 * sizing.base_cpu_us.value * 1e3 / sizing.round_ns.value).round() as u64,
    });
    std::iter::once(twin).chain(handicapped).collect()
}

/// The two trials of a block, in an order drawn from the seed and the block's number: the base, and its twin or, once in
/// `handicap_every` blocks, one of the handicapped servers, each in its turn.
fn block_trials(calibration: &Calibration, arms: &[Arm], block: u32) -> [Trial; 2] {
    let (twins, handicapped): (Vec<&Arm>, Vec<&Arm>) = arms.iter().partition(|arm| arm.handicap == 0.0);
    let turn = block / calibration.handicap_every;
    let in_turn = if block.is_multiple_of(calibration.handicap_every) { &handicapped } else { &twins };
    let other = &in_turn[turn as usize % in_turn.len()].name;
    let mut servers = [&calibration.server, other];
    let mut random = Xoshiro256PlusPlus::seed_from_u64(calibration.seed.wrapping_add(u64::from(block)));
    plan::shuffle(&mut servers, &mut random);
    let mut number = (block - 1) * 2;
    servers.map(|server| {
        number += 1;
        Trial {
            number,
            block,
            server: server.clone(),
            workload: calibration.workload.clone(),
            connections: calibration.connections,
            ..Trial::default()
        }
    })
}

/// Runs blocks until there is enough.
pub fn carry_out(folder: &RunFolder, tools: &Tools, until: Until, interrupt: &Interrupt) -> Result<()> {
    let plan = folder.plan()?;
    let CalibrationPlan { calibration, arms, .. } = folder.calibration()?;
    let truths = Truths::of(&plan)?;
    note_ready_lines(folder, &plan, interrupt)?;
    let bench = Bench { folder, plan: &plan, tools, truths: &truths, interrupt };
    let mut observations = folder.observations()?;
    let done = done(&calibration, &arms, &observations)?;
    let twin = arms.first().context("calibration.json names no servers to compare")?;
    let began = Instant::now();
    for block in 1.. {
        let trials = block_trials(&calibration, &arms, block);
        let left: Vec<&Trial> = trials.iter().filter(|trial| !done.contains(&trial.number)).collect();
        if left.is_empty() {
            continue;
        }
        run(&bench, &left, &mut observations)?;
        let enough = match until {
            Until::Time(limit) => began.elapsed() >= limit,
            Until::Comparisons(_) => false,
        };
        if !enough && !block.is_multiple_of(COUNT_EVERY) {
            continue;
        }
        let count = finished(&calibration, twin, &observations);
        let minutes = began.elapsed().as_secs_f64() / 60.0;
        eprintln!("block {block}: {count} comparisons with the twin are finished, {minutes:.0} min");
        if enough || matches!(until, Until::Comparisons(wanted) if count >= wanted) {
            break;
        }
    }
    Ok(())
}

/// The trials that have an observation, by number.
fn done(calibration: &Calibration, arms: &[Arm], observations: &[Observation]) -> Result<HashSet<u32>> {
    let planned = |trial: &Trial| block_trials(calibration, arms, trial.block).contains(trial);
    let strange = observations.iter().find(|observation| !planned(&observation.trial));
    ensure!(
        strange.is_none(),
        "this calibration was begun by a version that runs other trials: resume it with that version, or begin anew"
    );
    Ok(observations.iter().map(|observation| observation.trial.number).collect())
}

/// Runs trials and keeps their figures. Thousands of trials' raw output would fill the folder, so it is kept only where a
/// trial failed; so are quantile functions and series over time.
fn run(bench: &Bench<'_>, trials: &[&Trial], observations: &mut Vec<Observation>) -> Result<()> {
    for group in bench.groups(trials) {
        for mut observation in bench.run_group(group)? {
            if let Outcome::Completed(sample) = &mut observation.outcome {
                sample.load.quantiles.clear();
                sample.resources.clear();
                sample.threads.clear();
                bench.folder.forget_tool_output(&observation.trial)?;
            }
            bench.folder.append(&observation)?;
            observations.push(observation);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::stats::Estimate;

    #[test]
    fn trials_are_numbered_and_their_order_is_drawn() {
        let config = ConfigDir(PathBuf::from(env!("CARGO_MANIFEST_DIR")));
        let (calibration, _) = config.calibration().unwrap();
        let estimate = |value| Estimate { value, interval: None };
        let sizing = Sizing { base_cpu_us: estimate(8.0), round_ns: estimate(1.0) };
        let arms = arms(&calibration, &sizing);
        assert_eq!(arms.iter().map(|arm| arm.rounds).collect::<Vec<_>>(), [0, 80, 160, 240, 400, 800]);
        let trials: Vec<Trial> =
            (1..=300).flat_map(|block| block_trials(&calibration, &arms, block)).collect();
        let numbers: Vec<u32> = trials.iter().map(|trial| trial.number).collect();
        assert_eq!(numbers, (1..=trials.len() as u32).collect::<Vec<_>>());
        let with = |name: &str| trials.iter().filter(|trial| trial.server == name).count();
        let handicapped = 300 / calibration.handicap_every as usize;
        assert_eq!((with("actix"), with("twin")), (300, 300 - handicapped));
        for arm in arms.iter().filter(|arm| arm.handicap > 0.0) {
            assert_eq!(with(&arm.name), handicapped / 5, "each in its turn");
        }
        let first = |block: &u32| block_trials(&calibration, &arms, *block)[0].server == "actix";
        let base_first = (1..=300).filter(first).count();
        assert!((120..180).contains(&base_first), "{base_first}");
    }

    #[test]
    fn every_arm_is_the_handicap_build() {
        let config = ConfigDir(PathBuf::from(env!("CARGO_MANIFEST_DIR")));
        let (calibration, _) = config.calibration().unwrap();
        let plain = config.server(&calibration.server).unwrap();
        let build = handicap_build(plain.clone()).unwrap();
        assert_ne!((&build.program, &build.build), (&plain.program, &plain.build));
        assert!(build.build.contains(&"handicap".to_owned()), "{:?}", build.build);
        for (name, rounds) in [(plain.name.as_str(), "1"), (TWIN, "1")] {
            let arm = handicapped(&build, name, 0);
            assert_eq!((&arm.program, arm.args.last().map(String::as_str)), (&build.program, Some(rounds)));
        }
        let error = handicap_build(config.server("control").unwrap()).unwrap_err().to_string();
        assert!(error.contains("control") && error.contains("field handicap"), "{error}");
    }

    #[test]
    fn what_another_version_ran_is_not_resumed() {
        let config = ConfigDir(PathBuf::from(env!("CARGO_MANIFEST_DIR")));
        let (calibration, _) = config.calibration().unwrap();
        let estimate = Estimate { value: 1.0, interval: None };
        let arms = arms(&calibration, &Sizing { base_cpu_us: estimate, round_ns: estimate });
        let observed = |trial: &Trial| Observation {
            trial: trial.clone(),
            started_at: String::new(),
            took_s: 0.0,
            outcome: Outcome::ToolFailed { reason: String::new() },
        };
        let trials = block_trials(&calibration, &arms, 3);
        let mut observations: Vec<Observation> = trials.iter().map(observed).collect();
        assert_eq!(done(&calibration, &arms, &observations).unwrap(), HashSet::from([5, 6]));
        observations[1].trial.server = "plus-5".to_owned();
        assert!(done(&calibration, &arms, &observations).unwrap_err().to_string().contains("version"));
    }
}
