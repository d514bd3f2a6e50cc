//! Observations by server, workload and load, and which of them may be compared.

use std::collections::BTreeMap;

use super::figure::Figure;
use crate::load::Level;
use crate::observation::{Observation, Sample};

/// Steal above this share of the machine's time makes a trial invalid.
const MUCH_STEAL: f64 = 0.02;

/// Samples of one cell by block.
pub type Samples<'a> = BTreeMap<u32, &'a Sample>;

/// Server, the server beside it in a duet, workload, load.
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

    /// What was measured of a server by itself.
    pub fn samples(&self, server: &str, workload: &str, level: impl Into<Level>) -> Samples<'a> {
        self.samples_of((server, None, workload, level.into()))
    }

    /// What was measured of a server in duets with another.
    pub fn samples_beside(
        &self,
        server: &str,
        other: &str,
        workload: &str,
        level: impl Into<Level>,
    ) -> Samples<'a> {
        self.samples_of((server, Some(other), workload, level.into()))
    }

    pub(super) fn samples_of(&self, place: Place<'_>) -> Samples<'a> {
        let blocks = self.cells.get(&place).into_iter().flatten();
        blocks.filter_map(|(block, observation)| Some((*block, observation.outcome.sample()?))).collect()
    }

    /// The last block up to which a cell was observed without a gap, whatever came of it.
    pub(super) fn blocks(&self, place: Place<'_>) -> u32 {
        self.cells.get(&place).map_or(0, |cell| {
            (1..).zip(cell.keys()).take_while(|(count, block)| count == *block).count() as u32
        })
    }
}

/// Why a trial that was measured may not be compared: reasons named beforehand, never its value.
pub fn invalid(sample: &Sample) -> Option<&'static str> {
    if sample.steal_share().is_some_and(|share| share > MUCH_STEAL) {
        return Some("steal");
    }
    sample.host.throttled_periods.is_some_and(|periods| periods > 0).then_some("throttled")
}

/// ln(a / b) of a figure by block, where both were measured and have it.
pub fn log_ratios(figure: Figure, a: &Samples<'_>, b: &Samples<'_>) -> BTreeMap<u32, f64> {
    let ratio = |(block, sample): (&u32, &&Sample)| {
        let ratio = (figure.of(sample)? / figure.of(b.get(block)?)?).ln();
        ratio.is_finite().then_some((*block, ratio))
    };
    a.iter().filter_map(ratio).collect()
}

/// The samples that may be compared.
pub fn valid<'a>(samples: &Samples<'a>) -> Samples<'a> {
    samples
        .iter()
        .filter(|(_, sample)| invalid(sample).is_none())
        .map(|(block, sample)| (*block, *sample))
        .collect()
}
