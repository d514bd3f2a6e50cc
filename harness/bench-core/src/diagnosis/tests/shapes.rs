//! Causes that show in how answers are spread: each planted, named alone, and not named without its evidence.

use super::*;
use crate::load::silences::Silence;
use crate::observation::LinkUse;

/// Five seconds under 16 connections, read every 100 ms, with a server that uses half a processor.
fn under_few() -> (LoadSetting, Sample) {
    let mut sample = healthy();
    sample.load.succeeded = 50_000;
    sample.server_requests = Some(50_000);
    sample.load.time_taken_s = 5.0;
    sample.load.latency_us = Latency {
        mean: 1_600.0,
        p50: 1_500.0,
        p90: 2_000.0,
        p99: 3_000.0,
        p999: Some(4_000.0),
        max: 9_000.0,
    };
    sample.load.quantiles =
        vec![(0.0, 200.0), (0.5, 1_500.0), (0.9, 2_000.0), (0.99, 3_000.0), (0.999, 4_000.0), (1.0, 9_000.0)];
    let moment = |place: u64| ResourceSample {
        t_ms: place * 100,
        user_us: Some(place * 40_000),
        system_us: Some(place * 10_000),
        memory_bytes: Some(50 << 20),
        ..sample.resources[0]
    };
    sample.resources = (1..=50).map(moment).collect();
    let setting = LoadSetting::new(16, TIMEOUT_MS, 2, Placement::Free, serde_json::Value::Null);
    (setting, sample)
}

/// The same, in which the server did nothing from 2 to 3 s.
fn with_a_stall() -> (LoadSetting, Sample) {
    let (setting, mut sample) = under_few();
    sample.load.latency_us = Latency { mean: 1_900.0, max: 1.0e6, ..sample.load.latency_us };
    for moment in &mut sample.resources {
        let worked = moment.t_ms.min(2_000) + moment.t_ms.saturating_sub(3_000);
        (moment.user_us, moment.system_us) = (Some(worked * 400), Some(worked * 100));
        // It sleeps after every request, and once more.
        moment.voluntary_switches = Some(moment.t_ms * 10);
    }
    (setting, sample)
}

#[test]
fn nothing_is_named_of_a_healthy_service_under_few_connections() {
    let (setting, sample) = under_few();
    assert!(found(&setting, sample).is_healthy());
}

#[test]
fn a_stall_is_named_by_its_time_and_the_servers_cpu() {
    let (setting, mut sample) = with_a_stall();
    let wanted = "the service answered nothing from 2.0 to 3.0 s of the window, and used 0.00 cores then (otherwise \
                  0.50)";
    // By its CPU time alone, of a load tool that does not say when answers came.
    assert_eq!(only(&setting, sample.clone()), (CauseKind::Stalled, wanted.to_owned()));
    sample.load.details.silences = vec![Silence { from_ms: 2_000, to_ms: 3_000 }];
    assert_eq!(only(&setting, sample.clone()), (CauseKind::Stalled, wanted.to_owned()));
    // Of a service whose process can't be seen, by its answers.
    sample.resources.clear();
    let (kind, sentence) = only(&setting, sample.clone());
    assert_eq!(kind, CauseKind::Stalled);
    assert_eq!(sentence, "the service answered nothing from 2.0 to 3.0 s of the window");
    // One that the harness stopped on purpose.
    sample.stalls = Some(1);
    assert!(found(&setting, sample).is_healthy());
}

#[test]
fn a_stall_through_which_requests_time_out_explains_them() {
    let (setting, mut sample) = with_a_stall();
    let setting = LoadSetting { timeout_ms: 500, ..setting };
    sample.load.details.silences = vec![Silence { from_ms: 2_000, to_ms: 3_000 }];
    sample.load.failed = BTreeMap::from([("timeout".to_owned(), 16)]);
    sample.load.quantiles.extend([(0.9997, 5.0e5), (1.0, 5.01e5)]);
    sample.load.latency_us.max = 5.01e5;
    let diagnosis = found(&setting, sample);
    let [cause] = &diagnosis.causes[..] else { panic!("{diagnosis:?}") };
    assert_eq!((cause.kind, cause.symptom), (CauseKind::Stalled, Symptom::Failing));
}

#[test]
fn a_load_tool_that_was_late_for_as_long_is_no_stall() {
    let (setting, mut sample) = with_a_stall();
    let latency = sample.load.latency_us;
    sample.load.details.silences = vec![Silence { from_ms: 2_000, to_ms: 3_000 }];
    sample.load.open = Some(crate::load::OpenWindow {
        requested_rate: 10_000.0,
        achieved_rate: 10_000.0,
        intended: 50_000,
        sent: 50_000,
        send_lag_us: Some(latency),
        own_lag_us: Some(Latency { mean: 300.0, ..latency }),
        from_send_us: latency,
    });
    let kinds: Vec<_> = found(&setting, sample).causes.iter().map(|cause| cause.kind).collect();
    assert!(!kinds.contains(&CauseKind::Stalled), "{kinds:?}");
}

/// A handler that sleeps 2 ms with a lock.
fn locked() -> (LoadSetting, Sample) {
    let (setting, mut sample) = under_few();
    sample.load.succeeded = 2_350;
    sample.server_requests = Some(2_350);
    sample.load.latency_us.mean = 34_000.0;
    sample.load.latency_us.p50 = 34_000.0;
    sample.load.quantiles = vec![(0.0, 2_100.0), (0.5, 34_000.0), (0.99, 36_000.0), (1.0, 40_000.0)];
    sample.capacity.alone_us = Some(2_150.0);
    sample.capacity.alone_cpu_us = Some(60.0);
    (setting, sample)
}

#[test]
fn a_lock_that_all_requests_take_is_named() {
    let (setting, sample) = locked();
    let (kind, sentence) = only(&setting, sample);
    assert_eq!(kind, CauseKind::OneAtATime);
    assert!(sentence.starts_with("the service answers one request at a time"), "{sentence}");
    assert!(sentence.contains("16 connections get 470 answers/s, and each waits 34.0 ms"), "{sentence}");
    // With two at a time it is a handler that waits, in two threads.
    let (setting, mut two) = locked();
    two.load.succeeded = 4_700;
    two.server_requests = Some(4_700);
    two.load.latency_us.mean = 17_000.0;
    assert_eq!(only(&setting, two).0, CauseKind::SlowHandler);
    // Work on one processor is done one after the other.
    let (_, mut work) = locked();
    work.capacity.alone_cpu_us = Some(2_100.0);
    let one_core = LoadSetting::new(16, TIMEOUT_MS, 2, Placement::OneCore, serde_json::Value::Null);
    assert!(found(&one_core, work.clone()).is_healthy());
    assert_eq!(only(&setting, work).0, CauseKind::OneAtATime, "there are two");
}

/// Two of a hundred requests take 200 ms.
fn with_slow_ones() -> (LoadSetting, Sample) {
    let (setting, mut sample) = under_few();
    sample.load.latency_us.mean = 5_500.0;
    sample.load.quantiles =
        vec![(0.0, 200.0), (0.5, 1_500.0), (0.97, 2_000.0), (0.98, 2_500.0), (0.99, 200e3), (1.0, 204e3)];
    // The server sleeps after each request, as one that waits for requests does.
    for moment in &mut sample.resources {
        moment.voluntary_switches = Some(moment.t_ms * 10);
    }
    (setting, sample)
}

#[test]
fn a_slow_share_of_the_requests_is_named() {
    let (setting, sample) = with_slow_ones();
    let (kind, sentence) = only(&setting, sample);
    assert_eq!(kind, CauseKind::SlowShare);
    assert!(sentence.starts_with("about 2 % of the requests take 200 ms or more"), "{sentence}");
    // Over a network, segments that were sent again take as long. On loopback they are those of other programs.
    let (_, mut lossy) = with_slow_ones();
    lossy.network.timeouts = Some(900);
    assert_eq!(only(&setting, lossy.clone()).0, CauseKind::SlowShare);
    let (mut elsewhere, _) = with_slow_ones();
    elsewhere.ready = serde_json::json!({ "running": "http://192.0.2.1:8545/" });
    assert!(found(&elsewhere, lossy.clone()).is_healthy());
    lossy.link = Some(LinkUse { round_trip_us: 500.0 });
    assert!(found(&setting, lossy).is_healthy());
    // What the harness stopped is none either.
    let (_, stopped) = with_slow_ones();
    assert!(found(&setting, Sample { stalls: Some(1), ..stopped }).is_healthy());
    // A server that waited for a processor for as long has no slow calls.
    let (_, mut starved) = with_slow_ones();
    starved.load.quantiles = vec![(0.5, 1_500.0), (0.99, 1_900.0), (0.995, 31e3), (1.0, 33e3)];
    assert_eq!(only(&setting, starved.clone()).0, CauseKind::SlowShare);
    starved.threads.iter_mut().for_each(|thread| thread.run_delay_us = 4_500_000);
    let named = found(&setting, starved).causes;
    assert!(named.iter().all(|cause| cause.kind != CauseKind::SlowShare), "{named:?}");
    // Some come due behind a slow one, or wait for a processor.
    let (_, mut behind) = with_slow_ones();
    behind.load.quantiles = vec![(0.5, 300.0), (0.92, 700.0), (0.96, 3_000.0), (0.97, 94e3), (0.98, 94e3)];
    behind.load.quantiles.extend([(0.99, 200e3), (0.995, 201e3), (1.0, 204e3)]);
    assert_eq!(only(&setting, behind.clone()).0, CauseKind::SlowShare);
    // Of many connections, such waits are a queue's.
    let many = LoadSetting { connections: 2_000, ..setting.clone() };
    let named = found(&many, behind).causes;
    assert!(named.iter().all(|cause| cause.kind != CauseKind::SlowShare), "{named:?}");
    // A tail without a step is no other kind of request.
    let (_, mut tail) = with_slow_ones();
    tail.load.quantiles = vec![(0.5, 1_500.0), (0.9, 6_000.0), (0.98, 30e3), (0.99, 90e3), (1.0, 204e3)];
    assert!(found(&setting, tail).is_healthy());
}

#[test]
fn memory_that_grows_with_each_request_is_named() {
    let (setting, sample) = under_few();
    let grows = |per_ms: &dyn Fn(u64) -> u64| {
        let mut sample = sample.clone();
        for moment in &mut sample.resources {
            moment.memory_bytes = Some((50 << 20) + per_ms(moment.t_ms));
        }
        sample
    };
    let (kind, sentence) = only(&setting, grows(&|t_ms| t_ms * 10_000));
    assert_eq!(kind, CauseKind::MemoryGrows);
    assert!(
        sentence.contains("does not level off: by 36.2 MiB") && sentence.contains("about 1,013 bytes"),
        "{sentence}"
    );
    assert!(found(&setting, grows(&|t_ms| 10_000 * t_ms.min(2_000))).is_healthy(), "it levels off");
    assert!(found(&setting, grows(&|t_ms| t_ms * 100)).is_healthy(), "some half a megabyte is nothing");
    let many = LoadSetting { connections: 2_000, ..setting.clone() };
    assert!(found(&many, grows(&|t_ms| t_ms * 10_000)).is_healthy(), "each connection has buffers");
    // Of two trials, in both.
    let one = observation(Outcome::Completed(Box::new(grows(&|t_ms| t_ms * 10_000))));
    let other = observation(Outcome::Completed(Box::new(grows(&|_| 0))));
    assert!(diagnose(&setting, &[&one, &other]).is_healthy());
}

/// Each planted kind stands alone: none of them is blamed on the load tool.
#[test]
fn no_planted_fault_is_blamed_on_the_load_tool() {
    for (setting, sample) in [with_a_stall(), locked(), with_slow_ones()] {
        let causes = found(&setting, sample).causes;
        assert!(causes.iter().all(|cause| !cause.sentence.contains("the load")), "{causes:?}");
    }
}
