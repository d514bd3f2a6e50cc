//! What becomes of the 99th percentile of latency where hosts differ: of added histograms, of an average and of a maximum over hosts, each
//! compared with that of all records together.

use anyhow::{Result, anyhow};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use rand_distr::{Distribution, Exp1, StandardNormal};
use rand_xoshiro::rand_core::Rng;
use serde::{Deserialize, Serialize};

use super::{happens, rounded};

/// Requests of each host in a window.
pub const REQUESTS: usize = 1_000;

/// A request takes this many microseconds in the median, and the logarithm has this standard deviation.
pub const TAKES_US: (f64, f64) = (1_000.0, 0.5);

/// With this probability it waits besides, for this many microseconds on average.
pub const WAITS_US: (f64, f64) = (0.005, 20_000.0);

/// The probability with which a host is a straggler, and how much longer all its requests take.
pub const STRAGGLES: (f64, f64) = (0.03, 4.0);

/// Quantile.
const P99: f64 = 0.99;

/// Significant digits of histograms, as the harness has them.
const DIGITS: u8 = 3;

/// What became of the 99th percentile: relative errors, 0.1 for 10 % too high.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Merged {
    /// Load hosts.
    pub hosts: u32,
    /// Trials.
    pub trials: usize,
    /// The 99th percentile of all records together, the mean over trials, in microseconds.
    pub p99_us: f64,
    /// The largest error of added histograms, without its sign.
    pub added: f64,
    /// The mean error of an average of the hosts' percentiles.
    pub average: f64,
    /// The mean error of the largest of them.
    pub maximum: f64,
    /// What a host's histogram takes when it is serialised, the mean, in bytes.
    pub histogram_bytes: f64,
}

/// One trial.
struct Trial {
    p99_us: f64,
    added: f64,
    average: f64,
    maximum: f64,
    bytes: usize,
}

/// Simulates trials, more of fewer hosts.
///
/// # Errors
/// A histogram can't be serialised or read.
pub fn simulate(hosts: u32, rng: &mut impl Rng) -> Result<Merged> {
    let trials = (1_000 / hosts as usize).clamp(3, 40);
    let trial = |_| trial(hosts, rng);
    let all: Vec<Trial> = (0..trials).map(trial).collect::<Result<_>>()?;
    let mean = |value: fn(&Trial) -> f64| rounded(all.iter().map(value).sum::<f64>() / trials as f64);
    let error = |value: fn(&Trial) -> f64| move |trial: &Trial| value(trial) / trial.p99_us - 1.0;
    let added = all.iter().map(error(|trial| trial.added)).map(f64::abs).fold(0.0, f64::max);
    Ok(Merged {
        hosts,
        trials,
        p99_us: mean(|trial| trial.p99_us),
        added: rounded(added),
        average: mean(|trial| trial.average / trial.p99_us - 1.0),
        maximum: mean(|trial| trial.maximum / trial.p99_us - 1.0),
        histogram_bytes: rounded(mean(|trial| trial.bytes as f64) / f64::from(hosts)),
    })
}

fn trial(hosts: u32, rng: &mut impl Rng) -> Result<Trial> {
    let (mut all, mut of_hosts, mut bytes) = (Vec::new(), Vec::new(), 0);
    let mut added = histogram()?;
    for _ in 0..hosts {
        let slowness = if happens(rng, STRAGGLES.0) { STRAGGLES.1 } else { 1.0 };
        let mut latencies: Vec<u64> = (0..REQUESTS).map(|_| latency_us(slowness, rng)).collect();
        let written = written(&latencies)?;
        bytes += written.len();
        let read: Histogram<u64> = Deserializer::new()
            .deserialize(&mut written.as_slice())
            .map_err(|error| anyhow!("a histogram can't be read: {error:?}"))?;
        added.add(&read).map_err(|error| anyhow!("histograms can't be added: {error:?}"))?;
        of_hosts.push(quantile(&mut latencies));
        all.append(&mut latencies);
    }
    Ok(Trial {
        p99_us: quantile(&mut all),
        added: added.value_at_quantile(P99) as f64,
        average: of_hosts.iter().sum::<f64>() / f64::from(hosts),
        maximum: of_hosts.iter().copied().fold(0.0, f64::max),
        bytes,
    })
}

fn latency_us(slowness: f64, rng: &mut impl Rng) -> u64 {
    let deviation: f64 = StandardNormal.sample(rng);
    let takes_us = TAKES_US.0 * libm::exp(TAKES_US.1 * deviation);
    let waits: f64 = if happens(rng, WAITS_US.0) { Exp1.sample(rng) } else { 0.0 };
    ((takes_us + waits * WAITS_US.1) * slowness).round() as u64
}

fn histogram() -> Result<Histogram<u64>> {
    Histogram::new(DIGITS).map_err(|error| anyhow!("no histogram: {error}"))
}

/// A host's histogram as it hands it over.
fn written(latencies: &[u64]) -> Result<Vec<u8>> {
    let mut histogram = histogram()?;
    for us in latencies {
        histogram.record(*us).map_err(|error| anyhow!("a latency of {us} µs: {error}"))?;
    }
    let mut bytes = Vec::new();
    let written = V2DeflateSerializer::new().serialize(&histogram, &mut bytes);
    written.map_err(|error| anyhow!("the histogram can't be serialised: {error:?}"))?;
    Ok(bytes)
}

/// The 99th percentile as the histogram counts it: the value that 99 % do not exceed.
fn quantile(latencies: &mut [u64]) -> f64 {
    latencies.sort_unstable();
    let place = (P99 * latencies.len() as f64).ceil() as usize;
    latencies[place.clamp(1, latencies.len()) - 1] as f64
}
