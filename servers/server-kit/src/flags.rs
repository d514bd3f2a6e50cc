//! The command line that all servers share, and the settings that follow from it.

use std::ffi::OsString;
use std::fs;
use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::path::PathBuf;

use block_stores::StoreKind;
use clap::{Args, FromArgMatches, Parser, ValueEnum};
use serde::Serialize;
use validator_state::{MAX_BODY_BYTES, SeededSpec};

#[cfg(feature = "offload")]
use crate::blocks_on::BlocksOnFlags;
use crate::error::StartError;

/// The listen backlog of `--tuning equal`.
const EQUAL_BACKLOG: u32 = 1_024;

/// What the kit must know of a framework.
#[derive(Debug, Clone)]
pub struct Framework {
    /// The server's name, such as `actix`.
    pub name: &'static str,
    /// The framework's own defaults: what `--tuning shipped` means.
    pub shipped: Defaults,
    /// The listen backlog, for a framework that has no way to set it.
    pub fixed_backlog: Option<u32>,
    /// Whether its threads are the workers of one tokio runtime, built with `--global-queue-interval`.
    pub global_queue: bool,
    /// Whether the port of `--listen` takes WebSocket connections too.
    pub websocket: bool,
}

impl Framework {
    pub(crate) fn binary(&self) -> String {
        format!("server-{}", self.name)
    }
}

/// A framework's own defaults.
#[derive(Debug, Clone)]
pub struct Defaults {
    /// Threads that answer.
    pub threads: Threads,
    /// The listen backlog.
    pub backlog: u32,
    /// Whether TCP_NODELAY is set on connections.
    pub tcp_nodelay: bool,
    /// How long an idle connection is kept; `None` is for ever.
    pub keep_alive_ms: Option<u64>,
    /// Concurrent connections (or requests, where the framework counts those); `None` is no limit.
    pub max_connections: Option<u32>,
    /// Bytes that one request body may hold. Not taken over: the contract has its own limit, see [`Settings`].
    pub max_body_bytes: usize,
}

/// How many threads a framework starts by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Threads {
    /// One.
    One,
    /// One for each core that the process may use.
    Cores,
}

/// Where the settings come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Tuning {
    /// The same for every server, set explicitly
    Equal,
    /// The framework's own defaults
    Shipped,
}

/// Every setting as it holds, after flags, tuning and defaults.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Settings {
    /// The requested address; its port may be 0.
    #[serde(skip)]
    pub listen: SocketAddr,
    /// Threads that answer, at least 1.
    pub threads: usize,
    /// Where the other settings come from.
    pub tuning: Tuning,
    /// The listen backlog.
    pub backlog: u32,
    /// Whether TCP_NODELAY is set on connections.
    pub tcp_nodelay: bool,
    /// How long an idle connection is kept; `None` is for ever.
    pub keep_alive_ms: Option<u64>,
    /// Concurrent connections (or requests, where the framework counts those); `None` is no limit.
    pub max_connections: Option<u32>,
    /// Bytes that one request body may hold: the contract's limit in both tunings, unless a flag says otherwise.
    pub max_body_bytes: usize,
    /// How often the chain advances by one slot; 0 is never.
    pub slot_interval_ms: u64,
    /// After how many polls a tokio worker takes a task from the runtime's global queue; `None` leaves that to tokio.
    pub global_queue_interval: Option<u32>,
    /// Simulated cost of reading one slot of a getBlocks answer from a block store, in nanoseconds; `None` is no cost.
    #[serde(rename = "simulated_walk_ns_per_slot")]
    pub walk_ns_per_slot: Option<NonZeroU64>,
    /// Where the rooted slots of getBlocks come from.
    pub blocks: StoreKind,
    /// Rounds of CPU work that each answered call pays; 0 is no handicap.
    #[cfg(feature = "handicap")]
    pub handicap_rounds: u32,
}

impl Settings {
    /// Those of `--tuning equal` on one thread, for a server without sockets.
    pub fn without_sockets() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            threads: 1,
            tuning: Tuning::Equal,
            backlog: EQUAL_BACKLOG,
            tcp_nodelay: true,
            keep_alive_ms: None,
            max_connections: None,
            max_body_bytes: MAX_BODY_BYTES,
            slot_interval_ms: 0,
            global_queue_interval: None,
            walk_ns_per_slot: None,
            blocks: StoreKind::Memory,
            #[cfg(feature = "handicap")]
            handicap_rounds: 0,
        }
    }
}

/// For binaries without flags of their own.
#[derive(Debug, Clone, Copy, Args, Serialize)]
pub struct NoFlags {}

/// For binaries that take WebSocket connections on a port of their own.
#[cfg(feature = "offload")]
#[derive(Debug, Clone, Copy, Args, Serialize)]
pub struct WsFlags {
    /// Address to take WebSocket connections on; port 0 takes any free port [default: none are taken]
    #[arg(long, value_name = "ADDR")]
    // The ready line has the address that it became.
    #[serde(skip)]
    pub ws_listen: Option<SocketAddr>,
    /// Which thread answers getBlocks.
    #[command(flatten)]
    #[serde(flatten)]
    pub blocks_on: BlocksOnFlags,
}

/// For binaries whose framework has no JSON-RPC.
#[derive(Debug, Clone, Copy, Args, Serialize)]
pub struct RpcFlags {
    /// What reads JSON-RPC requests and writes the answers
    #[arg(long, value_name = "LIBRARY", default_value = "typed")]
    pub rpc: Rpc,
    /// Which thread answers getBlocks.
    #[cfg(feature = "offload")]
    #[command(flatten)]
    #[serde(flatten)]
    pub blocks_on: BlocksOnFlags,
}

/// What reads JSON-RPC requests and writes the answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rpc {
    /// JSON-RPC 2.0 by serde types
    Typed,
    /// jsonrpc-core 18, as in the legacy server
    JsonrpcCore,
}

#[derive(Debug, Clone, Args)]
#[group(skip)]
pub(crate) struct Flags {
    /// Address to answer on; port 0 takes any free port
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8899")]
    pub listen: SocketAddr,
    /// Threads that answer [default: one a core; with --tuning shipped the framework's own number]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_024))]
    pub threads: Option<u64>,
    /// The same settings for every server, or the framework's own defaults
    #[arg(long, value_name = "TUNING", default_value = "equal")]
    pub tuning: Tuning,
    /// Connections that may wait to be accepted [default: 1024; with --tuning shipped the framework's own]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub backlog: Option<u32>,
    /// Ledger to load: a folder with accounts/*.json and chain.json
    #[arg(long, value_name = "DIR", conflicts_with_all = ["accounts", "slots", "seed"])]
    pub ledger: Option<PathBuf>,
    /// Where the blocks of getBlocks come from; a store on disk needs --ledger, and --ledger a validator's own directory needs a store
    #[arg(long, value_name = "STORE", default_value = "memory")]
    pub blocks: StoreKind,
    /// Accounts of the seeded ledger
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000_000), default_value_t = SeededSpec::default().accounts as u64)]
    pub accounts: u64,
    /// Slots of the seeded ledger, of which one in twenty is skipped
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000_000), default_value_t = SeededSpec::default().slots)]
    pub slots: u64,
    /// Seed of the seeded ledger; the same seed gives the same ledger in every server
    #[arg(long, value_name = "N", default_value_t = SeededSpec::default().seed)]
    pub seed: u64,
    /// Advance the chain by one slot every N milliseconds, as a node does every 400, and announce it to subscribers; 0 never does
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub slot_interval_ms: u64,
    /// Polls after which a tokio worker takes a task from the runtime's global queue [default: tokio decides]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub global_queue_interval: Option<u32>,
    /// Simulate a block store: keep the thread busy for N ns per slot of a getBlocks answer; 0 is no simulation
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=1_000_000), default_value_t = 0)]
    pub walk_ns_per_slot: u64,
    /// Make each call cost N rounds of CPU work more, each one to a few ns: for calibrating a harness
    #[cfg(feature = "handicap")]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(..=1_000_000_000), default_value_t = 0)]
    pub handicap_rounds: u32,
    /// Answer GET /metrics on this address; port 0 takes any free port
    #[arg(long, value_name = "ADDR")]
    pub metrics: Option<SocketAddr>,
    /// Time every call for the metrics: a histogram by method, transport and outcome, and calls in flight; costs CPU time in each call
    #[arg(long, requires = "metrics", hide = !cfg!(feature = "calls"))]
    pub metrics_calls: bool,
    /// Bytes that one request body may hold
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000), default_value_t = MAX_BODY_BYTES as u64)]
    pub max_body_bytes: u64,
}

#[derive(Debug, Parser)]
#[command(version)]
struct CommandLine<Extra: Args> {
    #[command(flatten)]
    flags: Flags,
    #[command(flatten)]
    extra: Extra,
}

/// A parsed command line.
pub(crate) enum Parsed<Extra> {
    /// A server with these flags.
    Run(Box<Flags>, Extra),
    /// A text on stdout: the help or the version.
    Print(String),
}

/// Reads a command line, the program's name first.
pub(crate) fn parse<Extra: Args>(
    framework: &Framework,
    args: impl IntoIterator<Item = OsString>,
) -> Result<Parsed<Extra>, StartError> {
    let command = <CommandLine<Extra> as clap::CommandFactory>::command()
        .display_name(framework.binary())
        .bin_name(framework.binary())
        .about(format!("A JSON-RPC validator node's getBalance and getBlocks, by {}", framework.name));
    let matched = command
        .try_get_matches_from(args)
        .and_then(|mut matches| CommandLine::<Extra>::from_arg_matches_mut(&mut matches));
    match matched {
        Ok(line) => Ok(Parsed::Run(Box::new(line.flags), line.extra)),
        Err(error) if !error.use_stderr() => Ok(Parsed::Print(error.to_string())),
        Err(error) => Err(StartError::CommandLine(one_line(&error.to_string()))),
    }
}

/// The error itself out of clap's several lines: what is above the usage, without its prefix.
pub fn one_line(error: &str) -> String {
    let lines = error
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"))
        .filter(|line| !line.is_empty());
    let text = lines.collect::<Vec<_>>().join(" ");
    text.strip_prefix("error: ").unwrap_or(&text).to_owned()
}

impl Flags {
    pub(crate) fn settings(&self, framework: &Framework) -> Result<Settings, StartError> {
        let shipped = self.tuning == Tuning::Shipped;
        let threads = match (self.threads, shipped, framework.shipped.threads) {
            (Some(threads), ..) => usize::try_from(threads).unwrap_or(1),
            (None, true, Threads::One) => 1,
            (None, ..) => std::thread::available_parallelism().map_or(1, usize::from),
        };
        let defaults = &framework.shipped;
        Ok(Settings {
            listen: self.listen,
            threads,
            tuning: self.tuning,
            backlog: self.backlog(framework)?,
            tcp_nodelay: !shipped || defaults.tcp_nodelay,
            keep_alive_ms: if shipped { defaults.keep_alive_ms } else { None },
            max_connections: if shipped { defaults.max_connections } else { None },
            max_body_bytes: usize::try_from(self.max_body_bytes).unwrap_or(usize::MAX),
            slot_interval_ms: self.slot_interval_ms,
            global_queue_interval: self.global_queue_interval(framework)?,
            walk_ns_per_slot: NonZeroU64::new(self.walk_ns_per_slot),
            blocks: self.blocks,
            #[cfg(feature = "handicap")]
            handicap_rounds: self.handicap_rounds,
        })
    }

    fn backlog(&self, framework: &Framework) -> Result<u32, StartError> {
        if let (Some(requested), Some(fixed)) = (self.backlog, framework.fixed_backlog)
            && requested != fixed
        {
            let name = framework.name;
            let reason = format!("{name} has no way to set it and always uses {fixed}; leave the flag out");
            return Err(StartError::refused(format!("--backlog {requested}"), reason));
        }
        let default = match self.tuning {
            Tuning::Equal => EQUAL_BACKLOG,
            Tuning::Shipped => framework.shipped.backlog,
        };
        let backlog = self.backlog.or(framework.fixed_backlog).unwrap_or(default);
        match (self.backlog, largest_backlog()) {
            (Some(requested), Some(most)) if requested > most => Err(StartError::refused(
                format!("--backlog {requested}"),
                format!("this system allows at most {most}; raise net.core.somaxconn or ask for less"),
            )),
            // The ready line says what holds, not what was wished for.
            (None, Some(most)) => Ok(backlog.min(most)),
            _ => Ok(backlog),
        }
    }

    fn global_queue_interval(&self, framework: &Framework) -> Result<Option<u32>, StartError> {
        match self.global_queue_interval {
            Some(requested) if !framework.global_queue => Err(StartError::refused(
                format!("--global-queue-interval {requested}"),
                format!(
                    "{} has no tokio runtime that could be built with it; leave the flag out",
                    framework.name
                ),
            )),
            interval => Ok(interval),
        }
    }

    pub(crate) fn seeded(&self) -> SeededSpec {
        SeededSpec {
            accounts: usize::try_from(self.accounts).unwrap_or(usize::MAX),
            slots: self.slots,
            seed: self.seed,
        }
    }
}

/// The most that the system allows as a backlog; it cuts larger ones without a word. `None` where it does not say.
fn largest_backlog() -> Option<u32> {
    fs::read_to_string("/proc/sys/net/core/somaxconn").ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests;
