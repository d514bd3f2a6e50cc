//! The process of a server: one that the harness started, or one that ran before.

use std::net::{SocketAddr, SocketAddrV4, ToSocketAddrs};
use std::path::Path;
use std::process::ExitStatus;

use anyhow::{Context, Result, anyhow, bail, ensure};

use crate::interrupt::Interrupt;
use crate::probe::listener::listener_at;
use crate::process::{Adopted, Owned, describe};

/// A server's process.
#[derive(Debug)]
pub enum Process {
    /// Started by the harness, which ends it.
    Owned(Owned),
    /// Started by somebody else, who ends it.
    Running(Adopted),
}

impl Process {
    /// The process id.
    pub fn pid(&self) -> u32 {
        match self {
            Self::Owned(owned) => owned.pid(),
            Self::Running(running) => running.pid(),
        }
    }

    /// How it ended, if it has.
    pub(super) fn died(&mut self) -> Result<Option<String>> {
        match self {
            Self::Owned(owned) => Ok(owned.ended()?.map(describe)),
            Self::Running(running) => {
                let gone = !Path::new(&format!("/proc/{}", running.pid())).exists();
                Ok(gone.then(|| "it ended".to_owned()))
            }
        }
    }

    /// Ends it; one that ran before goes on.
    ///
    /// # Errors
    /// An interrupt.
    pub fn stop(self, interrupt: &Interrupt) -> Result<Option<ExitStatus>> {
        match self {
            Self::Owned(owned) => owned.stop(interrupt),
            Self::Running(_) => Ok(None),
        }
    }

    /// The process for what only one's own may have done to it: being held still.
    ///
    /// # Errors
    /// It ran before.
    pub fn owned(&mut self) -> Result<&mut Owned> {
        match self {
            Self::Owned(owned) => Ok(owned),
            Self::Running(_) => bail!("a server that runs already is not stopped"),
        }
    }
}

/// The address and the process of a server that runs already.
///
/// # Errors
/// Nobody listens there, or the process is not one of this machine that this user may look at.
pub fn find_running(url: &str) -> Result<(SocketAddrV4, u32)> {
    let place = url.strip_prefix("http://").unwrap_or(url).trim_end_matches('/');
    let found = place.to_socket_addrs().map_err(|error| anyhow!("{url}: no such address: {error}"))?;
    let v4 = found.into_iter().find_map(|addr| match addr {
        SocketAddr::V4(addr) => Some(addr),
        SocketAddr::V6(_) => None,
    });
    let addr = v4.with_context(|| format!("{url}: has no IPv4 address"))?;
    let connected = std::net::TcpStream::connect_timeout(&addr.into(), CONNECTS_WITHIN);
    ensure!(connected.is_ok(), "{url}: nobody answers there; start the node first, or give its address");
    let pid = listener_at(addr).with_context(|| {
        format!(
            "{url}: no process of this machine that this user may look at listens there, so its CPU time is not known; run the \
             harness on the node's machine, and as its user or root"
        )
    })?;
    Ok((addr, pid))
}

/// How long a server that runs already may take to accept a connection.
const CONNECTS_WITHIN: std::time::Duration = std::time::Duration::from_secs(2);
