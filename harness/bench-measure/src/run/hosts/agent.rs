//! An agent: this host's share of one load of a trial, from its plan to its result. It listens nowhere and leaves
//! nothing running.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, anyhow, bail, ensure};
use jiff::Timestamp;
use rustix::system::uname;

use super::MOST_SKEW;
use super::shared::{
    BODIES, Clock, Done, HELLO, Hello, HostResult, Measured, REPLY, RESULT, Reply, SharedLoad,
};
use super::shared::{of_rank, own_sha256, unix_us};
use crate::interrupt::{Interrupt, recorded};
use crate::probe::host;
use crate::run::trial::tool::{Order, Prepared, Runner};
use bench_core::config::Placement;
use bench_core::load::load_tool::Bodies;
use bench_core::load::toolchain::{Tool, Tools};
use bench_core::results::{RunFolder, pretty};

/// What launchers say the rank by.
const RANKS: [&str; 4] = ["SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "JOB_COMPLETION_INDEX"];

/// How long before the start an agent stops waiting for the harness' reply.
const SETTLES_IN: Duration = Duration::from_millis(50);

/// How often an agent looks whether its plan still holds. Seldom, because the folder may be on another machine.
const LOOKS_EVERY: Duration = Duration::from_millis(250);

/// Files that a load tool opens besides its connections, at most.
const SPARE_FILES: u64 = 32;

/// What an agent is to do.
#[derive(Debug)]
pub struct Share {
    /// The hosts' plan.
    pub plan: PathBuf,
    /// Its rank, from 0; where left out, as the launcher has it.
    pub rank: Option<u32>,
    /// The number of hosts, where the launcher knows it.
    pub ranks: Option<u32>,
    /// When all begin.
    pub start_at: Timestamp,
    /// The folder for its results.
    pub out: PathBuf,
}

/// Carries a share out. What went wrong is in the result too, for the harness.
///
/// # Errors
/// One line: what was refused and why, or what failed.
pub fn carry_out(share: &Share, interrupt: &Interrupt) -> Result<()> {
    // Once, before anything takes time. A step of the wall clock changes nothing from here on.
    let until_start = share.start_at.duration_since(Timestamp::now());
    let now = Instant::now();
    let (plan, text) = read_plan(&share.plan)?;
    let name = uname().nodename().to_string_lossy().into_owned();
    let rank = rank(share.rank, |variable| std::env::var(variable).ok(), &plan.names, &name)?;
    let folder = RunFolder(share.out.clone());
    let mut clock = None;
    let work = || -> Result<Done> {
        let passed = || format!("late: the start time had passed {:.3} s before", -until_start.as_secs_f64());
        let until_start = Duration::try_from(until_start).map_err(|_| anyhow!(passed()))?;
        ensure!(rank < plan.hosts, "its rank is {rank}, and the plan is for {} hosts", plan.hosts);
        let (ranks, hosts) = (share.ranks.unwrap_or(plan.hosts), plan.hosts);
        ensure!(ranks == hosts, "its launcher has {ranks} hosts, and the plan {hosts}");
        check_open_files(plan.load.share(rank, plan.hosts).connections, host::open_files())?;
        let (start, tools) = (now + until_start, same_programs(&plan)?);
        let prepared = prepare(&plan, rank, &folder)?;
        clock = compare_clocks(&folder, rank, start, interrupt)?;
        check_clock(clock, &plan)?;
        measure(&tools, &prepared, start, interrupt)
    };
    let done = while_it_holds(&share.plan, &text, interrupt, work);
    // A load that is repeated has the same folder, and its results are not this agent's to write.
    ensure!(still_holds(&share.plan, &text), "the trial is void: {} is gone", share.plan.display());
    let mut said = None;
    let done = recorded(done, |reason| Done::Refused { reason: said.insert(reason).clone() })?;
    let result = HostResult { rank, name, host: crate::probe::host::machine(), clock, done };
    folder.write_derived(&of_rank(rank, RESULT), &pretty(&result)?)?;
    said.map_or(Ok(()), |said| bail!("host {rank}: {said}"))
}

/// A plan, and its text.
fn read_plan(path: &Path) -> Result<(SharedLoad, String)> {
    let (text, path) = (fs::read_to_string(path), path.display());
    let hint = "the results folder has to be at the same path on all machines";
    let text = text.with_context(|| format!("can't read {path}; {hint}"))?;
    let plan = serde_json::from_str(&text).with_context(|| format!("{path} is not this version's plan"))?;
    Ok((plan, text))
}

/// Whether a plan is still the one that was read. A folder that can't be reached now says nothing.
fn still_holds(path: &Path, text: &str) -> bool {
    match fs::read_to_string(path) {
        Ok(now) => now == text,
        Err(error) => error.kind() != std::io::ErrorKind::NotFound,
    }
}

/// Does something, and ends its waits as soon as the plan no longer holds. No signal reaches an agent whose launcher
/// was lost.
fn while_it_holds<T>(path: &Path, text: &str, interrupt: &Interrupt, work: impl FnOnce() -> T) -> T {
    let (working, over) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while over.recv_timeout(LOOKS_EVERY) == Err(RecvTimeoutError::Timeout) {
                if !still_holds(path, text) {
                    return interrupt.raise();
                }
            }
        });
        let done = work();
        drop(working);
        done
    })
}

/// An agent's rank: as it was given, as its launcher's environment has it, or the place of its machine's name.
fn rank(
    given: Option<u32>,
    variable: impl Fn(&str) -> Option<String>,
    names: &[String],
    own: &str,
) -> Result<u32> {
    let of_launcher = || RANKS.iter().find_map(|name| variable(name)?.parse().ok());
    let label = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
    let by_name = || {
        // A machine may or may not call itself by its domain too.
        let alike = || {
            let mut found = (0..).zip(names).filter(|(_, name)| label(name) == label(own));
            found.next().filter(|_| found.next().is_none()).map(|(place, _)| place)
        };
        names.iter().position(|name| name == own).map(|place| place as u32).or_else(alike)
    };
    given.or_else(of_launcher).or_else(by_name).with_context(|| {
        let names = names.join(", ");
        format!("the rank of {own} is not known: give --rank, or its name in the pool's names ({names})")
    })
}

/// The load tool, where it and this program are those of the plan.
fn same_programs(plan: &SharedLoad) -> Result<Tools> {
    ensure!(
        own_sha256()? == plan.harness_sha256,
        "its rpc-bench is another build than the harness'; put the same program on all machines"
    );
    let name = plan.tool.name();
    let tool = Tool::find_built(plan.tool, &plan.pins)?;
    let tool = tool.with_context(|| format!("there is no {name}; build it there with: just tools {name}"))?;
    let (own, other) = (&tool.sha256, &plan.tool_sha256);
    ensure!(
        own == other,
        "its {name} ({}, SHA-256 {own:.12}) is another build than the harness' ({other:.12}); put the same program \
         on all machines",
        tool.version
    );
    Ok(Tools::of([(plan.tool, tool)], &plan.pins))
}

/// A load tool that may not open its connections would count that as failures of the server.
fn check_open_files(connections: u32, limit: u64) -> Result<()> {
    let needed = u64::from(connections) + SPARE_FILES;
    ensure!(
        needed <= limit,
        "its limit of open files is {limit}, and {connections} connections need {needed}; raise it there: ulimit -n \
         {needed}"
    );
    Ok(())
}

/// A clock that is certainly wrong by more than hosts may start apart.
fn check_clock(clock: Option<Clock>, plan: &SharedLoad) -> Result<()> {
    let Some(clock) = clock else { return Ok(()) };
    let (ahead_us, most_us) = (clock.certainly_ahead_us(), plan.load.duration_ms as f64 * 1e3 * MOST_SKEW);
    let (off_ms, most_ms) = (ahead_us.abs() / 1e3, most_us / 1e3);
    let how = if ahead_us > 0.0 { "ahead of" } else { "behind" };
    ensure!(
        ahead_us.abs() <= most_us,
        "its clock is {off_ms:.1} ms {how} the harness', and {most_ms:.1} ms (1 % of the window) is the most; let \
         chrony set it"
    );
    Ok(())
}

/// Writes the load tool's input.
fn prepare(plan: &SharedLoad, rank: u32, folder: &RunFolder) -> Result<Prepared> {
    let stem = folder.0.join(of_rank(rank, ""));
    let mut template = PathBuf::new();
    if let Some((_, content)) = plan.tool.about().template {
        let name = of_rank(rank, ".template");
        template = folder.0.join(&name);
        folder.write_derived(&name, content)?;
    }
    let order = Order::new("share", plan.tool, plan.load.share(rank, plan.hosts));
    let prepare = |bodies: &mut Bodies<'_>| Ok(Prepared::new(order, template, stem, &plan.url, &[], bodies)?);
    if let Some(body) = &plan.body {
        return prepare(&mut Bodies::One(body));
    }
    let path = folder.0.join(of_rank(rank, BODIES));
    let text = bench_core::text_files::read(&path)?;
    prepare(&mut Bodies::Stream(&mut text.lines().map(str::to_owned)))
}

/// Greets the harness and waits for its reply, until the start is near.
fn compare_clocks(
    folder: &RunFolder,
    rank: u32,
    start: Instant,
    interrupt: &Interrupt,
) -> Result<Option<Clock>> {
    let hello = Hello { at_us: unix_us(SystemTime::now()) };
    folder.write_derived(&of_rank(rank, HELLO), &serde_json::to_string(&hello)?)?;
    let left = start.saturating_duration_since(Instant::now()).saturating_sub(SETTLES_IN);
    interrupt.wait(left, || {
        let reply = folder.read_json::<Reply>(&of_rank(rank, REPLY)).ok();
        Ok(reply.map(|reply| Clock::compared(hello, reply, unix_us(SystemTime::now()))))
    })
}

/// Runs the load tool from the start on.
fn measure(tools: &Tools, prepared: &Prepared, start: Instant, interrupt: &Interrupt) -> Result<Done> {
    let runner = Runner { tools, placement: Placement::Free, interrupt };
    let left = || start.saturating_duration_since(Instant::now());
    ensure!(!left().is_zero(), "late: it was not ready at the start time");
    // A wait that sees Ctrl-C, and the last moments in one sleep.
    interrupt.wait(left().saturating_sub(Duration::from_millis(10)), || Ok(None::<()>))?;
    std::thread::sleep(left());
    let late_us = start.elapsed().as_secs_f64() * 1e6;
    let ran = runner.put_on(prepared)?;
    let mut sample = runner.read(prepared, &ran)?;
    let histogram = sample.details.histogram.take();
    Ok(Done::Measured(Measured { sample: Box::new(sample), histogram, cpu: ran.cpu, late_us }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_is_given_or_the_launchers_or_the_names_place() {
        let names = ["a", "b"].map(str::to_owned);
        let none = |_: &str| None;
        let slurm = |name: &str| (name == "SLURM_PROCID").then(|| "7".to_owned());
        assert_eq!(rank(Some(3), slurm, &names, "b").unwrap(), 3);
        assert_eq!(rank(None, slurm, &names, "b").unwrap(), 7);
        assert_eq!(rank(None, none, &names, "b").unwrap(), 1);
        assert_eq!(rank(None, none, &names, "b.cluster").unwrap(), 1);
        let domains = ["b.one", "b.two"].map(str::to_owned);
        assert_eq!(rank(None, none, &domains, "b.two").unwrap(), 1);
        assert!(rank(None, none, &domains, "b").is_err(), "either may be meant");
        assert!(rank(None, none, &names, "c").unwrap_err().to_string().contains("give --rank"));
    }

    #[test]
    fn too_few_open_files_are_refused() {
        assert!(check_open_files(224, 256).is_ok());
        let said = check_open_files(225, 256).unwrap_err().to_string();
        assert!(said.contains("open files is 256") && said.contains("ulimit -n 257"), "{said}");
    }

    #[test]
    fn a_clock_is_compared_by_four_times_and_refused_where_it_is_certainly_wrong() {
        // The host is 500 µs ahead; each message takes 200 µs.
        let (hello, reply) = (Hello { at_us: 1_500 }, Reply { seen_us: 1_200, written_us: 1_300 });
        let clock = Clock::compared(hello, reply, 2_000);
        assert_eq!((clock.ahead_us, clock.within_us), (500.0, 200.0));
        let unsure = Clock { within_us: 600.0, ..clock };
        assert_eq!((clock.certainly_ahead_us(), unsure.certainly_ahead_us()), (500.0, 0.0));
        let plan = |duration_ms| SharedLoad {
            what: String::new(),
            written_at: String::new(),
            harness_sha256: String::new(),
            tool: bench_core::load::LoadTool::Vegeta,
            tool_sha256: String::new(),
            pins: PathBuf::new(),
            url: String::new(),
            load: bench_core::load::Load { duration_ms, ..Default::default() },
            body: None,
            hosts: 1,
            names: Vec::new(),
        };
        assert!(check_clock(Some(clock), &plan(50)).is_ok() && check_clock(None, &plan(1)).is_ok());
        let behind = Clock { ahead_us: -900.0, ..clock };
        let said = check_clock(Some(behind), &plan(50)).unwrap_err().to_string();
        assert!(said.starts_with("its clock is 0.9 ms behind"), "{said}");
    }
}
