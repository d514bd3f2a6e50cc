//! Several load hosts on synthetic samples: which cells they limit.

use bench_core::Mark;
use bench_core::config::{Campaign, ConfigDir, Pool};
use bench_core::figure::Figure;
use bench_core::load::sample_details::HostShare;
use bench_core::plan::Plan;

use crate::observed::{self, Reported, observe_planned};
use crate::samples::sample;

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

/// The shipped campaign on three hosts, in blocks, in which each trial's sample has these: its report.
fn reported(blocks: u32, hosts: impl Fn(u32) -> [HostShare; 3]) -> Reported {
    let (campaign, _) = ConfigDir::of_repository().campaign("hosts").unwrap();
    let plan = observed::plan(Campaign { max_blocks: blocks, ..campaign });
    let pool = Some(Pool { hosts: 3, name: "slurm".to_owned(), ..Pool::default() });
    let plan = Plan { hosts: pool, ..plan };
    let observed = observe_planned(&plan, |trial| {
        let mut of = sample(3_000.0, 20.0);
        of.load.details.hosts = hosts(trial.number).into();
        of
    });
    Reported::of(&plan, observed)
}

/// Some noise, the same each time.
fn noise(number: u32) -> f64 {
    1.0 + f64::from(number * 7_919 % 23) / 1_000.0
}

#[test]
fn each_host_is_named_and_the_busiest_one_is_a_figure() {
    let Reported { run, report: text, .. } = reported(3, |number| {
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
    let marks = |busy: f64| {
        let found = reported(1, |_| [host(0, 500.0, 0.1), host(1, 500.0, busy), host(2, 500.0, 0.1)]);
        found.run.summary.cells[0].marks.clone()
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
