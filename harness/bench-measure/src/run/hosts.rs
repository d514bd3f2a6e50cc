//! A load that several hosts put on together: the harness writes what each is to send, starts an agent on each with the
//! pool's launcher, tells all of them one start time, and waits for their results.
//!
//! The hosts see the run's folder at the same path. Nobody listens and nothing stays: an agent ends with its load. A
//! trial is void where a host was lost, refused, or did not start with the others.

pub mod agent;
mod check;
mod merge;
mod shared;
#[cfg(test)]
mod tests;

use bench_core::machine::CpuTime;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result};
use rustix::process::Signal;

pub use self::check::check;
use self::shared::{
    BODIES, Done, HELLO, Hello, HostResult, PLAN, REPLY, RESULT, Reply, SharedLoad, VOID_PLAN,
};
use self::shared::{of_rank, own_sha256, start_text, unix_us};
use super::ended::{Ended, Ending};
use super::trial::tool::{Order, Ran, TOOL_GRACE, WRITING, failed};
use crate::interrupt::Interrupt;
use crate::lock;
use crate::owned_process::{Output, Owned, describe, remove_if_empty};
use bench_core::config::{Placed, Placement, Pool};
use bench_core::foreign_text::{beginning_of, bounded};
use bench_core::load::LoadSample;
use bench_core::load::load_tool::Bodies;
use bench_core::load::records::kept;
use bench_core::load::toolchain::Tools;
use bench_core::machine::on_path;
use bench_core::observation::Outcome;
use bench_core::results::{OF_HOSTS, RunFolder, pretty, remove_all, with_ending};

/// How long before the start the harness stops waiting for hosts: from then on it measures.
const SETTLES_IN: Duration = Duration::from_millis(200);

/// How long a launcher may take to end after all of its hosts have their results.
const ENDS_WITHIN: Duration = Duration::from_secs(10);

/// How long launchers of a void trial may take to end with their agents, and then after SIGTERM.
const END_BY_THEMSELVES: Duration = Duration::from_secs(1);

/// How often the harness looks at what hosts wrote while nothing depends on the moment: it takes little of the window.
const SELDOM: Duration = Duration::from_millis(20);

/// The share of the window by which hosts may start apart.
pub(super) const MOST_SKEW: f64 = 0.01;

/// A load that is to be started on hosts.
pub(super) struct Launch<'a> {
    pub pool: &'a Pool,
    pub order: Order,
    pub url: String,
    /// Where what comes of it is kept: all but the ending.
    pub stem: PathBuf,
    pub tools: &'a Tools,
}

/// A load whose agents run and wait for the start time.
pub(super) struct Launched {
    order: Order,
    pool: Pool,
    folder: RunFolder,
    stem: PathBuf,
    start: Instant,
    launchers: Mutex<Vec<Owned>>,
    results: OnceLock<Vec<HostResult>>,
}

impl Launch<'_> {
    /// Starts the agents, compares clocks with each, and returns shortly before the start.
    ///
    /// # Errors
    /// A host did not come in time or refused, or the folder takes no more.
    pub fn start(self, bodies: &mut Bodies<'_>, interrupt: &Interrupt) -> Ended<Launched> {
        let folder =
            RunFolder(std::path::absolute(with_ending(&self.stem, OF_HOSTS)).context("no absolute path")?);
        if folder.0.exists() {
            // Of a trial that was cut off.
            remove_all(&folder.0)?;
        }
        fs::create_dir(&folder.0).with_context(|| format!("can't create {}", folder.0.display()))?;
        self.write_plan(&folder, bodies)?;
        let lead = Duration::from_millis(self.pool.lead_ms);
        let (start, start_at) = (Instant::now() + lead, SystemTime::now() + lead);
        // Those that were started end with this value, and so do their agents.
        let launched = self.launch(&folder, start_at);
        let launchers = Mutex::new(launched.inspect_err(|_| make_void(&folder))?);
        let Self { pool, order, stem, .. } = self;
        let (pool, results) = (pool.clone(), OnceLock::new());
        let launched = Launched { pool, order, folder, stem, start, launchers, results };
        launched.gather(interrupt)?;
        Ok(launched)
    }

    fn write_plan(&self, folder: &RunFolder, bodies: &mut Bodies<'_>) -> Result<()> {
        let Order { what, tool, ref load, .. } = self.order;
        let body = match bodies {
            Bodies::One(body) => Some((*body).to_owned()),
            _ => None,
        };
        let shared = SharedLoad {
            what: what.to_owned(),
            written_at: start_text(SystemTime::now())?,
            harness_sha256: own_sha256()?,
            tool,
            tool_sha256: self.tools.get(tool)?.sha256.clone(),
            pins: std::path::absolute(self.tools.pins()).context("no absolute path")?,
            url: self.url.clone(),
            load: load.clone(),
            body,
            hosts: self.pool.hosts,
            names: self.pool.names.clone(),
        };
        if shared.body.is_none() {
            for rank in 0..shared.hosts {
                let mut text = String::new();
                for _ in 0..load.share(rank, shared.hosts).intended() {
                    let Some(body) = bodies.take()? else { break };
                    text.push_str(&body);
                    text.push('\n');
                }
                folder.write_new(&of_rank(rank, BODIES), &text)?;
            }
        }
        folder.write_new(PLAN, &pretty(&shared)?)
    }

    fn launch(&self, folder: &RunFolder, start_at: SystemTime) -> Result<Vec<Owned>> {
        let path = |name: &str| folder.0.join(name);
        let (plan, job, start_at) = (path(PLAN), path("job"), start_text(start_at)?);
        let agent = std::env::current_exe().context("this program's own path is not known")?;
        let placed =
            Placed { agent: &agent, plan: &plan, start_at: &start_at, out: &folder.0, job: &job, rank: None };
        if let Some(template) = &self.pool.template {
            folder.write_new("job", &self.pool.filled(&bench_core::text_files::read(template)?, &placed))?;
        }
        let spawn = |(i, command): (usize, Vec<String>)| {
            let (program, args) = command.split_first().context("the launcher is empty")?;
            let found = on_path(program).unwrap_or_else(|| PathBuf::from(program));
            let [stdout, stderr] = ["stdout", "stderr"].map(|of| path(&format!("launcher-{i}.{of}")));
            let output = Output { stdout: Some(&stdout), stderr: &stderr };
            Owned::spawn(&found, args, &output, Placement::Free)
        };
        self.pool.commands(&placed).into_iter().enumerate().map(spawn).collect()
    }
}

/// Takes the plan away, by which agents know that nobody wants their results any more. Where that fails they end with
/// their load.
fn make_void(folder: &RunFolder) {
    let _ = fs::rename(folder.0.join(PLAN), folder.0.join(VOID_PLAN));
}

impl Drop for Launched {
    fn drop(&mut self) {
        if self.results.get().is_some() {
            return;
        }
        make_void(&self.folder);
        let mut launchers = lock(&self.launchers);
        if !end_within(&mut launchers, END_BY_THEMSELVES) {
            for launcher in launchers.iter_mut() {
                // One that does not listen is killed when it goes.
                let _ = launcher.signal(Signal::TERM);
            }
            end_within(&mut launchers, END_BY_THEMSELVES);
        }
    }
}

impl Launched {
    fn ranks(&self) -> std::ops::Range<u32> {
        0..self.pool.hosts
    }

    /// The trial is void because of a host.
    fn void(&self, rank: u32, why: &str) -> Ending {
        failed(self.order.what, format!("{}: {why}", self.pool.name_of(rank))).into()
    }

    /// Calls `is_done` for each host, with these pauses, until it holds for all or `until` has come, and gives those for
    /// which it does not.
    ///
    /// # Errors
    /// A launcher failed on which one of these depends.
    fn wait_for(
        &self,
        until: Instant,
        pauses: Duration,
        interrupt: &Interrupt,
        mut is_done: impl FnMut(u32) -> Ended<bool>,
    ) -> Ended<Vec<u32>> {
        let mut waiting: Vec<u32> = self.ranks().collect();
        loop {
            let mut left = Vec::new();
            for rank in waiting {
                if !is_done(rank)? {
                    left.push(rank);
                }
            }
            waiting = left;
            self.launchers_alive(&waiting)?;
            let pause = until.saturating_duration_since(Instant::now()).min(pauses);
            if waiting.is_empty() || pause.is_zero() {
                return Ok(waiting);
            }
            interrupt.wait(pause, || Ok(None::<()>))?;
        }
    }

    /// Answers each host's greeting, by which it compares clocks, until all have come and the start is near.
    fn gather(&self, interrupt: &Interrupt) -> Ended<()> {
        let until = self.start.checked_sub(SETTLES_IN).unwrap_or(self.start);
        let waiting = self.wait_for(until, Duration::from_millis(1), interrupt, |rank| {
            self.result(rank)?;
            let Ok(_) = self.folder.read_json::<Hello>(&of_rank(rank, HELLO)) else { return Ok(false) };
            let seen_us = unix_us(SystemTime::now());
            let reply = Reply { seen_us, written_us: unix_us(SystemTime::now()) };
            self.folder.write_derived(&of_rank(rank, REPLY), &pretty(&reply)?)?;
            Ok(true)
        })?;
        if let Some(&rank) = waiting.first() {
            let (lead_s, said) = (self.pool.lead_ms as f64 / 1e3, self.said());
            return Err(self.void(rank, &format!("it was not placed within {lead_s:.1} s (lead_ms); {said}")));
        }
        // Once all are there, only refusals are waited for.
        self.wait_for(until, SELDOM, interrupt, |rank| self.result(rank).map(|_| false)).map(drop)
    }

    /// What came of a host's share, where that is known. The trial is void where it refused its share.
    fn result(&self, rank: u32) -> Ended<Option<HostResult>> {
        match self.folder.read_json(&of_rank(rank, RESULT)).ok() {
            Some(HostResult { done: Done::Refused { reason }, .. }) => Err(self.void(rank, &reason)),
            result => Ok(result),
        }
    }

    /// What the launchers said, for a person.
    fn said(&self) -> String {
        let launchers = lock(&self.launchers).len();
        let names = (0..launchers).flat_map(|i| ["stderr", "stdout"].map(|of| format!("launcher-{i}.{of}")));
        let said = names.filter_map(|name| what_was_wrong(&self.folder.0.join(name))).next();
        said.map_or("its launcher said nothing".to_owned(), |said| format!("its launcher said: {said}"))
    }

    /// Whether a launcher has failed on which one of these hosts depends. One that ended well may have left its hosts
    /// to a cluster.
    fn launchers_alive(&self, waiting: &[u32]) -> Ended<()> {
        let mut launchers = lock(&self.launchers);
        for (i, launcher) in launchers.iter_mut().enumerate() {
            let Some(status) = launcher.ended()?.filter(|status| !status.success()) else { continue };
            let is_its_host = |rank: &&u32| !self.pool.is_started_for_each() || **rank as usize == i;
            let Some(&rank) = waiting.iter().find(is_its_host) else { continue };
            let said = what_was_wrong(&self.folder.0.join(format!("launcher-{i}.stderr")));
            let said = said.map_or_else(String::new, |said| format!(": {said}"));
            let how = describe(status);
            return Err(self.void(rank, &format!("lost: its launcher ended with {how}{said}")));
        }
        Ok(())
    }

    /// Waits until all hosts have written their results.
    pub fn put_on(&self, interrupt: &Interrupt) -> Ended<Ran> {
        if Instant::now() > self.start {
            let what = self.order.what;
            let reason = format!("{what}: the harness was not ready at the start time; raise lead_ms");
            return Err(Outcome::Invalid { reason }.into());
        }
        let load = &self.order.load;
        let requests = u32::try_from(load.intended()).unwrap_or(u32::MAX);
        let window = Duration::from_millis(load.duration_ms + load.timeout_ms);
        let limit = self.start + window + TOOL_GRACE + WRITING.saturating_mul(requests);
        let mut results: Vec<HostResult> = Vec::new();
        let waiting = self.wait_for(limit, SELDOM, interrupt, |rank| {
            let result = self.result(rank)?;
            let is_done = result.is_some();
            results.extend(result);
            Ok(is_done)
        })?;
        if let Some(&rank) = waiting.first() {
            return Err(self.void(rank, &format!("lost: it wrote no result in time; {}", self.said())));
        }
        self.end_launchers(interrupt)?;
        results.sort_by_key(|result| result.rank);
        let cpus = results.iter().filter_map(HostResult::measured).map(|measured| measured.cpu);
        let cpu = cpus.fold(CpuTime::default(), CpuTime::plus);
        // put_on is called once, so that there is nothing yet.
        let _ = self.results.set(results);
        Ok(Ran { cpu, connecting: None, busiest_cores: None })
    }

    /// The hosts are done, so their launchers end; what they said is removed where it is nothing.
    fn end_launchers(&self, interrupt: &Interrupt) -> Result<()> {
        let mut launchers = lock(&self.launchers);
        for (i, mut launcher) in launchers.drain(..).enumerate() {
            launcher.wait(ENDS_WITHIN, interrupt)?;
            for of in ["stdout", "stderr"] {
                remove_if_empty(&self.folder.0.join(format!("launcher-{i}.{of}")));
            }
        }
        for rank in self.ranks() {
            for ending in [HELLO, REPLY, BODIES] {
                // It is of no use any more, and not always there.
                let _ = fs::remove_file(self.folder.0.join(of_rank(rank, ending)));
            }
        }
        Ok(())
    }

    /// Merges what the hosts measured, and keeps the requests of all together as those of one load tool are kept.
    pub fn read(&self) -> Ended<LoadSample> {
        let Order { what, load, .. } = &self.order;
        let results = self.results.get().map_or(&[][..], Vec::as_slice);
        let window_us = load.duration_ms as f64 * 1e3;
        // What a warm-up shows does not depend on when it begins.
        if *what != "warmup"
            && let Some(reason) = merge::started_apart(results, &self.pool, window_us * MOST_SKEW)
        {
            return Err(Outcome::Invalid { reason: format!("{what}: {reason}") }.into());
        }
        let records = |rank| kept::read(&self.folder.0.join(of_rank(rank, ".records.csv.gz")));
        let merged = merge::merged(results, load, records);
        let merged = merged.map_err(|error| Ending::from(failed(what, format!("{error:#}"))))?;
        if let Some(records) = &merged.records {
            kept::write(&with_ending(&self.stem, ".records.csv.gz"), records)?;
        }
        Ok(merged.sample)
    }
}

/// Waits for launchers to end; false where one of them did not in time. Ctrl-C does not cut it short, because it is
/// what ends them.
fn end_within(launchers: &mut [Owned], limit: Duration) -> bool {
    let end = Instant::now() + limit;
    while launchers.iter_mut().any(|launcher| matches!(launcher.ended(), Ok(None))) {
        if Instant::now() >= end {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    true
}

/// The line of a launcher's output that says most about why it failed, if there is one.
fn what_was_wrong(path: &Path) -> Option<String> {
    telling(&beginning_of(path).ok()?).map(bounded)
}

/// The first line that is no warning: launchers go on to say that they end, or draw rules. Else the last that says
/// anything.
fn telling(text: &str) -> Option<&str> {
    let lines = || text.lines().map(str::trim).filter(|line| line.contains(char::is_alphanumeric));
    let first = lines().find(|line| !line.to_lowercase().contains("warning"));
    first.or_else(|| lines().next_back())
}
