//! A calibration: which server is compared with itself and with its handicapped twins, how, and for how long.

use anyhow::{Context, Result, ensure};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};

use super::campaign::default_connect_ms;
use super::{Campaign, Environment, Percent, Placement};
use crate::field_checks::within;
use bench_stats::Estimate;

/// The server again, under another name.
const TWIN: &str = "twin";

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
    /// How rates are calibrated; none in older ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rates: Option<Rates>,
    /// Of calibrations of November 2026, which named here what they ran; not used.
    #[serde(default, skip_serializing)]
    pub parts: IgnoredAny,
}

/// The calibration of rates: the same server under several names and with handicaps, one after the other on all cores,
/// as a campaign's sweep runs its servers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rates {
    /// Connections.
    pub connections: u32,
    /// Extra CPU work for a request, relative to what the server needs for one. All of them run in every block.
    pub handicaps: Vec<Percent>,
    /// Blocks of one comparison at most.
    pub max_blocks: u32,
    /// Half of an interval's width that answers by itself.
    pub precision: Percent,
    /// Load before a server's first window, in milliseconds.
    pub warmup_ms: u64,
    /// The measured window of a fresh server, in milliseconds.
    #[serde(alias = "way", deserialize_with = "window_ms")]
    pub window_ms: u64,
    /// Comparisons of the server with its twin at which the full form ends.
    pub full_comparisons: u32,
}

/// The window; of a calibration of November 2026, that of the first of several ways to measure rates.
fn window_ms<'de, D: Deserializer<'de>>(value: D) -> Result<u64, D::Error> {
    #[derive(Deserialize)]
    struct Way {
        window_ms: u64,
    }
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Window {
        Ms(u64),
        OfWays([Way; 3]),
    }
    Ok(match Window::deserialize(value)? {
        Window::Ms(window_ms) | Window::OfWays([Way { window_ms }, ..]) => window_ms,
    })
}

fn check_handicaps(handicaps: &[Percent]) -> Result<()> {
    ensure!(!handicaps.is_empty(), "field handicaps: is empty; name at least one");
    let rising = handicaps.is_sorted_by(|one, next| one < next);
    ensure!(rising, "field handicaps: give them in rising order, each once");
    Ok(())
}

impl Calibration {
    /// The calibration that rates are by themselves.
    pub fn of_rates(&self, rates: &Rates) -> Self {
        Self {
            connections: rates.connections,
            handicaps: rates.handicaps.clone(),
            max_blocks: rates.max_blocks,
            precision: rates.precision,
            warmup_ms: rates.warmup_ms,
            window_ms: rates.window_ms,
            full_comparisons: rates.full_comparisons,
            environment: Environment { placement: Placement::Free, ..self.environment.clone() },
            rates: None,
            ..self.clone()
        }
    }

    /// The twin and the handicapped servers that the base is compared with.
    pub fn arms(&self, sizing: &Sizing) -> Vec<Arm> {
        let twin = Arm { name: TWIN.to_owned(), handicap: 0.0, rounds: 0 };
        let handicapped = self.handicaps.iter().map(|handicap| Arm {
            name: format!("plus-{}", handicap.to_string().replace('%', "").replace('.', "-")),
            handicap: handicap.0,
            rounds: (handicap.0 * sizing.base_cpu_us.value * 1e3 / sizing.round_ns.value).round() as u64,
        });
        std::iter::once(twin).chain(handicapped).collect()
    }

    /// Whether the fields make sense together.
    ///
    /// # Errors
    /// One line with the field.
    pub fn check(&self) -> Result<()> {
        check_handicaps(&self.handicaps)?;
        self.environment.has_no_network()?;
        within("sizing_blocks", u64::from(self.sizing_blocks), 1, 1_000)?;
        within("handicap_every", u64::from(self.handicap_every), 2, 1_000)?;
        within("full_comparisons", u64::from(self.full_comparisons), 1, 10_000)?;
        within("short_minutes", self.short_minutes, 1, 600)?;
        // All comparisons have two servers, and share the rest.
        let twin = vec![format!("{}-twin", self.server)];
        let check = |plan: &Self| plan.campaign(twin.clone(), plan.max_blocks).check();
        check(self)?;
        let Some(rates) = &self.rates else { return Ok(()) };
        check_handicaps(&rates.handicaps)
            .and_then(|()| within("full_comparisons", u64::from(rates.full_comparisons), 1, 10_000))
            .and_then(|()| within("window_ms", rates.window_ms, 500, 60_000))
            .and_then(|()| check(&self.of_rates(rates)))
            .context("table [rates]")
    }

    /// The campaign that its trials belong to, with these comparisons; the first server is the one that all are
    /// compared with.
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
            connect_ms: default_connect_ms(),
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
