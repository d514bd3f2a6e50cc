//! The ladder: CPU time for a request as the sum of its parts, predicted from other measurements, and compared with
//! what was measured over HTTP.
//!
//! State and dispatch come from runs in process, the user time of HTTP from another request. So the sum can be wrong,
//! and its error shows how good the parts are. System time is measured on the request itself and can't be wrong.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Block, row};
use crate::observed::Samples;
use bench_model::figure::Figure;
use bench_stats::{Estimate, hodges_lehmann};

/// A part of the CPU time for a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// The method alone, in process.
    State,
    /// Parsing, the framework's dispatch and serialising, in process: dispatch less state.
    Framework,
    /// Reading and writing HTTP in the program: user time of the transport's request less its own dispatch.
    HttpUser,
    /// In the kernel, measured on the request itself.
    System,
}

impl Part {
    /// All, from the innermost outwards.
    pub const ALL: [Self; 4] = [Self::State, Self::Framework, Self::HttpUser, Self::System];

    fn of(self, block: &Block) -> f64 {
        match self {
            Self::State => block.state,
            Self::Framework => block.dispatch - block.state,
            Self::HttpUser => block.base_user - block.base_dispatch,
            Self::System => block.system,
        }
    }
}

/// A figure of both servers and their difference, in microseconds of CPU time for a request.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LadderRow {
    /// The server that is explained: median over blocks.
    pub a: Estimate,
    /// The other.
    pub b: Estimate,
    /// The first less the second, paired by block.
    pub difference: Estimate,
}

/// The parts and the whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ladder {
    /// Blocks that have everything.
    pub blocks: usize,
    /// The parts, in the order of [`Part::ALL`].
    pub parts: BTreeMap<Part, LadderRow>,
    /// Of the system time, what the transport's request takes too.
    pub system_base: LadderRow,
    /// Of the system time, the rest.
    pub system_rest: LadderRow,
    /// The parts together.
    pub predicted: LadderRow,
    /// What was measured.
    pub measured: LadderRow,
    /// Measured less predicted.
    pub unexplained: LadderRow,
    /// Share of the measured difference that the parts give: 1 where they fit, above 1 where they overshoot. None where
    /// the two servers are not distinguishable.
    pub explained: Option<Estimate>,
    /// The same of user time alone, where the prediction can be wrong.
    pub explained_user: Option<Estimate>,
}

impl Block {
    fn predicted_user(&self) -> f64 {
        self.dispatch + Part::HttpUser.of(self)
    }

    fn predicted(&self) -> f64 {
        self.predicted_user() + self.system
    }

    fn measured(&self) -> f64 {
        self.user + self.system
    }
}

impl Ladder {
    /// From the blocks of both servers. `None` where no block has both.
    pub(super) fn new(a: &BTreeMap<u32, Block>, b: &BTreeMap<u32, Block>) -> Option<Self> {
        let of = |value: fn(&Block) -> f64| row(a, b, |block| Some(value(block)));
        let part = |part: Part| Some((part, row(a, b, |block| Some(part.of(block)))?));
        Some(Self {
            blocks: a.keys().filter(|block| b.contains_key(block)).count(),
            parts: Part::ALL.into_iter().map(part).collect::<Option<_>>()?,
            system_base: of(|block| block.base_system)?,
            system_rest: of(|block| block.system - block.base_system)?,
            predicted: of(Block::predicted)?,
            measured: of(Block::measured)?,
            unexplained: of(|block| block.measured() - block.predicted())?,
            explained: share(a, b, Block::predicted, Block::measured),
            explained_user: share(a, b, Block::predicted_user, |block| block.user),
        })
    }

    /// The row of a part.
    pub fn part(&self, part: Part) -> Option<&LadderRow> {
        self.parts.get(&part)
    }
}

/// The predicted difference over the measured one, by block. `None` where the measured one may be 0: a share of 0 has
/// no value.
fn share(
    a: &BTreeMap<u32, Block>,
    b: &BTreeMap<u32, Block>,
    predicted: fn(&Block) -> f64,
    measured: fn(&Block) -> f64,
) -> Option<Estimate> {
    let both = || a.iter().filter_map(|(block, a)| Some((a, b.get(block)?)));
    let differences: Vec<f64> = both().map(|(a, b)| measured(a) - measured(b)).collect();
    let differs = match hodges_lehmann(&differences)?.interval {
        Some((low, high)) => low > 0.0 || high < 0.0,
        // Too few blocks for an interval: they differ where all blocks agree.
        None => differences.iter().all(|d| *d > 0.0) || differences.iter().all(|d| *d < 0.0),
    };
    if !differs {
        return None;
    }
    let shares: Vec<f64> = both()
        .map(|(a, b)| (predicted(a) - predicted(b)) / (measured(a) - measured(b)))
        .filter(|share| share.is_finite())
        .collect();
    hodges_lehmann(&shares)
}

/// CPU time over HTTP: all, user, system.
pub(super) fn measured(a: &Samples<'_>, b: &Samples<'_>) -> Option<[LadderRow; 3]> {
    let of = |figure: Figure| row(a, b, |sample| sample.figure(figure));
    Some([of(Figure::CpuUsPerRequest)?, of(Figure::UserUsPerRequest)?, of(Figure::SystemUsPerRequest)?])
}
