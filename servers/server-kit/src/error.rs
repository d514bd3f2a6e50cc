//! Why a server could not start. Each message is one line: what failed, on what, what to do next.

use std::io;
use std::net::SocketAddr;

use block_stores::OpenError;

/// Why a server could not start, or ended early.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A command line that is wrong by itself.
    #[error("{0}; see --help")]
    CommandLine(String),
    /// A flag that this server can't honour.
    #[error("{flag}: {reason}")]
    Refused {
        /// The flag, such as `--backlog 64`.
        flag: String,
        /// Why, and what to do instead.
        reason: String,
    },
    /// Another process holds the address.
    #[error(
        "{flag} {addr}: the address is in use; end the process that listens there, or give port 0 to take any free port"
    )]
    AddressInUse {
        /// The flag that named the address.
        flag: &'static str,
        /// The address.
        addr: SocketAddr,
    },
    /// The address can't be listened on for another reason.
    #[error("{flag} {addr}: {source}; give an address of this machine, such as 127.0.0.1:0")]
    Listen {
        /// The flag that named the address.
        flag: &'static str,
        /// The address.
        addr: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// The ledger or its block store can't be read.
    #[error("--ledger: {0}")]
    Ledger(#[from] OpenError),
    /// Anything else that failed.
    #[error("{what}: {problem}")]
    Failed {
        /// What was being done.
        what: &'static str,
        /// What went wrong.
        problem: String,
    },
}

impl StartError {
    /// A flag that this server can't honour, and why.
    pub fn refused(flag: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Refused { flag: flag.into(), reason: reason.into() }
    }

    /// A step that failed: for `map_err(|error| StartError::failed("start the runtime", error))`.
    pub fn failed(what: &'static str, problem: impl std::fmt::Display) -> Self {
        Self::Failed { what, problem: problem.to_string() }
    }

    /// The framework could not listen on the address of `--listen`: in use, or by the system's error.
    pub fn cannot_listen(addr: SocketAddr, source: io::Error) -> Self {
        Self::listen("--listen", addr, source)
    }

    /// Nobody could listen on the address of this flag: in use, or by the system's error.
    pub fn listen(flag: &'static str, addr: SocketAddr, source: io::Error) -> Self {
        if source.kind() == io::ErrorKind::AddrInUse {
            Self::AddressInUse { flag, addr }
        } else {
            Self::Listen { flag, addr, source }
        }
    }
}
