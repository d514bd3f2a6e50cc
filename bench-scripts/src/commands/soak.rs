//! `rpc-bench soak`: whether a server's memory or latency grows at one rate.

use std::path::Path;

use anyhow::{Result, ensure};
use rpc_bench::analysis::soak::{Course, Trend};
use rpc_bench::cgroup::{Cpus, MemoryMax};
use rpc_bench::config::{ConfigDir, Environment, Tuning};
use rpc_bench::interrupt::{Interrupt, Interrupted};
use rpc_bench::load::toolchain::Tools;
use rpc_bench::probe::host;
use rpc_bench::report;
use rpc_bench::run::soak::{self, Soak, TOOL};
use validator_state::SeededSpec;

use super::Ending;

/// What to run.
#[derive(clap::Args)]
pub struct Args {
    /// The server, by its name in servers.toml.
    server: String,
    /// How long.
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=10_080))]
    minutes: u32,
    /// How long each window is, in seconds.
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=3_600))]
    window_seconds: u32,
    /// The request, by its name in workloads/.
    #[arg(long, value_name = "NAME", default_value = "getBalance")]
    request: String,
    /// Requests a second.
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    rate: u32,
    /// Connections at most.
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=60_000))]
    connections: u32,
    /// Processor time that the server may use, in processors.
    #[arg(long, value_name = "CPUS", value_parser = cpus)]
    cpu_quota: Option<Cpus>,
    /// Memory that the server may use, such as 64MiB.
    #[arg(long, value_name = "BYTES")]
    memory_max: Option<MemoryMax>,
}

fn cpus(text: &str) -> Result<Cpus, String> {
    text.parse::<f64>().map_err(|_| "give a number, such as 0.5".to_owned())?.try_into()
}

impl Args {
    fn command(&self) -> String {
        let Self { server, minutes, window_seconds, request, rate, connections, cpu_quota, memory_max } =
            self;
        let quota = cpu_quota.map_or_else(String::new, |quota| format!(" --cpu-quota {}", quota.value()));
        let memory = memory_max.map_or_else(String::new, |memory| format!(" --memory-max {memory}"));
        format!(
            "just soak {server} --minutes {minutes} --window-seconds {window_seconds} --request {request} --rate {rate} \
             --connections {connections}{quota}{memory}"
        )
    }
}

/// Soaks and writes the report. What grows is found; what can't be said is open.
pub fn soak(config: &ConfigDir, results: &Path, args: &Args) -> Result<Ending> {
    let interrupt = Interrupt::install()?;
    host::raise_open_files();
    let windows = (args.minutes * 60).div_ceil(args.window_seconds);
    let ledger = SeededSpec { accounts: 100_000, slots: 1_500, seed: 1 };
    let environment = Environment {
        cpu_quota: args.cpu_quota,
        memory_max: args.memory_max,
        ..Environment::plain(Tuning::Equal, ledger)
    };
    let wanted = Soak {
        server: &args.server,
        workload: &args.request,
        rate: args.rate,
        connections: args.connections,
        windows,
        window_ms: u64::from(args.window_seconds) * 1_000,
        environment,
    };
    let plan = soak::plan(config, &wanted)?;
    let tools = Tools::find(&[TOOL], &config.0.join("tools"))?;
    let folder = soak::begin(results, &plan, &tools, &args.command())?;
    eprintln!("results go to {}", folder.0.display());
    if let Err(error) = soak::carry_out(&folder, &tools, &interrupt) {
        let kept = folder.kept_trials();
        eprintln!(
            "\n{kept} windows are kept in {}; a soak is one process' life and can't be resumed",
            folder.0.display()
        );
        ensure!(!error.is::<Interrupted>(), Interrupted);
        return Err(error);
    }
    let written = report::soak::write(&folder)?;
    println!("\n{}\nThe whole report: {}", written.headline, folder.0.join("report.md").display());
    let summary = written.summary;
    let courses = [summary.memory, summary.p99]
        .map(|trend| trend.map_or(Course::Inconclusive, |Trend { course, .. }| course));
    Ok(if courses.contains(&Course::Growing) || summary.failed > 0 || !summary.lost.is_empty() {
        Ending::Found
    } else if courses.contains(&Course::Inconclusive) {
        Ending::Open
    } else {
        Ending::Well
    })
}
