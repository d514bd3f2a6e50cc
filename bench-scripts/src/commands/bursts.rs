//! `rpc-bench bursts`: how many connections at once a listen queue takes, against what its arithmetic says.

use std::path::Path;

use anyhow::Result;
use rpc_bench::config::{ConfigDir, Environment, Tuning};
use rpc_bench::interrupt::Interrupt;
use rpc_bench::probe::host;
use rpc_bench::report;
use rpc_bench::results::RunFolder;
use rpc_bench::run::{build_servers, bursts};
use validator_state::SeededSpec;

/// What to try.
#[derive(clap::Args)]
pub struct Args {
    /// The servers, of those whose backlog can be set.
    #[arg(long = "server", value_name = "SERVER", default_values = ["jsonrpsee", "actix"])]
    servers: Vec<String>,
    /// The backlogs.
    #[arg(long = "backlog", value_name = "N", default_values = ["128", "1024", "4096"], value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    backlogs: Vec<u32>,
    /// The largest burst; as many connections as this machine can carry where left out.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=60_000))]
    most: Option<u32>,
    /// Decides the order of the bursts.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// Makes the bursts and writes the report. False where a prediction did not come true.
pub fn bursts(config: &ConfigDir, results: &Path, args: &Args) -> Result<bool> {
    let interrupt = Interrupt::install()?;
    host::raise_open_files();
    let servers = args.servers.iter().map(|name| config.server(name)).collect::<Result<Vec<_>>>()?;
    let ledger = SeededSpec { accounts: 1_000, slots: 1_000, seed: 1 };
    let environment = Environment::plain(Tuning::Equal, ledger);
    let mut plan = bursts::plan(&servers, &args.backlogs, environment, args.seed)?;
    plan.most = plan.most.min(args.most.unwrap_or(u32::MAX));
    build_servers(&servers)?;
    let folder = RunFolder::create(results, "bursts")?;
    let _locked = folder.lock()?;
    eprintln!("results go to {}", folder.0.display());
    bursts::carry_out(&folder, &plan, &interrupt)?;
    let written = report::bursts::write(&folder)?;
    println!("\n{}\nThe whole report: {}", written.text, folder.0.join("report.md").display());
    Ok(written.all_came_true)
}
