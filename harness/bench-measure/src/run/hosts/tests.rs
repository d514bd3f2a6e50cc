//! Merging: what several hosts measured is what one would have, and where it can't be, nothing is shown.

use bench_core::machine::CpuTime;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::IntervalLogWriterBuilder;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::merge::{merged, started_apart};
use super::shared::{Clock, Done, HostResult, Measured};
use super::telling;
use bench_core::config::Pool;
use bench_core::load::records::{Record, sample};
use bench_core::load::{Latency, Load, LoadSample};

fn record(intended_us: u64, lag_us: u64, took_us: u64) -> Record {
    let sent_us = intended_us + lag_us;
    Record {
        intended_us,
        sent_us: Some(sent_us),
        ended_us: Some(sent_us + took_us),
        own_lag_us: Some(lag_us),
        bytes_in: 40,
        failure: None,
    }
}

fn result(rank: u32, sample: LoadSample, histogram: Option<String>) -> HostResult {
    let measured = Measured { sample: Box::new(sample), histogram, cpu: CpuTime::default(), late_us: 0.0 };
    let (name, done) = (format!("m{rank}"), Done::Measured(measured));
    HostResult { rank, name, host: crate::probe::host::machine(), clock: None, done }
}

/// Latencies of very different hosts: each has a scale of its own, and some requests wait.
fn draw(random: &mut Xoshiro256PlusPlus, rank: u32) -> u64 {
    let mut below = |most: u64| random.next_u64() % most;
    let wait = if below(50) == 0 { below(80_000) } else { 0 };
    50 + below(900) * u64::from(rank + 1) + wait
}

#[test]
fn the_quantiles_of_an_open_loop_are_those_of_all_records_together() {
    for seed in 0..20 {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let hosts = 1 + (seed % 5) as u32;
        let rate = 700 + 37 * seed as u32;
        let whole = Load {
            rate: Some(rate),
            connections: 20,
            duration_ms: 1_000,
            timeout_ms: 500,
            ..Load::default()
        };
        let kept: Vec<Vec<Record>> = (0..hosts)
            .map(|rank| {
                let own = u64::from(whole.share(rank, hosts).rate.unwrap());
                (0..own)
                    .map(|i| record(i * 1_000_000 / own, random.next_u64() % 90, draw(&mut random, rank)))
                    .collect()
            })
            .collect();
        let samples = (0..hosts).map(|rank| sample(&kept[rank as usize], &whole.share(rank, hosts)).unwrap());
        let results: Vec<HostResult> =
            (0..).zip(samples).map(|(rank, sample)| result(rank, sample, None)).collect();
        let merged = merged(&results, &whole, |rank| Ok(kept[rank as usize].clone())).unwrap();
        let mut all = kept.concat();
        all.sort_by_key(|record| record.intended_us);
        let together = sample(&all, &whole).unwrap();
        assert_eq!(
            (merged.sample.latency_us, &merged.sample.quantiles),
            (together.latency_us, &together.quantiles)
        );
        assert_eq!((merged.sample.open, &merged.sample.series), (together.open, &together.series));
        assert_eq!((merged.sample.succeeded, &merged.sample.failed), (together.succeeded, &together.failed));
        assert_eq!(merged.records.unwrap(), all);
        assert_eq!(merged.sample.details.hosts.len(), hosts as usize);
    }
}

fn log_of(histogram: &Histogram<u64>) -> String {
    let (mut out, mut serializer) = (Vec::new(), V2DeflateSerializer::new());
    let mut log = IntervalLogWriterBuilder::new().begin_log_with(&mut out, &mut serializer).unwrap();
    log.write_histogram(histogram, std::time::Duration::ZERO, std::time::Duration::from_secs(1), None)
        .unwrap();
    // As rpc-load prints it.
    String::from_utf8(out).unwrap().trim_end().to_owned()
}

fn closed(succeeded: u64, mean: f64, max: f64) -> LoadSample {
    LoadSample {
        succeeded,
        failed: [("timeout".to_owned(), 2)].into(),
        time_taken_s: 1.0,
        latency_us: Latency { mean, p50: 1.0, p90: 1.0, p99: 1.0, p999: None, max },
        ..LoadSample::default()
    }
}

#[test]
fn the_histograms_of_a_closed_loop_add_up_to_that_of_all_requests() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
    let mut together = Histogram::<u64>::new(3).unwrap();
    let results: Vec<HostResult> = (0..3)
        .map(|rank| {
            let mut own = Histogram::<u64>::new(3).unwrap();
            for i in 0..4_000 {
                // The last host has by far the slowest request.
                let slowest = if (rank, i) == (2, 0) { 30_000_000 } else { 0 };
                let ns = (draw(&mut random, rank) + slowest) * 1_000;
                own.record(ns).unwrap();
                together.record(ns).unwrap();
            }
            result(rank, closed(4_000, 5.0, 9.0), Some(log_of(&own)))
        })
        .collect();
    let load = Load { connections: 9, duration_ms: 1_000, ..Load::default() };
    let sample = merged(&results, &load, |_| unreachable!()).unwrap().sample;
    let of = |quantile| together.value_at_quantile(quantile) as f64 / 1e3;
    let Latency { p50, p90, p99, p999, max, .. } = sample.latency_us;
    assert_eq!((p50, p90, p99, p999), (of(0.5), of(0.9), of(0.99), Some(of(0.999))));
    assert_eq!((max, sample.succeeded, sample.failures()), (together.max() as f64 / 1e3, 12_000, 6));
    assert!(!sample.details.no_percentiles && !sample.quantiles.is_empty());
}

#[test]
fn quantiles_that_can_not_be_added_are_not_shown() {
    let results = [result(0, closed(100, 10.0, 50.0), None), result(1, closed(300, 30.0, 70.0), None)];
    let load = Load { connections: 2, duration_ms: 1_000, ..Load::default() };
    let load_sample = merged(&results, &load, |_| unreachable!()).unwrap().sample;
    assert!(load_sample.details.no_percentiles);
    let mean = (10.0 * 102.0 + 30.0 * 302.0) / 404.0;
    assert!((load_sample.latency_us.mean - mean).abs() < 1e-9 && load_sample.latency_us.max == 70.0);
}

#[test]
fn hosts_that_did_not_start_together_are_named() {
    let pool = Pool { hosts: 3, names: ["a", "b", "c"].map(str::to_owned).into(), ..Pool::default() };
    let with = |late: [f64; 3], clocks: [Option<Clock>; 3]| {
        let results: Vec<HostResult> = (0..3)
            .map(|rank| {
                let mut of = result(rank, closed(1, 1.0, 1.0), None);
                of.clock = clocks[rank as usize];
                if let Done::Measured(Measured { late_us, .. }) = &mut of.done {
                    *late_us = late[rank as usize];
                }
                of
            })
            .collect();
        started_apart(&results, &pool, 10_000.0)
    };
    let clock = |ahead_us, within_us| Some(Clock { ahead_us, within_us });
    assert_eq!(with([50.0, 80.0, 900.0], [None; 3]), None);
    let said = with([50.0, 12_000.0, 900.0], [None; 3]).unwrap();
    assert!(said.starts_with("host 1 (b) began 11.9 ms after host 0 (a)"), "{said}");
    // A clock that is behind makes its host begin late, whatever the host says of itself.
    let said = with([0.0; 3], [None, None, clock(-20_000.0, 500.0)]).unwrap();
    assert!(said.starts_with("host 2 (c) began 20.0 ms after"), "{said}");
    assert_eq!(with([0.0; 3], [None, None, clock(-20_000.0, 30_000.0)]), None, "it may be right");
}

#[test]
fn what_launchers_say_is_one_telling_line() {
    let mpirun = "[vm:7] plm:rsh: Warning: setpgid(8,8) failed\nssh: Could not resolve hostname b\n-----\nORTE \
        was unable to\n-----\n";
    assert_eq!(telling(mpirun), Some("ssh: Could not resolve hostname b"));
    let clush = "b: ssh: Could not resolve hostname b\nclush: b: exited with exit code 255\n";
    assert_eq!(telling(clush), Some("b: ssh: Could not resolve hostname b"));
    assert_eq!(telling("Warning: a\n---\nwarning: b\n"), Some("warning: b"));
    assert_eq!(telling("\n--\n"), None);
}
