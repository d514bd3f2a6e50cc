//! wrk 4, which is never built here: a package of the system.
//!
//! What to know of it: it takes whole seconds, but ends well when interrupted; a request that no answer came to is in
//! no count; one that took longer than its timeout is counted as answered, and its latency is left out; it corrects its
//! latencies by what its connections would have sent meanwhile, so they do not compare with those of other tools; it
//! prints no quantiles by itself, so it is given a script.

use std::io::Read;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use super::load_tool::{About, Bodies, Build, Driver, Files, Invocation, Job, Reading, command, text};
use super::{Latency, Load, LoadSample};
use crate::transport::Transport;

/// By which it sends, and prints its result.
const SCRIPT: &str = include_str!("wrk.lua");

/// Seconds that a load which is interrupted is started with beyond its length.
const INTERRUPTED_S: u64 = 5;

/// A tool of closed loops in C.
pub struct Wrk;

impl Driver for Wrk {
    fn about(&self) -> About {
        About {
            name: "wrk",
            transports: &[Transport::Http],
            closed_loop: true,
            template: Some(("wrk.lua", SCRIPT)),
            variable: "WRK",
            version: "4.1.0",
            // wrk debian/4.1.0-4 [epoll] Copyright (C) 2012 Will Glozer
            own_version: ("-v", 1),
            build: Build::Package { install: "apt-get install wrk" },
            ..About::default()
        }
    }

    fn caveat(&self, version: &str) -> Option<String> {
        let corrected = "wrk corrects its latencies by what its connections would have sent meanwhile, so they \
            compare with no other tool's";
        let other = match version.starts_with("4.1.0") {
            true => String::new(),
            false => format!("wrk {version} was used, not 4.1.0, with which the harness was tested; "),
        };
        Some(other + corrected)
    }

    fn prepare(&self, job: &Job<'_>, bodies: &mut Bodies<'_>) -> Result<Invocation> {
        let Bodies::One(body) = bodies else { bail!("wrk sends the same body again and again") };
        ensure!(job.load.rate.is_none(), "wrk has no open loop; leave the rate out");
        // Its own end is at a whole second, so it is interrupted at the window's.
        let connecting_s = job.connecting_ms.unwrap_or(0).div_ceil(1_000);
        let seconds = job.load.duration_ms.div_ceil(1_000) + connecting_s + INTERRUPTED_S;
        let script = job.files.template.display().to_string();
        let args = arguments(job.load, seconds, body, job.url, &script);
        Ok(Invocation { args, interrupted: true, bodies: u64::MAX })
    }

    fn read(&self, _: &Load, _: u64, _: &Files, printed: &mut dyn Read) -> Result<Reading> {
        parse(&text(printed)?).map(Into::into)
    }

    fn by_hand(&self, load: &Load, body: &str, url: &str) -> Vec<Vec<String>> {
        let seconds = load.duration_ms.div_ceil(1_000);
        let script = "harness/bench-model/src/load/wrk.lua";
        vec![command(self.about().name, arguments(load, seconds, body, url, script))]
    }
}

/// It has one thread, since the server is to have the other processors.
fn arguments(load: &Load, seconds: u64, body: &str, url: &str, script: &str) -> Vec<String> {
    let Load { connections, timeout_ms, .. } = load;
    let options = format!("-t 1 -c {connections} -d {seconds}s --timeout {}s -s", timeout_ms.div_ceil(1_000));
    options.split(' ').chain([script, url, "--", body]).map(str::to_owned).collect()
}

#[derive(Deserialize)]
struct Output {
    requests: u64,
    bytes: u64,
    duration_us: f64,
    connect: u64,
    read: u64,
    write: u64,
    status: u64,
    timeout: u64,
    least_us: f64,
    mean_us: f64,
    most_us: f64,
    /// By probability, rising.
    quantiles: Vec<(f64, f64)>,
}

/// Reads what [`SCRIPT`] printed, behind the tool's own words.
///
/// # Errors
/// It is not that: what is missing.
fn parse(text: &str) -> Result<LoadSample> {
    let line = text.lines().rev().find(|line| line.starts_with('{'));
    let line = line.context("wrk printed no result by its script")?;
    let out: Output = serde_json::from_str(line).context("wrk's output is not what its script gives")?;
    ensure!(out.duration_us > 0.0, "wrk took no time");
    let failed = [
        ("HTTP above 399", out.status),
        ("timeout", out.timeout),
        ("connect", out.connect),
        ("read", out.read),
        ("write", out.write),
    ];
    let failed = failed.into_iter().filter(|(_, count)| *count > 0);
    let latency_us = Latency::given("wrk", out.mean_us, out.most_us, &out.quantiles)?;
    Ok(LoadSample {
        succeeded: out.requests.saturating_sub(out.status + out.timeout),
        failed: failed.map(|(kind, count)| (kind.to_owned(), count)).collect(),
        time_taken_s: out.duration_us / 1e6,
        bytes_read: out.bytes,
        latency_us,
        quantiles: [vec![(0.0, out.least_us)], out.quantiles, vec![(1.0, out.most_us)]].concat(),
        ..LoadSample::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLEAN: &str = include_str!("../../tests/fixtures/wrk-4.1.0-clean.txt");

    #[test]
    fn a_clean_window() {
        let sample = parse(CLEAN).unwrap();
        assert!(sample.succeeded > 10_000 && sample.failures() == 0, "{sample:?}");
        assert!((0.9..1.2).contains(&sample.time_taken_s), "{}", sample.time_taken_s);
        let latency = sample.latency_us;
        assert!(latency.p50 > 1.0 && latency.p50 <= latency.p90 && latency.p90 <= latency.p99, "{latency:?}");
        assert!(sample.quantiles.windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 <= two[1].1));
    }

    #[test]
    fn bad_statuses_and_late_answers_are_failures() {
        let json = CLEAN.lines().last().unwrap();
        let text = json.replace("\"status\":0,\"timeout\":0", "\"status\":7,\"timeout\":2");
        let (clean, bad) = (parse(CLEAN).unwrap(), parse(&text).unwrap());
        assert_eq!((bad.failures(), bad.succeeded), (9, clean.succeeded - 9));
        assert_eq!(bad.failed["HTTP above 399"], 7);
    }

    #[test]
    fn other_text_is_an_error_and_not_a_zero() {
        for text in ["", "Running 1s test @ http://…", "{}", &CLEAN.replace("[0.99,", "[0.98,")] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn it_is_interrupted_at_the_windows_end() {
        let load = Load { connections: 3, duration_ms: 250, timeout_ms: 700, ..Load::default() };
        let args = arguments(&load, 6, "{}", "http://a/", "s.lua");
        assert_eq!(args.join(" "), "-t 1 -c 3 -d 6s --timeout 1s -s s.lua http://a/ -- {}");
    }
}
