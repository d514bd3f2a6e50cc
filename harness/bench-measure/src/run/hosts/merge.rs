//! What several hosts measured, as one sample.
//!
//! Counts add. In an open loop the requests of all hosts are put together, so that quantiles are exact. In a closed
//! loop the tools' histograms add, where a tool has one; a tool that prints only quantiles has none of all hosts, since
//! neither a mean nor a maximum of quantiles is one.

use bench_core::machine::Host;
use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use hdrhistogram::Histogram;

use super::shared::{Clock, HostResult, Measured};
use bench_core::config::Pool;
use bench_core::load::records::{self, Record, histogram};
use bench_core::load::sample_details::{Connects, Details, HostShare};
use bench_core::load::{Latency, Load, LoadSample};

/// Points of a merged quantile function in each halving of the distance to 1.
const POINTS: u32 = 10;

/// The sample of all hosts, and in an open loop their requests in the order in which they were due.
pub struct Merged {
    pub sample: LoadSample,
    pub records: Option<Vec<Record>>,
}

/// Merges the shares of all hosts. `records` reads what a host of an open loop kept.
///
/// # Errors
/// A host has no result, or its requests can't be read.
pub fn merged(
    results: &[HostResult],
    load: &Load,
    records: impl Fn(u32) -> Result<Vec<Record>>,
) -> Result<Merged> {
    let measured = results.iter().filter_map(HostResult::measured);
    let samples: Vec<LoadSample> = measured.map(|measured| measured.sample.as_ref().clone()).collect();
    ensure!(!samples.is_empty() && samples.len() == results.len(), "not all hosts have a result");
    let hosts = results.iter().zip(&samples).filter_map(|(result, sample)| share(result, sample)).collect();
    let (mut sample, records) = match load.rate {
        Some(_) => {
            let ranks = 0..results.len() as u32;
            let kept = ranks.clone().map(records).collect::<Result<Vec<Vec<Record>>>>()?;
            let shares: Vec<Load> = ranks.map(|rank| load.share(rank, results.len() as u32)).collect();
            let parts: Vec<(&[Record], &Load)> = kept.iter().map(Vec::as_slice).zip(&shares).collect();
            let sample = records::merged(&parts, load)?;
            let mut all = kept.concat();
            all.sort_by_key(|record| record.intended_us);
            (sample, Some(all))
        }
        None => (closed(results, &samples)?, None),
    };
    sample.details.hosts = hosts;
    Ok(Merged { sample, records })
}

/// A closed loop of all hosts.
fn closed(results: &[HostResult], samples: &[LoadSample]) -> Result<LoadSample> {
    let mut failed: BTreeMap<String, u64> = BTreeMap::new();
    for (kind, count) in samples.iter().flat_map(|sample| &sample.failed) {
        *failed.entry(kind.clone()).or_default() += count;
    }
    let most = |value: fn(&LoadSample) -> f64| samples.iter().map(value).fold(0.0, f64::max);
    let all = histograms(results)?;
    let requests = |sample: &LoadSample| (sample.succeeded + sample.failures()) as f64;
    let weighted: f64 = samples.iter().map(|sample| sample.latency_us.mean * requests(sample)).sum();
    let latency_us = match &all {
        Some(all) => latency(all),
        // The mean and the slowest are those of all requests. The rest is not known, and no report shows it.
        None => {
            let mean = weighted / samples.iter().map(requests).sum::<f64>().max(1.0);
            let max = most(|sample| sample.latency_us.max);
            Latency { mean, p50: 0.0, p90: 0.0, p99: 0.0, p999: None, max }
        }
    };
    let points = |all: &Histogram<u64>| {
        let us = |value: u64| value as f64 / 1e3;
        all.iter_quantiles(POINTS).map(|point| (point.quantile(), us(point.value_iterated_to()))).collect()
    };
    let details = samples.first().map(|sample| sample.details.clone()).unwrap_or_default();
    Ok(LoadSample {
        succeeded: samples.iter().map(|sample| sample.succeeded).sum(),
        failed,
        time_taken_s: most(|sample| sample.time_taken_s),
        bytes_read: samples.iter().map(|sample| sample.bytes_read).sum(),
        bytes_written: samples.iter().map(|sample| sample.bytes_written).sum(),
        latency_us,
        quantiles: all.as_ref().map(points).unwrap_or_default(),
        open: None,
        series: Vec::new(),
        staged: None,
        details: Details {
            batch: details.batch,
            connects: slowest_connects(samples),
            no_percentiles: all.is_none(),
            ..Details::default()
        },
    })
}

/// The tools' histograms together, in nanoseconds; `None` where one has none.
fn histograms(results: &[HostResult]) -> Result<Option<Histogram<u64>>> {
    let printed = |result: &HostResult| {
        let log = result.measured()?.histogram.as_ref()?;
        Some(histogram::read(log).context("a host's histogram"))
    };
    let Some(logs) = results.iter().map(printed).collect::<Option<Vec<_>>>() else { return Ok(None) };
    histogram::added(logs.into_iter().collect::<Result<Vec<_>>>()?).map(Some)
}

fn latency(all: &Histogram<u64>) -> Latency {
    let quantile = |of| all.value_at_quantile(of) as f64 / 1e3;
    Latency {
        mean: all.mean() / 1e3,
        p50: quantile(0.5),
        p90: quantile(0.9),
        p99: quantile(0.99),
        p999: Some(quantile(0.999)),
        max: all.max() as f64 / 1e3,
    }
}

/// How the host connected that took longest. Their quantiles can't be added either.
fn slowest_connects(samples: &[LoadSample]) -> Option<Connects> {
    let connects = samples.iter().filter_map(|sample| sample.details.connects);
    connects.max_by(|a, b| a.all_s.total_cmp(&b.all_s))
}

/// A host's line in the report.
fn share(result: &HostResult, sample: &LoadSample) -> Option<HostShare> {
    let &Measured { cpu, late_us, .. } = result.measured()?;
    Some(HostShare {
        rank: result.rank,
        name: result.name.clone(),
        kind: kind(&result.host),
        succeeded: sample.succeeded,
        failed: sample.failures(),
        per_second: sample.requests_per_second(),
        mean_us: sample.latency_us.mean,
        p50_us: sample.latency_us.p50,
        p99_us: sample.latency_us.p99,
        busy: cpu.total_s() / sample.time_taken_s / result.host.cores.max(1) as f64,
        late_us,
        clock_ahead_us: result.clock.map(|clock| clock.ahead_us),
        clock_within_us: result.clock.map(|clock| clock.within_us),
    })
}

/// What of a machine decides what its load tool can send.
fn kind(host: &Host) -> String {
    let [kernel, governor] =
        [&host.kernel, &host.governor].map(|known| known.as_deref().unwrap_or("unknown"));
    format!("{} x {}, kernel {kernel}, governor {governor}", host.cores, host.processor_name())
}

/// Why a trial is void whose hosts began further apart than `most_us` microseconds, if they did. A clock counts as
/// wrong only where it certainly is.
pub fn started_apart(results: &[HostResult], pool: &Pool, most_us: f64) -> Option<String> {
    let began = |result: &HostResult| {
        let ahead_us = result.clock.map_or(0.0, Clock::certainly_ahead_us);
        Some((result.measured()?.late_us - ahead_us, result.rank))
    };
    let all = || results.iter().filter_map(began);
    let first = all().min_by(|a, b| a.0.total_cmp(&b.0))?;
    let last = all().max_by(|a, b| a.0.total_cmp(&b.0))?;
    let (apart_us, [first, last]) = (last.0 - first.0, [first, last].map(|(_, rank)| pool.name_of(rank)));
    let [apart_ms, most_ms] = [apart_us, most_us].map(|us| us / 1e3);
    let said = || {
        format!(
            "{last} began {apart_ms:.1} ms after {first}, and {most_ms:.1} ms (1 % of the window) is the most"
        )
    };
    (apart_us > most_us).then(said)
}
