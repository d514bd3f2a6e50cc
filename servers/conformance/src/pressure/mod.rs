//! Do the servers keep the contract under pressure? Each check starts a server process of its own, presses it, and gives
//! figures and a verdict.
//!
//! Two users: the program `pressure` does all of it ([`Plan::FULL`]), and a test does the same in small and without comparing speeds
//! ([`Plan::SHORT`]), since it runs while other work does. What is answered is tested by the conformance tests; how fast, by the harness.

mod chain;
mod client;
mod files;
mod flood;
mod idle;
mod pipeline;
mod process;
mod report;
mod sigterm;
mod slow;
mod websocket;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use serde::Serialize;

pub use report::write as write_report;

use crate::servers::Server;

/// Growth of a server's memory that is still called bounded.
const MEMORY_BOUND_BYTES: f64 = 64.0 * 1_048_576.0;

/// How hard to press.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Plan {
    /// Connections that are held and say nothing.
    pub idle_connections: usize,
    /// Times that the quiet and the loaded server are measured, in turn.
    pub rounds: usize,
    /// Requests of one measurement.
    pub requests: usize,
    /// Connections that send their headers slowly, and as many that send their bodies slowly.
    pub slow_connections: usize,
    /// How long they do.
    pub slow_s: u64,
    /// Connections that pour in each kind of body.
    pub flood_connections: usize,
    /// How long they do.
    pub flood_s: u64,
    /// How long to wait after the flood before memory is read.
    pub settle_s: u64,
    /// How long to go without a free file descriptor.
    pub exhausted_s: u64,
    /// Times that a server is ended under load.
    pub endings: usize,
    /// How long to watch the chain advance.
    pub chain_s: u64,
    /// Whether p99s are compared. On a machine that does other work at the same time they say nothing.
    pub compare_speed: bool,
}

impl Plan {
    /// What the project demands of its servers.
    pub const FULL: Self = Self {
        idle_connections: 10_000,
        rounds: 7,
        requests: 10_000,
        slow_connections: 500,
        slow_s: 15,
        flood_connections: 16,
        flood_s: 5,
        settle_s: 60,
        exhausted_s: 3,
        endings: 5,
        chain_s: 5,
        compare_speed: true,
    };

    /// The same in a few seconds, with fewer connections, memory read sooner, and no speeds compared.
    pub const SHORT: Self = Self {
        idle_connections: 100,
        rounds: 1,
        requests: 300,
        slow_connections: 50,
        slow_s: 1,
        flood_connections: 2,
        flood_s: 1,
        settle_s: 1,
        exhausted_s: 1,
        endings: 1,
        chain_s: 1,
        compare_speed: false,
    };
}

/// One number that a check found.
#[derive(Debug, Clone, Serialize)]
pub struct Figure {
    /// What was measured.
    pub name: String,
    /// How much.
    pub value: f64,
    /// Of what.
    pub unit: &'static str,
}

/// What one check found of one server.
#[derive(Debug, Clone, Serialize)]
pub struct Check {
    /// Its short name.
    pub name: &'static str,
    /// What is demanded, in words and numbers.
    pub bound: String,
    /// What was measured.
    pub figures: Vec<Figure>,
    /// What was demanded and not so; empty for a check that passes.
    pub failures: Vec<String>,
}

impl Check {
    fn new(name: &'static str, bound: impl Into<String>) -> Self {
        Self { name, bound: bound.into(), figures: Vec::new(), failures: Vec::new() }
    }

    fn figure(&mut self, name: impl Into<String>, value: f64, unit: &'static str) {
        // Three decimals are more than any of these measurements knows.
        self.figures.push(Figure { name: name.into(), value: (value * 1e3).round() / 1e3, unit });
    }

    fn demand(&mut self, holds: bool, otherwise: impl FnOnce() -> String) {
        if !holds {
            self.failures.push(otherwise());
        }
    }

    /// Whether all that is demanded is so.
    pub fn passed(&self) -> bool {
        self.failures.is_empty()
    }
}

/// A server under test and how hard to press it.
#[derive(Debug)]
struct Subject<'a> {
    server: &'a Server,
    plan: &'a Plan,
}

type Run = fn(&Subject<'_>, &mut Check);

/// Every check, with its name and bound.
fn checks(plan: &Plan) -> Vec<(Check, Run)> {
    let speed =
        if plan.compare_speed { ", its p99 <= 2 x its quiet p99 (medians of all rounds)" } else { "" };
    let idle = format!(
        "one other client's every answer is right with {} idle connections held{speed}; all held to the end",
        plan.idle_connections
    );
    let slow = format!(
        "{0} slow heads and {0} slow bodies, 1 byte/s each for {1} s: resident memory grows by <= 64 MiB; another \
         client's every answer is right",
        plan.slow_connections, plan.slow_s
    );
    let flood = format!(
        "{} s of 51,201-byte bodies and 100-entry batches: resident memory {} s later <= 64 MiB above where it was; \
         every answer as the contract says",
        plan.flood_s, plan.settle_s
    );
    let sigterm = "each request sent whole on an accepted connection before SIGTERM, and each answer that began, is \
                   answered whole; exit code 0 within 5 s; the port can be bound at once";
    let chain = "on a connection no commitment's context.slot goes back; each value is the account's balance at that \
                 slot, and each slot one that the chain produced";
    let files = "with no file descriptor left an accepted connection is still answered; once some are free, new \
                 connections are answered, and the idle server uses < 0.5 s of CPU time a second";
    let http: [(Check, Run); 7] = [
        (Check::new("idle-connections", idle), idle::press),
        (Check::new("slow-clients", slow), slow::press),
        (Check::new("pipelining", "1,000 requests on one connection, answered in order"), pipeline::press),
        (Check::new("flood", flood), flood::press),
        (Check::new("file-descriptors", files), files::press),
        (Check::new("sigterm-under-load", sigterm), sigterm::press),
        (Check::new("advancing-chain", chain), chain::press),
    ];
    http.into_iter().chain(websocket_checks(plan)).collect()
}

fn websocket_checks(plan: &Plan) -> [(Check, Run); 5] {
    let idle = format!("{} idle connections are all held to the end", plan.idle_connections);
    let unread = "resident memory grows by <= 64 MiB; every answer to another client is right";
    let slow_caller = "200 calls whose answers nobody reads: resident memory ends <= 64 MiB above where it was, but for \
                       jsonrpsee's; another client is answered";
    let sigterm = "exit code 0 within 5 s; no wrong answer; the port can be bound at once";
    [
        (Check::new("websocket-idle", idle), websocket::idle),
        (Check::new("websocket-in-flight", "1,000 calls at once, each answered once"), websocket::in_flight),
        (
            Check::new("websocket-slow-subscriber", format!("200 subscriptions that nobody reads: {unread}")),
            websocket::slow_subscriber,
        ),
        (Check::new("websocket-slow-caller", slow_caller), websocket::slow_caller),
        (Check::new("websocket-sigterm", sigterm), websocket::sigterm),
    ]
}

/// Does every check on one server, each on a process of its own. `report` is called with each as it ends. A check that
/// can't be finished is one that fails.
pub fn press(server: &Server, plan: &Plan, mut report: impl FnMut(&Check)) -> Vec<Check> {
    process::raise_open_files();
    let subject = Subject { server, plan };
    let done = checks(plan).into_iter().map(|(mut check, run)| {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| run(&subject, &mut check))) {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it panicked");
            // No report names paths of the machine that wrote it.
            let text = text.replace(&*server.program.to_string_lossy(), &server.name);
            check.failures.push(format!("not finished: {text}"));
        }
        report(&check);
        check
    });
    done.collect()
}

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}
