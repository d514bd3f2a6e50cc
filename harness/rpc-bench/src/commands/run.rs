//! `rpc-bench run`: a campaign from its file to its report.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use bench_core::config::{ConfigDir, Instead, built};
use bench_core::load::LoadTool;
use bench_core::load::toolchain::{Tool, Tools};
use bench_core::plan::Plan;
use bench_core::provenance::check_unchanged;
use bench_core::results::{Lock, RunFolder};
use bench_measure::interrupt::{Interrupt, Interrupted};
use bench_measure::run;
use bench_measure::watch;

use super::{CommandLine, locked, prepare, quoted, resumed, say_found};

/// What to run.
#[derive(clap::Args)]
pub struct Args {
    /// The campaign: a file of bench-scripts/campaigns or of a folder in it, without its ending.
    #[arg(default_value = "quick")]
    campaign: String,
    /// Resume a run that was interrupted.
    #[arg(long, value_name = "RUN", conflicts_with = "campaign")]
    resume: Option<PathBuf>,
    /// Measure this server in place of the campaign's, with those that the campaign compares it with; give it again for
    /// more than one.
    #[arg(long = "server", value_name = "NAME", conflicts_with = "resume")]
    servers: Vec<String>,
    /// How long a window is, in minutes, in place of the campaign's.
    #[arg(long, value_name = "N", conflicts_with = "resume")]
    minutes: Option<u32>,
    /// Requests a second, in place of the campaign's rates.
    #[arg(long, value_name = "N", conflicts_with = "resume")]
    rate: Option<u32>,
    /// Which request, by its workload's name, in place of the campaign's.
    #[arg(long, value_name = "NAME", conflicts_with = "resume")]
    workload: Option<String>,
    /// Over how many connections, in place of the campaign's.
    #[arg(long, value_name = "N", conflicts_with = "resume")]
    connections: Option<u32>,
    /// Draw the order of the trials, and the layouts of the servers where the campaign has them, from this number in
    /// place of its own.
    #[arg(long, value_name = "N", conflicts_with = "resume")]
    seed: Option<u32>,
    /// Take the servers as they were built there already in this profile of cargo, such as dev: to see that all works,
    /// and not to measure.
    #[arg(long, value_name = "PROFILE", conflicts_with = "resume")]
    built: Option<String>,
    /// Put the load on from the hosts of this pool of bench-scripts/hosts.toml; see docs/HOSTS.md.
    #[arg(long, value_name = "POOL", conflicts_with = "resume")]
    hosts: Option<String>,
    /// The address of this machine that servers listen on for them, in place of the pool's.
    #[arg(long, value_name = "ADDR", requires = "hosts")]
    listen: Option<IpAddr>,
    /// Show progress and samples to Prometheus at this address while the run goes on; see docs/HOSTS.md. Port 0 takes
    /// any free port.
    #[arg(long, value_name = "ADDR")]
    prometheus: Option<SocketAddr>,
    /// Folder of the lists in which Prometheus finds the harness and the servers that run.
    #[arg(long, value_name = "DIR", default_value = "target/watch/targets", requires = "prometheus")]
    prometheus_targets: PathBuf,
}

impl Args {
    /// The command that makes the run again.
    fn command(&self, config: &ConfigDir) -> String {
        let config = Some(config.0.display()).filter(|_| config.0 != Path::new("bench-scripts"));
        let CommandLine(command) = CommandLine(quoted(&self.campaign))
            .option("config", config)
            .option("server", &self.servers)
            .option("minutes", self.minutes)
            .option("rate", self.rate)
            .option("workload", &self.workload)
            .option("connections", self.connections)
            .option("seed", self.seed)
            .option("built", &self.built)
            .option("hosts", &self.hosts)
            .option("listen", self.listen)
            .option("prometheus", self.prometheus);
        // just would lose the quotes.
        let verb = if command.contains('\'') { "cargo rpc-bench run" } else { "just bench-all" };
        format!("{verb} {command}")
    }

    /// Begins to show the run, where that is wished.
    fn watch(&self) -> Result<()> {
        if let Some(addr) = self.prometheus {
            let bound = watch::begin(addr, &self.prometheus_targets)?;
            bench_core::note!(
                "progress and samples are at http://{bound}/metrics; who reads them takes CPU time from what is \
                 measured"
            );
        }
        Ok(())
    }
}

/// Runs or resumes a campaign and writes its report. False where a trial failed, the headline lacks a valid one or a
/// bound is broken.
pub fn run(config: &ConfigDir, results: &Path, args: &Args) -> Result<bool> {
    let interrupt = prepare()?;
    args.watch()?;
    // Mistakes in the folder or the campaign are reported before anything is built.
    let resumed = resumed(args.resume.as_deref())?;
    let (mut plan, text) = match &resumed {
        Some((folder, _)) => (folder.plan()?, String::new()),
        None => {
            let Args { minutes, rate, connections, .. } = *args;
            let (servers, workload) = (args.servers.clone(), args.workload.clone());
            let instead = Instead { servers, workload, rate, connections, minutes };
            run::resolve(config, &args.campaign, &instead)?
        }
    };
    if let Some(seed) = args.seed {
        plan = run::drawn_from(plan, seed).context("--seed")?;
    }
    if let Some(profile) = &args.built {
        plan.servers = plan.servers.into_iter().map(|server| built(server, profile)).collect();
    }
    if let Some(name) = &args.hosts {
        let mut pool = config.pool(name)?;
        pool.listen = args.listen.or(pool.listen);
        run::hosts::check(&plan, &pool)?;
        plan.hosts = Some(pool);
    }
    let command = args.command(config);
    let wanted = Wanted { plan, text, again: command.clone(), command, resumed };
    measure(config, results, wanted, &interrupt)
}

/// A run that is to be measured.
pub(super) struct Wanted {
    /// What is to be done.
    pub plan: Plan,
    /// The campaign's text.
    pub text: String,
    /// The command that makes the run again.
    pub command: String,
    /// The command that begins it once more, where it is ended before there is anything to resume.
    pub again: String,
    /// The folder of a run that is resumed.
    pub resumed: Option<(RunFolder, Lock)>,
}

/// Builds what a plan needs, measures it in a new folder or in that of a run that was interrupted, and writes its
/// report. False where a trial failed, the headline lacks a valid one or a bound is broken.
pub(super) fn measure(
    config: &ConfigDir,
    results: &Path,
    wanted: Wanted,
    interrupt: &Interrupt,
) -> Result<bool> {
    let Wanted { plan, text, command, again, resumed } = wanted;
    let begun_with = match &resumed {
        Some((folder, _)) => folder.conditions()?.open_loop_tools,
        None => Vec::new(),
    };
    plan.servers.iter().flat_map(run::requirements::notes).for_each(|note| bench_core::note!("{note}"));
    let building = Instant::now();
    let say_again = |error: &anyhow::Error| {
        if error.is::<Interrupted>() {
            bench_core::note!("\n{error}; start again with: {again}");
        }
    };
    let built = Tools::find(&needed(&plan, &begun_with), &config.tools())
        .and_then(|tools| run::build(&plan).map(|()| tools));
    let mut tools = built.inspect_err(say_again)?;
    bench_core::note!("built in {} s; now measuring", building.elapsed().as_secs());
    let (folder, _locked) = match resumed {
        Some(resumed) => {
            check_as_begun(&resumed.0, &tools)?;
            run::resume(&resumed.0)?;
            resumed
        }
        None => {
            let begun = run::begin(results, &plan, &text, &mut tools, &command, interrupt);
            locked(begun.inspect_err(say_again)?)?
        }
    };
    let path = folder.0.display();
    bench_core::note!("results go to {path}");
    let carried_out = run::carry_out(&folder, &tools, interrupt, &print_so_far);
    watch::end();
    carried_out.inspect_err(|_| {
        let (kept, typed) = (folder.kept_trials(), quoted(&path));
        bench_core::note!(
            "\n{kept} trials are kept; resume the run with: cargo rpc-bench run --resume {typed}"
        );
    })?;
    let run = bench_report::write(&folder)?;
    say_found(&folder, &format!("\n{}\n", bench_report::headline_in(&run, &folder.0)?));
    let shortcomings: Vec<String> =
        run.without_valid_trial()?.into_iter().chain(run.shortcomings()?).collect();
    if let [first, others @ ..] = shortcomings.as_slice() {
        let more = if others.is_empty() { String::new() } else { format!(", and {} more", others.len()) };
        bench_core::note!("exit code 1: {first}{more}");
    }
    Ok(shortcomings.is_empty())
}

/// The first screen of a run whose duets or headline have been analysed. A run goes on without it.
fn print_so_far(folder: &RunFolder) {
    match bench_report::Run::load(folder).and_then(|run| bench_report::so_far(&run)) {
        Ok(screen) => bench_core::say!(
            "\nSo far:\n\n{screen}\nWhat is open here, and all else that the campaign measures, follows.\n"
        ),
        Err(error) => bench_core::note!("no first screen yet: {error:#}"),
    }
}

/// The load tools that a plan names, and in a resumed run those of the open loop that it was begun with: one that held
/// no rate is in no plan. Those that an open loop chooses by itself are found when it does.
fn needed(plan: &Plan, begun_with: &[Tool]) -> Vec<LoadTool> {
    let chosen = plan.rates.iter().map(|level| level.tool);
    let known = |tool: &LoadTool| begun_with.iter().any(|before| before.name == tool.name());
    let before = LoadTool::of_open_loops().filter(known);
    plan.campaign.all_tools().chain(chosen).chain(before).collect()
}

/// A run is measured with the same load tools and servers throughout, or its parts are not comparable.
pub(super) fn check_as_begun(folder: &RunFolder, tools: &Tools) -> Result<()> {
    let conditions = folder.conditions()?;
    check_unchanged(&conditions.programs, &folder.plan()?, Path::new("."))
        .with_context(|| folder.0.display().to_string())?;
    for before in std::iter::once(&conditions.tool).chain(&conditions.open_loop_tools) {
        let now = tools.named(&before.name)?;
        ensure!(
            before.sha256 == now.sha256,
            "{} was begun with {} {} (SHA-256 {}); here is {} ({}): set {} to the same program",
            folder.0.display(),
            before.name,
            before.version,
            before.sha256,
            now.version,
            now.sha256,
            before.name.to_uppercase()
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use bench_core::load::Level;
    use bench_core::load::toolchain::Source;

    use super::*;

    fn tool(tool: LoadTool) -> Tool {
        Tool {
            path: PathBuf::new(),
            name: tool.name().to_owned(),
            version: "1".to_owned(),
            source: Source::Path,
            sha256: String::new(),
        }
    }

    #[test]
    fn what_a_shell_would_take_apart_is_quoted_and_not_given_to_just() {
        #[derive(clap::Parser)]
        struct Call {
            #[command(flatten)]
            args: Args,
        }
        let command = |folder: &str, given: &[&str]| {
            let call: Call = clap::Parser::parse_from([&["run"], given].concat());
            call.args.command(&ConfigDir(folder.into()))
        };
        assert_eq!(command("bench-scripts", &["tiny"]), "just bench-all tiny");
        let given = ["tiny", "--workload", "it's", "--rate", "5"];
        let wanted = r"cargo rpc-bench run tiny --rate 5 --workload 'it'\''s'";
        assert_eq!(command("bench-scripts", &given), wanted);
        assert_eq!(command("my own", &["tiny"]), "cargo rpc-bench run tiny --config 'my own'");
    }

    #[test]
    fn a_resumed_run_also_needs_the_tools_that_held_no_rate() {
        let config = ConfigDir::of_repository();
        let (plan, _) = run::resolve(&config, "smoke", &Instead::default()).unwrap();
        assert_eq!(needed(&plan, &[]), [LoadTool::Bombardier], "that of its closed loops");
        let level = |tool| Level { connections: 8, rate: Some(50), tool, ..Level::default() };
        for (chosen, other) in [(LoadTool::Vegeta, LoadTool::RpcLoad), (LoadTool::RpcLoad, LoadTool::Vegeta)]
        {
            let plan = Plan { rates: vec![level(chosen)], ..plan.clone() };
            assert_eq!(needed(&plan, &[]), [LoadTool::Bombardier, chosen]);
            let found = needed(&plan, &[tool(LoadTool::Vegeta), tool(LoadTool::RpcLoad)]);
            assert!(found.contains(&chosen) && found.contains(&other), "{found:?}");
        }
    }
}
