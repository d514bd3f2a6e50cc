//! A calibration: which server is compared with itself and with its handicapped twins, how, and for how long.

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use super::campaign::CONNECT_MS;
use super::{Campaign, Environment, Percent};
use crate::field::within;
use crate::stats::Estimate;

/// `calibration.toml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// The server, by name. It must have a handicap build.
    pub server: String,
    /// The request, by name.
    pub workload: String,
    /// Connections.
    pub connections: u32,
    /// Extra CPU work for a request, relative to what the server needs for one.
    pub handicaps: Vec<Percent>,
    /// Blocks from which the handicaps are sized.
    pub sizing_blocks: u32,
    /// Once in this number of blocks a handicapped server runs in place of the twin, each in its turn; from 2.
    pub handicap_every: u32,
    /// Blocks of one comparison at most.
    pub max_blocks: u32,
    /// The largest difference that does not matter.
    pub margin: Percent,
    /// Half of an interval's width that answers by itself.
    pub precision: Percent,
    /// Decides the order of the trials.
    pub seed: u64,
    /// Load before the measured window, in milliseconds.
    pub warmup_ms: u64,
    /// The measured window, in milliseconds.
    pub window_ms: u64,
    /// When the load tool gives a request up, in milliseconds.
    pub timeout_ms: u64,
    /// Comparisons of the server with its twin at which the full form ends.
    pub full_comparisons: u32,
    /// Minutes after which the short form ends.
    pub short_minutes: u64,
    /// What the servers run in.
    pub environment: Environment,
}

impl Calibration {
    /// Whether the fields make sense together.
    ///
    /// # Errors
    /// One line with the field.
    pub fn check(&self) -> Result<()> {
        ensure!(!self.handicaps.is_empty(), "field handicaps: is empty; name at least one");
        let rising = self.handicaps.windows(2).all(|pair| pair[0] < pair[1]);
        ensure!(rising, "field handicaps: give them in rising order, each once");
        within("sizing_blocks", u64::from(self.sizing_blocks), 1, 1_000)?;
        within("handicap_every", u64::from(self.handicap_every), 2, 1_000)?;
        within("full_comparisons", u64::from(self.full_comparisons), 1, 10_000)?;
        within("short_minutes", self.short_minutes, 1, 600)?;
        // All comparisons have two servers, and share the rest.
        self.campaign(vec![format!("{}-twin", self.server)], self.max_blocks).check()
    }

    /// The campaign that its trials belong to, with these comparisons; the first server is the one that all are compared
    /// with.
    pub fn campaign(&self, others: Vec<String>, max_blocks: u32) -> Campaign {
        let base = self.server.clone();
        Campaign {
            name: "calibrate".to_owned(),
            why: "The harness measured by itself: a server against its twin and against handicapped ones."
                .to_owned(),
            comparisons: others.iter().map(|other| (other.clone(), base.clone())).collect(),
            servers: std::iter::once(base).chain(others).collect(),
            workloads: vec![self.workload.clone()],
            connections: vec![self.connections],
            max_blocks,
            // Its comparisons are cut from a series of valid blocks that has no end.
            max_extra_blocks: Some(0),
            margin: self.margin,
            precision: Some(self.precision),
            seed: self.seed,
            warmup_ms: self.warmup_ms,
            window_ms: self.window_ms,
            timeout_ms: self.timeout_ms,
            connect_ms: CONNECT_MS,
            environment: self.environment.clone(),
            ..Campaign::default()
        }
    }
}

/// A server that is compared with the base.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Arm {
    /// What its trials are called.
    pub name: String,
    /// Extra CPU work for a request, relative; 0 for the twin.
    pub handicap: f64,
    /// The same in rounds of the handicap build's `--handicap-rounds`.
    pub rounds: u64,
}

/// How the handicaps were sized, from trials of their own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sizing {
    /// CPU time of the base for a request, in microseconds.
    pub base_cpu_us: Estimate,
    /// CPU time of a round, in nanoseconds; from ratios paired by block.
    pub round_ns: Estimate,
}
