//! A network namespace without a name: it goes with the last process in it and with the value that stands for it, so
//! that nothing is left behind, however the harness ends.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::panic::resume_unwind;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

use bench_system::foreign_text::bounded;

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

    /// Carries out lines of `ip` in it.
    ///
    /// # Errors
    /// There is no `ip`, or it refuses a line: with what it says.
    pub fn ip(&self, lines: &str) -> Result<()> {
        self.inside(|| said_nothing(Command::new("ip").args(["-batch", "-"]), lines))?
    }

    /// Carries out one command of `tc` in it.
    ///
    /// # Errors
    /// There is no `tc`, or it refuses the command: with what it says.
    pub fn tc(&self, arguments: &str) -> Result<()> {
        self.inside(|| said_nothing(Command::new("tc").args(arguments.split(' ')), ""))?
    }
}

/// Runs a command with this input; an error is what it says.
fn said_nothing(command: &mut Command, input: &str) -> Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let mut child = piped.with_context(|| format!("can't start {name}; install iproute2"))?;
    if let Some(mut stdin) = child.stdin.take() {
        // One that has ended already says why.
        let _ = stdin.write_all(input.as_bytes());
    }
    let output = child.wait_with_output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{name} refuses: {}", bounded(said.lines().next().unwrap_or("it does not say why")));
    }
    Ok(())
}

fn on_a_thread<T: Send>(run: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| scope.spawn(run).join().unwrap_or_else(|panic| resume_unwind(panic)))
}
