//! The gate with a commit: servers against themselves at that one.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use bench_core::Comparison;
use bench_core::config::ConfigDir;
use bench_core::figure::Figure;
use bench_core::load::LoadTool;
use bench_core::load::toolchain::Tools;
use bench_core::machine::on_path;
use bench_core::moves::{ACCEPTED, Accepted, Compared, Found, Judgement, Moved, Rules, State, judge};
use bench_core::readable_numbers::counted as counted_words;
use bench_core::results::{REPORT, RunFolder};
use bench_measure::interrupt::{Interrupt, Interrupted};
use bench_measure::probe::callgrind;
use bench_measure::run;
use bench_measure::run::gate::{Counted, Question, Sides, checkout};
use bench_measure::run::instructions;
use bench_report::Run;
use bench_report::moves;
use serde::Serialize;

use super::Args;
use crate::commands::{CommandLine, Ending, prepare};

/// Of the document that `--json` writes.
const SCHEMA: u32 = 1;

/// What a gate with a commit writes for programs.
#[derive(Default, Serialize)]
struct Document<'a> {
    /// Raised where a field changes its meaning or goes.
    schema: u32,
    exit_code: u8,
    /// Why nothing was compared.
    skipped: Option<String>,
    /// What would have been compared with; where something was, the judgement says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    base: Option<&'a str>,
    /// Servers that were not measured, because they are the same as at the base.
    same: &'a [String],
    #[serde(flatten)]
    judgement: Option<&'a Judgement>,
    /// Trials that failed, one line each.
    failed: Vec<String>,
    report: Option<PathBuf>,
}

impl Args {
    /// The verb that measures the same again.
    fn again(&self, base: &str) -> String {
        let call = CommandLine(format!("gate --base-rev {base}"))
            .option("server", &self.server)
            .option("workload", &self.workload)
            .option("servers", self.servers.iter().map(|folder| folder.display()))
            .option("minutes", [self.minutes])
            .option("margin", [self.margin])
            .option("max-foreign-cpu", self.max_foreign_cpu)
            .option("max-steal", self.max_steal)
            .flag("all", self.all);
        call.0
    }

    fn say(&self, text: &str) {
        if self.json { bench_core::note!("{text}") } else { bench_core::say!("{text}") }
    }

    /// Adds to the page of a CI's job, where there is one.
    fn summarize(&self, text: &str) -> Result<()> {
        let Some(path) = &self.summary else { return Ok(()) };
        let file = OpenOptions::new().create(true).append(true).open(path);
        let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
        written.with_context(|| format!("--summary: can't write {}", path.display()))
    }

    /// Prints the rest of a document, where that is wished, and gives the ending that it says.
    fn print(&self, ending: Ending, document: Document<'_>) -> Result<Ending> {
        if self.json {
            let document = Document { schema: SCHEMA, exit_code: ending as u8, ..document };
            bench_core::say!("{}", serde_json::to_string_pretty(&document)?);
        }
        Ok(ending)
    }

    fn skip(&self, why: &str, base: &str, same: &[String]) -> Result<Ending> {
        self.say(&format!("SKIPPED: gate: {why}"));
        self.summarize(&format!("### Not measured\n\n{why}\n\n"))?;
        let skipped = Some(format!("gate: {why}"));
        self.print(Ending::Well, Document { skipped, base: Some(base), same, ..Document::default() })
    }
}

/// Compares servers with themselves at a commit.
pub fn against_commit(config: &ConfigDir, results: &Path, args: &Args) -> Result<Ending> {
    // A page that can't be written to is named now, and not after the measurement.
    args.summarize("")?;
    // Another repository has no such file.
    let accepted = args.servers.is_none().then(|| Accepted::read(Path::new(ACCEPTED))).transpose()?;
    let known = accepted.as_ref().map(|accepted| accepted.base.as_str());
    let name = args.base_rev.as_deref().or(known).unwrap_or_default();
    ensure!(on_path("git").is_some(), "--base-rev: there is no git on the PATH; install it");
    let Some(commit) = checkout::commit(name)? else {
        if args.since_accepted {
            let why = format!(
                "this clone lacks commit {name}, which {ACCEPTED} names; fetch it to compare with it"
            );
            return args.skip(&why, name, &[]);
        }
        bail!("--base-rev {name}: this clone has no such commit; fetch it, or name another one");
    };
    let interrupt = prepare()?;
    let own = args.servers.clone().map(ConfigDir);
    let (servers, workloads) = (&args.server, &args.workload);
    let question = Question { config, own: own.as_ref(), servers, workloads, all: args.all };
    let mut sides = Sides::new(question, &commit)?;
    if !sides.pairs.is_empty() {
        let what = if args.all { "compared with itself at" } else { "built from other sources than at" };
        let names: Vec<&str> = sides.pairs.iter().map(|pair| pair.now.name.as_str()).collect();
        args.say(&format!("{what} {}: {}", sides.base(), names.join(", ")));
        sides.build()?;
    }
    if !sides.same.is_empty() {
        let same = sides.same.join(", ");
        args.say(&format!("the same as at {}, and not measured: {same}", sides.base()));
    }
    if sides.pairs.is_empty() {
        let why = format!(
            "no server changed since {}, neither its sources nor Cargo.toml and Cargo.lock",
            sides.base()
        );
        return args.skip(&why, &commit, &sides.same);
    }
    let (run, counted, report) = measure(config, results, &sides, args, &interrupt)?;
    let only_slower = !args.server.is_empty();
    let rules = Rules { margin: args.margin, only_slower, accepted: accepted.as_ref() };
    let judgement = judge(&commit, &compared(&run, &counted, only_slower), rules);
    args.say(&format!("\n{}", moves::text(&judgement).trim_end()));
    let failed = run.grave_faults()?;
    if let Some(first) = failed.first() {
        args.say(&format!("failed: {first}"));
        args.summarize(&format!("### A trial failed\n\n{first}\n\n"))?;
    }
    args.summarize(&moves::markdown(&judgement)?)?;
    args.say(&format!("The whole report: {}", report.display()));
    let ending = match judgement.state {
        _ if !failed.is_empty() => Ending::Found,
        State::Moved => Ending::Found,
        State::Undecided => Ending::Open,
        State::Still | State::Accepted => Ending::Well,
    };
    let (judgement, report) = (Some(&judgement), Some(report));
    args.print(ending, Document { same: &sides.same, judgement, failed, report, ..Document::default() })
}

/// Runs all pairs side by side and counts instructions; gives where the report is, too.
fn measure(
    config: &ConfigDir,
    results: &Path,
    sides: &Sides,
    args: &Args,
    interrupt: &Interrupt,
) -> Result<(Run, Vec<Counted>, PathBuf)> {
    let plan = sides.plan(args.margin, args.minutes, [args.max_foreign_cpu, args.max_steal])?;
    let mut tools = Tools::find(&[LoadTool::Bombardier], &config.tools())?;
    let call = args.again(sides.base());
    let text = format!("# Put together by: rpc-bench {call}\n");
    // just would lose the quotes.
    let command = format!("{} {call}", if call.contains('\'') { "cargo rpc-bench" } else { "just" });
    let begun = run::begin(results, &plan, &text, &mut tools, &command, interrupt);
    let folder = begun.inspect_err(|error| {
        if error.is::<Interrupted>() {
            bench_core::note!("\n{error}; start again with: {command}");
        }
    })?;
    let _locked = folder.lock()?;
    bench_core::note!("results go to {}", folder.0.display());
    let carried_out = run::carry_out(&folder, &tools, interrupt, &|_| ());
    let counted = carried_out.and_then(|()| match instructions::is_possible() {
        true => sides.count(&plan, &folder, interrupt),
        false => {
            if sides.can_be_counted() {
                args.say(&format!("SKIPPED: instructions: {}", callgrind::INSTALL));
            }
            Ok(Vec::new())
        }
    });
    let counted = counted.inspect_err(|_| bench_core::note!("\n{}", what_is_left(&folder, &command)))?;
    Ok((bench_report::write(&folder)?, counted, folder.0.join(REPORT)))
}

/// What a gate that was stopped leaves, and what to do. The base's checkout is gone with it, so it is never resumed.
fn what_is_left(folder: &RunFolder, command: &str) -> String {
    let (kept, path) = (counted_words(folder.kept_trials() as u64, "trial"), folder.0.display());
    format!("{kept} kept in {path}; a gate can't be resumed, so start again with: {command}")
}

/// What was found of each server and request, CPU time before instructions, and the rates where they are judged.
fn compared(run: &Run, counted: &[Counted], has_rates: bool) -> Vec<Compared> {
    let campaign = &run.plan.campaign;
    let pairs = campaign.compared();
    let mut all = Vec::new();
    // Also pairs of which no block is valid.
    for (request, (server, over)) in
        campaign.workloads.iter().flat_map(|request| pairs.iter().map(move |pair| (request, pair)))
    {
        let is_it =
            |pair: &&Comparison| (&pair.server, &pair.over, &pair.workload) == (server, over, request);
        let pair = run.summary.comparisons.iter().find(is_it);
        let pair = pair
            .filter(|pair| pair.ratio(Figure::CpuUsPerRequest).is_some_and(|ratio| ratio.interval.is_some()));
        let measured = |figure| Some(Found::Measured(*pair?.findings.get(&figure)?));
        let of = |figure, found| Compared { server: server.clone(), request: request.clone(), figure, found };
        let count = counted.iter().find(|one| (&one.server, &one.workload) == (server, request));
        all.push(of(Moved::Cpu, measured(Figure::CpuUsPerRequest)));
        all.push(of(Moved::Instructions, count.map(|one| Found::Counted(one.before, one.now))));
        if has_rates {
            all.push(of(Moved::Rate, measured(Figure::RequestsPerSecond)));
        }
    }
    all
}
