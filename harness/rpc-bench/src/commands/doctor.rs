//! `rpc-bench doctor`: what of this machine would spoil a measurement, and what to do about it.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use bench_model::config::ConfigDir;
use bench_model::load::LoadTool;
use bench_model::load::toolchain::Tool;
use bench_model::results::RunFolder;
use bench_system::probe::host::{self, Host, HostActivity, MUCH_STEAL};
use bench_system::probe::other_processes::{ForeignCpu, MUCH_FOREIGN, Reading};

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

fn finding(what: &'static str, found: String, spoils: bool, remedy: &str) -> Finding {
    Finding { what, found, remedy: spoils.then(|| remedy.to_owned()) }
}

/// Inspects the machine and prints what it finds. False where something would spoil a measurement.
pub fn doctor(config: &ConfigDir, results: &Path) -> Result<bool> {
    let soft = host::open_files();
    host::raise_open_files();
    let host = Host::read();
    let mut findings = limits(&host, soft);
    findings.extend(others());
    findings.push(tool(config));
    for Finding { what, found, remedy } in &findings {
        let sign = if remedy.is_some() { "!" } else { " " };
        bench_system::say!("{sign} {what:<18} {found}");
        if let Some(remedy) = remedy {
            bench_system::say!("{:<21}-> {remedy}", "");
        }
    }
    bench_system::say!("\n{}", resolution(config, results, &host));
    let well = findings.iter().all(|finding| finding.remedy.is_none());
    bench_system::say!(
        "\n{}",
        if well {
            "nothing that would spoil a measurement"
        } else {
            "what is marked ! would spoil a measurement"
        }
    );
    Ok(well)
}

/// The resolution of this machine according to its newest calibration: of those that ran as one would run now, because
/// another placement has another resolution.
fn resolution(config: &ConfigDir, results: &Path, host: &Host) -> String {
    let placement = config.calibration().ok().map(|(now, _)| now.environment.placement);
    let is_as_now = |folder: &RunFolder| {
        let then = folder.calibration().ok().map(|plan| plan.calibration.environment.placement);
        placement.is_none() || then == placement
    };
    let calibrations = fs::read_dir(results).into_iter().flatten().filter_map(|entry| {
        let folder = RunFolder::open(&entry.ok()?.path()).ok().filter(RunFolder::is_calibration)?;
        let measured_on = folder.conditions().ok()?.host;
        let is_here =
            measured_on.processor_name() == host.processor_name() && measured_on.cores == host.cores;
        (is_here && is_as_now(&folder)).then_some(folder)
    });
    let Some(newest) = calibrations.max_by_key(RunFolder::name) else {
        return "which differences this machine can resolve is not known: run `just calibrate` (15 minutes)"
            .to_owned();
    };
    match bench_report::calibration::summary(&newest) {
        Ok(summary) => format!(
            "differences that a machine like this could resolve ({}):\n{}",
            newest.0.display(),
            bench_report::calibration::headline(&summary).trim_end()
        ),
        Err(error) => format!("{error:#}"),
    }
}

fn limits(host: &Host, soft: u64) -> Vec<Finding> {
    let ports = host.client_ports.map_or(0, |(first, last)| u64::from(last - first) + 1);
    let backlog = host.max_backlog;
    let governor = host.governor.as_deref();
    vec![
        finding(
            "open files",
            format!("{soft} now, {} after the harness has raised it", host.open_files),
            host.open_files < WANTED_FILES,
            &format!(
                "campaigns leave out loads beyond it; `full` wants {WANTED_FILES}: raise the hard limit (ulimit -Hn)"
            ),
        ),
        finding(
            "client ports",
            format!("{ports}"),
            ports < 20_000,
            "widen net.ipv4.ip_local_port_range; each connection takes one",
        ),
        finding(
            "listen backlog",
            backlog.map_or_else(|| "unavailable".to_owned(), |backlog| format!("at most {backlog}")),
            backlog.is_some_and(|backlog| backlog < WANTED_BACKLOG),
            &format!("raise net.core.somaxconn to {WANTED_BACKLOG} or more"),
        ),
        finding(
            "cores",
            host.cores.to_string(),
            host.cores < 2,
            "with one core, server and load generator can't run at the same time",
        ),
        finding(
            "governor",
            governor.unwrap_or("unavailable").to_owned(),
            governor.is_some_and(|governor| governor != "performance"),
            "set it to performance, so that the clock does not change while measuring",
        ),
    ]
}

/// What others do on this machine now.
fn others() -> Vec<Finding> {
    let (before, others_before) = (HostActivity::read(), Reading::now());
    std::thread::sleep(WATCH);
    let now = HostActivity::read().since(before);
    let foreign = others_before.zip(Reading::now());
    let foreign = foreign.and_then(|(before, after)| before.until(&after, MUCH_FOREIGN));
    let foreign = foreign.map(ForeignCpu::with_busiest);
    let capacity = WATCH.as_secs_f64() * host::cores() as f64;
    let percent = |seconds: Option<f64>| {
        seconds.map_or_else(
            || "unavailable".to_owned(),
            |seconds| format!("{:.0} %", seconds / capacity * 100.0),
        )
    };
    let much = |seconds: Option<f64>| seconds.is_some_and(|seconds| seconds > capacity * MUCH_STEAL);
    let waiting = fs::read_to_string("/proc/net/sockstat").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("TCP:"))?;
        line.split_whitespace().skip_while(|word| *word != "tw").nth(1)?.parse::<u64>().ok()
    });
    vec![
        finding(
            "foreign CPU",
            foreign.as_ref().map_or_else(|| "unavailable".to_owned(), used),
            foreign.as_ref().is_some_and(ForeignCpu::is_too_much),
            "end what else is running and measure alone: trials with as much are invalid",
        ),
        finding(
            "steal",
            percent(now.steal_s),
            much(now.steal_s),
            "the hypervisor gives the cores to others, and trials with as much are invalid: wait or move",
        ),
        finding(
            "closing sockets",
            waiting.map_or_else(|| "unavailable".to_owned(), |count| count.to_string()),
            waiting.is_some_and(|count| count > 20_000),
            "wait a minute: sockets in TIME_WAIT hold client ports",
        ),
    ]
}

/// What other processes use now, and the busiest of them.
fn used(foreign: &ForeignCpu) -> String {
    let name = foreign.busiest.as_ref();
    let name =
        name.map_or_else(String::new, |(name, share)| format!(" ({name}: {:.0} % of one)", share * 100.0));
    format!("{:.0} % of the cores{name}", foreign.share() * 100.0)
}

fn tool(config: &ConfigDir) -> Finding {
    match Tool::find(LoadTool::Bombardier, &config.tools()) {
        Ok(tool) => {
            let caveat = tool.caveat();
            let found = format!("{} {}", tool.name, tool.version);
            Finding { what: "load tool", found, remedy: caveat }
        }
        Err(error) => {
            Finding { what: "load tool", found: "none".to_owned(), remedy: Some(format!("{error:#}")) }
        }
    }
}
