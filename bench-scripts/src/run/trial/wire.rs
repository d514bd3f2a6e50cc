//! tcpdump beside a window: begun before it, ended after it, and what it saw worked out. Whatever it lacks is a reason kept with the
//! trial, and never a trial's failure: its load was measured without it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};

use super::Bench;
use super::tool::last_line;
use crate::config::Placement;
use crate::plan::Trial;
use crate::probe::wire::{PRINT, Wire, capture, lost, seen};
use crate::process::{Output, Owned};

const TCPDUMP: &str = "tcpdump";

/// How long tcpdump may take to begin.
const READY: Duration = Duration::from_secs(5);

/// The kernel hands packets over in blocks, a block at the latest so long after it was begun, and one more moment.
const HANDED_OVER: Duration = Duration::from_millis(1_100);

/// How long it may take to end.
const END: Duration = Duration::from_secs(5);

/// A capture that goes on.
pub(super) struct Capture {
    tcpdump: Owned,
    port: u16,
    noted: PathBuf,
    stderr: PathBuf,
}

impl Bench<'_> {
    /// Begins to note the packets of a server's port, where the campaign asks for it. The outer error ends the run.
    pub(super) fn capture(&self, trial: &Trial, addr: &str) -> Result<Option<Result<Capture>>> {
        let open = self.plan.campaign.open.as_ref();
        if !open.is_some_and(|open| open.wire) {
            return Ok(None);
        }
        let noted = self.folder.tool_output(trial, "wire.pcap");
        let stderr = self.folder.tool_output(trial, "wire.stderr");
        let begun = Capture::begin(addr, noted, stderr);
        let Ok(mut capture) = begun else { return Ok(Some(begun)) };
        let listens = self.interrupt.wait(READY, || {
            let ended = capture.tcpdump.ended()?.is_some();
            Ok((ended || capture.said("listening on")).then_some(!ended))
        })?;
        Ok(Some(match listens {
            Some(true) => Ok(capture),
            Some(false) => Err(capture.complaint("it ended at once")),
            None => Err(capture.complaint("it did not begin in time")),
        }))
    }

    /// Ends a capture and works out what it saw.
    pub(super) fn captured(&self, capture: Option<Result<Capture>>) -> Result<Option<Wire>> {
        let Some(capture) = capture else { return Ok(None) };
        let wire = match capture {
            Err(error) => Err(error),
            Ok(mut capture) => {
                self.interrupt.wait(HANDED_OVER, || Ok(None::<()>))?;
                capture.tcpdump.interrupt()?;
                match capture.tcpdump.wait(END, self.interrupt)? {
                    None => Err(capture.complaint("it did not end in time")),
                    Some(_) => capture.read(),
                }
            }
        };
        Ok(Some(wire.unwrap_or_else(|error| Wire::Unseen { reason: format!("{error:#}") })))
    }
}

impl Capture {
    fn begin(addr: &str, noted: PathBuf, stderr: PathBuf) -> Result<Self> {
        let port = addr.rsplit(':').next().and_then(|port| port.parse().ok());
        let port = port.with_context(|| format!("{addr} has no port"))?;
        let output = Output { stdout: Some(&noted), stderr: &stderr };
        let tcpdump = Owned::spawn(Path::new(TCPDUMP), &capture(port), &output, Placement::Free)?;
        Ok(Self { tcpdump, port, noted, stderr })
    }

    fn said(&self, words: &str) -> bool {
        fs::read_to_string(&self.stderr).is_ok_and(|said| said.contains(words))
    }

    fn complaint(&self, what: &str) -> anyhow::Error {
        let said = last_line(&self.stderr).map_or_else(String::new, |said| format!(": {said}"));
        anyhow!("{TCPDUMP}: {what}{said}")
    }

    /// What was noted. The packets themselves go: they are as many megabytes as the load is long.
    fn read(self) -> Result<Wire> {
        let said = fs::read_to_string(&self.stderr).unwrap_or_default();
        ensure!(lost(&said).is_none(), "{TCPDUMP}: {}", lost(&said).unwrap_or_default());
        let printed = Command::new(TCPDUMP)
            .args(PRINT)
            .arg(&self.noted)
            .output()
            .with_context(|| format!("can't start {TCPDUMP}"))?;
        ensure!(printed.status.success(), "{TCPDUMP} can't read {}", self.noted.display());
        let wire = seen(&String::from_utf8_lossy(&printed.stdout), self.port)?;
        // Where they can't be removed they stay.
        let _ = fs::remove_file(&self.noted);
        let _ = fs::remove_file(&self.stderr);
        Ok(wire)
    }
}
