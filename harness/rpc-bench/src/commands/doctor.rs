//! `rpc-bench doctor`: what of this machine would spoil a measurement, and what to do about it.

use bench_core::machine::{ForeignCpu, Host, MUCH_FOREIGN, MUCH_STEAL, cores};
use std::fs;
use std::time::Duration;

use anyhow::Result;
use bench_core::config::ConfigDir;
use bench_core::load::LoadTool;
use bench_core::load::toolchain::Tool;
use bench_core::readable_numbers::percent;
use bench_measure::probe::host;
use bench_measure::probe::other_processes::{Reading, with_busiest};

/// Connections of the largest campaign, and a server's own files.
const WANTED_FILES: u64 = 16_100;
/// The listen backlog of `equal` tuning.
const WANTED_BACKLOG: u64 = 1_024;
/// How long the machine's other processes are watched.
const WATCH: Duration = Duration::from_secs(1);

/// One finding: what, whether it is well, and what to do if not.
struct Finding {
    what: &'static str,
    found: String,
    remedy: Option<String>,
}

impl Finding {
    fn of(what: &'static str, found: Option<impl ToString>) -> Self {
        let found = found.map_or_else(|| "unavailable".to_owned(), |found| found.to_string());
        Self { what, found, remedy: None }
    }

    fn spoils(self, spoils: bool, remedy: &str) -> Self {
        Self { remedy: spoils.then(|| remedy.to_owned()), ..self }
    }
}

/// Inspects the machine and prints what it finds. False where something would spoil a measurement.
pub fn doctor(config: &ConfigDir) -> Result<bool> {
    let soft = host::open_files();
    host::raise_open_files();
    let host = host::read();
    let mut findings = limits(&host, soft);
    findings.extend(others());
    findings.push(tool(config));
    for Finding { what, found, remedy } in &findings {
        let sign = if remedy.is_some() { "!" } else { " " };
        bench_core::say!("{sign} {what:<18} {found}");
        if let Some(remedy) = remedy {
            bench_core::say!("{:<21}-> {remedy}", "");
        }
    }
    let well = findings.iter().all(|finding| finding.remedy.is_none());
    let judgement = if well { "nothing that" } else { "what is marked !" };
    bench_core::say!("\n{judgement} would spoil a measurement");
    Ok(well)
}

fn limits(host: &Host, soft: u64) -> Vec<Finding> {
    let ports = host.client_ports.map_or(0, |(first, last)| u64::from(last - first) + 1);
    let backlog = host.max_backlog;
    let governor = host.governor.as_deref();
    let files = format!("{soft} now, {} after the harness has raised it", host.open_files);
    vec![
        Finding::of("open files", Some(files)).spoils(
            host.open_files < WANTED_FILES,
            &format!(
                "campaigns leave out loads beyond it; `full` wants {WANTED_FILES}: raise the hard limit (ulimit -Hn)"
            ),
        ),
        Finding::of("client ports", Some(ports))
            .spoils(ports < 20_000, "widen net.ipv4.ip_local_port_range; each connection takes one"),
        Finding::of("listen backlog", backlog.map(|backlog| format!("at most {backlog}"))).spoils(
            backlog.is_some_and(|backlog| backlog < WANTED_BACKLOG),
            &format!("raise net.core.somaxconn to {WANTED_BACKLOG} or more"),
        ),
        Finding::of("cores", Some(host.cores))
            .spoils(host.cores < 2, "with one core, server and load generator can't run at the same time"),
        Finding::of("governor", governor).spoils(
            governor.is_some_and(|governor| governor != "performance"),
            "set it to performance, so that the clock does not change while measuring",
        ),
    ]
}

/// What others do on this machine now.
fn others() -> Vec<Finding> {
    let (before, others_before) = (host::activity(), Reading::now());
    std::thread::sleep(WATCH);
    let now = host::activity().since(before);
    let foreign = others_before.zip(Reading::now());
    let foreign = foreign.and_then(|(before, after)| before.until(&after, MUCH_FOREIGN));
    let foreign = foreign.map(with_busiest);
    let capacity = WATCH.as_secs_f64() * cores() as f64;
    let stolen = now.steal_s.map(|seconds| seconds / capacity);
    let waiting = fs::read_to_string("/proc/net/sockstat").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("TCP:"))?;
        line.split_whitespace().skip_while(|word| *word != "tw").nth(1)?.parse::<u64>().ok()
    });
    vec![
        Finding::of("foreign CPU", foreign.as_ref().map(used)).spoils(
            foreign.as_ref().is_some_and(ForeignCpu::is_too_much),
            "end what else is running and measure alone: trials with as much are invalid",
        ),
        Finding::of("steal", stolen.map(percent)).spoils(
            stolen.is_some_and(|share| share > MUCH_STEAL),
            "the hypervisor gives the cores to others, and trials with as much are invalid: wait or move",
        ),
        Finding::of("closing sockets", waiting).spoils(
            waiting.is_some_and(|count| count > 20_000),
            "wait a minute: sockets in TIME_WAIT hold client ports",
        ),
    ]
}

/// What other processes use now, and the busiest of them.
fn used(foreign: &ForeignCpu) -> String {
    let busiest = foreign.busiest.iter();
    let busiest: String =
        busiest.map(|(name, share)| format!(" ({name}: {} of one)", percent(*share))).collect();
    format!("{} of the cores{busiest}", percent(foreign.share()))
}

fn tool(config: &ConfigDir) -> Finding {
    let (found, remedy) = match Tool::find(LoadTool::Bombardier, &config.tools()) {
        Ok(tool) => (format!("{} {}", tool.name, tool.version), tool.caveat()),
        Err(error) => ("none".to_owned(), Some(format!("{error:#}"))),
    };
    Finding { what: "load tool", found, remedy }
}
