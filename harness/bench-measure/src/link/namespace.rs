//! A network namespace without a name: it goes with the last process in it and with the value that stands for it, so
//! that nothing is left behind, however the harness ends.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::panic::resume_unwind;
use std::process::Command;

use anyhow::{Context, Result};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

use bench_core::repository::printed;

/// A network namespace.
#[derive(Debug)]
pub struct Namespace(OwnedFd);

impl Namespace {
    /// Makes one, with nothing in it but a loopback device that is down.
    ///
    /// # Errors
    /// The system does not permit it.
    pub fn new() -> Result<Self> {
        let made = on_a_thread(|| -> io::Result<OwnedFd> {
            // SAFETY: a network namespace of its own changes nothing about the thread's files.
            unsafe { unshare_unsafe(UnshareFlags::NEWNET) }?;
            Ok(File::open("/proc/thread-self/ns/net")?.into())
        });
        made.map(Self).context(
            "can't make a network namespace; a network between load tool and server needs root (CAP_SYS_ADMIN and \
             CAP_NET_ADMIN): run as root, or leave network out",
        )
    }

    /// Its file, for a child that enters it. Valid as long as this is.
    pub fn fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// Runs something on a thread of its own in this namespace, and waits for it. Threads and processes that it starts
    /// are in the namespace too.
    ///
    /// # Errors
    /// The system does not permit to enter it.
    pub fn inside<T: Send>(&self, run: impl FnOnce() -> T + Send) -> Result<T> {
        let ran = on_a_thread(|| -> io::Result<T> {
            move_into_link_name_space(self.0.as_fd(), Some(LinkNameSpaceType::Network))?;
            Ok(run())
        });
        ran.context("can't enter a network namespace that the harness made")
    }

    /// Carries out commands of a tool of iproute2 in it, one a line.
    ///
    /// # Errors
    /// There is no such tool, or it refuses a line: with what it says.
    pub fn run(&self, tool: &str, lines: &str) -> Result<()> {
        let run = |line: &str| printed(Command::new(tool).args(line.split(' '))).map(drop);
        let ran = self.inside(|| lines.lines().try_for_each(run))?;
        ran.with_context(|| format!("{tool}, which iproute2 has"))
    }
}

fn on_a_thread<T: Send>(run: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| scope.spawn(run).join().unwrap_or_else(|panic| resume_unwind(panic)))
}
