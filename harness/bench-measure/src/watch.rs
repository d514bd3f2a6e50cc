//! A run that is watched while it goes on: the harness's progress and samples as metrics, and a list of the servers
//! that run now, for Prometheus to find them on their free ports.
//!
//! Only with `--prometheus`; without it every call here does nothing. One run is watched in a process, so what is
//! watched is the process's own, and no part of the harness hands it to another. Out of scope: what a figure means.

use std::collections::HashMap;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, OnceLock};

use anyhow::{Context, Result};
use metrics_http::prometheus_client::metrics::counter::Counter;
use metrics_http::prometheus_client::metrics::family::Family;
use metrics_http::prometheus_client::metrics::gauge::Gauge;
use metrics_http::{Exposed, Process, Registry, Unit};
use serde_json::{Value, json};

use crate::lock;
use bench_core::stats::median;

/// What is watched of this process's run.
#[derive(Debug)]
struct Watched {
    metrics: Metrics,
    samples: Mutex<HashMap<WatchedLoad, Vec<Figures>>>,
    targets: Mutex<Targets>,
}

static WATCHED: OnceLock<Watched> = OnceLock::new();

/// A value for each set of labels.
type Gauges = Family<Vec<(&'static str, String)>, Gauge<f64, AtomicU64>>;

/// Where a run stands.
#[derive(Debug, Default)]
struct Metrics {
    campaign: Gauges,
    done: Gauge,
    failed: Counter,
    known: Gauge,
    left_s: Gauge<f64, AtomicU64>,
    running: Gauges,
    rate: Gauges,
    cpu_s: Gauges,
    latency_s: Gauges,
}

impl Metrics {
    fn register(&self, registry: &mut Registry) {
        let Self { campaign, done, failed, known, left_s, running, rate, cpu_s, latency_s } = self;
        registry.register("bench_campaign", "The campaign that runs", campaign.clone());
        registry.register(
            "bench_trials_done",
            "Trials that are done, in earlier parts of the run too",
            done.clone(),
        );
        let help = "Trials that gave no sample, since this start";
        registry.register("bench_trials_failed", help, failed.clone());
        registry.register(
            "bench_trials_known",
            "Trials up to the next interim analysis, or in all",
            known.clone(),
        );
        registry.register("bench_trial_running", "The trials that run now", running.clone());
        let help = "Requests a second of a load: the median of its trials so far";
        registry.register("bench_requests_per_second", help, rate.clone());
        let mut in_seconds = |name: &str, help: &str, metric: Gauges| {
            registry.register_with_unit(name, help, Unit::Seconds, metric);
        };
        let help = "Server CPU time for each request: the median of the trials so far";
        in_seconds("bench_cpu_per_request", help, cpu_s.clone());
        let help = "Latency of a load by quantile: the median of its trials so far";
        in_seconds("bench_latency", help, latency_s.clone());
        let help = "What these trials still take";
        registry.register_with_unit("bench_time_left", help, Unit::Seconds, left_s.clone());
    }
}

/// What a trial puts on which server.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WatchedLoad {
    /// The server.
    pub server: String,
    /// The workload.
    pub workload: String,
    /// Connections or rate, as people say it: `125 connections`.
    pub level: String,
}

impl WatchedLoad {
    fn labels(&self) -> Vec<(&'static str, String)> {
        let Self { server, workload, level } = self.clone();
        vec![("server", server), ("workload", workload), ("level", level)]
    }
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

/// Begins to show this process's run at `addr`, and keeps the lists of what Prometheus is to read in `folder`. Gives the
/// address with its port.
///
/// # Errors
/// The address is in use, the folder can't be written, or a run of this process is watched already.
pub fn begin(addr: SocketAddr, folder: &Path) -> Result<SocketAddr> {
    let targets = Targets::in_folder(folder)?;
    let (metrics, mut exposed) = (Metrics::default(), Exposed::default());
    metrics.register(&mut exposed.counters);
    exposed.others.register_collector(Box::new(Process));
    let bound = metrics_http::serve(addr, exposed)
        .with_context(|| format!("--prometheus {addr}: can't listen there; choose another port"))?;
    targets.write(HARNESS, &json!([{ "targets": [bound.to_string()], "labels": {} }]))?;
    let watched = Watched { metrics, samples: Mutex::default(), targets: Mutex::new(targets) };
    WATCHED.set(watched).map_err(|_| anyhow::anyhow!("a run of this process is watched already"))?;
    Ok(bound)
}

/// Nothing runs any more: the lists are empty again.
pub fn end() {
    if let Some(watched) = WATCHED.get() {
        lock(&watched.targets).clear();
    }
}

/// The place of a server in the list of those that run; left when it is dropped.
#[derive(Debug)]
pub struct Listed(u64);

impl Drop for Listed {
    fn drop(&mut self) {
        if let Some(watched) = WATCHED.get() {
            lock(&watched.targets).remove(self.0);
        }
    }
}

/// A server with metrics at this address runs from now on.
pub fn server_runs(name: &str, metrics: &str) -> Option<Listed> {
    WATCHED.get().map(|watched| Listed(lock(&watched.targets).add(name, metrics)))
}

/// How far a campaign is: trials that are done, of those that are known to be needed, and what these still take.
pub fn progress(campaign: &str, done: usize, known: usize, left_s: f64) {
    let Some(Watched { metrics, .. }) = WATCHED.get() else { return };
    metrics.campaign.clear();
    metrics.campaign.get_or_create(&vec![("campaign", campaign.to_owned())]).set(1.0);
    metrics.done.set(done as i64);
    metrics.known.set(known as i64);
    metrics.left_s.set(left_s);
}

/// A trial begins.
pub fn trial_begins(load: impl FnOnce() -> WatchedLoad) {
    if let Some(watched) = WATCHED.get() {
        watched.metrics.running.get_or_create(&load().labels()).set(1.0);
    }
}

/// A trial has ended, with these figures where it gave a sample.
pub fn trial_ended(load: impl FnOnce() -> WatchedLoad, figures: Option<Figures>) {
    let Some(Watched { metrics, samples, .. }) = WATCHED.get() else { return };
    let load = load();
    let labels = load.labels();
    metrics.running.remove(&labels);
    let Some(figures) = figures else {
        metrics.failed.inc();
        return;
    };
    let mut samples = lock(samples);
    let of_load = samples.entry(load).or_default();
    of_load.push(figures);
    let show =
        |gauges: &Gauges, labels: &Vec<(&'static str, String)>, of: &dyn Fn(&Figures) -> Option<f64>| {
            let known: Vec<f64> = of_load.iter().filter_map(of).collect();
            if let Some(median) = median(&known) {
                gauges.get_or_create(labels).set(median.value);
            }
        };
    show(&metrics.rate, &labels, &|one| Some(one.rate));
    show(&metrics.cpu_s, &labels, &|one| one.cpu_s);
    for (place, (quantile, _)) in figures.latency_s.iter().enumerate() {
        let labels = [labels.clone(), vec![("quantile", quantile.to_string())]].concat();
        show(&metrics.latency_s, &labels, &|one| Some(one.latency_s[place].1));
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
