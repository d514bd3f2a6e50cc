//! A run that is watched while it goes on: the harness's progress and samples as metrics, and a list of the servers
//! that run now, for Prometheus to find them on their free ports.
//!
//! Only with `--prometheus`; without it every call here does nothing. One run is watched in a process, so what is
//! watched is the process's own, and no part of the harness hands it to another. Out of scope: what a figure means.

mod exposed;

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use self::exposed::Exposition;
use crate::lock;

/// What is watched of this process's run.
#[derive(Debug)]
struct Watched {
    standing: Mutex<WatchedRun>,
    targets: Mutex<Targets>,
}

static WATCHED: OnceLock<Watched> = OnceLock::new();

/// Where a run stands.
#[derive(Debug, Default)]
struct WatchedRun {
    campaign: String,
    done: u64,
    failed: u64,
    known: u64,
    left_s: f64,
    running: Vec<WatchedLoad>,
    samples: Vec<Sampled>,
}

/// What a trial puts on which server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchedLoad {
    /// The server.
    pub server: String,
    /// The workload.
    pub workload: String,
    /// Connections or rate, as people say it: `125 connections`.
    pub level: String,
}

/// What one trial gave.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figures {
    /// Requests a second.
    pub rate: f64,
    /// Latencies by quantile, in seconds: the median, the 90th and the 99th percentile.
    pub latency_s: [(f64, f64); 3],
    /// Server CPU time for each request, in seconds; unknown where its process can't be read.
    pub cpu_s: Option<f64>,
}

/// Every sample of a load so far.
#[derive(Debug)]
struct Sampled {
    load: WatchedLoad,
    figures: Vec<Figures>,
}

/// Exposes this process's run at `addr`, and keeps the lists of targets in `folder`; gives the address with its port.
///
/// # Errors
/// The address is in use, the folder can't be written, or a run of this process is watched already.
pub fn begin(addr: SocketAddr, folder: &Path) -> Result<SocketAddr> {
    let mut targets = Targets::in_folder(folder)?;
    let bound = metrics_http::serve(addr, Exposition::exposed())
        .with_context(|| format!("--prometheus {addr}: can't listen there; choose another port"))?;
    targets.harness(bound)?;
    let watched = Watched { standing: Mutex::default(), targets: Mutex::new(targets) };
    WATCHED.set(watched).map_err(|_| anyhow::anyhow!("a run of this process is watched already"))?;
    Ok(bound)
}

/// The run is over: nothing of it is left in the lists of targets.
pub fn end() {
    if let Some(watched) = WATCHED.get() {
        lock(&watched.targets).clear();
    }
}

/// A server that is in the list of targets until this is dropped.
#[derive(Debug)]
pub struct Listed(u64);

impl Drop for Listed {
    fn drop(&mut self) {
        if let Some(watched) = WATCHED.get() {
            lock(&watched.targets).remove(self.0);
        }
    }
}

/// A server runs, and has its metrics at this address.
pub fn server_runs(name: &str, metrics: &str) -> Option<Listed> {
    WATCHED.get().map(|watched| Listed(lock(&watched.targets).add(name, metrics)))
}

/// Trials are to run: those that are done, all that are known, and how long the rest takes.
pub fn progress(campaign: &str, done: usize, known: usize, left_s: f64) {
    change(|standing| {
        campaign.clone_into(&mut standing.campaign);
        (standing.done, standing.known, standing.left_s) = (done as u64, known as u64, left_s);
    });
}

/// A trial begins.
pub fn trial_begins(load: impl FnOnce() -> WatchedLoad) {
    change(|standing| standing.running.push(load()));
}

/// A trial has ended, with these figures or without any.
pub fn trial_ended(load: impl FnOnce() -> WatchedLoad, figures: Option<Figures>) {
    change(|standing| {
        let load = load();
        standing.running.retain(|running| *running != load);
        let Some(figures) = figures else {
            standing.failed += 1;
            return;
        };
        match standing.samples.iter_mut().find(|sampled| sampled.load == load) {
            Some(sampled) => sampled.figures.push(figures),
            None => standing.samples.push(Sampled { load, figures: vec![figures] }),
        }
    });
}

fn change(change: impl FnOnce(&mut WatchedRun)) {
    if let Some(watched) = WATCHED.get() {
        change(&mut lock(&watched.standing));
    }
}

/// The lists that Prometheus finds its targets in: one file for the harness, one for the servers that run now.
#[derive(Debug)]
struct Targets {
    folder: PathBuf,
    next: u64,
    servers: Vec<(u64, String, String)>,
}

const HARNESS: &str = "harness.json";
const SERVERS: &str = "servers.json";

impl Targets {
    /// Empty lists in this folder, which is made where it is missing.
    fn in_folder(folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder).with_context(|| format!("can't make the folder {}", folder.display()))?;
        let targets = Self { folder: folder.to_owned(), next: 0, servers: Vec::new() };
        targets.write(HARNESS, &json!([]))?;
        targets.write(SERVERS, &json!([]))?;
        Ok(targets)
    }

    /// The harness's own address.
    fn harness(&mut self, addr: SocketAddr) -> Result<()> {
        self.write(HARNESS, &json!([{ "targets": [addr.to_string()], "labels": {} }]))
    }

    /// One more server; gives what it is removed by.
    fn add(&mut self, name: &str, addr: &str) -> u64 {
        self.next += 1;
        self.servers.push((self.next, name.to_owned(), addr.to_owned()));
        self.write_servers();
        self.next
    }

    fn remove(&mut self, number: u64) {
        self.servers.retain(|(other, ..)| *other != number);
        self.write_servers();
    }

    fn clear(&mut self) {
        self.servers.clear();
        self.write_servers();
        // As below.
        let _unwatched = self.write(HARNESS, &json!([]));
    }

    fn write_servers(&self) {
        let listed = self.servers.iter().map(|(_, name, addr)| {
            // The port changes with every start, and the series of a server is to stay one.
            json!({ "targets": [addr], "labels": { "server": name, "instance": name } })
        });
        // A list that can't be written leaves a board without this server, and no measurement without its result.
        let _unwatched = self.write(SERVERS, &Value::Array(listed.collect()));
    }

    /// Writes a file at once: Prometheus reads it whenever it changes.
    fn write(&self, name: &str, list: &Value) -> Result<()> {
        let path = self.folder.join(name);
        let unfinished = path.with_extension("unfinished");
        let context = || format!("can't write {}", path.display());
        fs::write(&unfinished, format!("{list:#}\n")).with_context(context)?;
        fs::rename(&unfinished, &path).with_context(context)
    }
}
