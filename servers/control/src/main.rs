//! One fixed answer to every POST, over bare epoll: the most that this machine and this load generator can show, and so
//! the ceiling of every table.
//!
//! It has one true answer when it starts, computed or given, and then only moves bytes. It is no JSON-RPC server: what it leaves out is
//! what the others are measured for.

#![deny(
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::unreachable,
    reason = "the network reaches this"
)]

mod http;
mod worker;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;

use serde_json::Value;
use server_kit::{Context, Defaults, Framework, StartError, Threads};
use typed_rpc::Tally;
use validator_state::MAX_BODY_BYTES;

use http::Answers;
use worker::Worker;

/// The request of the original test.
const ANSWER_TO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"getBalance","params":["4EVAJ81v9fLjz2wp44SZmxgTbvYB8dBRZ6s1SAqP99eZ"]}"#;

/// There is no framework, so what is shipped is what is equal.
const FRAMEWORK: Framework = Framework {
    name: "control",
    shipped: Defaults {
        threads: Threads::Cores,
        backlog: 1_024,
        tcp_nodelay: true,
        keep_alive_ms: None,
        max_connections: None,
        max_body_bytes: MAX_BODY_BYTES,
    },
    fixed_backlog: None,
    global_queue: false,
    websocket: false,
};

#[derive(Debug, clap::Args, serde::Serialize)]
struct Flags {
    /// JSON-RPC request whose answer is given to every POST
    #[arg(long, value_name = "BODY", default_value = ANSWER_TO)]
    answer_to: String,
    /// File with the answer that is given to every POST, in the place of a computed one; for any JSON-RPC API
    // Not part of the ready line: a path of one run is no setting to compare runs by.
    #[arg(long, value_name = "FILE")]
    #[serde(skip)]
    answer_file: Option<PathBuf>,
}

/// The answer to every POST, and what it counts for.
fn answer(context: &Context, flags: &Flags) -> Result<(Vec<u8>, Tally), StartError> {
    let Some(path) = &flags.answer_file else {
        let mut body = Vec::new();
        let tally = typed_rpc::answer(&context.state, &flags.answer_to, &mut body);
        return Ok((body, tally));
    };
    let (body, errors) = read_answer(path)
        .map_err(|why| StartError::refused(format!("--answer-file {}", path.display()), why))?;
    let tally =
        Tally { answered: errors.len() as u64, errors: errors.iter().filter(|error| **error).count() as u64 };
    Ok((body, tally))
}

/// An answer, and of each call in it whether it is an error.
fn read_answer(path: &Path) -> Result<(Vec<u8>, Vec<bool>), String> {
    let body = fs::read(path).map_err(|error| error.to_string())?;
    let parsed: Value = serde_json::from_slice(&body).map_err(|error| format!("is not JSON: {error}"))?;
    let calls = parsed.as_array().map_or(std::slice::from_ref(&parsed), Vec::as_slice);
    let errors = calls.iter().map(|call| call.get("error").is_some()).collect();
    Ok((body, errors))
}

fn main() -> ExitCode {
    server_kit::run_with(&FRAMEWORK, serve)
}

fn serve(context: Context, flags: Flags) -> Result<(), StartError> {
    if context.settings.slot_interval_ms > 0 {
        return Err(StartError::refused(
            format!("--slot-interval-ms {}", context.settings.slot_interval_ms),
            "control gives one answer for ever, so its chain can't move; leave the flag out",
        ));
    }
    if let Some(ns) = context.settings.walk_ns_per_slot {
        return Err(StartError::refused(
            format!("--walk-ns-per-slot {ns}"),
            "control answers from no block store; leave the flag out",
        ));
    }
    if context.metrics().calls.is_some() {
        return Err(StartError::refused(
            "--metrics-calls",
            "control reads no method, so it has no calls to time; leave the flag out",
        ));
    }
    let accepted = context.metrics().connections.accepted();
    let (body, tally) = answer(&context, &flags)?;
    let answers = Arc::new(Answers::new(&body, tally, context.settings.max_body_bytes));

    let claim = context.claim_port()?;
    let mut stops = Vec::new();
    let mut threads = Vec::new();
    for number in 0..context.settings.threads {
        let listener = claim.listener(&context.settings)?;
        let worker = Worker::new(listener, Arc::clone(&answers), context.counters, accepted)
            .map_err(|error| StartError::failed("set up epoll", error))?;
        stops.push(worker.stop_handle());
        let thread = thread::Builder::new()
            .name(format!("control-{number}"))
            .spawn(move || worker.run())
            .map_err(|error| StartError::failed("start a thread", error))?;
        threads.push(thread);
    }
    context.ready(claim.addr())?;

    context.shutdown().wait();
    for stop in stops {
        stop.wake().map_err(|error| StartError::failed("wake a thread to end it", error))?;
    }
    for thread in threads {
        match thread.join() {
            Ok(ended) => ended.map_err(|error| StartError::failed("wait for events", error))?,
            Err(_) => return Err(StartError::failed("answer", "a thread panicked")),
        }
    }
    Ok(())
}
