//! `rpc-bench calibrate`: what this machine and this harness can distinguish, found by comparisons whose answer is
//! known.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, ensure};
use bench_measure::run::calibration::{CPU, RATES, Until, begin, carry_out};
use bench_measure::run::{build, resume};
use bench_model::config::ConfigDir;
use bench_model::load::toolchain::Tools;
use bench_model::results::RunFolder;
use bench_system::interrupt::{Interrupt, Interrupted};
use bench_system::probe::host;

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
    let interrupt = Interrupt::install()?;
    host::raise_open_files();
    let opened = args.resume.as_deref().map(RunFolder::open_to_resume).transpose()?;
    let locked = opened.as_ref().map(RunFolder::lock).transpose()?;
    let calibration = match &opened {
        Some(folder) => folder.calibration()?.calibration,
        None => config.calibration()?.0,
    };
    let until = match args.minutes {
        Some(minutes) => Until::Time(Duration::from_secs(minutes * 60)),
        None if args.full => Until::Comparisons,
        None => Until::Time(Duration::from_secs(calibration.short_minutes * 60)),
    };
    let tools = Tools::find(&[], &config.tools())?;
    let folder = match opened {
        Some(folder) => {
            super::run::check_as_begun(&folder, &tools)?;
            build(&folder.plan()?)?;
            resume(&folder)?;
            folder
        }
        None => {
            let minutes = args.minutes.map_or_else(String::new, |minutes| format!(" --minutes {minutes}"));
            let full = if args.full { " --full" } else { "" };
            let only = args.only.as_ref().map_or_else(String::new, |only| format!(" --only {only}"));
            let command = format!("just calibrate{full}{minutes}{only}");
            begin(config, results, &tools, &command, &interrupt).inspect_err(|error| {
                if error.is::<Interrupted>() {
                    bench_system::note!(
                        "\nthe handicaps were not sized yet, so its folder can't be resumed; remove it, and start \
                         again with: {command}"
                    );
                }
            })?
        }
    };
    let _locked = locked.map_or_else(|| folder.lock(), Ok)?;
    if let Err(error) = carry_out(&folder, &tools, until, args.only.as_deref(), &interrupt) {
        let kept = bench_report::calibration::summary(&folder).map_or(0, |summary| summary.all_trials());
        let again = format!("cargo rpc-bench calibrate --resume {}", folder.0.display());
        bench_system::note!("\n{kept} trials are kept; resume with: {again}");
        ensure!(!error.is::<Interrupted>(), Interrupted);
        return Err(error);
    }
    let summary = bench_report::calibration::write(&folder)?;
    bench_system::say!(
        "\n{}\nThe whole report: {}",
        bench_report::calibration::headline(&summary),
        folder.0.join("report.md").display()
    );
    Ok(summary.all_failed() == 0)
}
