//! What a server is given to serve with, and how it says that it is ready.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::Value;
use validator_state::{LedgerSummary, State};

use crate::calls::CallCounters;
use crate::counters::Counters;
use crate::error::StartError;
use crate::flags::{Flags, Framework, Settings};
use crate::listen::{self, PortClaim};
use crate::metrics::Metrics;
use crate::shutdown::Shutdown;
#[cfg(feature = "slots")]
use crate::slots::SlotFeed;
use crate::{allocator, node, open_files};

/// What a server is given to serve with.
#[derive(Debug)]
pub struct Context {
    /// Every setting as it holds.
    pub settings: Settings,
    /// The node that answers.
    pub state: Arc<State>,
    /// Where the server counts what it answered.
    pub counters: Counters,
    /// Announces the slots of the chain to subscribers.
    #[cfg(feature = "slots")]
    pub slots: SlotFeed,
    shutdown: Shutdown,
    server: &'static str,
    /// Whether the address of `--listen` takes WebSocket connections too.
    websocket: bool,
    /// The flags that only this binary has.
    extra: Value,
    metrics: Option<SocketAddr>,
    measured: Metrics,
    open_files: u64,
}

/// One line on stdout, for whoever started the server. Its members are the settings that hold.
#[derive(Serialize)]
struct Ready<'a> {
    ready: bool,
    server: &'a str,
    addr: SocketAddr,
    pid: u32,
    #[serde(flatten)]
    settings: &'a Settings,
    #[serde(flatten)]
    extra: &'a Value,
    allocator: &'static str,
    open_files: u64,
    ledger: LedgerSummary,
    metrics: Option<SocketAddr>,
    /// Whether calls are timed; left out where they are not, as in the ready lines of before there was such a flag.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    metrics_calls: bool,
    /// Where WebSocket connections are taken: a URL.
    ws: Option<String>,
}

impl Context {
    pub(crate) fn new(
        framework: &Framework,
        flags: &Flags,
        extra: &impl Serialize,
    ) -> Result<Self, StartError> {
        let settings = flags.settings(framework)?;
        let open_files = open_files::raise_limit()
            .map_err(|error| StartError::failed("raise the limit of open files", error))?;
        let shutdown =
            Shutdown::install().map_err(|error| StartError::failed("listen for signals", error))?;
        let counters = Counters::default();
        #[cfg(feature = "handicap")]
        let counters = counters.handicapped(settings.handicap_rounds);
        if flags.metrics_calls && !cfg!(feature = "calls") {
            let reason =
                "this build times no calls; build the server with --features calls, or leave the flag out";
            return Err(StartError::refused("--metrics-calls", reason));
        }
        let calls = flags.metrics_calls.then(CallCounters::of_process);
        let measured = Metrics { calls, ..Metrics::default() };
        let metrics = flags.metrics.map(|addr| measured.start(addr, counters)).transpose()?;
        let state = Arc::new(node::open(flags)?.with_simulated_walk(settings.walk_ns_per_slot));
        let extra = serde_json::to_value(extra)
            .map_err(|error| StartError::failed("write the flags as JSON", error))?;
        let (server, websocket) = (framework.name, framework.websocket);
        Ok(Self {
            settings,
            state,
            counters,
            #[cfg(feature = "slots")]
            slots: SlotFeed::default(),
            shutdown,
            server,
            websocket,
            extra,
            metrics,
            measured,
            open_files,
        })
    }

    /// What the metrics are read from, for what only the server knows: its runtime, and when it accepts a connection.
    pub const fn metrics(&self) -> &Metrics {
        &self.measured
    }

    /// A listener on the address of `--listen`, with the backlog and TCP_NODELAY of the settings; non-blocking.
    ///
    /// # Errors
    /// The address is in use or not of this machine.
    pub fn listener(&self) -> Result<TcpListener, StartError> {
        listen::listener(&self.settings)
    }

    /// Claims the address of `--listen`, for a server that binds by itself.
    ///
    /// # Errors
    /// The address is in use or not of this machine.
    pub fn claim_port(&self) -> Result<PortClaim, StartError> {
        PortClaim::new(&self.settings)
    }

    /// Prints that connections to `addr` will be answered, and starts the chain if it is to advance. To be
    /// called once the server listens.
    ///
    /// # Errors
    /// Nobody reads the line any more.
    pub fn ready(&self, addr: SocketAddr) -> Result<(), StartError> {
        self.ready_with_ws(addr, self.websocket.then_some(addr))
    }

    /// [`Self::ready`] for a server that takes WebSocket connections on an address of its own.
    ///
    /// # Errors
    /// Nobody reads the line any more.
    pub fn ready_with_ws(&self, addr: SocketAddr, ws: Option<SocketAddr>) -> Result<(), StartError> {
        let failed = |error: io::Error| StartError::failed("print the ready line", error);
        let open = [Some(addr), ws.filter(|ws| *ws != addr), self.metrics];
        for open in open.into_iter().flatten().filter(|addr| !addr.ip().is_loopback()) {
            let server = self.server;
            eprintln!("server-{server}: other machines can reach {open}, and there is no access control");
        }
        self.measured.connections.listens_on([Some(addr), ws].into_iter().flatten().collect());
        self.start_chain().map_err(failed)?;
        let ready = Ready {
            ready: true,
            server: self.server,
            addr,
            pid: std::process::id(),
            settings: &self.settings,
            extra: &self.extra,
            allocator: allocator::NAME,
            open_files: self.open_files,
            ledger: self.state.ledger_summary(),
            metrics: self.metrics,
            metrics_calls: self.measured.calls.is_some(),
            ws: ws.map(|ws| format!("ws://{ws}/")),
        };
        let line = serde_json::to_string(&ready).map_err(|error| failed(error.into()))?;
        let mut stdout = io::stdout().lock();
        writeln!(stdout, "{line}").and_then(|()| stdout.flush()).map_err(failed)
    }

    /// Signals that the server is to end.
    pub fn shutdown(&self) -> &Shutdown {
        &self.shutdown
    }

    fn start_chain(&self) -> io::Result<()> {
        let interval = Duration::from_millis(self.settings.slot_interval_ms);
        if interval.is_zero() {
            return Ok(());
        }
        let state = Arc::clone(&self.state);
        #[cfg(feature = "slots")]
        let slots = self.slots.clone();
        let advance = move || {
            let mut next = Instant::now();
            loop {
                // Counted from the slot before, so that a late wake-up does not slow the chain down.
                next += interval;
                thread::sleep(next.saturating_duration_since(Instant::now()));
                let _slot = state.advance();
                #[cfg(feature = "slots")]
                slots.announce(_slot);
            }
        };
        thread::Builder::new().name("chain".to_owned()).spawn(advance).map(|_| ())
    }
}
