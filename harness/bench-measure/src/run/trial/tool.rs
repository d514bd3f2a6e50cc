//! A load tool, whichever it is: prepared, run, and read.

use bench_core::machine::{CpuTime, ResourceSample};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::process::Signal;

use super::connecting::{Holding, first_connection};
use crate::interrupt::{Interrupt, Interrupted};
use crate::owned_process::{Limits, Output, Owned, describe, remove_if_empty};
use crate::probe::process_usage::cpu_time;
use crate::probe::resources::{AtRest, Sampled, sample};
use crate::probe::watcher::Watcher;
use crate::run::ended::{Ended, Ending};
use bench_core::config::Placement;
use bench_core::foreign_text::{beginning_of, last_line};
use bench_core::load::load_tool::Bodies;
use bench_core::load::load_tool::{Files, Invocation, Job, Reading};
use bench_core::load::records::{self, kept};
use bench_core::load::toolchain::Tools;
use bench_core::load::{Load, LoadSample, LoadTool};
use bench_core::observation::{Connecting, Outcome};
use bench_core::results::{RunFolder, with_ending};
use bench_core::workload::requests::Known;

/// How long a load tool may take beyond its window and its timeout.
pub(in crate::run) const TOOL_GRACE: Duration = Duration::from_secs(10);

/// How long a tool may take to record one request after the window.
pub(in crate::run) const WRITING: Duration = Duration::from_micros(50);

/// The shortest time between two readings of a tool's CPU time from which a use is worked out, in microseconds.
const LEAST_BETWEEN_US: u64 = 100_000;

/// A file that is removed when it is no longer of use.
pub(super) struct Scratch(pub(super) PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        // It may never have been made; where it can't be removed it takes room, and nothing else.
        let _ = fs::remove_file(&self.0);
    }
}

/// Which load, by which tool.
pub(in crate::run) struct Order {
    /// What its files are called by.
    pub what: &'static str,
    pub tool: LoadTool,
    pub load: Load,
    /// Where a closed loop's window begins once the server holds all connections.
    pub(super) holding: Option<Holding>,
}

impl Order {
    /// A load whose window begins at once.
    pub fn new(what: &'static str, tool: LoadTool, load: Load) -> Self {
        Self { what, tool, load, holding: None }
    }

    /// The same load whose requests name this host.
    pub(super) fn with_host(mut self, host: &str) -> Self {
        self.load.access.headers = std::mem::take(&mut self.load.access.headers).with_host(host);
        self
    }
}

/// A load that is ready to be put on.
pub(in crate::run) struct Prepared {
    order: Order,
    invocation: Invocation,
    files: Files,
    _scratch: [Scratch; 3],
    /// Where the tool's own output goes, and what is worked out from its requests: all but the ending.
    stem: PathBuf,
}

impl Prepared {
    /// Writes the tool's input, and works its arguments out.
    ///
    /// # Errors
    /// The files can't be written, a body has more than one line, or there is none.
    pub(in crate::run) fn new(
        order: Order,
        template: PathBuf,
        stem: PathBuf,
        url: &str,
        known: &[Known],
        bodies: &mut Bodies<'_>,
    ) -> Ended<Self> {
        let Order { what, tool, ref load, ref holding } = order;
        let [requests, answered, expected, printed] =
            [".requests", ".answered", ".expected", ".json"].map(|ending| with_ending(&stem, ending));
        let files = Files { requests, answered, expected, template, printed };
        let scratch = [&files.requests, &files.answered, &files.expected].map(|file| Scratch(file.clone()));
        let connecting_ms = holding.as_ref().map(|holding| holding.allowed_ms);
        let job = Job { load, url, files: &files, known, connecting_ms };
        let invocation = tool.driver().prepare(&job, bodies)?;
        if invocation.bodies == 0 {
            return Err(failed(what, records::EXHAUSTED.to_owned()).into());
        }
        Ok(Self { order, invocation, files, _scratch: scratch, stem })
    }

    fn path(&self, ending: &str) -> PathBuf {
        with_ending(&self.stem, &format!(".{ending}"))
    }

    fn stdout(&self) -> PathBuf {
        let driver = self.order.tool.driver();
        let prints_later = driver.decoding(&self.files).is_some();
        if prints_later { self.path("stdout") } else { self.files.printed.clone() }
    }

    /// The load gave no result.
    fn failed(&self, error: &anyhow::Error) -> Ending {
        failed(self.order.what, format!("{error:#}")).into()
    }
}

/// A load that is over.
pub(in crate::run) struct Ran {
    /// CPU time of the tool from its start to its end; in an open loop to the end of the window, without what it takes
    /// to record its requests.
    pub cpu: CpuTime,
    /// How the connections were established, where that was waited for.
    pub connecting: Option<Connecting>,
    /// Processors that the tool used when it used most, of a load with users.
    pub busiest_cores: Option<f64>,
}

/// Runs load tools on this machine.
pub(in crate::run) struct Runner<'a> {
    /// The load tools.
    pub tools: &'a Tools,
    /// The processors that they run on.
    pub placement: Placement,
    /// Ends every wait.
    pub interrupt: &'a Interrupt,
}

impl Runner<'_> {
    /// Runs the tool once. Where a closed loop's connections are not established in time, the load ends at that moment.
    pub(in crate::run) fn put_on(&self, prepared: &Prepared) -> Ended<Ran> {
        let Prepared { order: Order { what, tool, load, holding }, invocation, .. } = prepared;
        let (driver, program) = (tool.driver(), &self.tools.get(*tool)?.path);
        let (stdout, stderr) = (prepared.stdout(), prepared.path("stderr"));
        let output = Output { stdout: Some(&stdout), stderr: &stderr };
        let started = Instant::now();
        // At a rate a server waits most of the time, and would wait for its load tool, too.
        let elsewhere = self.placement == Placement::Duet && load.rate.is_some();
        let limits = Limits { elsewhere, without_proxies: true, ..Limits::default() };
        let mut tool = Owned::spawn_with(program, &invocation.args, &output, self.placement, limits)?;
        let watched = (!load.stages.is_empty()).then(|| watch_cpu(tool.pid(), load));
        if invocation.interrupted {
            first_connection(&mut tool, self.interrupt)?;
        }
        let connect = |of: &Holding| of.connect(load.connections, started, &mut tool, self.interrupt);
        let connecting = holding.as_ref().map(connect).transpose()?.flatten();
        let is_short = connecting.is_some_and(|connecting| connecting.took_ms.is_none());
        let window = Duration::from_millis(if is_short { 0 } else { load.duration_ms });
        let mut at_window_end = None;
        if tool.wait_through(window, self.interrupt)?.is_none() {
            if load.rate.is_some() {
                at_window_end = cpu_time(tool.pid()).ok();
            }
            if invocation.interrupted {
                tool.signal(Signal::INT)?;
            }
        }
        let requests = u32::try_from(load.intended()).unwrap_or(u32::MAX);
        let limit = Duration::from_millis(load.timeout_ms) + TOOL_GRACE + WRITING.saturating_mul(requests);
        let ended = self.wait_for(&mut tool, what, limit, &[&stderr, &stdout]);
        let busiest_cores = watched.and_then(|watched| most_cores(&watched.end()));
        ended?;
        if beginning_of(&stderr).is_ok_and(|said| driver.said_nothing(&said)) {
            // Where it can't be removed, it stays, and says no more than that.
            let _ = fs::remove_file(&stderr);
        }
        remove_if_empty(&stderr);
        let cpu =
            at_window_end.or_else(|| tool.cpu_time()).context("the load tool ended without a CPU time")?;
        Ok(Ran { cpu, connecting, busiest_cores })
    }

    /// Reads the tool's output, and keeps its requests.
    pub(in crate::run) fn read(&self, prepared: &Prepared, ran: &Ran) -> Ended<LoadSample> {
        let Prepared { order: Order { tool, load, .. }, invocation, files, .. } = prepared;
        let driver = tool.driver();
        let stdout = prepared.stdout();
        let read = |printed: &mut dyn Read| driver.read(load, invocation.bodies, files, printed);
        let reading = if let Some(args) = driver.decoding(files) {
            remove_if_empty(&stdout);
            self.decode(prepared, &args, read)
        } else {
            read(&mut File::open(&stdout).with_context(|| format!("can't read {}", stdout.display()))?)
        };
        let (records, details) = match reading {
            Ok(Reading::Records(records, details)) => (records, details),
            Ok(Reading::Sample(mut sample)) => {
                if let Some(staged) = &mut sample.staged {
                    staged.busiest_cores = ran.busiest_cores;
                }
                return Ok(*sample);
            }
            Err(error) if error.is::<Interrupted>() => return Err(error.into()),
            Err(error) => return Err(prepared.failed(&error)),
        };
        kept::write(&prepared.path("records.csv.gz"), &records)?;
        let sampled = records::sample(&records, load).map(|mut sample| {
            (sample.details.examples, sample.details.methods) = (details.examples, details.methods);
            sample
        });
        sampled.map_err(|error| prepared.failed(&error))
    }

    /// Lets the tool print its own record of the requests, and reads that.
    fn decode(
        &self,
        prepared: &Prepared,
        args: &[String],
        read: impl FnOnce(&mut dyn Read) -> Result<Reading>,
    ) -> Result<Reading> {
        let name = prepared.order.tool.name();
        let program = &self.tools.get(prepared.order.tool)?.path;
        let stderr = Scratch(prepared.path("decode.stderr"));
        let output = Output { stdout: None, stderr: &stderr.0 };
        let mut decoder = Owned::spawn(program, args, &output, Placement::Free)?;
        let mut printed = decoder.stdout().with_context(|| format!("{name} has no output"))?;
        let reading = read(&mut printed);
        if reading.is_err() {
            // Whose reader has gone fails because of that, and would be named as the reason.
            let _ = std::io::copy(&mut printed, &mut std::io::sink());
        }
        let ended = decoder.wait(TOOL_GRACE, self.interrupt)?;
        let ended_well = ended.is_some_and(|status| status.success());
        let said = || last_line(&stderr.0).unwrap_or_else(|| "it said nothing".to_owned());
        ensure!(ended_well, "{name} can't read its own results: {}", said());
        reading
    }

    /// Waits for a load tool to end well, whose window is over. The last line in the first of the files `said` that
    /// holds anything is the reason where it did not.
    fn wait_for(&self, tool: &mut Owned, what: &str, limit: Duration, said: &[&Path]) -> Ended<()> {
        let Some(status) = tool.wait(limit, self.interrupt)? else {
            let reason =
                format!("{what}: the load tool did not end within {limit:?} after its window and was killed");
            return Err(Outcome::Unanswered { reason }.into());
        };
        if status.success() {
            return Ok(());
        }
        let said = said.iter().find_map(|path| last_line(path));
        let said = said.map_or_else(String::new, |said| format!(": {said}"));
        Err(failed(what, describe(status) + &said).into())
    }
}

/// Starts reading what a load tool uses.
fn watch_cpu(pid: u32, load: &Load) -> Watcher<Sampled> {
    let at_rest = AtRest { memory_bytes: None, open_files: None };
    sample(pid, at_rest, Duration::from_millis(load.duration_ms), None)
}

/// Processors that a process used between two readings when it used most.
fn most_cores(sampled: &Sampled) -> Option<f64> {
    let cpu_us = |sample: &ResourceSample| Some(sample.user_us? + sample.system_us?);
    let between = |two: &[ResourceSample]| {
        let [before, after] = two else { return None };
        let took_us = after.t_ms.saturating_sub(before.t_ms) * 1_000;
        let used_us = cpu_us(after)?.saturating_sub(cpu_us(before)?);
        // The last reading may come right after the one before, and then says nothing.
        (took_us >= LEAST_BETWEEN_US).then(|| used_us as f64 / took_us as f64)
    };
    sampled.resources.windows(2).filter_map(between).max_by(f64::total_cmp)
}

/// The load tool gave no result.
pub(in crate::run) fn failed(what: &str, reason: String) -> Outcome {
    Outcome::ToolFailed { reason: format!("{what}: {reason}") }
}

/// The place of the file that a tool reads in every load, kept in the run's folder; empty for a tool without one.
pub(in crate::run) fn keep_template(folder: &RunFolder, tool: LoadTool) -> Result<PathBuf> {
    let Some((name, content)) = tool.about().template else { return Ok(PathBuf::new()) };
    let tools = RunFolder(folder.0.join("tool-output"));
    let path = tools.0.join(name);
    if !path.is_file() {
        // Whole or not at all, or a run whose disk was full could not be resumed.
        tools.write_derived(name, content)?;
    }
    let kept = bench_core::text_files::read(&path)?;
    let shown = path.display();
    ensure!(kept == content, "{shown} is not this version's: resume the run with the version that began it");
    Ok(path)
}
