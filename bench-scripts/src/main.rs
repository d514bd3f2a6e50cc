//! `rpc-bench`: the verbs a person types. Each stands in a file of its own under `commands`.

mod commands;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use rpc_bench::config::ConfigDir;
use rpc_bench::interrupt::Interrupted;

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
    /// Find out what this machine and this harness can tell apart.
    Calibrate(commands::calibrate::Args),
    /// Write the report of a run again, from its folder alone.
    Report {
        /// The run's folder, such as results/2026-11-20T120000Z-quick.
        run: PathBuf,
    },
    /// Say whether a run is whole: every trial measured, every answer true, every bound kept.
    Check {
        /// The run's folder; the newest run where left out.
        run: Option<PathBuf>,
    },
    /// Start one server in the foreground and print a curl and a bombardier line for it.
    Serve(commands::serve::Args),
    /// One plain bombardier run against a fresh server, with bombardier's own output.
    Bombard(commands::bombard::Args),
    /// Say what of this machine would spoil a measurement, and what to do.
    Doctor,
    /// Find or build the load tool.
    Tools,
    /// Put a run's headline into the README.
    Splice(commands::splice::Args),
}

/// What ran well, but found that something is not as it should be.
const EXIT_FOUND: u8 = 1;
/// A wrong call, or something that is missing.
const EXIT_WRONG: u8 = 2;
/// Ended by Ctrl-C, as shells have it.
const EXIT_INTERRUPTED: u8 = 130;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let config = ConfigDir(cli.config);
    let done = match cli.verb {
        Verb::Run(args) => commands::run::run(&config, &cli.results, &args),
        Verb::Calibrate(args) => commands::calibrate::calibrate(&config, &cli.results, &args),
        Verb::Report { run } => commands::report::report(&run),
        Verb::Check { run } => commands::check::check(&cli.results, run.as_deref()),
        Verb::Serve(args) => commands::serve::serve(&config, &args),
        Verb::Bombard(args) => commands::bombard::bombard(&config, &args),
        Verb::Doctor => commands::doctor::doctor(&config),
        Verb::Tools => commands::tools::tools(&config),
        Verb::Splice(args) => commands::splice::splice(&cli.results, &args),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(EXIT_FOUND),
        Err(error) if error.is::<Interrupted>() => ExitCode::from(EXIT_INTERRUPTED),
        Err(error) => {
            eprintln!("rpc-bench: {}", format!("{error:#}").replace('\n', " "));
            ExitCode::from(EXIT_WRONG)
        }
    }
}
