//! Carrying a calibration out: first the handicaps are sized, then blocks are run until there are enough comparisons or
//! the time is up. It can be stopped and resumed at any trial.

mod series;

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::{Bench, Truths, begin_folder, begin_inside};
use bench_analysis::{Observed, log_ratios};
use bench_model::config::{Arm, Build, Calibration, ConfigDir, Server, Sizing};
use bench_model::figure::Figure;
use bench_model::load::toolchain::Tools;
use bench_model::plan::{self, CalibrationPlan, Plan};
use bench_model::results::{CALIBRATION, RATES_FOLDER, RunFolder, pretty};
use bench_stats::{hodges_lehmann, median};
use bench_system::interrupt::Interrupt;
use bench_system::probe::host;

pub use series::{CPU, RATES};

/// The server with a handicap from which the cost of a round is taken.
const SIZER: &str = "sizer";

/// Rounds of the sizer; a round takes one to a few nanoseconds, a request some ten thousand. Not much larger than what
/// is sized by it: a server that works twice as long for a request also meets its requests in other batches.
const SIZER_ROUNDS: u64 = 2_000;

/// Blocks after which the comparisons are counted again.
const COUNT_EVERY: u32 = 20;

/// When to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// Each series has its `full_comparisons` of the server with its twin.
    Comparisons,
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
    crate::subject::build(std::slice::from_ref(&server))?;
    let folder = RunFolder::create(results, "calibrate")?;
    bench_system::note!("results go to {}", folder.0.display());
    let plan = |calibration: &Calibration, others: &[Arm], blocks: u32| Plan {
        campaign: calibration.campaign(others.iter().map(|arm| arm.name.clone()).collect(), blocks),
        workloads: vec![workload.clone()],
        servers: std::iter::once(handicapped(&server, &server.name, 0))
            .chain(others.iter().map(|arm| handicapped(&server, &arm.name, arm.rounds)))
            .collect(),
        threads: calibration.environment.threads.unwrap_or_else(|| host::cores() as u32),
        ..Plan::default()
    };
    let sizer = Arm { name: SIZER.to_owned(), handicap: 0.0, rounds: SIZER_ROUNDS };
    let sizing_plan = plan(&calibration, &[sizer], calibration.sizing_blocks);
    let sizing = size(&folder, &sizing_plan, tools, command, interrupt)?;
    if let Some(rates) = &calibration.rates {
        let of_rates = calibration.of_rates(rates);
        let plan = plan(&of_rates, &of_rates.arms(&sizing), of_rates.max_blocks);
        begin_inside(&folder, RATES_FOLDER, &plan, tools, command)?;
    }
    let arms = calibration.arms(&sizing);
    begin_folder(&folder, &plan(&calibration, &arms, calibration.max_blocks), &text, tools, command)?;
    folder.write_new(CALIBRATION, &pretty(&CalibrationPlan { calibration, sizing, arms })?)?;
    Ok(folder)
}

/// The server as its handicap build: what is compared elsewhere has no handicap compiled in.
fn handicap_build(server: Server) -> Result<Server> {
    let lacks = || {
        let name = &server.name;
        let hint = "add the field handicap, or name another server in calibration.toml";
        format!("servers.toml, server {name}: has no handicap build, which a calibration needs; {hint}")
    };
    let Build { build, program } = server.handicap.clone().with_context(lacks)?;
    Ok(Server { build, program, ..server })
}

/// The server under a name, with as many extra rounds for each request, and one. All of them run the same code, the
/// base too: without any round a call leaves the handicap early, and would differ by more than the rounds.
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
    bench_system::note!("sizing the handicaps: {} trials", plan.campaign.max_blocks * 2);
    let plan = Plan { trials: plan::trials(&plan.campaign), ..plan.clone() };
    let inner = begin_inside(folder, "sizing", &plan, tools, command)?;
    let truths = Truths::of(&plan)?;
    let bench = Bench { folder: &inner, plan: &plan, tools, truths: &truths, interrupt };
    let observations = series::run(&bench, &plan.trials.iter().collect::<Vec<_>>())?;
    let observed = Observed::new(&observations);
    let campaign = &plan.campaign;
    let (server, workload) = (&campaign.servers[0], &campaign.workloads[0]);
    let (placement, connections) = (campaign.environment.placement, campaign.connections[0]);
    let samples = |pair| observed.samples_in(placement, pair, workload, connections);
    let [base, sizer] = [[server, SIZER], [SIZER, server]].map(samples);
    let failed = || {
        let reason = observations.iter().find_map(|observation| observation.outcome.failure());
        format!("the handicaps can't be sized: {}", reason.as_deref().unwrap_or("no trial was measured"))
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

/// Runs blocks until there is enough, each of the series that took the least time so far: so all meet the same minutes
/// of the machine, whatever a block of each takes. `only` names one of the series; all run where it is none.
///
/// # Errors
/// What ends the run, or what was begun by another version.
pub fn carry_out(
    folder: &RunFolder,
    tools: &Tools,
    until: Until,
    only: Option<&str>,
    interrupt: &Interrupt,
) -> Result<()> {
    let mut open = series::open(folder, only, tools, interrupt)?;
    let began = Instant::now();
    while let Some(least) = open.iter_mut().min_by(|a, b| a.spent_s.total_cmp(&b.spent_s)) {
        let block = least.run_block()?;
        let is_late = matches!(until, Until::Time(limit) if began.elapsed() >= limit);
        if !is_late && !block.is_multiple_of(COUNT_EVERY) {
            continue;
        }
        let (name, wanted, count) = (least.name, least.calibration.full_comparisons, least.finished());
        let minutes = began.elapsed().as_secs_f64() / 60.0;
        bench_system::note!(
            "{name}: block {block}, {count} comparisons with the twin are finished; {minutes:.0} min in all"
        );
        if is_late {
            break;
        }
        if until == Until::Comparisons && count >= wanted {
            open.retain(|series| series.name != name);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn every_arm_is_the_handicap_build() {
        let config = ConfigDir::of_repository();
        let (calibration, _) = config.calibration().unwrap();
        let plain = config.server(&calibration.server).unwrap();
        let build = handicap_build(plain.clone()).unwrap();
        assert_ne!((&build.program, &build.build), (&plain.program, &plain.build));
        assert!(build.build.contains(&"handicap".to_owned()), "{:?}", build.build);
        for (name, rounds) in [(plain.name.as_str(), "1"), ("twin", "1")] {
            let arm = handicapped(&build, name, 0);
            assert_eq!((&arm.program, arm.args.last().map(String::as_str)), (&build.program, Some(rounds)));
        }
        let error = handicap_build(config.server("control").unwrap()).unwrap_err().to_string();
        assert!(error.contains("control") && error.contains("field handicap"), "{error}");
    }
}
