//! k6 2.2.0, for users who come and go in stages, over HTTP or WebSocket.
//!
//! What each user in stages does is in `k6.js`, the same for both transports and by one clock. In a mix each user has
//! a request of its own, which it sends again and again. A user waits for its answer before its next request is sent;
//! what is late by that is sent at once. A user that leaves closes its connection, and what it still waited for is
//! counted by itself. k6's samples are read from its CSV; its summary is what it prints, and its dashboard is exported.
//! Each request costs k6 some ten samples, and its JavaScript engine is an interpreter: see how much of the machine it used.

mod staged;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::{Value, json};

use self::staged::Samples;
use super::Load;
use super::load_tool::{About, Bodies, Build, Driver, Files, Invocation, Job, Reading, command, text};
use crate::transport::Transport;

pub use self::staged::{Second, Staged};

/// What a user does.
const SCRIPT: &str = include_str!("k6.js");

/// The address of a Prometheus that takes remote writes, where k6's samples are to be watched too: see docs/HOSTS.md.
const REMOTE_WRITE: &str = "K6_PROMETHEUS_RW_SERVER_URL";

/// The script's metric of latency.
const LATENCY: &str = "rpc_latency";

/// What k6 always reports of such a load: that no user came to an end by itself, and waits that a user's leaving ended.
const USUAL: [&str; 2] = ["No script iterations fully finished", "setTimeout "];

/// The tool of users in stages.
pub struct K6;

impl Driver for K6 {
    fn about(&self) -> About {
        use super::Capability::*;
        About {
            name: "k6",
            can: &[Over(Transport::Http), Over(Transport::WebSocket), SeveralBodies, Users],
            template: Some(("k6.js", SCRIPT)),
            version: "2.2.0",
            build: Build::Go {
                package: "go.k6.io/k6/v2",
                folder: "k6",
                variable: "K6",
                // k6 v2.2.0 (go1.25.12, linux/amd64)
                own_version: ("version", 1),
                is_quick: false,
            },
        }
    }

    fn prepare(&self, job: &Job<'_>, _: &mut Bodies<'_>) -> Result<Invocation> {
        let Job { load, url, files, known, .. } = *job;
        let written = users(load, url, known.iter().map(|known| (known.body.as_str(), known.truth.exact())))?;
        crate::text_files::write(&files.requests, &written.to_string())?;
        let options = "run --quiet --no-color --no-usage-report --log-format=raw".split(' ');
        let mut args: Vec<String> = options.map(str::to_owned).collect();
        args.push(format!("--env=LOAD={}", absolute(&files.requests)?));
        let dashboard = absolute(&files.requests.with_extension("html"))?;
        args.push(format!("--out=csv=fileName={},timeFormat=unix_micro", absolute(&files.answered)?));
        // Without a port it serves no page while it runs.
        args.push(format!("--out=web-dashboard=port=-1&period=1s&export={dashboard}"));
        // k6 reads the address there by itself, and sends its samples on while it runs.
        if std::env::var_os(REMOTE_WRITE).is_some() {
            args.push("--out=experimental-prometheus-rw".to_owned());
        }
        args.push(absolute(&files.template)?);
        Ok(Invocation { args, interrupted: false, bodies: u64::MAX })
    }

    fn read(&self, load: &Load, _: u64, files: &Files, printed: &mut dyn Read) -> Result<Reading> {
        let summary: BTreeMap<String, Metric> =
            serde_json::from_str(&text(printed)?).context("k6 printed no summary")?;
        let samples = File::open(&files.answered).map_err(Into::into).and_then(Samples::read);
        let samples = samples.with_context(|| format!("k6's samples {}", files.answered.display()))?;
        let (counted, ended) = (count(&summary, LATENCY), samples.ended());
        ensure!(
            ended == counted,
            "k6's summary has {counted} requests and its samples {ended}: they were cut off"
        );
        let bytes = (count(&summary, "data_received"), count(&summary, "data_sent"));
        let duration_ms = load.stages.iter().map(|stage| stage.duration_ms).sum();
        staged::sample(samples, duration_ms, bytes).map(Into::into)
    }

    fn said_nothing(&self, stderr: &str) -> bool {
        stderr.lines().all(|line| line.is_empty() || USUAL.iter().any(|usual| line.starts_with(usual)))
    }

    /// With the script and the load in files: `k6.js` is kept with a run, and the load is printed into the other.
    fn by_hand(&self, load: &Load, body: &str, url: &str) -> Vec<Vec<String>> {
        let Ok(written) = users(load, url, [(body, None)]) else { return Vec::new() };
        let run = ["run", "--env=LOAD=/dev/stdin", "k6.js"].map(str::to_owned);
        vec![command("echo", vec![written.to_string()]), command(self.about().name, run.into())]
    }
}

/// A metric of k6's summary: all have a `count`.
#[derive(Deserialize)]
struct Metric {
    values: BTreeMap<String, f64>,
}

fn count(summary: &BTreeMap<String, Metric>, metric: &str) -> u64 {
    summary.get(metric).and_then(|metric| metric.values.get("count")).map_or(0, |count| *count as u64)
}

/// What the script reads: requests, the true answers where they are known, and the load.
fn users<'a>(
    load: &Load,
    url: &str,
    requests: impl IntoIterator<Item = (&'a str, Option<&'a Value>)>,
) -> Result<Value> {
    let request = |(body, expected): (&str, Option<&Value>)| {
        const OWN_ID: &str = "k6 gives each request its own id, so it must be";
        let request: Value = serde_json::from_str(body).with_context(|| format!("{OWN_ID} JSON"))?;
        ensure!(request.is_object(), "{OWN_ID} one JSON-RPC request: {body}");
        Ok(json!({ "request": request, "expected": expected }))
    };
    let requests: Vec<Value> = requests.into_iter().map(request).collect::<Result<_>>()?;
    ensure!(!requests.is_empty(), "k6 got no request for its users");
    let stages: Vec<(u32, u64)> = load.stages.iter().map(|stage| (stage.users, stage.duration_ms)).collect();
    let mut headers = json!({ "Content-Type": "application/json" });
    if let Some(host) = load.access.headers.host() {
        headers["Host"] = host.into();
    }
    Ok(json!({
        "url": url,
        "headers": headers,
        "requests": requests,
        "stages": stages,
        "timeout_ms": load.timeout_ms,
    }))
}

/// k6 takes a relative path in its script for one from the script's folder.
fn absolute(path: &std::path::Path) -> Result<String> {
    let path = std::path::absolute(path).context("the run's folder has no absolute path")?;
    let path = path.display().to_string();
    ensure!(
        !path.contains([',', '=', '&', '+', '%', '#', ';']),
        "k6 takes no file with one of , = & + % # ; in its path: {path}; choose another folder with --results"
    );
    Ok(path)
}

#[cfg(test)]
mod tests;
