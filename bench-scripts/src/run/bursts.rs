//! Bursts of connections on servers with known backlogs: from how many on is a connection slow? Each burst is put on a fresh
//! server, in a drawn order.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use rustix::process::Signal;
use serde_json::Value;

use super::most_connections;
use crate::analysis::bursts::{BURST_LINES, BURSTS, BurstLine, BurstPlan};
use crate::analysis::diagnosis::{Burst, Tried, with_backlog};
use crate::config::{Environment, Server};
use crate::interrupt::Interrupt;
use crate::load::burst;
use crate::plan::shuffle;
use crate::probe::host::Host;
use crate::probe::network::NetworkCounters;
use crate::results::{RunFolder, pretty};
use crate::subject::Subject;

/// The smallest burst.
const FROM: u32 = 64;

/// How long a server may take to be held.
const HELD_WITHIN: Duration = Duration::from_secs(5);

/// How near the largest burst without and the smallest with a slow connection come to each other, where the server runs.
const NEAR: f64 = 1.1;

/// Every server with every backlog, once stopped (SIGSTOP) while the burst arrives and once running.
pub fn plan(servers: &[Server], backlogs: &[u32], environment: Environment, seed: u64) -> Result<BurstPlan> {
    let host = Host::read();
    let granted = host.max_backlog.unwrap_or(u64::MAX);
    let mut tried = Vec::new();
    let mut arms = Vec::new();
    for server in servers {
        for &backlog in backlogs {
            ensure!(
                u64::from(backlog) <= granted,
                "backlog {backlog}: this system grants at most {granted} (net.core.somaxconn)"
            );
            for held in [true, false] {
                tried.push(with_backlog(server, u64::from(backlog)));
                arms.push(Tried { server: server.name.clone(), backlog, held, bursts: Vec::new() });
            }
        }
    }
    let most = u32::try_from(most_connections())?;
    let started_at = super::now();
    Ok(BurstPlan { servers: tried, arms, environment, most, seed, host, started_at })
}

/// Makes the bursts of a plan in a folder, each recorded before the next.
pub fn carry_out(folder: &RunFolder, plan: &BurstPlan, interrupt: &Interrupt) -> Result<()> {
    folder.write_new(BURSTS, &pretty(plan)?)?;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(plan.seed);
    let mut arms = plan.arms.clone();
    loop {
        let mut open: Vec<(usize, u32)> = Vec::new();
        for (index, arm) in arms.iter().enumerate() {
            let near = if arm.held { 1.0 } else { NEAR };
            open.extend(arm.next(FROM, plan.most, near).map(|connections| (index, connections)));
        }
        if open.is_empty() {
            return Ok(());
        }
        shuffle(&mut open, &mut random);
        for (index, connections) in open {
            let (Some(server), Some(arm)) = (plan.servers.get(index), arms.get_mut(index)) else { continue };
            let burst = one(folder, plan, server, arm.held, connections, interrupt)
                .with_context(|| format!("a burst of {connections} on {}", server.name))?;
            let line = BurstLine { arm: index, burst };
            folder.append_to(BURST_LINES, &line)?;
            let how = if arm.held { "held still" } else { "running" };
            eprintln!(
                "{:<24} {how:<10} {connections:>6} connections: {} slow, {} found the queue full",
                server.name,
                burst.slow,
                burst.overflows.map_or_else(|| "unknown how many".to_owned(), |count| count.to_string())
            );
            arm.bursts.push(burst);
        }
    }
}

/// One burst on a fresh server.
fn one(
    folder: &RunFolder,
    plan: &BurstPlan,
    server: &Server,
    held: bool,
    connections: u32,
    interrupt: &Interrupt,
) -> Result<Burst> {
    let stderr = folder.0.join("tool-output/server.stderr");
    let mut subject = Subject::start(server, &plan.environment, "", &stderr, interrupt)?;
    let backlog = subject.ready.get("backlog").and_then(Value::as_u64);
    let requested = server.args.iter().skip_while(|arg| *arg != "--backlog").nth(1);
    ensure!(
        backlog.map(|backlog| backlog.to_string()).as_ref() == requested,
        "its ready line says backlog {backlog:?}, requested was {requested:?}"
    );
    if held {
        subject.process.owned()?.signal(Signal::STOP)?;
        let pid = subject.pid().context("its process is not known")?;
        wait_until_stopped(pid, interrupt)?;
    }
    let before = NetworkCounters::read();
    let begun = burst::begin(subject.target.addr(), connections)?;
    // A server that is stopped stays so until its burst is judged: what was dropped is dropped again after 1 s, so however late
    // the harness polls, it sees the same.
    let slow = begun.slow(interrupt)?;
    subject.process.owned()?.signal(Signal::CONT)?;
    let overflows = NetworkCounters::read().since(before).listen_overflows;
    subject.process.stop(interrupt)?;
    // The output of a server that answered well is of no interest.
    let _ = fs::remove_file(&stderr);
    Ok(Burst { connections, slow, overflows })
}

/// A process is stopped a moment after the signal.
fn wait_until_stopped(pid: u32, interrupt: &Interrupt) -> Result<()> {
    let process = procfs::process::Process::new(pid as i32).context("the server is gone")?;
    let stopped = interrupt.wait(HELD_WITHIN, || Ok((process.stat()?.state == 'T').then_some(())))?;
    stopped.with_context(|| format!("the server was not held within {HELD_WITHIN:?}"))
}
