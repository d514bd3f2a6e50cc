//! The server behind the gateway is killed while callers come, and started again: each caller gets the true answer or a clear error.

use std::collections::{BTreeMap, HashSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use server_kit::testing::{Connection, Running};

use crate::actix::{self, balances, gateway, wait_for_answers};

/// Each sends one request a second on a connection that it keeps.
const CALLERS: usize = 500;

/// Until all callers are there.
const RAMP: Duration = Duration::from_secs(2);

/// When the server is killed, in the middle of the ramp.
const KILLED_AT: Duration = Duration::from_secs(1);

/// How long it is away.
const DOWN: Duration = Duration::from_secs(1);

/// How long callers send on once the gateway reaches it again, which takes longer where the machine is busy.
const AFTER: Duration = Duration::from_secs(3);

const EVERY: Duration = Duration::from_secs(1);

/// What a caller got to a request, and when.
struct Got {
    at: Instant,
    took: Duration,
    /// 200 with the true answer, or the status of a clear error.
    status: u16,
}

/// Sends one request a second until it is over. Panics at an answer that is neither the true one nor a clear error.
fn call(
    gateway: SocketAddr,
    call: impl Fn(u64) -> String,
    value: u64,
    begin: Instant,
    is_over: &AtomicBool,
) -> Vec<Got> {
    thread::sleep(begin.saturating_duration_since(Instant::now()));
    let mut connection = Connection::open(gateway);
    let mut due = begin;
    let mut all = Vec::new();
    for id in 1.. {
        let sent = Instant::now();
        let answer = connection.post(&call(id));
        let at = Instant::now();
        let said = answer.json();
        assert_eq!(said["id"], id, "the caller's own id: {answer:?}");
        match answer.status {
            200 => assert_eq!(said["result"]["value"], value, "the caller's own balance: {answer:?}"),
            502..=504 => assert!(
                [-32_005, -32_006, -32_007].map(|code| json!(code)).contains(&said["error"]["code"]),
                "{answer:?}"
            ),
            _ => panic!("neither an answer nor a clear error: {answer:?}"),
        }
        all.push(Got { at, took: at - sent, status: answer.status });
        due += EVERY;
        if is_over.load(Ordering::Relaxed) {
            break;
        }
        thread::sleep(due.saturating_duration_since(Instant::now()));
    }
    all
}

/// The balance of each caller's account, all of them different.
fn values(server: &Running) -> Vec<u64> {
    let mut connection = Connection::open(server.addr);
    let answers = balances().take(CALLERS).map(|balance| connection.post(&balance(&json!(1))).json());
    let values: Vec<u64> = answers.map(|answer| answer["result"]["value"].as_u64().unwrap()).collect();
    assert_eq!(values.iter().collect::<HashSet<_>>().len(), CALLERS);
    values
}

#[test]
fn callers_of_a_server_that_is_killed_are_all_told_and_answered_again() {
    let server = actix::start("127.0.0.1:0", 0);
    let (values, listen) = (values(&server), server.addr.to_string());
    let gateway = gateway(server.ws_url(), &["--timeout-ms", "2000"]);
    wait_for_answers(&gateway);

    let began = Instant::now();
    let is_over = Arc::new(AtomicBool::new(false));
    let callers: Vec<_> = balances()
        .zip(values)
        .enumerate()
        .map(|(number, (balance, value))| {
            let (addr, begin) = (gateway.addr, began + RAMP * number as u32 / CALLERS as u32);
            let is_over = Arc::clone(&is_over);
            thread::spawn(move || call(addr, |id| balance(&json!(id)), value, begin, &is_over))
        })
        .collect();
    thread::sleep(KILLED_AT.saturating_sub(began.elapsed()));
    let killed = Instant::now();
    // By SIGKILL.
    drop(server);
    thread::sleep(DOWN);
    let server = actix::start(&listen, 0);
    let back = Instant::now();
    wait_for_answers(&gateway);
    thread::sleep(AFTER);
    is_over.store(true, Ordering::Relaxed);
    let all: Vec<Vec<Got>> = callers.into_iter().map(|caller| caller.join().unwrap()).collect();

    for got in &all {
        assert_eq!(got.last().unwrap().status, 200, "a caller is not answered again");
    }
    let got: Vec<&Got> = all.iter().flatten().collect();
    let mut statuses = BTreeMap::new();
    got.iter().for_each(|got| *statuses.entry(got.status).or_insert(0) += 1);
    let answered = got.iter().filter(|got| got.status == 200 && got.at > back).map(|got| got.at - back);
    let failed = got.iter().filter(|got| got.status != 200).map(|got| got.at);
    assert!(failed.clone().any(|at| at >= killed), "nobody noticed that the server was killed");
    println!(
        "{CALLERS} callers, {} requests by status: {statuses:?}; away for {:?}; first answer {:?} after the server was back, last error \
         {:?} after it was killed; slowest request {:?}",
        got.len(),
        back - killed,
        answered.min().unwrap(),
        failed.max().unwrap() - killed,
        got.iter().map(|got| got.took).max().unwrap()
    );
    assert!(gateway.stop_gracefully().success());
    assert!(server.stop_gracefully().success());
}
