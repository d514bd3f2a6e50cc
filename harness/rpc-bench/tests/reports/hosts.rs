//! Several load hosts on synthetic samples: which cells they limit.

use bench_analysis::Mark;
use bench_model::config::{ConfigDir, Pool};
use bench_model::figure::Figure;
use bench_model::load::sample_details::HostShare;
use bench_model::observation::{Observation, Outcome, Sample};
use bench_model::plan::{Plan, Trial, trials};

use crate::observed::{folder, planned};
use crate::samples::{conditions, sample};

fn host(rank: u32, mean_us: f64, busy: f64) -> HostShare {
    HostShare {
        rank,
        name: format!("load{rank}"),
        kind: "2 x a processor".to_owned(),
        succeeded: 1_000,
        failed: 0,
        per_second: 1_000.0,
        mean_us,
        p50_us: mean_us,
        p99_us: 3.0 * mean_us,
        busy,
        late_us: 80.0,
        clock_ahead_us: Some(-200.0),
        clock_within_us: Some(900.0),
    }
}

/// The shipped campaign's plan on three hosts, in blocks.
fn plan(blocks: u32) -> Plan {
    let config = ConfigDir::of_repository();
    let (mut campaign, _) = config.campaign("hosts").unwrap();
    campaign.max_blocks = blocks;
    let servers = campaign.servers.iter().map(|name| config.server(name).unwrap()).collect();
    let workloads = campaign.workloads.iter().map(|name| config.workload(name).unwrap()).collect();
    let hosts = Some(Pool { hosts: 3, name: "slurm".to_owned(), ..Pool::default() });
    Plan { trials: trials(&campaign), campaign, servers, workloads, threads: 2, hosts, ..Plan::default() }
}

/// The run of a plan in which each trial's sample has these hosts, and its report.
fn reported(plan: &Plan, hosts: impl Fn(u32) -> [HostShare; 3]) -> (bench_report::Run, String) {
    let dir = tempfile::tempdir().unwrap();
    let observed = planned(plan).map(|trial| observation(trial, hosts(trial.number).into()));
    let folder = folder(dir.path(), "hosts", plan, &conditions("just bench-all hosts"), observed);
    let run = bench_report::Run::load(&folder).unwrap();
    let text = bench_report::markdown(&run, false).unwrap();
    (run, text)
}

fn observation(trial: &Trial, hosts: Vec<HostShare>) -> Observation {
    let mut of: Sample = sample(3_000.0, 20.0);
    of.load.details.hosts = hosts;
    Observation {
        trial: trial.clone(),
        started_at: "2026-11-23T00:00:00Z".to_owned(),
        took_s: 1.0,
        outcome: Outcome::Completed(Box::new(of)),
    }
}

/// Some noise, the same each time.
fn noise(number: u32) -> f64 {
    1.0 + f64::from(number * 7_919 % 23) / 1_000.0
}

#[test]
fn each_host_is_named_and_the_busiest_one_is_a_figure() {
    let (run, text) = reported(&plan(3), |number| {
        [0, 1, 2].map(|rank| host(rank, 500.0 * noise(number + rank), 0.2 * f64::from(rank)))
    });
    let row = text.lines().find(|line| line.starts_with("| load hosts ")).unwrap();
    assert!((0..3).all(|rank| row.contains(&format!("{rank} (load{rank}): 2 x a processor"))), "{row}");
    for (figure, wanted) in [(Figure::BusiestHost, 0.4), (Figure::LatestHostUs, 80.0)] {
        let found = run.summary.cells[0].figure(figure).unwrap().value;
        assert!((found - wanted).abs() < 1e-9 && text.contains(figure.described().0), "{found}: {text}");
    }
}

#[test]
fn a_cell_is_client_bound_where_one_host_has_no_processor_time_left() {
    let plan = plan(1);
    let marks = |busy: f64| {
        let (run, _) = reported(&plan, |_| [host(0, 500.0, 0.1), host(1, 500.0, busy), host(2, 500.0, 0.1)]);
        run.summary.cells[0].marks.clone()
    };
    assert!(marks(0.95).contains(&Mark::ClientBound) && !marks(0.5).contains(&Mark::ClientBound));
}

#[test]
fn percentiles_that_can_not_be_added_are_no_figure() {
    let mut of = sample(100.0, 10.0);
    assert!(of.figure(Figure::P99Us).is_some());
    of.load.details.no_percentiles = true;
    assert_eq!([Figure::P50Us, Figure::P99Us, Figure::P999Us].map(|figure| of.figure(figure)), [None; 3]);
    assert!(of.figure(Figure::MaxUs).is_some() && of.figure(Figure::RequestsPerSecond).is_some());
}
