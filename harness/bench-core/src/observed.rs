//! Observations by server, workload and load, and which of them count.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::figure::Figure;
use crate::load::Level;
use crate::machine::ForeignCpu;
use crate::machine::MUCH_STEAL;
use crate::observation::{Observation, Outcome, Sample};
use crate::stats::{Estimate, median};

/// Samples of one cell by block; only [`valid`] ones, but where a function's name says otherwise.
pub type Samples<'a> = BTreeMap<u32, &'a Sample>;

/// A figure of one cell by block.
pub(super) type ByBlock = BTreeMap<u32, f64>;

/// Server, the server that runs at the same time in a duet, workload, load.
pub(super) type Place<'a> = (&'a str, Option<&'a str>, &'a str, Level);

/// The observations of a run.
#[derive(Debug, Default)]
pub struct Observed<'a> {
    cells: BTreeMap<Place<'a>, BTreeMap<u32, &'a Observation>>,
}

impl<'a> Observed<'a> {
    /// Sorts observations by what they are of.
    pub fn new(observations: &'a [Observation]) -> Self {
        let mut cells: BTreeMap<Place<'a>, BTreeMap<u32, &'a Observation>> = BTreeMap::new();
        for observation in observations {
            let trial = &observation.trial;
            let (server, beside) = (trial.server.as_str(), trial.beside.as_deref());
            let place = (server, beside, trial.workload.as_str(), trial.level());
            cells.entry(place).or_default().insert(trial.block, observation);
        }
        Self { cells }
    }

    /// How long each trial took, in seconds.
    pub(super) fn times_s(&self) -> impl Iterator<Item = f64> {
        self.cells.values().flat_map(BTreeMap::values).map(|observation| observation.took_s)
    }

    /// What was measured of a server by itself, without invalid trials.
    pub fn samples(&self, server: &str, workload: &str, level: impl Into<Level>) -> Samples<'a> {
        self.samples_of((server, None, workload, level.into()))
    }

    pub(super) fn samples_of(&self, place: Place<'_>) -> Samples<'a> {
        self.samples_by(place, valid)
    }

    /// What counts in a ratio of this figure. The two servers of a duet share one core at the same time, so what the
    /// hypervisor takes, it takes from both: a request costs each of them more, and the ratio of their CPU times stays.
    /// Rates and latencies of such a trial count nowhere, nor does its CPU time by itself.
    pub(super) fn samples_for_ratio(&self, place: Place<'_>, figure: Figure) -> Samples<'a> {
        let (_, beside, ..) = place;
        if beside.is_none() || figure != Figure::CpuUsPerRequest {
            return self.samples_of(place);
        }
        self.samples_by(place, |observation| {
            observation.outcome.sample().filter(|sample| matches!(invalid(sample), None | Some(Lost::Steal)))
        })
    }

    /// What was measured, invalid trials among it: for a comparison that is shown once with them and once without.
    pub(super) fn samples_with_invalid(&self, place: Place<'_>) -> Samples<'a> {
        self.samples_by(place, |observation| observation.outcome.sample())
    }

    fn samples_by(&self, place: Place<'_>, of: fn(&Observation) -> Option<&Sample>) -> Samples<'a> {
        let blocks = self.cells.get(&place).into_iter().flatten();
        blocks.filter_map(|(block, observation)| Some((*block, of(observation)?))).collect()
    }

    /// How many trials of a cell were measured and are invalid, by what they were lost to.
    pub(super) fn invalid(&self, place: Place<'_>) -> BTreeMap<Lost, usize> {
        counts(self.samples_with_invalid(place).into_values().filter_map(invalid))
    }

    /// The observation of a block in a cell.
    pub(super) fn observation(&self, place: Place<'_>, block: u32) -> Option<&'a Observation> {
        self.cells.get(&place)?.get(&block).copied()
    }

    /// The last block up to which a cell was observed without a gap, whatever came of it.
    pub(super) fn blocks(&self, place: Place<'_>) -> u32 {
        self.cells.get(&place).map_or(0, |cell| {
            (1..).zip(cell.keys()).take_while(|(count, block)| count == *block).count() as u32
        })
    }
}

/// Why a trial counts nowhere though its server did nothing wrong: reasons of the machine and of the load tool, named
/// beforehand, and never the trial's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lost {
    /// The hypervisor took processor time away.
    Steal,
    /// Other processes used processor time.
    ForeignCpu,
    /// The control group was held back.
    Throttled,
    /// The load tool gave no result.
    ToolFailed,
    /// What was counted does not fit together, or the run was cut off.
    NotMeasured,
}

impl Lost {
    /// Why an observation is lost; `None` where it counts: it was measured, or its server failed, which is a result.
    pub fn of(observation: &Observation) -> Option<Self> {
        match &observation.outcome {
            Outcome::Completed(sample) => invalid(sample),
            Outcome::ToolFailed { .. } => Some(Self::ToolFailed),
            Outcome::Invalid { .. } => Some(Self::NotMeasured),
            _ => None,
        }
    }

    /// What a block was lost to.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Steal => "steal",
            Self::ForeignCpu => "another process's CPU time",
            Self::Throttled => "throttling of the control group",
            Self::ToolFailed => "a failure of the load tool",
            Self::NotMeasured => "an invalid measurement",
        }
    }
}

/// How the server ended in a trial in which it did not start, or ended by itself.
pub(super) fn died(outcome: &Outcome) -> Option<String> {
    match outcome {
        Outcome::ServerDied { reason, .. } | Outcome::OutOfMemory { reason, .. } => Some(reason.clone()),
        _ => None,
    }
}

/// Whether the machine was busy with something else in a trial, also in one that gave no figure.
pub fn disturbed(outcome: &Outcome) -> bool {
    outcome.evidence().is_some_and(|sample| invalid(sample).is_some())
}

/// What a trial measured, where that counts: `None` of a trial that gave no figure, and of one that the machine
/// spoiled. Every cell, table, chart and headline is made of these samples alone.
pub fn valid(observation: &Observation) -> Option<&Sample> {
    observation.outcome.sample().filter(|sample| invalid(sample).is_none())
}

/// The same of a trial in which the server failed and which has figures all the same.
pub fn valid_evidence(observation: &Observation) -> Option<&Sample> {
    observation.outcome.evidence().filter(|sample| invalid(sample).is_none())
}

/// Why a trial that was measured may not be compared.
pub(super) fn invalid(sample: &Sample) -> Option<Lost> {
    let most_steal = sample.host.steal_limit.unwrap_or(MUCH_STEAL);
    if sample.steal_share().is_some_and(|share| share > most_steal) {
        return Some(Lost::Steal);
    }
    if sample.foreign_cpu.as_ref().is_some_and(ForeignCpu::is_too_much) {
        return Some(Lost::ForeignCpu);
    }
    sample.host.throttled_periods.is_some_and(|periods| periods > 0).then_some(Lost::Throttled)
}

/// The same as a sentence with a number, and the setting that says how much of it is too much.
pub fn invalid_reason(sample: &Sample) -> Option<String> {
    let lost = invalid(sample)?;
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let taken = percent(lost_share(sample, lost).unwrap_or(0.0));
    let foreign = sample.foreign_cpu.as_ref();
    Some(match lost {
        Lost::Steal => {
            let most = percent(sample.host.steal_limit.unwrap_or(MUCH_STEAL));
            format!("the hypervisor took {taken} of the cores (max_steal is {most})")
        }
        Lost::ForeignCpu => {
            let name = foreign.and_then(|foreign| foreign.busiest.as_ref());
            let name = name.map_or_else(String::new, |(name, _)| format!(" ({name})"));
            let most = percent(foreign.map_or(0.0, |foreign| foreign.limit));
            format!("another process{name} used {taken} of the cores (max_foreign_cpu is {most})")
        }
        lost => lost.words().to_owned(),
    })
}

/// The share of the processors' time that a trial lost to the hypervisor or to other processes, from 0 to 1.
pub(super) fn lost_share(sample: &Sample, lost: Lost) -> Option<f64> {
    match lost {
        Lost::Steal => sample.steal_share(),
        Lost::ForeignCpu => sample.foreign_cpu.as_ref().map(ForeignCpu::share),
        _ => None,
    }
}

/// How often each value comes.
pub(super) fn counts<K: Ord, N: Default + From<u8> + AddAssign>(
    values: impl Iterator<Item = K>,
) -> BTreeMap<K, N> {
    let mut counts: BTreeMap<K, N> = BTreeMap::new();
    for value in values {
        *counts.entry(value).or_default() += N::from(1);
    }
    counts
}

/// Values by what they have in common, in the order in which it first appears.
pub fn grouped<K: PartialEq, T>(values: impl IntoIterator<Item = (K, T)>) -> Vec<(K, Vec<T>)> {
    let mut groups: Vec<(K, Vec<T>)> = Vec::new();
    for (key, value) in values {
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, group)) => group.push(value),
            None => groups.push((key, vec![value])),
        }
    }
    groups
}

/// The median of values; `None` where there are none.
pub(super) fn median_of(values: impl IntoIterator<Item = f64>) -> Option<Estimate> {
    median(&values.into_iter().collect::<Vec<_>>())
}

/// The same without its interval.
pub(super) fn middle_of(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    Some(median_of(values)?.value)
}

/// The median of a figure over the samples that have it.
pub(super) fn median_figure(samples: &Samples<'_>, figure: Figure) -> Option<Estimate> {
    median_of(samples.values().filter_map(|sample| sample.figure(figure)))
}

/// A quantile of a sample's latency, in microseconds; `None` where the load tool reports none of that probability.
pub(super) fn quantile_us(sample: &Sample, probability: f64) -> Option<f64> {
    sample.load.quantiles.iter().find(|(of, _)| *of == probability).map(|(_, us)| *us)
}

/// A figure by block, of the samples that have it.
pub(super) fn by_block(samples: &Samples<'_>, figure: Figure) -> ByBlock {
    let value = |(block, sample): (&u32, &&Sample)| Some((*block, sample.figure(figure)?));
    samples.iter().filter_map(value).collect()
}
