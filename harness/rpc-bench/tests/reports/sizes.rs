//! What the summary says of windows in boxes.

use bench_analysis::sizes::{BoxVerdict, SizedCell, summary};
use bench_model::config::{ConfigDir, SizedBox, Sizes};
use bench_model::load::{Latency, OpenWindow};
use bench_model::observation::{Observation, Outcome};
use bench_model::plan::{Plan, Trial};
use bench_model::results::Conditions;
use bench_system::cgroup::{Cpus, Cpuset, MemoryMax, OutOfMemory, Usage};
use bench_system::probe::process_usage::CpuTime;

use crate::observed::observation;

const CORES: usize = 2;

fn quarter() -> SizedBox {
    SizedBox { cpu_quota: Some(Cpus(250)), memory_max: Some(MemoryMax(16 << 20)), ..SizedBox::default() }
}

fn sizes(of: SizedBox) -> Sizes {
    let config = ConfigDir::of_repository();
    let shipped = config.campaign("sizes").unwrap().0.sizes.unwrap();
    Sizes {
        rates: vec![100, 200, 400],
        always: vec![100],
        to_hold: vec![100],
        boxes: vec![of],
        windows_to_hold: 1,
        ..shipped
    }
}

/// A window of a second at a rate, with this p99, the server's and the tool's processors, and the share of throttled
/// periods.
fn window(rate: u32, p99_ms: f64, cores: (f64, f64), throttled: Option<f64>) -> Observation {
    let us = p99_ms * 1e3;
    let mut sample = crate::samples::sample(rate.into(), 1.0);
    sample.load.latency_us = Latency { mean: us, p50: us, p90: us, p99: us, p999: None, max: us };
    sample.load.open = Some(OpenWindow {
        intended: rate.into(),
        sent: rate.into(),
        requested_rate: rate.into(),
        achieved_rate: rate.into(),
        send_lag_us: None,
        own_lag_us: None,
        from_send_us: sample.load.latency_us,
    });
    sample.server_cpu = Some(CpuTime { user_s: cores.0, system_s: 0.0 });
    sample.client_cpu = CpuTime { user_s: cores.1, system_s: 0.0 };
    sample.limited = Some(Usage {
        periods: throttled.map(|_| 10),
        throttled_periods: throttled.map(|share| (share * 10.0) as u64),
        throttled_s: throttled.map(|share| share * 0.075),
        memory_peak_bytes: Some(12 << 20),
        ..Usage::default()
    });
    observed(Some(rate), Outcome::Completed(Box::new(sample)))
}

fn observed(rate: Option<u32>, outcome: Outcome) -> Observation {
    let trial = Trial {
        block: 1,
        rate,
        server: "actix".to_owned(),
        workload: "getBalance".to_owned(),
        ..Trial::default()
    };
    observation(&trial, outcome)
}

/// The summary of one server in one box.
fn summarized(of: SizedBox, observations: &[Observation]) -> bench_analysis::sizes::SizesSummary {
    let config = ConfigDir::of_repository();
    let mut campaign = config.campaign("sizes").unwrap().0;
    campaign.sizes = Some(sizes(of));
    let arm = Sizes::arm("actix", &of);
    campaign.servers = vec![arm.clone()];
    let plan = Plan { campaign, ..Plan::default() };
    let observations: Vec<Observation> = observations
        .iter()
        .cloned()
        .map(|mut observation| {
            observation.trial.server.clone_from(&arm);
            observation
        })
        .collect();
    summary(&plan, &conditions(&arm), &observations).unwrap()
}

fn cell(of: SizedBox, observations: &[Observation]) -> SizedCell {
    summarized(of, observations).cells[0].clone()
}

/// A machine with as many cores as [`CORES`], on which the server said that it has one thread.
fn conditions(arm: &str) -> Conditions {
    let host = serde_json::json!({ "cpu": "a processor", "cores": CORES, "open_files": 1_024 });
    let tool =
        serde_json::json!({ "path": "", "name": "rpc-load", "version": "1", "source": "path", "sha256": "" });
    let conditions = serde_json::json!({
        "started_at": "", "host": host, "tool": tool, "servers": { arm: { "threads": 1 } }, "command": "",
    });
    serde_json::from_value(conditions).unwrap()
}

#[test]
fn a_throttled_server_is_named_as_throttled_and_not_as_slow() {
    let held = window(100, 5.0, (0.1, 0.1), Some(0.1));
    let missed = || window(200, 300.0, (0.25, 0.2), Some(0.9));
    let found = cell(quarter(), &[held.clone(), missed(), missed()]);
    assert_eq!((found.held, found.not_held), (Some(100), Some(200)));
    assert_eq!(found.verdict, BoxVerdict::Throttled { share: 0.9 });
    assert_eq!(found.complaints.into_iter().collect::<Vec<_>>(), [("p99 too long".to_owned(), 2)]);
    let figures = found.at_not_held.unwrap();
    assert_eq!((figures.throttled_share, figures.memory_peak_bytes), (Some(0.9), Some(f64::from(12 << 20))));
    assert_eq!(found.always.len(), 1);

    // The same without throttling, and with processors free.
    let slow = || window(200, 300.0, (0.2, 0.2), Some(0.0));
    assert_eq!(cell(quarter(), &[held.clone(), slow(), slow()]).verdict, BoxVerdict::Slow);
    let full = || window(200, 300.0, (0.9, 0.9), Some(0.0));
    assert_eq!(cell(quarter(), &[held, full(), full()]).verdict, BoxVerdict::MachineFull { share: 0.9 });
}

#[test]
fn a_full_set_is_no_throttling_and_a_killed_server_is_out_of_memory() {
    let set = SizedBox { cpu_quota: None, cpuset: Some(Cpuset(1)), ..quarter() };
    let held = window(100, 5.0, (0.1, 0.1), None);
    let full = || window(200, 300.0, (0.95, 0.3), None);
    assert_eq!(cell(set, &[held.clone(), full(), full()]).verdict, BoxVerdict::SetFull { share: 0.95 });
    let usage = Usage { oom_kills: Some(1), ..Usage::default() };
    let killed = || observed(Some(200), Outcome::out_of_memory("under load", OutOfMemory(usage)));
    let found = cell(quarter(), &[held, killed(), killed()]);
    assert_eq!((found.verdict, found.out_of_memory), (BoxVerdict::OutOfMemory { kills: 2 }, 2));
    assert_eq!(found.held, Some(100));
}

/// Nothing is known of the speed of a server that did not start.
#[test]
fn a_server_that_never_started_is_not_called_slow() {
    let died = || observed(Some(100), Outcome::ServerDied { reason: "x".to_owned() });
    let found = summarized(quarter(), &[died(), died()]);
    assert_eq!((found.cells[0].held, found.cells[0].verdict), (None, BoxVerdict::NotMeasured));
    assert_eq!(found.failed.len(), 2);
}

/// `actix-0.25cpu-16MiB` ends as the name of a box of 16 MiB does.
#[test]
fn a_box_whose_name_ends_as_that_of_another_has_its_own_figures() {
    let memory_alone = SizedBox { cpu_quota: None, ..quarter() };
    let mut campaign = ConfigDir::of_repository().campaign("sizes").unwrap().0;
    for boxes in [vec![memory_alone, quarter()], vec![quarter(), memory_alone]] {
        campaign.sizes = Some(Sizes { boxes: boxes.clone(), ..sizes(quarter()) });
        campaign.servers = boxes.iter().map(|of| Sizes::arm("actix", of)).collect();
        // One window in the quarter, and none in the other box.
        let mut window = window(100, 5.0, (0.1, 0.1), None);
        window.trial.server = Sizes::arm("actix", &quarter());
        let plan = Plan { campaign: campaign.clone(), ..Plan::default() };
        let found = summary(&plan, &conditions("actix"), &[window]).unwrap();
        let trials = |of| found.cell("actix", of, "getBalance").map(|cell| cell.trials);
        assert_eq!([trials(&quarter()), trials(&memory_alone)], [Some(1), Some(0)], "{boxes:?}");
    }
}

#[test]
fn what_is_left_and_what_failed_is_counted() {
    let first = || window(100, 5.0, (0.1, 0.1), None);
    let begun = summarized(quarter(), &[first()]);
    assert_eq!((begun.left, begun.trials, begun.cells[0].threads), (1, 1, Some(1)));
    assert_eq!((begun.cells[0].server.as_str(), begun.cells[0].verdict), ("actix", BoxVerdict::Open));
    let mut all = vec![first()];
    all.extend([200, 400].map(|rate| window(rate, 5.0, (0.1, 0.1), None)));
    all.push(observed(None, Outcome::ToolFailed { reason: "x".to_owned() }));
    let done = summarized(quarter(), &all);
    assert_eq!((done.left, done.failed.len(), done.cells[0].held), (0, 1, Some(400)));
    assert_eq!(done.cells[0].verdict, BoxVerdict::HoldsAll);
}
