//! `rpc-bench`: the verbs a person types. Each stands in a file of its own under `commands`.

#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr))]

mod commands;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use bench_core::config::ConfigDir;
use bench_measure::interrupt::Interrupted;
use clap::{Parser, Subcommand};
use commands::Ending;

/// Which JSON-RPC server is faster, by how much, and how sure is that?
#[derive(Parser)]
#[command(name = "rpc-bench", version)]
struct Cli {
    /// Folder with servers.toml, workloads/, campaigns/ and tools/.
    #[arg(long, global = true, default_value = "bench-scripts", value_name = "DIR")]
    config: PathBuf,
    /// Folder that runs are kept in.
    #[arg(long, global = true, default_value = "results", value_name = "DIR")]
    results: PathBuf,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Run a campaign and write its report.
    Run(commands::run::Args),
    /// Measure one call to a service that runs already: try http://127.0.0.1:8545 --method eth_blockNumber.
    Try(commands::try_call::Args),
    /// Pass calls on to a service and write each into a file, which a workload then sends: docs/ANY-SERVICE.md.
    Record(commands::record::Args),
    /// Say which functions of two servers take how many instructions of a request: `why actix legacy getBlocks`
    Why(commands::why::Args),
    /// Write the report of a run again, from its folder alone.
    Report(commands::report::Args),
    /// Write a run's report as a page, report.html, and open it where there is a desktop.
    Open {
        /// The run's folder; the newest run where left out.
        run: Option<PathBuf>,
    },
    /// Make finished runs small enough to keep: compress what was measured, and remove raw output and what is made
    /// again from the rest: campaign.toml, summary.json, report.html.
    Pack {
        /// The runs' folders. A packed run can't be resumed.
        #[arg(required = true)]
        runs: Vec<PathBuf>,
    },
    /// Say whether a run is whole: every trial measured, every answer true, every bound kept.
    Check {
        /// The run's folder; the newest run where left out.
        run: Option<PathBuf>,
    },
    /// Compare two runs, of two commits or two machines; or list the ratios of all kept runs (--all).
    Compare(commands::compare::Args),
    /// Say by the exit code whether servers are slower than at an earlier commit.
    #[command(after_help = commands::gate::EXIT_CODES)]
    Gate(commands::gate::Args),
    /// Start one server in the foreground and print a curl and a bombardier line for it.
    Serve(commands::serve::Args),
    /// Say what of this machine would spoil a measurement, and what to do.
    Doctor,
    /// Send load by hand, as campaigns with rpc-load do: load-generator/README.md.
    Load(Box<load_generator::options::Options>),
    /// Find or build the load tools.
    Tools(commands::tools::Args),
    /// Send this load host's share of one load; the harness' launcher starts it (--hosts).
    Agent(commands::agent::Args),
    /// Start Prometheus, and what else is installed, to watch runs that have --prometheus; until Ctrl-C.
    Watch(commands::watch::Args),
    /// Write the blocks of README.md, docs/ and results/README.md again that show runs, or check them (--check).
    Splice(commands::splice::Args),
}

/// A wrong call, or something that is missing. The codes of what ran well are `Ending`'s.
const EXIT_WRONG: u8 = 2;
/// Ended by Ctrl-C, as shells have it.
const EXIT_INTERRUPTED: u8 = 130;

fn main() -> ExitCode {
    match carry_out(Cli::parse()) {
        Ok(code) => code,
        Err(error) if error.is::<Interrupted>() => ExitCode::from(EXIT_INTERRUPTED),
        Err(error) => {
            bench_core::note!("rpc-bench: {}", format!("{error:#}").replace('\n', " "));
            ExitCode::from(EXIT_WRONG)
        }
    }
}

fn carry_out(cli: Cli) -> Result<ExitCode> {
    let config = ConfigDir(cli.config);
    let ending: Ending = match cli.verb {
        Verb::Run(args) => commands::run::run(&config, &cli.results, &args)?.into(),
        Verb::Try(args) => commands::try_call::try_call(&config, &cli.results, &args)?.into(),
        Verb::Record(args) => commands::record::record(&args)?.into(),
        Verb::Why(args) => commands::why::why(&config, &args)?.into(),
        Verb::Report(args) => commands::report::report(&args)?.into(),
        Verb::Open { run } => commands::browse::open(&cli.results, run.as_deref())?.into(),
        Verb::Pack { runs } => commands::pack::pack(&runs)?.into(),
        Verb::Check { run } => commands::check::check(&cli.results, run.as_deref())?.into(),
        Verb::Compare(args) => commands::compare::compare(&cli.results, &args)?.into(),
        Verb::Gate(args) => commands::gate::against_commit(&config, &cli.results, &args)?,
        Verb::Serve(args) => commands::serve::serve(&config, &args)?.into(),
        Verb::Doctor => commands::doctor::doctor(&config)?.into(),
        // It ends with codes of its own.
        Verb::Load(options) => return Ok(load_generator::cli::carry_out(&options)),
        Verb::Tools(args) => commands::tools::tools(&config, &args)?.into(),
        Verb::Agent(args) => commands::agent::agent(args)?.into(),
        Verb::Watch(args) => commands::watch::watch(&config, &args)?.into(),
        Verb::Splice(args) => commands::splice::splice(&cli.results, &args)?.into(),
    };
    Ok(ExitCode::from(ending as u8))
}
