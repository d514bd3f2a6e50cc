//! What a calibration runs in turns: comparisons of CPU time in duets, and each way of measuring rates. Each is a series of
//! blocks in a folder of its own.

use std::collections::HashSet;

use anyhow::{Result, ensure};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::super::{Bench, Truths, note_ready_lines};
use crate::analysis::calibration::finished;
use crate::config::{Arm, Calibration, Placement};
use crate::figure::Figure;
use crate::interrupt::Interrupt;
use crate::load::toolchain::Tools;
use crate::observation::{Observation, Outcome};
use crate::plan::{self, CalibrationPlan, Plan, Trial};
use crate::results::RunFolder;

/// What `--only` calls the comparisons of CPU time.
pub const CPU: &str = "cpu";

/// How a block is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// The base, and its twin or, once in `handicap_every` blocks, one of the handicapped servers, each in its turn.
    Pairs,
    /// The base and all that it is compared with, each with this number of windows.
    All {
        /// Windows of each server.
        windows: u32,
    },
}

/// A series of blocks.
pub struct Series {
    /// What `--only` calls it.
    pub name: String,
    /// Its plan, as if it were a calibration by itself.
    pub calibration: Calibration,
    arms: Vec<Arm>,
    layout: Layout,
    folder: RunFolder,
    plan: Plan,
    truths: Truths,
    observations: Vec<Observation>,
    done: HashSet<u32>,
    block: u32,
    /// Time that its trials took so far, in seconds.
    pub spent_s: f64,
}

/// The series of a calibration that was begun, those of `only` or all of them.
///
/// # Errors
/// A folder can't be read, or was begun by another version.
pub fn open(folder: &RunFolder, only: &[String], interrupt: &Interrupt) -> Result<Vec<Series>> {
    let CalibrationPlan { calibration, sizing, arms } = folder.calibration()?;
    let is_wanted = |name: &str| only.is_empty() || only.iter().any(|wanted| wanted == name);
    let mut series = Vec::new();
    if is_wanted(CPU) {
        let calibration = Calibration { rates: None, ..calibration.clone() };
        series.push(Series::open(CPU, folder.clone(), calibration, arms, Layout::Pairs, interrupt)?);
    }
    for (rates, way) in calibration.ways().filter(|(_, way)| is_wanted(&way.name)) {
        let by_way = calibration.by_way(rates, way);
        let (arms, layout) = (by_way.arms(&sizing), Layout::All { windows: way.windows });
        let inner = RunFolder::open(&folder.0.join(way.folder()))?;
        inner.repair()?;
        series.push(Series::open(&way.name, inner, by_way, arms, layout, interrupt)?);
    }
    Ok(series)
}

/// Whether each name is one of a series of this calibration.
///
/// # Errors
/// One line with the names that there are.
pub fn check_names(calibration: &Calibration, only: &[String]) -> Result<()> {
    let ways = calibration.ways().map(|(_, way)| way.name.as_str());
    let known: Vec<&str> = std::iter::once(CPU).chain(ways).collect();
    let unknown = only.iter().find(|name| !known.contains(&name.as_str()));
    ensure!(
        unknown.is_none(),
        "--only {}: the calibration has no such part; choose from: {}",
        unknown.map_or("", String::as_str),
        known.join(", ")
    );
    Ok(())
}

impl Series {
    fn open(
        name: &str,
        folder: RunFolder,
        calibration: Calibration,
        arms: Vec<Arm>,
        layout: Layout,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        let plan = folder.plan()?;
        note_ready_lines(&folder, &plan, interrupt)?;
        let truths = Truths::of(&plan)?;
        let observations = folder.observations()?;
        let done = done(&calibration, &arms, layout, &observations)?;
        let spent_s = observations.iter().map(|observation| spent_s(&calibration, observation)).sum();
        let name = name.to_owned();
        Ok(Self {
            name,
            calibration,
            arms,
            layout,
            folder,
            plan,
            truths,
            observations,
            done,
            block: 0,
            spent_s,
        })
    }

    /// Runs the next block that is not done, and gives its number.
    ///
    /// # Errors
    /// What ends the run.
    pub fn run_block(&mut self, tools: &Tools, interrupt: &Interrupt) -> Result<u32> {
        loop {
            self.block += 1;
            let trials = block_trials(&self.calibration, &self.arms, self.layout, self.block);
            let left: Vec<&Trial> =
                trials.iter().filter(|trial| !self.done.contains(&trial.number)).collect();
            if left.is_empty() {
                continue;
            }
            let Self { folder, plan, truths, .. } = &*self;
            let bench = Bench { folder, plan, tools, truths, interrupt };
            let is_whole = left.len() == trials.len();
            let observations = match self.layout {
                Layout::All { windows: 2.. } if is_whole => keep(&bench, bench.run_live(&left)?)?,
                Layout::All { windows: 2.. } => {
                    keep(&bench, left.iter().map(|trial| cut_off(trial)).collect())?
                }
                Layout::Pairs | Layout::All { .. } => run(&bench, &left)?,
            };
            self.spent_s +=
                observations.iter().map(|observation| spent_s(&self.calibration, observation)).sum::<f64>();
            self.observations.extend(observations);
            return Ok(self.block);
        }
    }

    /// Comparisons of the server with its twin that are finished.
    pub fn finished(&self) -> u32 {
        let (figure, windows) = match self.layout {
            Layout::Pairs => (Figure::CpuUsPerRequest, 1),
            Layout::All { windows } => (Figure::RequestsPerSecond, windows),
        };
        let twin = self.arms.first();
        twin.map_or(0, |twin| finished(&self.calibration, figure, windows, twin, &self.observations))
    }
}

/// The trials of a block, in an order drawn from the seed and the block's number. Each window of a live server is a trial of a block
/// of its own, so that the windows of block b are the blocks from (b - 1) * windows + 1 on. They take turns in the drawn order and
/// in its reverse: what drifts evenly through a block then moves all of its servers alike.
pub fn block_trials(calibration: &Calibration, arms: &[Arm], layout: Layout, block: u32) -> Vec<Trial> {
    let (twins, handicapped): (Vec<&Arm>, Vec<&Arm>) = arms.iter().partition(|arm| arm.handicap == 0.0);
    let turn = block / calibration.handicap_every;
    let in_turn = if block.is_multiple_of(calibration.handicap_every) { &handicapped } else { &twins };
    let (others, windows) = match layout {
        Layout::Pairs => (vec![in_turn[turn as usize % in_turn.len()]], 1),
        Layout::All { windows } => (arms.iter().collect(), windows),
    };
    let mut servers = vec![&calibration.server];
    servers.extend(others.into_iter().map(|arm| &arm.name));
    let mut random = Xoshiro256PlusPlus::seed_from_u64(calibration.seed.wrapping_add(u64::from(block)));
    plan::shuffle(&mut servers, &mut random);
    let mut trials = Vec::new();
    let before = (block - 1) * windows;
    for window in 1..=windows {
        for server in &servers {
            trials.push(Trial {
                number: before * servers.len() as u32 + trials.len() as u32 + 1,
                block: before + window,
                server: (*server).clone(),
                workload: calibration.workload.clone(),
                connections: calibration.connections,
                ..Trial::default()
            });
        }
        servers.reverse();
    }
    trials
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
    let windows = if let Layout::All { windows } = layout { windows } else { 1 };
    let planned = |trial: &Trial| {
        let block = trial.block.max(1).div_ceil(windows);
        block_trials(calibration, arms, layout, block).contains(trial)
    };
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

/// A window of live servers whose others were kept, when the run was cut off: its servers are gone.
fn cut_off(trial: &Trial) -> Observation {
    let reason = "the run was cut off when other windows of the block had been kept".to_owned();
    let outcome = Outcome::Invalid { reason };
    Observation { trial: trial.clone(), started_at: super::super::now(), took_s: 0.0, outcome }
}

/// Runs trials and keeps their figures.
pub fn run(bench: &Bench<'_>, trials: &[&Trial]) -> Result<Vec<Observation>> {
    let mut observations = Vec::new();
    for group in bench.groups(trials) {
        observations.extend(keep(bench, bench.run_group(group)?)?);
    }
    Ok(observations)
}

/// Keeps observations. Thousands of trials' raw output would fill the folder, so it is kept only where a trial failed; so are
/// quantile functions and series over time.
fn keep(bench: &Bench<'_>, mut observations: Vec<Observation>) -> Result<Vec<Observation>> {
    for observation in &mut observations {
        if let Outcome::Completed(sample) = &mut observation.outcome {
            sample.load.quantiles.clear();
            sample.resources.clear();
            sample.threads.clear();
            bench.folder.forget_tool_output(&observation.trial)?;
        }
        bench.folder.append(observation)?;
    }
    Ok(observations)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::config::{ConfigDir, Rates, Sizing};
    use crate::stats::Estimate;

    fn shipped() -> (Calibration, Rates, Sizing) {
        let (calibration, _) = ConfigDir(PathBuf::from(env!("CARGO_MANIFEST_DIR"))).calibration().unwrap();
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
    fn windows_of_live_servers_run_forwards_and_backwards() {
        let (calibration, rates, sizing) = shipped();
        let way = rates.ways.iter().find(|way| way.windows > 1).unwrap();
        let by_way = calibration.by_way(&rates, way);
        let arms = by_way.arms(&sizing);
        let layout = Layout::All { windows: way.windows };
        let mut numbers = Vec::new();
        for block in 1..=20 {
            let trials = block_trials(&by_way, &arms, layout, block);
            let names: Vec<&str> = trials.iter().map(|trial| trial.server.as_str()).collect();
            let servers = arms.len() + 1;
            assert_eq!(names.len(), servers * way.windows as usize);
            let backwards: Vec<&str> = names.iter().rev().copied().collect();
            assert_eq!(names, backwards, "A B C C B A");
            for (window, of_window) in (1..).zip(trials.chunks(servers)) {
                let is_in = |trial: &Trial| trial.block == (block - 1) * way.windows + window;
                assert!(of_window.iter().all(is_in));
                let distinct: HashSet<&str> = of_window.iter().map(|trial| trial.server.as_str()).collect();
                assert_eq!(distinct.len(), servers, "each once");
            }
            numbers.extend(trials.iter().map(|trial| trial.number));
        }
        assert_eq!(numbers, (1..=numbers.len() as u32).collect::<Vec<_>>());
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

        let by_way = calibration.by_way(&rates, &rates.ways[0]);
        let (arms, layout) = (by_way.arms(&sizing), Layout::All { windows: 4 });
        let second: Vec<Observation> = block_trials(&by_way, &arms, layout, 2).iter().map(observed).collect();
        assert_eq!(done(&by_way, &arms, layout, &second).unwrap().len(), 16);
    }

    #[test]
    fn an_unknown_part_is_named_with_those_there_are() {
        let (calibration, ..) = shipped();
        check_names(&calibration, &["cpu".to_owned(), "live".to_owned()]).unwrap();
        let error = check_names(&calibration, &["lives".to_owned()]).unwrap_err().to_string();
        assert!(error.contains("--only lives") && error.contains("cpu, fresh, long, live"), "{error}");
    }
}
