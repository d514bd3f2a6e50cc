//! An open-loop load in a trial: a tool asks at a rate, and each of its requests is kept.
//!
//! In three steps, so that a window holds only the second: what the tool reads is written ([`Bench::prepare_at_rate`]), the tool
//! runs ([`Bench::ask_prepared`]), and what it wrote is read ([`Bench::read_at_rate`]). [`Bench::ask_at_rate`] is all three.

#[cfg(test)]
mod tests;

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};

use super::tool::{TOOL_GRACE, failed, remove_if_empty, template};
use super::{Bench, Ended};
use crate::config::Placement;
use crate::load::bodies::Bodies;
use crate::load::records::{self, Record, histogram, kept};
use crate::load::{LoadSample, LoadTool, OpenLoad, bombardier, oha, vegeta};
use crate::plan::Trial;
use crate::probe::process::{CpuTime, cpu_time};
use crate::process::{Output, Owned};
use crate::target::Target;

/// How long a tool may take to write one request down after the window.
const WRITING: Duration = Duration::from_micros(50);

/// A file that is removed when it is no longer of use.
pub(super) struct Scratch(pub(super) PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        // It may never have been made; where it can't be removed it takes room, and nothing else.
        let _ = fs::remove_file(&self.0);
    }
}

/// A load that is ready to be put on.
pub(in crate::run) struct Prepared {
    tool: LoadTool,
    load: OpenLoad,
    program: PathBuf,
    args: Vec<String>,
    /// Whether the window is shorter than the tool takes, so that it is interrupted.
    interrupted: bool,
    /// Requests that there are bodies for.
    bodies: u64,
    /// What the tool reads: a target or a body a line.
    _asked: Scratch,
    /// Where the tool writes its requests.
    answered: Scratch,
    /// Where its own output goes, and what is worked out from its requests: all but the ending.
    stem: PathBuf,
    what: String,
}

impl Prepared {
    fn path(&self, ending: &str) -> PathBuf {
        with_ending(&self.stem, ending)
    }

    fn stdout(&self) -> PathBuf {
        self.path(if self.tool == LoadTool::Vegeta { "stdout" } else { "json" })
    }
}

fn with_ending(stem: &Path, ending: &str) -> PathBuf {
    let mut name = stem.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    PathBuf::from(name)
}

/// What became of a load that was put on.
pub(in crate::run) struct Asked {
    /// When the tool was started.
    pub began: SystemTime,
    /// CPU time of the tool from its start to the end of the window, without what it takes to write its requests down.
    pub cpu: CpuTime,
}

impl Bench<'_> {
    /// Puts an open-loop load on a server and reads what came of it; and the tool's own CPU time. What the tool printed is
    /// kept, and its requests as `<what>.records.csv.gz` and `<what>.hlog`.
    pub(in crate::run) fn ask_at_rate(
        &self,
        trial: &Trial,
        what: &str,
        load: &OpenLoad,
        tool: LoadTool,
        mut bodies: Bodies<'_>,
        target: &Target,
    ) -> Ended<(LoadSample, CpuTime)> {
        let prepared = match self.prepare_at_rate(trial, what, load, tool, &mut bodies, target)? {
            Ok(prepared) => prepared,
            Err(outcome) => return Ok(Err(outcome)),
        };
        let asked = match self.ask_prepared(&prepared)? {
            Ok(asked) => asked,
            Err(outcome) => return Ok(Err(outcome)),
        };
        Ok(self.read_at_rate(&prepared, &asked)?.map(|sample| (sample, asked.cpu)))
    }

    /// Writes down what the tool will ask. Bodies are taken from the stream here, all that the load needs.
    ///
    /// # Errors
    /// The folder takes no more, a body has more than one line, or the run was begun without this tool.
    pub(in crate::run) fn prepare_at_rate(
        &self,
        trial: &Trial,
        what: &str,
        load: &OpenLoad,
        tool: LoadTool,
        bodies: &mut Bodies<'_>,
        target: &Target,
    ) -> Ended<Prepared> {
        let url = target.url();
        let stem = self.folder.tool_output(trial, what);
        let [asked, answered] = ["asked", "answered"].map(|ending| Scratch(with_ending(&stem, ending)));
        let mut interrupted = false;
        let mut count = load.intended();
        let args = match (tool, &mut *bodies) {
            (LoadTool::Bombardier, Bodies::One(body)) => {
                let (args, interrupt) = bombardier::at_rate(load, body, &url, &template(self.folder)?);
                interrupted = interrupt.is_some();
                args
            }
            (LoadTool::Bombardier, Bodies::Stream(_) | Bodies::Drawn(_)) => {
                return Ok(Err(failed(what, "bombardier sends the same body again and again".to_owned())));
            }
            (LoadTool::Vegeta, bodies) => {
                count = write(&asked.0, |out| vegeta::write_targets(out, &url, bodies, load))?;
                vegeta::attack(load, &asked.0, &answered.0)
            }
            (LoadTool::Oha, Bodies::One(body)) => {
                oha::arguments(load, count, &oha::Source::Body(body), &url, &answered.0)
            }
            (LoadTool::Oha, bodies) => {
                count = write(&asked.0, |out| oha::write_bodies(out, bodies, load))?;
                oha::arguments(load, count, &oha::Source::Lines(&asked.0), &url, &answered.0)
            }
        };
        if count == 0 {
            return Ok(Err(failed(what, records::EXHAUSTED.to_owned())));
        }
        Ok(Ok(Prepared {
            tool,
            load: load.clone(),
            program: self.tools.get(tool)?.path.clone(),
            args,
            interrupted,
            bodies: count,
            _asked: asked,
            answered,
            stem,
            what: what.to_owned(),
        }))
    }

    /// Runs the tool once.
    pub(in crate::run) fn ask_prepared(&self, prepared: &Prepared) -> Ended<Asked> {
        let Prepared { load, what, .. } = prepared;
        let (stdout, stderr) = (prepared.stdout(), prepared.path("stderr"));
        let output = Output { stdout: Some(&stdout), stderr: &stderr };
        let placement = self.plan.campaign.environment.placement;
        let began = SystemTime::now();
        let mut tool = Owned::spawn(&prepared.program, &prepared.args, &output, placement)?;
        let window = Duration::from_millis(load.duration_ms);
        let mut at_window_end = None;
        if tool.wait_through(window, window, self.interrupt)?.is_none() {
            at_window_end = cpu_time(tool.pid()).ok();
            if prepared.interrupted {
                tool.interrupt()?;
            }
        }
        let writing = WRITING.saturating_mul(u32::try_from(load.intended()).unwrap_or(u32::MAX));
        let limit = Duration::from_millis(load.timeout_ms) + TOOL_GRACE + writing;
        if let Err(outcome) = self.wait_for(&mut tool, what, Duration::ZERO, limit, &[&stderr, &stdout])? {
            return Ok(Err(outcome));
        }
        if prepared.tool == LoadTool::Oha
            && fs::read_to_string(&stderr).is_ok_and(|said| oha::said_nothing(&said))
        {
            // Where it can't be removed, it stays, and says no more than that.
            let _ = fs::remove_file(&stderr);
        }
        remove_if_empty(&stderr);
        remove_if_empty(&stdout);
        let cpu =
            at_window_end.or_else(|| tool.cpu_time()).context("the load tool ended without a CPU time")?;
        Ok(Ok(Asked { began, cpu }))
    }

    /// Reads what the tool wrote, and keeps it.
    pub(in crate::run) fn read_at_rate(&self, prepared: &Prepared, asked: &Asked) -> Ended<LoadSample> {
        let Prepared { load, what, .. } = prepared;
        let said = |result: Result<LoadSample>| result.map_err(|error| failed(what, format!("{error:#}")));
        let stdout = prepared.stdout();
        let text = || fs::read_to_string(&stdout).with_context(|| format!("can't read {}", stdout.display()));
        let records = match prepared.tool {
            LoadTool::Bombardier => return Ok(said(bombardier::parse_at_rate(&text()?, load))),
            LoadTool::Vegeta => self.decoded(prepared),
            LoadTool::Oha => oha::records(&text()?, &prepared.answered.0, load, prepared.bodies),
        };
        let records = match records {
            Ok(records) => records,
            Err(error) if error.is::<crate::interrupt::Interrupted>() => return Err(error),
            Err(error) => return Ok(Err(failed(what, format!("{error:#}")))),
        };
        kept::write(&prepared.path("records.csv.gz"), &records)?;
        let window = Duration::from_millis(load.duration_ms);
        histogram::write(&prepared.path("hlog"), &records, asked.began, window)?;
        Ok(said(records::sample(&records, load)))
    }

    /// vegeta's results, as vegeta itself decodes them.
    fn decoded(&self, prepared: &Prepared) -> Result<Vec<Record>> {
        let stderr = Scratch(prepared.path("encode.stderr"));
        let output = Output { stdout: None, stderr: &stderr.0 };
        let args = vegeta::encode(&prepared.answered.0);
        let mut encoder = Owned::spawn(&prepared.program, &args, &output, Placement::Free)?;
        let csv = encoder.stdout().context("vegeta encode has no output")?;
        let records = vegeta::records(csv, &prepared.load, prepared.bodies);
        let ended = encoder.wait(TOOL_GRACE, self.interrupt)?;
        let ended_well = ended.is_some_and(|status| status.success());
        let said = || fs::read_to_string(&stderr.0).unwrap_or_default();
        anyhow::ensure!(ended_well, "vegeta can't read its own results: {}", said().trim());
        records
    }
}

/// Writes a file and gives what `fill` gives.
fn write<T>(path: &Path, fill: impl FnOnce(&mut BufWriter<File>) -> Result<T>) -> Result<T> {
    let context = || format!("can't write {}", path.display());
    let mut out = BufWriter::new(File::create(path).with_context(context)?);
    let given = fill(&mut out)?;
    out.flush().with_context(context)?;
    Ok(given)
}
