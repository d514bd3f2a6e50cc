//! The process of a server: one that the harness started, one that ran before, or one that it can't see.

use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::net::sockopt::socket_peercred;

use crate::client::{connect, connect_tcp};
use crate::interrupt::Interrupt;
use crate::owned_process::{Adopted, Owned, describe};
use crate::probe::listening_process::listener_at;
use bench_core::target::Target;
use bench_core::transport::Transport;

/// A server's process.
#[derive(Debug)]
pub enum Process {
    /// Started by the harness, which ends it.
    Owned(Owned),
    /// Started by somebody else, who ends it.
    Running(Adopted),
    /// On another machine, or of another user.
    Elsewhere,
}

impl Process {
    /// The process id, where it is known.
    pub fn pid(&self) -> Option<u32> {
        match self {
            Self::Owned(owned) => Some(owned.pid()),
            Self::Running(running) => Some(running.pid()),
            Self::Elsewhere => None,
        }
    }

    /// How it ended, if it has.
    pub(super) fn died(&mut self) -> Result<Option<String>> {
        match self {
            Self::Owned(owned) => Ok(owned.ended()?.map(describe)),
            Self::Running(running) => {
                let gone = !Path::new(&format!("/proc/{}", running.pid())).exists();
                Ok(gone.then(|| "its process is gone".to_owned()))
            }
            Self::Elsewhere => Ok(None),
        }
    }

    /// Ends it; one that ran before keeps running.
    ///
    /// # Errors
    /// An interrupt.
    pub fn stop(self, interrupt: &Interrupt) -> Result<()> {
        match self {
            Self::Owned(owned) => owned.stop(interrupt),
            Self::Running(_) | Self::Elsewhere => Ok(()),
        }
    }

    /// The process, to stop and continue it, which only one that the harness started may have done to it.
    ///
    /// # Errors
    /// It ran before.
    pub fn owned(&mut self) -> Result<&mut Owned> {
        match self {
            Self::Owned(owned) => Ok(owned),
            Self::Running(_) | Self::Elsewhere => bail!("a server that runs already is not stopped"),
        }
    }
}

/// A server that runs already: where it answers, and its process where that is one of this machine that this user may
/// inspect. Of any other server no CPU time, memory or open files are known.
///
/// # Errors
/// It takes no connection: why, in the system's words.
pub fn find_running(target: &Target) -> Result<(Target, Process)> {
    let unreached = || format!("{target}: no connection; start the service first, or give its address");
    if target.transport() == Transport::Ipc {
        let connection = connect(target, CONNECTS_WITHIN).with_context(unreached)?;
        let listener = socket_peercred(connection).with_context(unreached)?;
        let pid = listener.pid.as_raw_nonzero().get().unsigned_abs();
        let may_be_inspected = std::fs::read_dir(format!("/proc/{pid}/fd")).is_ok();
        let process = if may_be_inspected { Process::Running(Adopted::new(pid)) } else { Process::Elsewhere };
        return Ok((target.clone(), process));
    }
    let addr = connect_tcp(target, CONNECTS_WITHIN).with_context(unreached)?.peer_addr()?;
    // Another machine's port may be taken here as well, on all addresses.
    let is_here = TcpListener::bind((addr.ip(), 0)).is_ok();
    let pid = is_here.then(|| listener_at(addr)).flatten();
    let process = pid.map_or(Process::Elsewhere, |pid| Process::Running(Adopted::new(pid)));
    // A certificate is for a name.
    let target = if target.is_encrypted() { target.clone() } else { target.resolved(addr) };
    Ok((target, process))
}

/// How long a server that runs already may take to accept a connection.
const CONNECTS_WITHIN: Duration = Duration::from_secs(2);
