//! `rpc-bench why`: why one server is faster than another on a request.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use bench_measure::run::why::{Question, begin, build, carry_out, resolve, resume};
use bench_model::config::ConfigDir;
use bench_model::load::toolchain::Tools;
use bench_model::results::{Lock, RunFolder};
use bench_system::interrupt::{Interrupt, Interrupted};
use bench_system::probe::host;

/// Which servers and which request.
#[derive(clap::Args)]
pub struct Args {
    /// The server whose difference is explained: a name of servers.toml.
    #[arg(required_unless_present = "resume")]
    server: Option<String>,
    /// The server that it is compared with.
    #[arg(required_unless_present = "resume")]
    over: Option<String>,
    /// The request: a name of workloads/.
    #[arg(required_unless_present = "resume")]
    workload: Option<String>,
    /// Connections; those of why.toml where left out.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=60_000))]
    connections: Option<u32>,
    /// Resume a run that was interrupted.
    #[arg(long, value_name = "RUN", conflicts_with_all = ["server", "over", "workload", "connections"])]
    resume: Option<PathBuf>,
}

/// Measures, takes apart, and writes the report. False where a trial failed.
pub fn why(config: &ConfigDir, results: &Path, args: &Args) -> Result<bool> {
    let interrupt = Interrupt::install()?;
    host::raise_open_files();
    let (folder, _locked) = match &args.resume {
        Some(run) => open(run)?,
        None => {
            let folder = start(config, results, args)?;
            let locked = folder.lock()?;
            (folder, locked)
        }
    };
    bench_system::note!("results go to {}", folder.0.display());
    let tools = Tools::find(&[], &config.tools())?;
    super::run::check_as_begun(&folder, &tools)?;
    let again = format!("cargo rpc-bench why --resume {}", folder.0.display());
    if let Err(error) = carry_out(&folder, &tools, &interrupt) {
        bench_system::note!("\nwhat was observed is kept; resume with: {again}");
        ensure!(!error.is::<Interrupted>(), Interrupted);
        return Err(error);
    }
    let summary = bench_report::why::write(&folder)?;
    bench_system::say!(
        "\n{}The whole report: {}",
        bench_report::why::headline(&summary),
        folder.0.join("report.md").display()
    );
    Ok(summary.failed.is_empty())
}

/// Begins a new run.
fn start(config: &ConfigDir, results: &Path, args: &Args) -> Result<RunFolder> {
    let (Some(server), Some(over), Some(workload)) = (&args.server, &args.over, &args.workload) else {
        bail!("give two servers and a request, such as: why actix legacy getBlocks");
    };
    // A wrong call is reported before anything is built.
    let question = Question { server, over, workload, connections: args.connections };
    let resolved = resolve(config, &question)?;
    let tools = Tools::find(&[], &config.tools())?;
    build(&resolved.main.servers)?;
    let connections = args.connections.map_or_else(String::new, |count| format!(" --connections {count}"));
    begin(results, &resolved, &tools, &format!("just why {server} {over} {workload}{connections}"))
}

/// Opens a run to resume it.
fn open(run: &Path) -> Result<(RunFolder, Lock)> {
    let folder = RunFolder::open_to_resume(run)?;
    let locked = folder.lock()?;
    ensure!(
        folder.is_why(),
        "{} is no why run; resume with: cargo rpc-bench run --resume {}",
        run.display(),
        run.display()
    );
    build(&folder.plan()?.servers)?;
    resume(&folder)?;
    Ok((folder, locked))
}
