//! The load tool in a trial: run once, waited for, and what it printed read and kept.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::connecting::Holding;
use super::{Bench, Ended};
use crate::load::{Load, LoadSample, bombardier};
use crate::observation::{Connecting, Outcome};
use crate::plan::Trial;
use crate::probe::process::CpuTime;
use crate::process::{Output, Owned, describe};
use crate::results::RunFolder;
use crate::workload::Workload;

/// How long a load tool may take beyond its window and its timeout.
pub(super) const TOOL_GRACE: Duration = Duration::from_secs(10);

impl Bench<'_> {
    /// Runs the load tool once and reads what it printed, which is kept; and the tool's own CPU time.
    pub(in crate::run) fn bombard(
        &self,
        trial: &Trial,
        what: &str,
        load: &Load,
        workload: &Workload,
        addr: &str,
    ) -> Ended<(LoadSample, CpuTime)> {
        let ended = self.bombard_holding(trial, what, load, workload, addr, None)?;
        Ok(ended.map(|(sample, cpu, _)| (sample, cpu)))
    }

    /// The same for a load that lasts, as `load` says, from when the server holds its connections; and how these were made.
    /// Where they are not held in time the load ends at that moment.
    pub(super) fn bombard_holding(
        &self,
        trial: &Trial,
        what: &str,
        load: &Load,
        workload: &Workload,
        addr: &str,
        holding: Option<&Holding>,
    ) -> Ended<(LoadSample, CpuTime, Option<Connecting>)> {
        let stdout = self.folder.tool_output(trial, &format!("{what}.json"));
        let stderr = self.folder.tool_output(trial, &format!("{what}.stderr"));
        let url = format!("http://{addr}/");
        let allowed_ms = holding.map_or(0, |holding| holding.allowed_ms);
        let (args, interrupt_after) = bombardier::measured(
            load,
            holding.map(|_| allowed_ms),
            workload.body()?,
            &url,
            &template(self.folder)?,
        );
        let limit = Duration::from_millis(load.duration_ms + load.timeout_ms) + TOOL_GRACE;
        let output = Output { stdout: Some(&stdout), stderr: &stderr };
        let placement = self.plan.campaign.environment.placement;
        let mut tool = Owned::spawn(&self.tools.bombardier.path, &args, &output, placement)?;
        let mut expected = Duration::from_millis(load.duration_ms);
        let connecting = match holding {
            Some(holding) => holding.connect(load.connections, &mut tool, self.interrupt)?,
            None => None,
        };
        let is_short = connecting.is_some_and(|connecting| connecting.took_ms.is_none());
        let interrupt_after = if is_short { Some(Duration::ZERO) } else { interrupt_after };
        if let Some(time) = interrupt_after {
            if tool.wait_through(time, time, self.interrupt)?.is_none() {
                tool.interrupt()?;
            }
            expected = Duration::ZERO;
        }
        if let Err(outcome) = self.wait_for(&mut tool, what, expected, limit, &[&stderr, &stdout])? {
            return Ok(Err(outcome));
        }
        remove_if_empty(&stderr);
        let text = fs::read_to_string(&stdout).with_context(|| format!("can't read {}", stdout.display()))?;
        match bombardier::parse(&text) {
            Ok(sample) => {
                let cpu = tool.cpu_time().context("the load tool ended without a CPU time")?;
                Ok(Ok((sample, cpu, connecting)))
            }
            Err(error) => Ok(Err(failed(what, format!("{error:#}")))),
        }
    }

    /// Waits for a load tool to end well. The last of what it said, in the first of the files that holds anything, is the reason
    /// where it did not.
    pub(super) fn wait_for(
        &self,
        tool: &mut Owned,
        what: &str,
        expected: Duration,
        limit: Duration,
        said: &[&Path],
    ) -> Ended<()> {
        match tool.wait_through(expected, limit, self.interrupt)? {
            None => {
                let reason = format!("{what}: the load tool did not end within {limit:?} and was killed");
                Ok(Err(Outcome::Unanswered { reason }))
            }
            Some(status) if !status.success() => {
                let said = said.iter().find_map(|path| last_line(path));
                let reason =
                    said.map_or_else(|| describe(status), |said| format!("{}: {said}", describe(status)));
                Ok(Err(failed(what, reason)))
            }
            Some(_) => Ok(Ok(())),
        }
    }
}

/// The load tool gave no result.
pub(super) fn failed(what: &str, reason: String) -> Outcome {
    Outcome::ToolFailed { reason: format!("{what}: {reason}") }
}

/// The template that the load tool prints its result by, kept in the run's folder.
pub(in crate::run) fn template(folder: &RunFolder) -> Result<PathBuf> {
    let name = "tool-output/bombardier.template";
    let path = folder.0.join(name);
    if !path.is_file() {
        folder.write_new(name, bombardier::TEMPLATE)?;
    }
    let kept = fs::read_to_string(&path).with_context(|| format!("can't read {}", path.display()))?;
    ensure!(
        kept == bombardier::TEMPLATE,
        "{} is not this version's: go on with the version that began the run",
        path.display()
    );
    Ok(path)
}

/// The last line that says something in a file, if there is one.
pub(super) fn last_line(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    text.lines().rev().find(|line| !line.trim().is_empty()).map(str::to_owned)
}

/// An empty file says nothing. Where it can't be removed, it stays, and is still empty.
pub(super) fn remove_if_empty(path: &Path) {
    if fs::metadata(path).is_ok_and(|metadata| metadata.len() == 0) {
        let _ = fs::remove_file(path);
    }
}
