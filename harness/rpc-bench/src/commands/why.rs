//! `rpc-bench why`: the instructions of one request by function, of two servers side by side.

use anyhow::{Context, Result, ensure};
use bench_core::config::{ConfigDir, Environment};
use bench_measure::probe::callgrind::INSTALL;
use bench_measure::run::instructions::{Counter, is_possible};
use bench_measure::subject;
use bench_report::instructions::side_by_side;

use super::{prepare, print};

/// Which servers and which request.
#[derive(clap::Args)]
pub struct Args {
    /// A server: a name of servers.toml.
    server: String,
    /// The server that it is compared with.
    over: String,
    /// The request: a name of workloads/.
    workload: String,
}

/// Builds both servers, counts the instructions of a request in each, and prints them side by side.
///
/// # Errors
/// A name is not known, a server runs already, valgrind is missing, or a server answers wrongly.
pub fn why(config: &ConfigDir, args: &Args) -> Result<bool> {
    let interrupt = prepare()?;
    let servers = [config.server(&args.server)?, config.server(&args.over)?];
    ensure!(args.server != args.over, "{} is given twice; give two servers", args.server);
    for server in &servers {
        let runs = server.running_at().is_some();
        ensure!(
            !runs,
            "server {}: runs already, and is to start under callgrind; name another one",
            server.name
        );
    }
    let workload = config.workload(&args.workload)?;
    workload.body()?;
    ensure!(is_possible(), "{INSTALL}");
    subject::build(&servers)?;
    let outputs = tempfile::tempdir().context("can't make a folder for what valgrind writes")?;
    let environment = Environment { slots: 1_500, ledger_seed: 1, ..Environment::default() };
    let folder = outputs.path();
    let counter = Counter { workload: &workload, environment: &environment, folder, interrupt: &interrupt };
    let mut counted = Vec::new();
    for server in servers {
        bench_core::note!("counting instructions of {} {}", server.name, workload.name);
        counted.push((server.name.clone(), counter.by_function(&server)?));
    }
    print(side_by_side(&workload.name, &counted))
}
