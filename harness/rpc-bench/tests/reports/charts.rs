//! Resources through the window and the quantile function of latency: from samples with a known truth to the summary,
//! and to a report with their charts, or without.

use bench_core::machine::ResourceSample;
use std::collections::BTreeMap;

use crate::observed::{self, Reported, observe, two_servers};
use crate::samples::sample;
use bench_core::config::Campaign;
use bench_core::observation::Sample;
use bench_core::plan::Plan;
use bench_core::plan::Trial;
use bench_core::{Cell, Summary, summarize};

/// Two servers at two loads, of which the higher one is the headline's; a window of a second.
fn plan(blocks: u32) -> Plan {
    observed::plan(Campaign {
        connections: vec![125, 500],
        headline: BTreeMap::from([("getBalance".into(), 500)]),
        max_blocks: blocks,
        max_extra_blocks: Some(0),
        window_ms: 1_000,
        ..two_servers()
    })
}

fn summary(plan: &Plan, gave: impl Fn(&Trial) -> Sample) -> Summary {
    summarize(&plan.campaign, &plan.connections(), &plan.trials, &observe(plan, gave))
}

fn headline_cell(summary: &Summary) -> &Cell {
    summary.cell("actix", "getBalance", 500).unwrap()
}

fn with_readings(readings: Vec<ResourceSample>) -> Sample {
    Sample { resources: readings, sampler_cpu_s: Some(0.002), ..sample(100_000.0, 10.0) }
}

/// Readings of a server that uses `cores` processors, a quarter of it in the kernel, and takes a MiB every 100 ms.
/// `late_ms` is how late each reading is.
fn steady(cores: f64, late_ms: [u64; 5]) -> Vec<ResourceSample> {
    let reading = |(index, late_ms): (u64, u64)| {
        let t_ms = 200 * (index + 1) + late_ms;
        let used_us = cores * 1_000.0 * t_ms as f64;
        ResourceSample {
            t_ms,
            user_us: Some((used_us * 0.75) as u64),
            system_us: Some((used_us * 0.25) as u64),
            memory_bytes: Some((t_ms << 20) / 100),
            threads: Some(3),
            involuntary_switches: Some(50 * t_ms),
            run_delay_us: Some(250 * t_ms),
            open_files: Some(500),
            ..ResourceSample::default()
        }
    };
    (0..).zip(late_ms).map(reading).collect()
}

#[test]
fn the_median_trial_shows_whenever_each_was_read() {
    let summary = summary(&plan(3), |trial| {
        let mut readings = match trial.block {
            1 => steady(0.8, [0, 0, 0, 0, 0]),
            2 => steady(1.2, [3, 12, 1, 7, 40]),
            _ => steady(1.9, [1, 1, 80, 1, 220]),
        };
        if trial.block == 3 {
            readings.remove(1);
        }
        with_readings(readings)
    });
    let timeline = &headline_cell(&summary).timeline;
    let times: Vec<f64> = timeline.iter().map(|moment| moment.t_ms).collect();
    assert_eq!(times, [200.0, 400.0, 600.0, 800.0, 1_000.0]);
    for moment in timeline {
        let close = |value: Option<f64>, wanted: f64| (value.unwrap() / wanted - 1.0).abs() < 1e-3;
        assert!(close(moment.cores, 1.2), "{moment:?}");
        assert!(close(moment.user_cores, 0.9) && close(moment.system_cores, 0.3), "{moment:?}");
        assert!(close(moment.involuntary_switches_per_s, 50_000.0), "{moment:?}");
        assert!(close(moment.run_delay_ms_per_s, 250.0), "{moment:?}");
        // Before the first reading, what is held is what was read first, some ms later.
        let memory = moment.memory_bytes.unwrap() / (moment.t_ms / 100.0 * f64::from(1 << 20));
        assert!((memory - 1.0).abs() < 0.01, "{moment:?}");
        assert_eq!((moment.threads, moment.connections), (Some(3.0), Some(500.0)));
        assert_eq!(moment.voluntary_switches_per_s, None, "what the machine lacks is no zero");
    }
}

#[test]
fn a_quantile_is_the_median_of_the_trials_quantiles() {
    let summary = summary(&plan(3), |trial| {
        let mut sample = sample(100_000.0, 10.0);
        // One trial has the slowest requests of all; pooled, it would make the tail alone.
        let slow = [10.0, 20.0, 9_000.0][trial.block as usize - 1];
        sample.load.quantiles = vec![(0.5, 5.0 * f64::from(trial.block)), (0.99, slow), (1.0, 2.0 * slow)];
        if trial.block == 2 {
            sample.load.quantiles.pop();
        }
        sample
    });
    assert_eq!(headline_cell(&summary).quantiles, [(0.5, 10.0), (0.99, 20.0)]);
    let other = summary.cell("actix", "getBalance", 125).unwrap();
    assert!(other.timeline.is_empty() && other.quantiles.is_empty(), "only the headline's load has them");
    assert_eq!(headline_cell(&summary).timeline, [], "nothing was read");
}

fn with_quantiles(mut sample: Sample) -> Sample {
    sample.load.quantiles =
        vec![(0.0, 90.0), (0.5, 400.0), (0.99, 2_000.0), (0.9999, 9_000.0), (1.0, 30_000.0)];
    sample
}

/// A server has one colour in all charts, and the cost of reading is said.
#[test]
fn a_report_shows_its_charts_and_the_cost_of_reading() {
    let plan = plan(3);
    let found = Reported::of(
        &plan,
        observe(&plan, |trial| {
            let sample = with_quantiles(with_readings(steady(1.0, [0, 5, 1, 2, 30])));
            Sample { sampler_cpu_s: Some([0.002, 0.003, 0.010][trial.block as usize - 1]), ..sample }
        }),
    );
    let names =
        ["cpu-and-memory.svg", "latency.svg", "quantiles.svg", "rate.svg", "ratios.svg", "resources.svg"];
    for name in names {
        let chart = found.read(name);
        if name == "ratios.svg" {
            assert!(chart.contains("#008a65") && !chart.contains("#d55e00"));
            continue;
        }
        for (server, own) in [("jsonrpc-core", "#0072b2"), ("actix-web", "#008a65")] {
            let named = chart.lines().position(|line| line.contains(&format!(">{server}"))).unwrap();
            let key = chart.lines().nth(named - 2).unwrap();
            assert!(key.contains(own), "{server} in {name}: {key}");
        }
    }
    // Of two cores in a second.
    let cost = "0.15 % of the 2 cores' time in the window (median trial; at most 0.50 %)";
    for said in ["](quantiles.svg)", "](resources.svg)", cost] {
        assert!(found.report.contains(said), "{said}: {}", found.report);
    }
}
