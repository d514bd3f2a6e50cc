//! Each row of the table on evidence of its own: it is named, and nothing else is.

mod order;
#[path = "../../../bench-report/tests/shared/samples.rs"]
mod samples;
mod shapes;

use std::collections::BTreeMap;

use serde_json::json;

use super::*;
use crate::config::Placement;
use crate::load::{Latency, LoadSample};
use crate::machine::CpuTime;
use crate::machine::NetworkCounters;
use crate::machine::ResourceSample;
use crate::machine::ThreadUse;
use crate::observation::{Capacity, Connecting, Outcome, Sample};
use crate::plan::Trial;
use samples::sample;

const CONNECTIONS: u32 = 1_000;
const TIMEOUT_MS: u64 = 2_000;

fn setting(ready: serde_json::Value) -> LoadSetting {
    LoadSetting::new(CONNECTIONS, TIMEOUT_MS, 2, Placement::Free, ready)
}

fn equal() -> LoadSetting {
    setting(json!({"threads": 2, "backlog": 1024, "tcp_nodelay": true, "max_connections": null}))
}

/// A second in which 100,000 requests were answered, with all evidence there and no symptom.
pub(crate) fn healthy() -> Sample {
    let latency_us = Latency { mean: 10e3, p50: 9e3, p90: 15e3, p99: 30e3, p999: Some(40e3), max: 60e3 };
    let load = LoadSample {
        succeeded: 100_000,
        time_taken_s: 1.0,
        bytes_read: 1,
        latency_us,
        quantiles: vec![(0.0, 200.0), (0.5, 9e3), (0.9, 15e3), (0.99, 30e3), (0.999, 40e3), (1.0, 60e3)],
        ..LoadSample::default()
    };
    let zero = Some(0);
    let network = NetworkCounters {
        listen_overflows: zero,
        listen_drops: zero,
        syn_retransmits: zero,
        timeouts: zero,
        ..NetworkCounters::default()
    };
    let moment =
        ResourceSample { open_files: Some(1_001), listen_waiting: Some(0), ..ResourceSample::default() };
    let thread = |name: &str| ThreadUse { name: name.into(), cpu_us: 700_000, run_delay_us: 250_000 };
    Sample {
        load,
        network,
        established: Some(1_001),
        resources: vec![moment; 10],
        capacity: Capacity {
            open_files_limit: Some(20_000),
            open_files_before: Some(20),
            listen_limit: Some(1_024),
            listen_sockets: Some(1),
            alone_us: Some(120.0),
            alone_cpu_us: Some(30.0),
        },
        threads: vec![thread("worker"), thread("worker")],
        window_s: 1.1,
        client_cpu: CpuTime { user_s: 0.3, system_s: 0.3 },
        ..sample(100_000.0, 14.0)
    }
}

/// The same with `count` timeouts.
fn with_timeouts(count: u64) -> Sample {
    let mut sample = healthy();
    sample.load.failed = BTreeMap::from([("timeout".to_owned(), count)]);
    sample.load.time_taken_s = 2.0;
    let share = count as f64 / (count + sample.load.succeeded) as f64;
    sample.load.quantiles.pop();
    sample.load.quantiles.retain(|(probability, _)| *probability < 1.0 - share);
    sample.load.quantiles.extend([(1.0 - share, 2.0e6), (1.0, 2.1e6)]);
    sample.load.latency_us.max = 2.1e6;
    sample.threads.iter_mut().for_each(|thread| thread.cpu_us = 900_000);
    sample
}

pub(crate) fn observation(outcome: Outcome) -> Observation {
    let trial = Trial {
        number: 1,
        block: 1,
        server: "a".into(),
        workload: "w".into(),
        connections: CONNECTIONS,
        ..Trial::default()
    };
    Observation { trial, started_at: String::new(), took_s: 1.0, outcome }
}

fn found(setting: &LoadSetting, sample: Sample) -> Diagnosis {
    let outcome = match sample.load.succeeded {
        0 => Outcome::NoSuccess(Box::new(sample)),
        _ => Outcome::Completed(Box::new(sample)),
    };
    diagnose(setting, &[&observation(outcome)])
}

/// The one cause that is named, and its sentence.
fn only(setting: &LoadSetting, sample: Sample) -> (CauseKind, String) {
    let diagnosis = found(setting, sample);
    assert_eq!(diagnosis.causes.len(), 1, "{diagnosis:?}");
    (diagnosis.causes[0].kind, diagnosis.causes[0].sentence.clone())
}

#[test]
fn a_healthy_server_has_no_cause() {
    let diagnosis = found(&equal(), healthy());
    assert!(diagnosis.is_healthy() && !diagnosis.is_unknown(), "{diagnosis:?}");
    assert_eq!(diagnosis.unavailable, [""; 0]);
}

#[test]
fn a_full_accept_queue_is_named() {
    let mut sample = with_timeouts(300);
    sample.network.listen_overflows = Some(2_355);
    sample.network.syn_retransmits = Some(2_300);
    sample.network.timeouts = Some(2_300);
    sample.capacity.listen_limit = Some(128);
    let (kind, sentence) = only(&equal(), sample);
    assert_eq!(kind, CauseKind::AcceptQueueFull);
    assert_eq!(
        sentence,
        "its listen queue holds 128; 2,355 connection attempts found it full and were dropped and sent again after 1 \
         s or more; 300 requests were slower than 950 ms: a step that a dropped connection attempt leaves"
    );
}

#[test]
fn a_full_accept_queue_may_only_delay() {
    let mut sample = healthy();
    sample.load.quantiles.pop();
    sample.load.quantiles.extend([(0.9995, 1.01e6), (1.0, 1.03e6)]);
    sample.load.latency_us.max = 1.03e6;
    sample.network.listen_overflows = Some(53);
    sample.network.syn_retransmits = Some(53);
    let diagnosis = found(&equal(), sample);
    assert_eq!((diagnosis.bad_requests, diagnosis.failed_trials), (0, 0), "slower than 0.95 s is not bad");
    let [cause] = &diagnosis.causes[..] else { panic!("{diagnosis:?}") };
    assert_eq!((cause.kind, cause.symptom), (CauseKind::AcceptQueueFull, Symptom::Stepped));
    assert!(
        cause.sentence.contains("50 requests were slower than 950 ms: a step that"),
        "{}",
        cause.sentence
    );
    assert_eq!(cause.explains, 1.0);
}

#[test]
fn bad_requests_failed_or_exceeded_the_timeout() {
    let mut sample = healthy();
    sample.load.quantiles.pop();
    sample.load.quantiles.extend([(0.9995, 1.01e6), (0.9998, 2.5e6), (1.0, 3.1e6)]);
    sample.load.latency_us.max = 3.1e6;
    let diagnosis = found(&equal(), sample.clone());
    assert_eq!(
        (diagnosis.bad_requests, diagnosis.failed_requests, diagnosis.timeout_ms),
        (20, 0, TIMEOUT_MS)
    );
    // Requests that failed may be those that took so long, and count once.
    sample.load.failed = BTreeMap::from([("Post: context deadline exceeded".to_owned(), 15)]);
    let diagnosis = found(&equal(), sample);
    assert_eq!((diagnosis.bad_requests, diagnosis.failed_requests, diagnosis.failed_trials), (20, 15, 1));
}

#[test]
fn a_remedy_is_judged_by_failing_trials() {
    let completed = |sample: Sample| observation(Outcome::Completed(Box::new(sample)));
    let mut stepped = healthy();
    stepped.load.latency_us.max = 1.03e6;
    let mut short = healthy();
    short.connecting =
        Some(Connecting { requested: CONNECTIONS, allowed_ms: 10_000, took_ms: None, held: 900 });
    let before: Vec<Observation> = (0..5).map(|_| completed(with_timeouts(300))).collect();
    let mut after: Vec<Observation> = (0..5).map(|_| completed(stepped.clone())).collect();
    after.push(observation(Outcome::NotHeld(Box::new(short))));
    after.push(observation(Outcome::ToolFailed { reason: "x".into() }));
    let confirmation = confirm(Symptom::Failing, TIMEOUT_MS, &before, &after);
    assert_eq!(confirmation.standing, Standing::Confirmed);
    assert_eq!((confirmation.before, confirmation.after), (Tally { bad: 5, of: 5 }, Tally { bad: 0, of: 5 }));
}

#[test]
fn a_counter_that_moved_too_little_is_not_named() {
    let mut sample = with_timeouts(300);
    sample.load.quantiles.insert(4, (0.993, 1.5e6));
    sample.network.listen_overflows = Some(60);
    sample.network.syn_retransmits = Some(60);
    let diagnosis = found(&equal(), sample);
    assert!(diagnosis.is_unknown() && diagnosis.causes.is_empty(), "{diagnosis:?}");
}

#[test]
fn unknown_evidence_is_reported_as_unavailable() {
    let mut sample = with_timeouts(300);
    sample.load.quantiles.insert(4, (0.993, 1.5e6));
    sample.network = NetworkCounters::default();
    sample.capacity = Capacity::default();
    let diagnosis = found(&equal(), sample);
    assert!(diagnosis.is_unknown());
    let lacks = ["listen overflows", "the limit of open files", "the latency of one request by itself"];
    assert!(
        lacks.iter().all(|what| diagnosis.unavailable.iter().any(|known| known == what)),
        "{diagnosis:?}"
    );
}

#[test]
fn a_stalled_accept_loop_is_named_without_its_overflows() {
    let mut sample = with_timeouts(900);
    sample.load.succeeded = 0;
    sample.established = Some(100);
    sample.network.listen_overflows = Some(500);
    sample.network.syn_retransmits = Some(500);
    for moment in &mut sample.resources {
        moment.open_files = Some(100);
        moment.listen_waiting = Some(900);
    }
    sample.threads.clear();
    let (kind, sentence) = only(&equal(), sample.clone());
    assert_eq!(kind, CauseKind::AcceptStalled);
    assert!(
        sentence.contains("900 connections stood") && sentence.contains("held 100 of 1,000"),
        "{sentence}"
    );

    let mut moving = sample;
    moving.resources[8].open_files = Some(120);
    let causes = found(&equal(), moving).causes;
    assert!(causes.iter().all(|cause| cause.kind != CauseKind::AcceptStalled), "it still accepts");
}

#[test]
fn files_at_the_limit_are_named_without_the_full_queue() {
    let mut sample = with_timeouts(940);
    sample.established = Some(40);
    sample.capacity.open_files_limit = Some(60);
    for moment in &mut sample.resources {
        moment.open_files = Some(40);
        moment.listen_waiting = Some(900);
    }
    let (kind, sentence) = only(&equal(), sample);
    assert_eq!(kind, CauseKind::OpenFiles);
    assert_eq!(
        sentence,
        "the server may open 60 files, and had that many open: of 1,000 connections it never held 960"
    );
}

#[test]
fn a_limit_is_named_by_its_number() {
    let mut sample = healthy();
    sample.load.failed = BTreeMap::from([("HTTP 4xx".to_owned(), 45_000)]);
    let limited = setting(json!({"threads": 2, "max_connections": 100, "tcp_nodelay": true}));
    let (kind, sentence) = only(&limited, sample.clone());
    assert_eq!(kind, CauseKind::Limit);
    assert_eq!(sentence, "the server takes 100 connections at a time and refused 45,000 requests");
    assert!(only(&equal(), sample).1.contains("a limit of its own"));
}

#[test]
fn one_busy_thread_on_two_cores_is_too_few() {
    let mut sample = healthy();
    sample.threads = vec![ThreadUse { name: "worker".into(), cpu_us: 950_000, run_delay_us: 20_000 }];
    let one = setting(json!({"threads": 1, "tcp_nodelay": true}));
    let (kind, sentence) = only(&one, sample.clone());
    assert_eq!(kind, CauseKind::TooFewThreads);
    assert_eq!(
        sentence,
        "it answers with 1 thread, which had work for 97 % of the time, on a machine of 2 cores"
    );
    assert!(found(&equal(), sample.clone()).is_healthy());
    sample.threads[0].cpu_us = 400_000;
    assert!(found(&one, sample).is_healthy(), "an idle thread is enough");
}

#[test]
fn a_waiting_handler_is_named() {
    let mut sample = healthy();
    sample.capacity.alone_us = Some(2_150.0);
    sample.capacity.alone_cpu_us = Some(80.0);
    sample.load.latency_us.mean = 2_300.0;
    sample.threads.clear();
    let (kind, sentence) = only(&equal(), sample.clone());
    assert_eq!(kind, CauseKind::SlowHandler);
    assert!(
        sentence.starts_with("one request by itself takes 2.15 ms, of which 80.0 µs is CPU time"),
        "{sentence}"
    );
    // Two threads that wait 2.07 ms with each request answer at most 966 a second.
    sample.load.latency_us.mean = 1.04e6;
    sample.load.succeeded = 950;
    sample.server_requests = Some(950);
    assert_eq!(only(&equal(), sample).0, CauseKind::SlowHandler);
    // The handler's wait does not explain the latency under a full queue.
    let mut loaded = healthy();
    loaded.capacity.alone_us = Some(2_150.0);
    assert!(found(&equal(), loaded).is_healthy());
}

#[test]
fn full_processors_are_named_where_requests_fail() {
    let mut sample = with_timeouts(3_000);
    sample.load.latency_us.mean = 900e3;
    sample.load.latency_us.p50 = 700e3;
    sample.threads.iter_mut().for_each(|thread| thread.cpu_us = 1_600_000);
    let (kind, sentence) = only(&equal(), sample);
    assert_eq!(kind, CauseKind::CpuQueue);
    assert!(sentence.contains("0.70 cores among 1,000 connections"), "{sentence}");
}

#[test]
fn starved_connections_are_counted_by_their_timeouts() {
    let mut sample = with_timeouts(300);
    sample.load.latency_us.mean = 15e3;
    let (kind, sentence) = only(&equal(), sample);
    assert_eq!(kind, CauseKind::Starved);
    assert!(sentence.starts_with("about 300 of 1,000 connections got no answer"), "{sentence}");
}
