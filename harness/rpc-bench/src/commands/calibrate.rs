//! `rpc-bench calibrate`: what this machine and this harness can distinguish, found by comparisons whose answer is
//! known.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use bench_measure::run::calibration::{CPU, RATES, Until, begin, carry_out};
use bench_measure::run::{build, resume};
use bench_model::config::ConfigDir;
use bench_model::load::toolchain::Tools;
use bench_report::calibration;
use bench_system::interrupt::Interrupted;

use super::{CommandLine, locked, prepare, quoted, resumed, say_found};

/// How long to calibrate.
#[derive(clap::Args)]
pub struct Args {
    /// Until there are as many comparisons of the server with its twin as calibration.toml says: an hour or two for CPU
    /// time and more for rates. Else it takes about 15 minutes.
    #[arg(long)]
    full: bool,
    /// How many minutes it may take.
    #[arg(long, conflicts_with = "full", value_parser = clap::value_parser!(u64).range(1..=600))]
    minutes: Option<u64>,
    /// Only one part.
    #[arg(long, value_name = "PART", value_parser = [CPU, RATES])]
    only: Option<String>,
    /// Resume a calibration that was stopped.
    #[arg(long, value_name = "RUN")]
    resume: Option<PathBuf>,
}

/// Calibrates and writes the report. False where a trial failed.
pub fn calibrate(config: &ConfigDir, results: &Path, args: &Args) -> Result<bool> {
    let interrupt = prepare()?;
    let resumed = resumed(args.resume.as_deref())?;
    let calibration = match &resumed {
        Some((folder, _)) => folder.calibration()?.calibration,
        None => config.calibration()?.0,
    };
    let minutes = args.minutes.or((!args.full).then_some(calibration.short_minutes));
    let until = minutes.map_or(Until::Comparisons, |minutes| Until::Time(Duration::from_secs(minutes * 60)));
    let tools = Tools::find(&[], &config.tools())?;
    let (folder, _locked) = match resumed {
        Some(resumed) => {
            super::run::check_as_begun(&resumed.0, &tools)?;
            build(&resumed.0.plan()?)?;
            resume(&resumed.0)?;
            resumed
        }
        None => {
            let command = CommandLine("just calibrate".to_owned()).flag("full", args.full);
            let CommandLine(command) = command.option("minutes", args.minutes).option("only", &args.only);
            locked(begin(config, results, &tools, &command, &interrupt).inspect_err(|error| {
                if error.is::<Interrupted>() {
                    bench_system::note!(
                        "\nthe handicaps were not sized yet, so its folder can't be resumed; remove it, and start \
                         again with: {command}"
                    );
                }
            })?)?
        }
    };
    carry_out(&folder, &tools, until, args.only.as_deref(), &interrupt).inspect_err(|_| {
        let kept = calibration::summary(&folder).map_or(0, |summary| summary.all_trials());
        let typed = quoted(folder.0.display());
        bench_system::note!(
            "\n{kept} trials are kept; resume with: cargo rpc-bench calibrate --resume {typed}"
        );
    })?;
    let summary = calibration::write(&folder)?;
    say_found(&folder, &format!("\n{}\n", calibration::headline(&summary)));
    Ok(summary.all_failed() == 0)
}
