//! The same over WebSocket: connections that say nothing, calls in flight, clients that read nothing, and the end of a server.

use std::collections::HashSet;
use std::net::{Shutdown, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use server_kit::testing::Running;
use server_kit::testing::ws_client::{Message, TEXT, WsConnection, frame_bytes};

use super::client::{balance_call, call, p99_of};
use super::{Check, MEMORY_BOUND_BYTES, Subject, process, seconds};
use crate::servers::JSONRPSEE;

/// Calls in flight on one connection.
const IN_FLIGHT: usize = 1_000;

/// Subscriptions of a client that reads nothing.
const SUBSCRIPTIONS: usize = 200;

/// How often the chain advances for it, in milliseconds.
const SLOT_INTERVAL_MS: u64 = 2;

/// Calls of a client that reads nothing, each with an answer of some 400 kB.
const UNREAD: usize = 200;

/// How long the answers to those calls may take to be written or given up.
const UNREAD_LIMIT: Duration = Duration::from_secs(20);

/// Clients that call over and over while a server is ended.
const CALLERS: usize = 16;

/// Measures another client with and without idle connections.
pub fn idle(subject: &Subject<'_>, check: &mut Check) {
    let plan = subject.plan;
    let server = subject.server.start_seeded_with_ws();
    let p99_us = || {
        let mut connection = WsConnection::open(&server);
        p99_of(plan.requests, |body| {
            connection.send(body);
            connection.receive().map_or_else(|end| format!("{end:?}"), |answer| answer.to_string())
        })
    };
    // Warms up both sides.
    p99_us();
    let resident = process::resident_bytes(server.pid());
    let quiet_us = p99_us();
    let mut held: Vec<WsConnection> =
        (0..plan.idle_connections).map(|_| WsConnection::open(&server)).collect();
    held.iter_mut().for_each(|connection| drop(connection.ask(&balance_call(1))));
    let loaded_us = p99_us();
    let grown = process::resident_bytes(server.pid()) - resident;
    let is_lost = |connection: &mut WsConnection| !connection.is_silent_for(Duration::from_millis(1));
    let lost = held.iter_mut().map(is_lost).filter(|lost| *lost).count();
    check.figure("idle connections", plan.idle_connections as f64, "");
    check.figure("quiet p99", quiet_us, "µs");
    check.figure("loaded p99", loaded_us, "µs");
    check.figure("resident memory grew by", grown / 1_048_576.0, "MiB");
    check.figure("connections lost", lost as f64, "");
    check.demand(lost == 0, || format!("{lost} connections were not held"));
}

/// Sends all calls before it reads any answer, and matches the answers by their ids.
pub fn in_flight(subject: &Subject<'_>, check: &mut Check) {
    let server = subject.server.start_seeded_with_ws();
    let mut connection = WsConnection::open(&server);
    for id in 0..IN_FLIGHT {
        connection.send(balance_call(id).as_str());
    }
    let mut ids = HashSet::new();
    let mut in_order = 0;
    for turn in 0..IN_FLIGHT {
        let answer = connection.answer();
        if answer["result"]["value"].is_u64() && ids.insert(answer["id"].as_u64()) {
            in_order += usize::from(answer["id"] == turn);
        }
    }
    check.figure("calls", IN_FLIGHT as f64, "");
    check.figure("answers, each to another call", ids.len() as f64, "");
    check.figure("answers in the order of the calls", in_order as f64, "");
    check.demand(ids.len() == IN_FLIGHT, || format!("{} of {IN_FLIGHT} calls were answered", ids.len()));
}

/// A subscriber that reads nothing, next to one that reads and to a client that calls.
pub fn slow_subscriber(subject: &Subject<'_>, check: &mut Check) {
    let server = subject.server.start_advancing(SLOT_INTERVAL_MS);
    let subscribe = call(1, "slotSubscribe", "[]");
    let mut reading = WsConnection::open(&server);
    reading.send(subscribe.as_str());
    let before = process::resident_bytes(server.pid());
    let mut slow = WsConnection::open_narrow(&server);
    for _ in 0..SUBSCRIPTIONS {
        slow.send(subscribe.as_str());
    }
    let mut most = before;
    let (mut announced, mut wrong) = (0_u64, 0_u64);
    let end = Instant::now() + seconds(subject.plan.slow_s + 1);
    let mut caller = WsConnection::open(&server);
    while Instant::now() < end {
        let message = reading.answer();
        announced += u64::from(message["method"] == "slotNotification");
        if announced.is_multiple_of(100) {
            wrong += u64::from(caller.ask(&balance_call(7))["id"] != 7);
            most = most.max(process::resident_bytes(server.pid()));
        }
    }
    check.figure("subscriptions of a client that reads nothing", SUBSCRIPTIONS as f64, "");
    check.figure("slots announced to another subscriber", announced as f64, "");
    check.figure("wrong answers of another client", wrong as f64, "");
    check.figure("resident memory grew by", (most - before) / 1_048_576.0, "MiB");
    check.demand(announced > 0 && wrong == 0, || format!("others: {announced} slots, {wrong} wrong answers"));
    check.demand(most - before <= MEMORY_BOUND_BYTES, || "memory grew by more than 64 MiB".to_owned());
}

/// A client that calls on and on and reads nothing. What is remembered once the calls have been run is demanded; jsonrpsee
/// remembers every answer, which it has no limit for.
pub fn slow_caller(subject: &Subject<'_>, check: &mut Check) {
    let server = subject.server.start_large_with_ws();
    let frame = frame_bytes(TEXT, call(1, "getBlocks", "[0,60000]").as_bytes());
    let mut warm = WsConnection::open(&server);
    drop(warm.ask(&call(1, "getBlocks", "[0,60000]")));
    let before = process::resident_bytes(server.pid());
    let mut slow = WsConnection::open_narrow(&server);
    // Few enough to lie in the sockets' buffers where a server reads no further.
    let sent = (0..UNREAD).take_while(|_| slow.send_raw(&frame).is_ok()).count();
    let (began, mut most, mut right) = (Instant::now(), before, 0);
    let is_known = subject.server.name == JSONRPSEE;
    let grown = loop {
        right += usize::from(warm.ask(&balance_call(right))["id"] == right);
        let now = process::resident_bytes(server.pid());
        most = most.max(now);
        let enough = began.elapsed() > seconds(1) && (is_known || now - before <= MEMORY_BOUND_BYTES);
        if enough || began.elapsed() > UNREAD_LIMIT {
            break now - before;
        }
        thread::sleep(Duration::from_millis(10));
    };
    check.figure("calls sent, whose answers nobody reads", sent as f64, "");
    check.figure("right answers of another client", right as f64, "");
    check.figure("resident memory grew at most by", (most - before) / 1_048_576.0, "MiB");
    check.figure("resident memory in the end above where it was", grown / 1_048_576.0, "MiB");
    check.demand(right > 0, || "another client got no answer".to_owned());
    check.demand(grown <= MEMORY_BOUND_BYTES || is_known, || "memory grew by more than 64 MiB".to_owned());
    slow.shutdown(Shutdown::Both);
}

/// Ends a server that is called over WebSocket, and subscribed to.
pub fn sigterm(subject: &Subject<'_>, check: &mut Check) {
    let (mut whole, mut wrong, mut codes_wrong, mut ports_taken) = (0, 0, 0, 0);
    let mut longest = Duration::ZERO;
    for _ in 0..subject.plan.endings {
        let server = subject.server.start_advancing(20);
        let stop = AtomicBool::new(false);
        let (addr, connections) = (server.ws_addr(), [(); CALLERS].map(|()| WsConnection::open(&server)));
        let answers: Vec<(usize, usize)> = thread::scope(|scope| {
            let callers = connections.map(|connection| scope.spawn(|| call_until_the_end(connection, &stop)));
            thread::sleep(Duration::from_millis(300));
            let signalled = Instant::now();
            codes_wrong += usize::from(end(server).code() != Some(0));
            longest = longest.max(signalled.elapsed());
            stop.store(true, Ordering::Relaxed);
            callers.into_iter().map(|caller| caller.join().expect("a client does not panic")).collect()
        });
        whole += answers.iter().map(|(right, _)| right).sum::<usize>();
        wrong += answers.iter().map(|(_, wrong)| wrong).sum::<usize>();
        ports_taken += usize::from(TcpListener::bind(addr).is_err());
    }
    check.figure("endings", subject.plan.endings as f64, "");
    check.figure("right answers", whole as f64, "");
    check.figure("wrong answers", wrong as f64, "");
    check.figure("longest time from signal to end", longest.as_secs_f64(), "s");
    check.demand(whole > 0 && wrong == 0, || format!("{whole} right answers, {wrong} wrong ones"));
    check.demand(codes_wrong == 0, || format!("{codes_wrong} exit codes are not 0"));
    check.demand(ports_taken == 0, || format!("{ports_taken} ports could not be bound at once"));
}

fn end(server: Running) -> std::process::ExitStatus {
    server.signal("TERM");
    server.wait_for_end()
}

/// Right answers and wrong ones, until the server ends the connection.
fn call_until_the_end(mut connection: WsConnection, stop: &AtomicBool) -> (usize, usize) {
    let (mut right, mut wrong) = (0, 0);
    while !stop.load(Ordering::Relaxed) {
        let id = right + wrong;
        if connection.send_raw(&frame_bytes(TEXT, balance_call(id).as_bytes())).is_err() {
            break;
        }
        let Some(Ok(Message::Text(text))) = connection.receive_within(seconds(6)) else { break };
        let answer: Value = serde_json::from_str(&text).unwrap_or_default();
        if answer["id"] == id && answer["result"]["value"].is_u64() {
            right += 1;
        } else {
            wrong += 1;
        }
    }
    (right, wrong)
}
