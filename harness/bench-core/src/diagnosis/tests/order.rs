//! Causes that lie in the scheduler, the load tool or the network, and which stands first.

use super::*;
use crate::load::OpenWindow;

/// Ten seconds of one worker of tokio's, of whose 1,000 connections 245 are served and the others run into the timeout.
fn starved_by_the_scheduler() -> Sample {
    let mut sample = healthy();
    let timeouts = 3_775;
    sample.load.succeeded = 32_370;
    sample.load.failed = BTreeMap::from([("timeout".to_owned(), timeouts)]);
    sample.load.time_taken_s = 10.0;
    sample.load.latency_us =
        Latency { mean: 277e3, p50: 75.7e3, p90: 2e6, p99: 2e6, p999: Some(2e6), max: 2.03e6 };
    sample.load.quantiles = vec![(0.0, 5e3), (0.5, 75.7e3), (0.89, 135e3), (0.9, 2.001e6), (1.0, 2.03e6)];
    sample.server_requests = Some(32_370);
    sample.threads = vec![ThreadUse { name: "worker".into(), cpu_us: 9_650_000, run_delay_us: 50_000 }];
    sample
}

fn one_worker(interval: Option<u32>) -> LoadSetting {
    setting(json!({
        "threads": 1,
        "global_queue_interval": interval,
        "backlog": 1024,
        "tcp_nodelay": true,
        "max_connections": null,
    }))
}

#[test]
fn the_scheduler_is_named_without_the_one_thread() {
    let (kind, sentence) = only(&one_worker(Some(61)), starved_by_the_scheduler());
    assert_eq!(kind, CauseKind::SchedulerStarved);
    assert_eq!(
        sentence,
        "starved by the scheduler: about 245 of 1,000 connections were served again and again, half of their requests \
         within 75.7 ms, and the others waited: its 1 worker, busy for 97 % of the time, takes tasks that do not fit \
         into a queue of 256 each from a global queue, once in 61 polls, so that each waits about 14.2 s; no \
         connection attempt found the listen queue full"
    );
    // Where the interval is tokio's own their wait is unknown.
    let (kind, sentence) = only(&one_worker(None), starved_by_the_scheduler());
    assert!(kind == CauseKind::SchedulerStarved && sentence.contains("only now and then"), "{sentence}");
}

#[test]
fn the_scheduler_is_named_without_a_timeout() {
    let mut sample = starved_by_the_scheduler();
    sample.load.succeeded = 644_920;
    sample.server_requests = Some(644_920);
    sample.load.failed.clear();
    sample.load.latency_us =
        Latency { mean: 15e3, p50: 3e3, p90: 4e3, p99: 1.4e6, p999: Some(1.6e6), max: 1.73e6 };
    sample.load.quantiles = vec![(0.0, 1e3), (0.5, 3e3), (0.98, 4e3), (0.985, 1.35e6), (1.0, 1.73e6)];
    let diagnosis = found(&one_worker(Some(61)), sample);
    let [cause] = &diagnosis.causes[..] else { panic!("{diagnosis:?}") };
    assert_eq!(
        (cause.kind, cause.symptom, cause.remedy),
        (CauseKind::SchedulerStarved, Symptom::Stepped, None)
    );
}

#[test]
fn the_scheduler_is_not_named_without_its_evidence() {
    let kinds = |setting: &LoadSetting, change: &dyn Fn(&mut Sample)| {
        let mut sample = starved_by_the_scheduler();
        change(&mut sample);
        found(setting, sample).causes.iter().map(|cause| cause.kind).collect::<Vec<_>>()
    };
    let one = one_worker(Some(61));
    let idle = kinds(&one, &|sample| sample.threads[0].cpu_us = 3_000_000);
    assert_eq!(idle, [CauseKind::Starved], "an idle worker starves nobody");
    let all_at_work = kinds(&one, &|sample| sample.load.latency_us.p50 = 300e3);
    assert_eq!(all_at_work, [CauseKind::TooFewThreads], "all requested connections are at work");
    let dropped = kinds(&one, &|sample| {
        sample.network.listen_overflows = Some(3_000);
        sample.network.syn_retransmits = Some(3_000);
        sample.network.timeouts = Some(3_000);
    });
    assert!(
        !dropped.contains(&CauseKind::SchedulerStarved) && dropped.contains(&CauseKind::AcceptQueueFull),
        "{dropped:?}"
    );
    let few = LoadSetting { connections: 250, ..one };
    assert!(!kinds(&few, &|_| {}).contains(&CauseKind::SchedulerStarved), "one queue holds them all");
    let unknown = setting(json!({"tcp_nodelay": true}));
    assert!(
        !kinds(&unknown, &|_| {}).contains(&CauseKind::SchedulerStarved),
        "it does not say how many workers it has"
    );
}

#[test]
fn a_load_tool_is_accused_on_its_own_evidence_alone() {
    let mut full = healthy();
    full.client_cpu = CpuTime { user_s: 1.3, system_s: 0.6 };
    let (kind, sentence) = only(&equal(), full);
    assert_eq!(kind, CauseKind::ToolSlow);
    assert!(sentence.ends_with("it used 95 % of the 2 cores"), "{sentence}");

    let latency = |mean: f64| Latency { mean, ..healthy().load.latency_us };
    let late = |lag_us: f64| {
        let mut sample = healthy();
        sample.load.open = Some(OpenWindow {
            requested_rate: 100_000.0,
            achieved_rate: 100_000.0,
            intended: 100_000,
            sent: 100_000,
            send_lag_us: Some(latency(9_000.0)),
            own_lag_us: Some(latency(lag_us)),
            from_send_us: latency(10_000.0),
        });
        sample
    };
    let (kind, sentence) = only(&equal(), late(8_000.0));
    assert_eq!(kind, CauseKind::ToolSlow);
    assert!(sentence.contains("it sent a request 8.00 ms late on average"), "{sentence}");
    assert!(found(&equal(), late(100.0)).is_healthy(), "its requests waited for the server");
}

#[test]
fn retransmitted_data_is_named() {
    let mut sample = with_timeouts(300);
    sample.network.timeouts = Some(400);
    sample.network.syn_retransmits = Some(20);
    assert_eq!(only(&equal(), sample).0, CauseKind::Retransmission);
}

#[test]
fn forty_milliseconds_without_nodelay_are_nagle() {
    let mut sample = healthy();
    sample.load.quantiles =
        vec![(0.0, 200.0), (0.3, 9e3), (0.35, 39e3), (0.95, 44e3), (0.99, 60e3), (1.0, 70e3)];
    sample.load.latency_us.mean = 28e3;
    let nagle = setting(json!({"threads": 2, "tcp_nodelay": false}));
    assert_eq!(only(&nagle, sample.clone()).0, CauseKind::Nagle);
    assert!(found(&equal(), sample).is_healthy(), "with TCP_NODELAY it is something else");
}

#[test]
fn a_dead_server_and_a_tool_without_ports_are_named() {
    let died = observation(Outcome::ServerDied { reason: "killed by signal 9".into(), after_s: None });
    let diagnosis = diagnose(&equal(), &[&died]);
    assert_eq!(
        diagnosis.causes[0].sentence,
        "the server ended by itself in 1 of 1 trial: killed by signal 9"
    );
    let mut sample = healthy();
    let kind = "dial tcp: connect: cannot assign requested address";
    sample.load.failed = BTreeMap::from([(kind.to_owned(), 7_000)]);
    assert_eq!(only(&equal(), sample).0, CauseKind::LoadGenerator);
}

#[test]
fn a_cause_stands_before_its_consequences() {
    for (index, row) in TABLE.iter().enumerate() {
        let earlier: Vec<CauseKind> = TABLE[..index].iter().map(|row| row.kind).collect();
        assert!(
            row.unless.iter().all(|kind| earlier.contains(kind)),
            "{:?} stands before a cause of it",
            row.kind
        );
    }
}
