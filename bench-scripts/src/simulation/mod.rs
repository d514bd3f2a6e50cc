//! A simulation of trials on many load hosts: how often they have to be repeated, and what merging latencies does.
//!
//! Nothing here is measured. Clocks, placement and latencies are drawn from the distributions that [`starts`] and [`latencies`] name; what
//! is done with them is what a run on many hosts does: a block is void where its hosts did not start together, and histograms are
//! serialised, read and added.

pub mod latencies;
pub mod page;
pub mod starts;

use anyhow::Result;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};

use self::latencies::Merged;
use self::starts::{Clocks, Starts};

/// The numbers of load hosts that are simulated.
pub const HOSTS: [u32; 7] = [1, 3, 10, 30, 100, 300, 1_000];

/// The measured window, in seconds.
pub const WINDOW_S: f64 = 10.0;

/// From the moment at which hosts are placed to their start, in seconds.
pub const LEAD_S: f64 = 10.0;

/// What an attempt takes besides: warm-up, and gathering what the hosts wrote, in seconds.
pub const AROUND_S: f64 = 4.0;

/// The result: rounded to three significant digits, so that it is the same on every machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Simulated {
    /// What the random numbers follow from.
    pub seed: u64,
    /// Whether hosts start together, by kind of clocks and number of hosts.
    pub starts: Vec<Starts>,
    /// What becomes of the 99th percentile, by number of hosts.
    pub merged: Vec<Merged>,
    /// What trials cost, by number of hosts.
    pub costs: Vec<Cost>,
}

/// What valid trials cost on the better kind of clocks, whose offsets are checked before the start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Load hosts.
    pub hosts: u32,
    /// Attempts for one valid trial, on average.
    pub attempts: f64,
    /// Time for 100 valid trials, in minutes.
    pub minutes: f64,
    /// Hosts times that time, in hours.
    pub host_hours: f64,
    /// What the hosts' histograms of these trials take, in bytes.
    pub histogram_bytes: f64,
}

/// Valid trials that are counted in a cost.
pub const TRIALS: f64 = 100.0;

/// Simulates all numbers of hosts.
///
/// # Errors
/// A histogram can't be serialised or read.
pub fn simulate(seed: u64) -> Result<Simulated> {
    let mut simulated = Simulated { seed, starts: Vec::new(), merged: Vec::new(), costs: Vec::new() };
    for clocks in Clocks::ALL {
        simulated.starts.extend(HOSTS.map(|hosts| starts::simulate(clocks, hosts, &mut rng(seed, hosts))));
    }
    for hosts in HOSTS {
        let merged = latencies::simulate(hosts, &mut rng(!seed, hosts))?;
        let started = simulated.starts.iter().find(|starts| starts.hosts == hosts);
        let voided = started.map_or(0.0, |starts| starts.voided_after_check);
        let attempts = 1.0 / (1.0 - voided);
        let seconds = TRIALS * attempts * (LEAD_S + WINDOW_S + AROUND_S);
        simulated.costs.push(Cost {
            hosts,
            attempts: rounded(attempts),
            minutes: rounded(seconds / 60.0),
            host_hours: rounded(seconds * f64::from(hosts) / 3_600.0),
            histogram_bytes: rounded(merged.histogram_bytes * f64::from(hosts) * TRIALS),
        });
        simulated.merged.push(merged);
    }
    Ok(simulated)
}

fn rng(seed: u64, hosts: u32) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(seed ^ u64::from(hosts))
}

/// Whether something happens that has this probability.
fn happens(rng: &mut impl Rng, probability: f64) -> bool {
    (rng.next_u64() as f64) < probability * 2_f64.powi(64)
}

/// Three significant digits.
fn rounded(value: f64) -> f64 {
    format!("{value:.2e}").parse().unwrap_or(value)
}
