//! tcpdump during a window: begun before it, ended after it, and its packets evaluated. Whatever it lacks is a reason
//! kept with the trial, and never a trial's failure: its load was measured without it. Its files are removed with it,
//! however the trial ends.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use rustix::process::Signal;

use super::Bench;
use super::tool::Scratch;
use crate::owned_process::{Output, Owned};
use bench_model::config::Placement;
use bench_model::plan::Trial;
use bench_model::target::Target;
use bench_system::foreign_text::{beginning_of, last_line};
use bench_system::interrupt::Interrupt;
use bench_system::probe::wire::{PRINT, Wire, capture, seen, whole};

const TCPDUMP: &str = "tcpdump";

/// How long tcpdump may take to begin.
const READY: Duration = Duration::from_secs(5);

/// The kernel hands packets over in blocks, a block at the latest 1 s after it was begun; and one more moment.
const HANDED_OVER: Duration = Duration::from_millis(1_100);

/// How long it may take to end.
const END: Duration = Duration::from_secs(5);

/// A capture that goes on. Dropping it kills tcpdump first, since fields go in their order, and then removes its files.
pub(super) struct Capture {
    tcpdump: Owned,
    port: u16,
    /// The packets: as many megabytes as the load is long.
    noted: Scratch,
    stderr: Scratch,
}

impl Bench<'_> {
    /// Begins to record the packets of a server's port, where the campaign requests it. The outer error ends the run.
    pub(super) fn capture(&self, trial: &Trial, target: &Target) -> Result<Option<Result<Capture>>> {
        if !self.plan.campaign.open.as_ref().is_some_and(|open| open.wire) {
            return Ok(None);
        }
        let [noted, stderr] = ["wire.pcap", "wire.stderr"].map(|what| self.folder.tool_output(trial, what));
        Capture::begin(&target.socket(), noted, stderr, self.interrupt).map(Some)
    }

    /// Ends a capture and works out what it saw.
    pub(super) fn captured(&self, capture: Option<Result<Capture>>) -> Result<Option<Wire>> {
        let Some(capture) = capture else { return Ok(None) };
        let wire = match capture {
            Ok(capture) => capture.end(self.interrupt)?,
            Err(error) => Err(error),
        };
        Ok(Some(wire.unwrap_or_else(|error| Wire::Unseen { reason: format!("{error:#}") })))
    }
}

impl Capture {
    /// Begins to record the packets of an address's port, and waits until tcpdump does. The inner error says why it
    /// does not; the outer one ends the run.
    fn begin(addr: &str, noted: PathBuf, stderr: PathBuf, interrupt: &Interrupt) -> Result<Result<Self>> {
        let begun = Self::spawn(addr, noted, stderr);
        let Ok(mut capture) = begun else { return Ok(begun) };
        let listens = interrupt.wait(READY, || {
            let ended = capture.tcpdump.ended()?.is_some();
            let listens = || beginning_of(&capture.stderr.0).is_ok_and(|said| said.contains("listening on"));
            Ok((ended || listens()).then_some(!ended))
        })?;
        let why = match listens {
            Some(true) => return Ok(Ok(capture)),
            Some(false) => "it ended at once",
            None => "it did not begin in time",
        };
        Ok(Err(capture.complaint(why)))
    }

    fn spawn(addr: &str, noted: PathBuf, stderr: PathBuf) -> Result<Self> {
        // Held before they are made, so that they go even where tcpdump can't be started.
        let (noted, stderr) = (Scratch(noted), Scratch(stderr));
        let port = addr.rsplit(':').next().and_then(|port| port.parse().ok());
        let port = port.with_context(|| format!("{addr} has no port"))?;
        let output = Output { stdout: Some(&noted.0), stderr: &stderr.0 };
        let tcpdump = Owned::spawn(Path::new(TCPDUMP), &capture(port), &output, Placement::Free)?;
        Ok(Self { tcpdump, port, noted, stderr })
    }

    /// Ends it and works out what it saw. The inner error says why that can't be used; the outer one ends the run.
    fn end(mut self, interrupt: &Interrupt) -> Result<Result<Wire>> {
        interrupt.wait(HANDED_OVER, || Ok(None::<()>))?;
        if self.tcpdump.ended()?.is_some() {
            return Ok(Err(self.complaint("it ended by itself")));
        }
        self.tcpdump.signal(Signal::INT)?;
        Ok(match self.tcpdump.wait(END, interrupt)? {
            None => Err(self.complaint("it did not end in time")),
            Some(_) => self.read(),
        })
    }

    fn complaint(&self, what: &str) -> anyhow::Error {
        let said = last_line(&self.stderr.0).map_or_else(String::new, |said| format!(": {said}"));
        anyhow!("{TCPDUMP}: {what}{said}")
    }

    /// What was noted.
    fn read(&self) -> Result<Wire> {
        whole(&bench_system::text_files::read(&self.stderr.0)?).context(TCPDUMP)?;
        let printed = Command::new(TCPDUMP).args(PRINT).arg(&self.noted.0).output();
        let printed = printed.with_context(|| format!("can't start {TCPDUMP}"))?;
        ensure!(printed.status.success(), "{TCPDUMP} can't read {}", self.noted.0.display());
        seen(&String::from_utf8_lossy(&printed.stdout), self.port)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::thread;

    use super::*;

    fn begin(dir: &Path, addr: &str, interrupt: &Interrupt) -> Result<Capture> {
        let [noted, stderr] = ["wire.pcap", "wire.stderr"].map(|name| dir.join(name));
        Capture::begin(addr, noted, stderr, interrupt).unwrap()
    }

    /// `None`, said, without tcpdump or the right to capture; whatever else keeps it from it fails the test.
    fn begun(dir: &Path, addr: &str, interrupt: &Interrupt) -> Option<Capture> {
        let error = match begin(dir, addr, interrupt) {
            Ok(capture) => return Some(capture),
            Err(error) => format!("{error:#}"),
        };
        assert_eq!(files(dir), 0, "{error}");
        let lacks = ["can't start", "not permitted", "ermission", "CAP_NET_RAW"];
        assert!(lacks.iter().any(|lack| error.contains(lack)), "{error}");
        eprintln!("SKIPPED: {error}");
        None
    }

    fn files(dir: &Path) -> usize {
        std::fs::read_dir(dir).unwrap().count()
    }

    /// Answers what comes on one connection, until the other side closes it.
    fn answer(listener: &TcpListener) {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 4];
        while stream.read_exact(&mut request).is_ok() {
            stream.write_all(b"pong!").unwrap();
        }
    }

    /// Sends that many requests on one connection, each once the last one was answered.
    fn request(addr: &str, count: u32) {
        let mut stream = TcpStream::connect(addr).unwrap();
        let mut answer = [0; 5];
        for _ in 0..count {
            stream.write_all(b"ping").unwrap();
            stream.read_exact(&mut answer).unwrap();
        }
    }

    #[test]
    fn each_request_is_seen_and_no_file_stays() {
        let dir = tempfile::tempdir().unwrap();
        let interrupt = Interrupt::install().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap().to_string();
        let Some(capture) = begun(dir.path(), &addr, &interrupt) else { return };
        let server = thread::spawn(move || answer(&listener));
        request(&addr, 10);
        server.join().unwrap();
        let wire = capture.end(&interrupt).unwrap().unwrap();
        let Wire::Seen { requests, p50_us, p99_us } = wire else { panic!("{wire:?}") };
        assert_eq!(requests, 10);
        assert!(0.0 < p50_us && p50_us <= p99_us, "{p50_us} {p99_us}");
        assert_eq!(files(dir.path()), 0);
    }

    #[test]
    fn a_capture_that_is_given_up_leaves_no_file() {
        let dir = tempfile::tempdir().unwrap();
        let interrupt = Interrupt::install().unwrap();
        let Some(capture) = begun(dir.path(), "127.0.0.1:9", &interrupt) else { return };
        assert_eq!(files(dir.path()), 2);
        drop(capture);
        assert_eq!(files(dir.path()), 0);
    }

    #[test]
    fn an_address_without_a_port_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let interrupt = Interrupt::install().unwrap();
        let error = begin(dir.path(), "nowhere", &interrupt).map(drop).unwrap_err();
        assert_eq!((error.to_string().as_str(), files(dir.path())), ("nowhere has no port", 0));
    }
}
