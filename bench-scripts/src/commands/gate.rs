//! `rpc-bench gate`: is a run slower than an earlier one? The answer is the exit code.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use rpc_bench::analysis::two_runs::{Both, Gate, between};
use rpc_bench::config::{ConfigDir, Percent};
use rpc_bench::interrupt::Interrupt;
use rpc_bench::load::LoadTool;
use rpc_bench::load::toolchain::Tools;
use rpc_bench::probe::{callgrind, host};
use rpc_bench::report::moves::{ACCEPTED, Accepted, Compared, Found, Judgement, Moved, State, judge};
use rpc_bench::report::{self, Run, compare};
use rpc_bench::results::RunFolder;
use rpc_bench::run;
use rpc_bench::run::gate::checkout;
use rpc_bench::run::gate::{Counted, Sides, instructions};
use serde::Serialize;

use super::Ending;

/// Of the document that `--json` writes.
const SCHEMA: u32 = 1;

/// The exit codes, for `--help`.
pub const EXIT_CODES: &str = "Exit codes:
  0  every judged comparison has a verdict, and none is slower by more than the margin
  1  at least one is slower by more than the margin, or a trial of RUN failed or answered wrongly
  2  a wrong call: no such run, no cell in common, or another task in a common cell
  3  none is known to be slower, but at least one is inconclusive

With --base-rev or --since-accepted:
  0  no server moved by more than the margin without an accepted reason, or there is nothing to compare
  1  at least one did, faster or slower, in CPU time or in instructions, or a trial failed
  2  a wrong call: no such commit, or a build fails
  3  none is known to have moved, but at least one is inconclusive";

/// Which runs.
#[derive(clap::Args)]
pub struct Args {
    /// The run to compare the other with: its folder.
    #[arg(required_unless_present_any = ["base_rev", "since_accepted"])]
    base: Option<PathBuf>,
    /// The run that is judged; the newest run where left out.
    run: Option<PathBuf>,
    /// The server to compare the others with; the second run's ceiling, or its baseline, where left out.
    #[arg(long, value_name = "SERVER")]
    reference: Option<String>,
    /// Compare each server with itself at this commit, in place of two runs: builds both and runs them side by side.
    #[arg(long, value_name = "REV", conflicts_with_all = ["base", "run", "reference"])]
    base_rev: Option<String>,
    /// The same with the commit that servers/accepted-moves.toml names; skipped where this clone does not have it.
    #[arg(long, conflicts_with_all = ["base", "run", "reference", "base_rev"])]
    since_accepted: bool,
    /// With a commit, build and measure every server, whether or not it changed.
    #[arg(long, conflicts_with = "base")]
    all: bool,
    /// The largest move that does not matter, with a commit.
    #[arg(long, value_name = "PERCENT", default_value = "3%", conflicts_with = "base")]
    margin: Percent,
    /// Write the judgement as one JSON document to standard output, with a commit; all else goes to standard error.
    #[arg(long, conflicts_with = "base")]
    json: bool,
}

/// Prints what is slower and what can't be told.
pub fn gate(config: &ConfigDir, results: &Path, args: &Args) -> Result<Ending> {
    let Some(base) = &args.base else { return against_commit(config, results, args) };
    let base = RunFolder::open(base)?;
    let run = args.run.as_deref().map_or_else(|| RunFolder::newest(results), RunFolder::open)?;
    let runs = super::compare::load(&base, &run)?;
    let runs = Both { before: &runs.before, after: &runs.after };
    let (text, gate) = compare::gate(runs, &between(runs, args.reference.as_deref())?);
    print!("{text}");
    Ok(match gate {
        Gate::Passes => Ending::Well,
        Gate::Open => Ending::Open,
        Gate::Fails => Ending::Found,
    })
}

/// What a gate with a commit writes for programs.
#[derive(Serialize)]
struct Document<'a> {
    /// Raised where a field changes its meaning or goes.
    schema: u32,
    exit_code: u8,
    /// Why nothing was compared.
    skipped: Option<String>,
    /// Servers that were not measured, because they are the same as at the base.
    same: &'a [String],
    #[serde(flatten)]
    judgement: Option<&'a Judgement>,
    /// Trials that failed, one line each.
    failed: Vec<String>,
    report: Option<PathBuf>,
}

impl Document<'_> {
    fn skipped(why: &str, same: &[String]) -> Result<String> {
        let skipped = Some(format!("gate: {why}"));
        Document {
            schema: SCHEMA,
            exit_code: 0,
            skipped,
            same,
            judgement: None,
            failed: Vec::new(),
            report: None,
        }
        .text()
    }

    fn text(&self) -> Result<String> {
        Ok(serde_json::to_string_pretty(self)?)
    }
}

/// Compares each server with itself at a commit.
fn against_commit(config: &ConfigDir, results: &Path, args: &Args) -> Result<Ending> {
    let say = |text: &str| if args.json { eprintln!("{text}") } else { println!("{text}") };
    let skip = |why: &str, same: &[String]| {
        say(&format!("SKIPPED: gate: {why}"));
        if args.json {
            println!("{}", Document::skipped(why, same)?);
        }
        Ok(Ending::Well)
    };
    let accepted = Accepted::read(Path::new(ACCEPTED))?;
    let name = args.base_rev.as_deref().unwrap_or(&accepted.base);
    let Some(commit) = checkout::commit(name) else {
        if args.since_accepted {
            let why = format!(
                "this clone lacks commit {name}, which {ACCEPTED} names; fetch it to compare with it"
            );
            return skip(&why, &[]);
        }
        bail!("--base-rev {name}: this clone has no such commit; fetch it, or name another one");
    };
    let interrupt = Interrupt::install()?;
    host::raise_open_files();
    let mut sides = Sides::new(config, &commit, args.all)?;
    if !sides.pairs.is_empty() {
        let what = if args.all { "compared with itself at" } else { "built from other sources than at" };
        say(&format!("{what} {}: {}", sides.base(), names(&sides)));
        sides.build()?;
    }
    if !sides.same.is_empty() {
        say(&format!("the same as at {}, and not measured: {}", sides.base(), sides.same.join(", ")));
    }
    if sides.pairs.is_empty() {
        let why = format!(
            "no server changed since {}, neither its sources nor its part of Cargo.lock",
            sides.base()
        );
        return skip(&why, &sides.same);
    }
    let plan = sides.plan(config, args.margin)?;
    let mut tools = Tools::find(&[LoadTool::Bombardier], &config.tools())?;
    let text = format!("# Put together by: rpc-bench gate --base-rev {}\n", sides.base());
    let command = format!("just gate --base-rev {}", sides.base());
    let folder = run::begin(results, &plan, &text, &mut tools, &command, &interrupt)?;
    let _locked = folder.lock()?;
    eprintln!("results go to {}", folder.0.display());
    run::carry_out(&folder, &tools, &interrupt, &|_| ())?;
    let counted = match instructions::is_possible() {
        true => sides.count(&plan, &folder, &interrupt)?,
        false => {
            say(&format!("SKIPPED: instructions: {}", callgrind::INSTALL));
            Vec::new()
        }
    };
    let run = report::write(&folder)?;
    let judgement = judge(&commit, &compared(&run, &counted), args.margin, &accepted);
    say(&format!("\n{}", judgement.text().trim_end()));
    let failed = run.failed().map(|failed| {
        format!("trial {} of {} {}: {}", failed.number, failed.server, failed.workload, failed.reason)
    });
    let failed: Vec<String> = failed.collect();
    if let Some(first) = failed.first() {
        say(&format!("failed: {first}"));
    }
    let report = folder.0.join("report.md");
    say(&format!("The whole report: {}", report.display()));
    let ending = match judgement.state {
        _ if !failed.is_empty() => Ending::Found,
        State::Moved => Ending::Found,
        State::Undecided => Ending::Open,
        State::Still | State::Accepted => Ending::Well,
    };
    if args.json {
        let (judgement, report) = (Some(&judgement), Some(report));
        let exit_code = ending.code();
        let same = &sides.same;
        let document = Document { schema: SCHEMA, exit_code, skipped: None, same, judgement, failed, report };
        println!("{}", document.text()?);
    }
    Ok(ending)
}

fn names(sides: &Sides) -> String {
    sides.pairs.iter().map(|pair| pair.now.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// What was found of each server and request, CPU time before instructions.
fn compared(run: &Run, counted: &[Counted]) -> Vec<Compared> {
    let mut all = Vec::new();
    for pair in &run.summary.comparisons {
        let of = |figure, found| Compared {
            server: pair.server.clone(),
            request: pair.workload.clone(),
            figure,
            found,
        };
        let count = counted.iter().find(|one| (&one.server, &one.workload) == (&pair.server, &pair.workload));
        let is_measured = pair.cpu.ratio.interval.is_some();
        all.push(of(Moved::Cpu, is_measured.then_some(Found::Measured(pair.cpu))));
        all.push(of(Moved::Instructions, count.map(|one| Found::Counted(one.before, one.now))));
    }
    all
}
