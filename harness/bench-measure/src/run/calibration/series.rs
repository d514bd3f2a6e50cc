//! What a calibration runs in turns: comparisons of CPU time in duets, and of rates. Each is a series of blocks in a
//! folder of its own.

use std::collections::HashSet;

use anyhow::{Result, ensure};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use crate::run::stage::Stage;
use crate::run::{Bench, Truths};
use bench_analysis::calibration::finished;
use bench_model::config::{Arm, Calibration, Placement};
use bench_model::figure::Figure;
use bench_model::load::toolchain::Tools;
use bench_model::observation::Observation;
use bench_model::plan::{self, CalibrationPlan, Trial};
use bench_model::results::{RATES_FOLDER, RunFolder};
use bench_system::interrupt::Interrupt;

/// What `--only` calls the comparisons of CPU time.
pub const CPU: &str = "cpu";

/// What it calls those of rates.
pub const RATES: &str = "rates";

/// How a block is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// The base, and its twin or, once in `handicap_every` blocks, one of the handicapped servers, each in its turn.
    Pairs,
    /// The base and all that it is compared with.
    All,
}

/// A series of blocks.
pub struct Series<'a> {
    /// What `--only` calls it.
    pub name: &'static str,
    /// Its plan, as if it were a calibration by itself.
    pub calibration: Calibration,
    arms: Vec<Arm>,
    layout: Layout,
    stage: Stage<'a>,
    truths: Truths,
    observations: Vec<Observation>,
    done: HashSet<u32>,
    block: u32,
    /// Time that its trials took so far, in seconds.
    pub spent_s: f64,
}

/// The series of a calibration that was begun: the one that `only` names, or all of them.
///
/// # Errors
/// A folder can't be read, or was begun by another version.
pub fn open<'a>(
    folder: &RunFolder,
    only: Option<&str>,
    tools: &'a Tools,
    interrupt: &'a Interrupt,
) -> Result<Vec<Series<'a>>> {
    let CalibrationPlan { calibration, sizing, arms } = folder.calibration()?;
    let is_wanted = |name: &str| only.is_none_or(|wanted| wanted == name);
    let mut series = Vec::new();
    if is_wanted(CPU) {
        let calibration = Calibration { rates: None, ..calibration.clone() };
        let stage = Stage::open(folder.clone(), tools, interrupt)?;
        series.push(Series::open(CPU, stage, calibration, arms, Layout::Pairs)?);
    }
    if let Some(rates) = calibration.rates.as_ref().filter(|_| is_wanted(RATES)) {
        let of_rates = calibration.of_rates(rates);
        let arms = of_rates.arms(&sizing);
        let inner = RunFolder::open(&folder.0.join(RATES_FOLDER))?;
        inner.repair()?;
        let stage = Stage::open(inner, tools, interrupt)?;
        series.push(Series::open(RATES, stage, of_rates, arms, Layout::All)?);
    }
    Ok(series)
}

impl<'a> Series<'a> {
    fn open(
        name: &'static str,
        stage: Stage<'a>,
        calibration: Calibration,
        arms: Vec<Arm>,
        layout: Layout,
    ) -> Result<Self> {
        stage.note_ready_lines()?;
        let truths = Truths::of(&stage.plan)?;
        let observations = stage.folder.observations()?;
        let done = done(&calibration, &arms, layout, &observations)?;
        let spent_s = observations.iter().map(|observation| spent_s(&calibration, observation)).sum();
        let block = 0;
        Ok(Self { name, calibration, arms, layout, stage, truths, observations, done, block, spent_s })
    }

    /// Runs the next block that is not done, and gives its number.
    ///
    /// # Errors
    /// What ends the run.
    pub fn run_block(&mut self) -> Result<u32> {
        loop {
            self.block += 1;
            let Self { stage, truths, calibration, arms, layout, done, .. } = &*self;
            let trials = block_trials(calibration, arms, *layout, self.block);
            let left: Vec<&Trial> = trials.iter().filter(|trial| !done.contains(&trial.number)).collect();
            if left.is_empty() {
                continue;
            }
            let observations = run(&stage.bench(truths), &left)?;
            self.spent_s +=
                observations.iter().map(|observation| spent_s(calibration, observation)).sum::<f64>();
            self.observations.extend(observations);
            return Ok(self.block);
        }
    }

    /// Comparisons of the server with its twin that are finished.
    pub fn finished(&self) -> u32 {
        let figure = match self.layout {
            Layout::Pairs => Figure::CpuUsPerRequest,
            Layout::All => Figure::RequestsPerSecond,
        };
        let twin = self.arms.first();
        twin.map_or(0, |twin| finished(&self.calibration, figure, twin, &self.observations))
    }
}

/// The trials of a block, in an order drawn from the seed and the block's number.
pub fn block_trials(calibration: &Calibration, arms: &[Arm], layout: Layout, block: u32) -> Vec<Trial> {
    let (twins, handicapped): (Vec<&Arm>, Vec<&Arm>) = arms.iter().partition(|arm| arm.handicap == 0.0);
    let turn = block / calibration.handicap_every;
    let in_turn = if block.is_multiple_of(calibration.handicap_every) { &handicapped } else { &twins };
    let others = match layout {
        Layout::Pairs => vec![in_turn[turn as usize % in_turn.len()]],
        Layout::All => arms.iter().collect(),
    };
    let others = others.into_iter().map(|arm| &arm.name);
    let mut servers: Vec<&String> = std::iter::once(&calibration.server).chain(others).collect();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(calibration.seed.wrapping_add(u64::from(block)));
    plan::shuffle(&mut servers, &mut random);
    let before = (block - 1) * servers.len() as u32;
    let trial = |(number, server): (u32, &String)| Trial {
        number,
        block,
        server: server.clone(),
        workload: calibration.workload.clone(),
        connections: calibration.connections,
        ..Trial::default()
    };
    (before + 1..).zip(servers).map(trial).collect()
}

/// The trials that have an observation, by number.
///
/// # Errors
/// There are others than this version would run.
pub fn done(
    calibration: &Calibration,
    arms: &[Arm],
    layout: Layout,
    observations: &[Observation],
) -> Result<HashSet<u32>> {
    let planned = |trial: &Trial| block_trials(calibration, arms, layout, trial.block.max(1)).contains(trial);
    let strange = observations.iter().find(|observation| !planned(&observation.trial));
    ensure!(
        strange.is_none(),
        "this calibration was begun by a version that runs other trials: resume it with that version, or begin anew"
    );
    Ok(observations.iter().map(|observation| observation.trial.number).collect())
}

/// The time that a trial took of the calibration's: the two of a duet run at the same time.
fn spent_s(calibration: &Calibration, observation: &Observation) -> f64 {
    let is_duet = calibration.environment.placement == Placement::Duet;
    observation.took_s / if is_duet { 2.0 } else { 1.0 }
}

/// Runs trials and keeps their figures. Thousands of trials' raw output would fill the folder, so it is kept only where
/// a trial failed; so are quantile functions and series over time.
pub fn run(bench: &Bench<'_>, trials: &[&Trial]) -> Result<Vec<Observation>> {
    let mut observations = Vec::new();
    for group in bench.groups(trials) {
        for mut observation in bench.run_group(group)? {
            bench.keep(&mut observation, |sample| {
                sample.load.quantiles.clear();
                sample.resources.clear();
                sample.threads.clear();
                true
            })?;
            observations.push(observation);
        }
    }
    Ok(observations)
}

#[cfg(test)]
mod tests {

    use super::*;
    use bench_model::config::{ConfigDir, Rates, Sizing};
    use bench_model::observation::Outcome;
    use bench_stats::Estimate;

    fn shipped() -> (Calibration, Rates, Sizing) {
        let (calibration, _) = ConfigDir::of_repository().calibration().unwrap();
        let rates = calibration.rates.clone().unwrap();
        let estimate = |value| Estimate { value, interval: None };
        (calibration, rates, Sizing { base_cpu_us: estimate(8.0), round_ns: estimate(1.0) })
    }

    #[test]
    fn trials_are_numbered_and_their_order_is_drawn() {
        let (calibration, _, sizing) = shipped();
        let arms = calibration.arms(&sizing);
        assert_eq!(arms.iter().map(|arm| arm.rounds).collect::<Vec<_>>(), [0, 80, 160, 240, 400, 800]);
        let block = |block| block_trials(&calibration, &arms, Layout::Pairs, block);
        let trials: Vec<Trial> = (1..=300).flat_map(block).collect();
        let numbers: Vec<u32> = trials.iter().map(|trial| trial.number).collect();
        assert_eq!(numbers, (1..=trials.len() as u32).collect::<Vec<_>>());
        let with = |name: &str| trials.iter().filter(|trial| trial.server == name).count();
        let handicapped = 300 / calibration.handicap_every as usize;
        assert_eq!((with("actix"), with("twin")), (300, 300 - handicapped));
        for arm in arms.iter().filter(|arm| arm.handicap > 0.0) {
            assert_eq!(with(&arm.name), handicapped / 5, "each in its turn");
        }
        let base_first = (1..=300).filter(|number| block(*number)[0].server == "actix").count();
        assert!((120..180).contains(&base_first), "{base_first}");
    }

    #[test]
    fn what_another_version_ran_is_not_resumed() {
        let (calibration, rates, sizing) = shipped();
        let arms = calibration.arms(&sizing);
        let observed = |trial: &Trial| Observation {
            trial: trial.clone(),
            started_at: String::new(),
            took_s: 0.0,
            outcome: Outcome::ToolFailed { reason: String::new() },
        };
        let mut observations: Vec<Observation> =
            block_trials(&calibration, &arms, Layout::Pairs, 3).iter().map(observed).collect();
        let again = |observations: &[Observation]| done(&calibration, &arms, Layout::Pairs, observations);
        assert_eq!(again(&observations).unwrap(), HashSet::from([5, 6]));
        observations[1].trial.server = "plus-5".to_owned();
        assert!(again(&observations).unwrap_err().to_string().contains("version"));

        let of_rates = calibration.of_rates(&rates);
        let arms = of_rates.arms(&sizing);
        let second: Vec<Observation> =
            block_trials(&of_rates, &arms, Layout::All, 2).iter().map(observed).collect();
        assert_eq!(done(&of_rates, &arms, Layout::All, &second).unwrap(), (5..=8).collect());
    }
}
