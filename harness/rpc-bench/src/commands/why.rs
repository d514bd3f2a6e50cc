//! `rpc-bench why`: why one server is faster than another on a request.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use bench_measure::run::why::{Question, begin, build, carry_out, resolve, resume};
use bench_model::config::ConfigDir;
use bench_model::load::toolchain::Tools;
use bench_model::results::RunFolder;
use bench_report::why_command;

use super::{locked, prepare, quoted, resumed, say_found};

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
    let interrupt = prepare()?;
    let (folder, _locked) = match resumed(args.resume.as_deref())? {
        Some(resumed) => {
            let path = resumed.0.0.display();
            let typed = quoted(&path);
            ensure!(
                resumed.0.is_why(),
                "{path} is no why run; resume with: cargo rpc-bench run --resume {typed}"
            );
            build(&resumed.0.plan()?.servers)?;
            resume(&resumed.0)?;
            resumed
        }
        None => locked(start(config, results, args)?)?,
    };
    let path = folder.0.display();
    bench_system::note!("results go to {path}");
    let tools = Tools::find(&[], &config.tools())?;
    super::run::check_as_begun(&folder, &tools)?;
    carry_out(&folder, &tools, &interrupt).inspect_err(|_| {
        let typed = quoted(&path);
        bench_system::note!("\nwhat was observed is kept; resume with: cargo rpc-bench why --resume {typed}");
    })?;
    let summary = bench_report::why::write(&folder)?;
    say_found(&folder, &format!("\n{}", bench_report::why::headline(&summary)));
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
    begin(results, &resolved, &tools, &why_command(server, over, workload, args.connections))
}
