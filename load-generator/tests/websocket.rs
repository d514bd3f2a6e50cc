//! Over WebSocket: what is sent when, and what becomes of it.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod common;

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use common::{BODY, Socket, answer, command, failures, load, number, parsed, ws, ws_server};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use serde_json::{Value, json};

async fn echo(mut socket: Socket) {
    while let Some(request) = socket.next().await {
        socket.send(&answer(&request, &json!(1))).await;
    }
}

#[test]
fn an_open_loop_sends_what_is_due_and_no_more() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let all = seen.clone();
    let url = ws(move |mut socket, connection| {
        let all = all.clone();
        async move {
            while let Some(request) = socket.next().await {
                all.lock().unwrap().push((connection, request["id"].as_u64().unwrap()));
                socket.send(&answer(&request, &json!(1))).await;
            }
        }
    });
    let dir = tempfile::tempdir().unwrap();
    let csv = dir.path().join("records.csv");
    let args = format!("--connections 4 --in-flight 8 --duration 500 --rate 200 --records {}", csv.display());
    let report = load(&url, &args);
    for count in ["/sent", "/succeeded", "/open/due", "/latency_us/count", "/open/latency_from_sent_us/count"]
    {
        assert_eq!(number(&report, count), 100, "{count}");
    }
    assert_eq!(number(&report, "/open/own_lag_us/count") + number(&report, "/open/held"), 100);
    assert_eq!((failures(&report), report["interrupted"].as_bool()), (0, Some(false)));
    let seen = seen.lock().unwrap();
    let ids: HashSet<u64> = seen.iter().map(|(_, id)| *id).collect();
    assert_eq!((seen.len(), ids.len()), (100, 100));
    for connection in 0..4 {
        assert_eq!(seen.iter().filter(|(number, _)| *number == connection).count(), 25);
    }
    let csv = std::fs::read_to_string(csv).unwrap();
    let due: Vec<u64> =
        csv.lines().skip(1).map(|line| line.split(',').nth(1).unwrap().parse().unwrap()).collect();
    assert!(due.iter().enumerate().all(|(i, due)| *due == i as u64 * 5_000_000), "{due:?}");
    assert!(csv.lines().skip(1).all(|line| line.contains(",ok,")));
    let log = format!("{}\n", report["hdr_log"].as_str().unwrap());
    let Some(Ok(LogEntry::Interval(interval))) = IntervalLogIterator::new(log.as_bytes()).next() else {
        panic!("{log}");
    };
    let bytes = STANDARD.decode(interval.encoded_histogram()).unwrap();
    let histogram: Histogram<u64> = Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
    assert_eq!(histogram.len(), 100);
    let last = report["quantiles_us"].as_array().unwrap().last().unwrap();
    assert_eq!(
        (last[0].as_f64(), last[1].as_f64() >= report["latency_us"]["p99.99"].as_f64()),
        (Some(1.0), true)
    );
}

#[test]
fn a_closed_loop_keeps_its_requests_in_flight_and_takes_answers_in_any_order() {
    let (most, received) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let (most_seen, all) = (most.clone(), received.clone());
    let url = ws(move |mut socket, _| {
        let (most, all) = (most_seen.clone(), all.clone());
        async move {
            // Answers only once the client has sent nothing for a while, the last first.
            let mut waiting: Vec<Value> = Vec::new();
            loop {
                match socket.next_within(Duration::from_millis(20)).await {
                    Ok(Some(request)) => {
                        waiting.push(request);
                        all.fetch_add(1, SeqCst);
                    }
                    Ok(None) => return,
                    Err(_) => {
                        most.fetch_max(waiting.len() as u64, SeqCst);
                        while let Some(request) = waiting.pop() {
                            socket.send(&answer(&request, &json!(1))).await;
                        }
                    }
                }
            }
        }
    });
    let report = load(&url, "--connections 3 --in-flight 7 --duration 400 --expect 1");
    assert_eq!((most.load(SeqCst), number(&report, "/most_in_flight")), (7, 7));
    assert_eq!((number(&report, "/sent"), failures(&report)), (received.load(SeqCst), 0), "{report}");
    assert_eq!(number(&report, "/succeeded"), number(&report, "/sent"));
    assert!(number(&report, "/sent") >= 21 && report["open"].is_null());
}

#[test]
fn a_stall_shows_in_every_request_that_was_due_in_it() {
    let url = ws(|mut socket, connection| async move {
        for i in 0.. {
            let Some(request) = socket.next().await else { return };
            if (connection, i) == (0, 50) {
                // All connections of this server have one thread.
                std::thread::sleep(Duration::from_millis(200));
            }
            socket.send(&answer(&request, &json!(1))).await;
        }
    });
    let dir = tempfile::tempdir().unwrap();
    let csv = dir.path().join("records.csv");
    let report =
        load(&url, &format!("--connections 2 --duration 1000 --rate 500 --records {}", csv.display()));
    // On a busy machine the last may find no more time.
    let not_sent = report["failed"]["not sent"].as_u64().unwrap_or(0);
    assert_eq!((number(&report, "/sent") + not_sent, failures(&report)), (500, not_sent), "{report}");
    let csv = std::fs::read_to_string(csv).unwrap();
    // One that found no time was not sent, and has no time of that.
    let sent = csv.lines().skip(1).filter_map(|line| {
        let time = |i| line.split(',').nth(i).unwrap().parse::<u64>();
        Some((time(3).unwrap() - time(1).unwrap(), time(3).unwrap() - time(2).ok()?))
    });
    let slow = |times: &[u64]| times.iter().filter(|ns| **ns >= 100_000_000).count();
    let (since_due, since_sent): (Vec<u64>, Vec<u64>) = sent.unzip();
    assert_eq!((since_due.len() as u64, number(&report, "/sent")), (500 - not_sent, 500 - not_sent));
    // 200 ms at 500 a second are 100 requests, of which half waited for more than half of it.
    let waited = slow(&since_due) as u64 + not_sent;
    assert!(waited >= 49, "{waited} waited");
    assert!(slow(&since_sent) as u64 * 4 < waited, "{}, {waited}", slow(&since_sent));
    assert!(number(&report, "/open/held") + not_sent >= 90, "{report}");
    assert!(report["latency_us"]["p95"].as_f64() > report["open"]["latency_from_sent_us"]["p95"].as_f64());
}

#[test]
fn what_can_not_be_sent_in_the_window_is_counted() {
    // Answers the first request after the window.
    let url = ws(|mut socket, _| async move {
        while let Some(request) = socket.next().await {
            tokio::time::sleep(Duration::from_millis(600)).await;
            socket.send(&answer(&request, &json!(1))).await;
        }
    });
    let report = load(&url, "--duration 200 --rate 100 --timeout 5000");
    assert_eq!((number(&report, "/open/due"), number(&report, "/sent")), (20, 1));
    assert_eq!((number(&report, "/failed/not sent"), number(&report, "/succeeded")), (19, 1));
}

#[test]
fn wrong_answers_and_errors_are_failures() {
    let counts = Arc::new([const { AtomicU64::new(0) }; 3]);
    let all = counts.clone();
    let url = ws(move |mut socket, _| {
        let all = all.clone();
        async move {
            for i in 0.. {
                let Some(request) = socket.next().await else { return };
                all[i % 3].fetch_add(1, SeqCst);
                socket.send(&json!({ "method": "n", "params": {} })).await;
                let reply = match i % 3 {
                    0 => answer(&request, &json!({ "value": 1 })),
                    1 => answer(&request, &json!({ "value": 2 })),
                    _ => json!({ "error": { "code": -32005, "message": "" }, "id": request["id"] }),
                };
                socket.send(&reply).await;
            }
        }
    });
    let report = load(&url, r#"--connections 2 --in-flight 2 --duration 200 --expect {"value":1}"#);
    let count = |i: usize| counts[i].load(SeqCst);
    assert_eq!(number(&report, "/succeeded"), count(0));
    assert_eq!(number(&report, "/failed/wrong answer"), count(1));
    assert_eq!(number(&report, "/failed/error -32005"), count(2));
    assert_eq!(number(&report, "/notifications"), number(&report, "/sent"));
}

#[test]
fn each_body_has_its_own_result_and_an_id_of_another_request_is_no_answer() {
    let url = ws(|mut socket, _| async move {
        while let Some(request) = socket.next().await {
            // Which of the two it is, and then an answer to nothing.
            socket.send(&answer(&request, &request["params"])).await;
            socket.send(&json!({ "id": 4_000_000_000_u64, "result": 1 })).await;
        }
    });
    let dir = tempfile::tempdir().unwrap();
    let (bodies, results) = (dir.path().join("bodies"), dir.path().join("results"));
    std::fs::write(
        &bodies,
        "{\"method\":\"a\",\"params\":[1],\"id\":\"x\"}\n{\"method\":\"a\",\"params\":[2]}\n",
    )
    .unwrap();
    std::fs::write(&results, "[1]\n[2]\n").unwrap();
    let mut command = command(&url, "--connections 3 --in-flight 2 --duration 100");
    let output = command.arg("--bodies").arg(&bodies).arg("--expect").arg(&results).output().unwrap();
    let report = parsed(&output);
    assert_eq!((number(&report, "/succeeded"), failures(&report)), (number(&report, "/sent"), 0));
    assert!(number(&report, "/unmatched_messages") > 0);
}

#[test]
fn a_late_answer_is_counted_and_taken_for_no_other() {
    let url = ws(|mut socket, _| async move {
        let mut kept = Vec::new();
        for i in 0.. {
            let Some(request) = socket.next().await else { return };
            if i < 3 {
                kept.push(request);
                continue;
            }
            // By now the first three have timed out: each connection has three slots.
            for late in kept.drain(..) {
                socket.send(&answer(&late, &json!("late"))).await;
            }
            socket.send(&answer(&request, &json!(1))).await;
        }
    });
    let report = load(&url, "--in-flight 3 --duration 900 --timeout 400 --expect 1");
    assert_eq!((number(&report, "/failed/timeout"), number(&report, "/late_answers")), (3, 3), "{report}");
    assert_eq!((number(&report, "/succeeded"), failures(&report)), (number(&report, "/sent") - 3, 3));
    assert!(report["latency_us"]["max"].as_f64().unwrap() >= 400_000.0);
}

#[test]
fn a_connection_that_is_cut_loses_what_was_in_flight_and_is_established_again() {
    let lost = Arc::new(AtomicU64::new(0));
    let all = lost.clone();
    let url = ws(move |mut socket, _| {
        let all = all.clone();
        async move {
            for _ in 0..20 {
                let Some(request) = socket.next().await else { return };
                socket.send(&answer(&request, &json!(1))).await;
            }
            while let Ok(Some(_)) = socket.next_within(Duration::from_millis(20)).await {
                all.fetch_add(1, SeqCst);
            }
        }
    });
    let report = load(&url, "--connections 2 --in-flight 4 --duration 400");
    assert_eq!(number(&report, "/failed/connection lost"), lost.load(SeqCst));
    assert_eq!(number(&report, "/succeeded") + failures(&report), number(&report, "/sent"));
    assert!(number(&report, "/reconnects") >= 2 && number(&report, "/connections_lost") >= 2, "{report}");
}

#[test]
fn a_server_that_is_gone_does_not_hold_a_run_up() {
    let url = ws_server(
        |mut socket, _| async move {
            for _ in 0..5 {
                let Some(request) = socket.next().await else { return };
                socket.send(&answer(&request, &json!(1))).await;
            }
        },
        |connection| async move { connection < 2 },
    );
    let report = load(&url, "--connections 2 --duration 500 --rate 100 --timeout 1000");
    assert_eq!((number(&report, "/open/due"), number(&report, "/succeeded")), (50, 10));
    assert_eq!(number(&report, "/sent") + number(&report, "/failed/not sent"), 50);
    let why = report["failed_reconnects"].as_object().unwrap();
    assert!(why.values().map(|count| count.as_u64().unwrap()).sum::<u64>() >= 2, "{report}");
    assert_eq!(number(&report, "/reconnects"), 0);
}

#[test]
fn a_batch_is_one_request_that_each_call_of_is_checked() {
    let url = ws(|mut socket, _| async move {
        for i in 0.. {
            let Some(request) = socket.next().await else { return };
            let calls = request.as_array().unwrap();
            assert_eq!(calls.len(), 5);
            let mut answers: Vec<Value> = calls.iter().rev().map(|call| answer(call, &json!(1))).collect();
            if i == 1 {
                answers.pop();
            }
            socket.send(&answers.into()).await;
        }
    });
    let report = load(&url, "--batch 5 --in-flight 2 --duration 100 --expect 1");
    assert_eq!((number(&report, "/failed/malformed answer"), failures(&report)), (1, 1));
    assert_eq!(number(&report, "/succeeded") + 1, number(&report, "/sent"));
}

#[test]
fn connections_are_held_without_a_request() {
    let messages = Arc::new(AtomicU64::new(0));
    let all = messages.clone();
    let url = ws_server(
        move |mut socket, _| {
            let all = all.clone();
            async move {
                while socket.next().await.is_some() {
                    all.fetch_add(1, SeqCst);
                }
            }
        },
        // The last two are closed before the handshake.
        |connection| async move { connection < 10 },
    );
    let report = parsed(&command(&url, "--connections 12 --hold --duration 100").output().unwrap());
    assert_eq!((number(&report, "/sent"), messages.load(SeqCst)), (0, 0));
    let connect = &report["connect"];
    assert_eq!((number(connect, "/established"), number(connect, "/time_us/count")), (10, 10));
    let failed = connect["failed"].as_object().unwrap();
    assert_eq!(failed.values().map(|count| count.as_u64().unwrap()).sum::<u64>(), 2, "{failed:?}");
}

#[test]
fn connections_are_established_at_once_up_to_the_bound() {
    let most_at_once = |args: &str| {
        let (now, most) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let seen = most.clone();
        let before = move |_| {
            let (now, most) = (now.clone(), seen.clone());
            async move {
                most.fetch_max(now.fetch_add(1, SeqCst) + 1, SeqCst);
                tokio::time::sleep(Duration::from_millis(40)).await;
                now.fetch_sub(1, SeqCst);
                true
            }
        };
        let url = ws_server(|socket, _| echo(socket), before);
        let report = load(&url, &format!("--connections 8 --duration 20 {args}"));
        assert_eq!(number(&report, "/connect/established"), 8);
        most.load(SeqCst)
    };
    assert_eq!((most_at_once("--connect-at-once 3"), most_at_once("")), (3, 8));
}

#[test]
fn sigint_ends_the_window_early() {
    let url = ws(|socket, _| echo(socket));
    let mut command = command(&url, "--connections 2 --duration 60000 --rate 200");
    let child = command.args(["--body", BODY]).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(500));
    let (pid, asked) = (rustix::process::Pid::from_child(&child), Instant::now());
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let report = parsed(&child.wait_with_output().unwrap());
    assert!(asked.elapsed() < Duration::from_secs(30));
    assert_eq!(report["interrupted"].as_bool(), Some(true));
    let (due, sent) = (number(&report, "/open/due"), number(&report, "/sent"));
    assert_eq!((due, failures(&report)), (sent, 0));
    assert!(report["window_seconds"].as_f64().unwrap() * 200.0 >= sent as f64 - 1.0);
}
