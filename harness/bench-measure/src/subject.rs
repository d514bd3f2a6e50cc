//! A server under test: started, ready, and stopped in the end; or found where it runs already.

mod builds;
mod end;
mod files;
mod first_line;
pub mod layouts;
mod server_process;

use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde_json::Value;

use crate::cgroup::{Cgroup, OutOfMemory, Usage};
use crate::client;
use crate::interrupt::{Interrupt, Interrupted};
use crate::link::{self, Link};
use crate::metrics;
use crate::owned_process::{Limits, Output, Owned, describe};
use crate::probe::listening_process::connections_to;
use crate::probe::resources::settle;
use crate::watch::{self, Listed};
use bench_core::config::{Environment, Ready, ReadyCall, ReadyLine, RunningAt, Server};
use bench_core::foreign_text::{bounded, last_line};
use bench_core::target::Target;
use bench_core::transport::Transport;
use bench_core::workload::Opening;

pub use builds::{build, build_in};
use end::End;
pub use files::{Files, prepare};
use first_line::{FirstLine, State};
pub use server_process::{Process, find_running};

/// How long a server may take until it answers; a ledger of millions of accounts takes seconds to make.
const READY_WITHIN: Duration = Duration::from_secs(60);

/// How long a server may take until it answers its ready call: a node reads accounts and makes a ledger first.
const HEALTHY_WITHIN: Duration = Duration::from_secs(300);

/// How long a server that closed its output may take to end, before it counts as one that keeps running without.
const ENDS_WITHIN: Duration = Duration::from_secs(2);

/// Where a server listens for requests or for reads of its metrics: any free port of the loopback interface.
const LOOPBACK: &str = "127.0.0.1:0";

/// The port of a server that can't choose one, at the far end of a link.
const ONLY_PORT: u16 = 8_899;

/// Where a server is started.
#[derive(Debug, Clone, Copy)]
pub enum Place<'a> {
    /// On the loopback interface.
    Loopback,
    /// At an address of this machine that other machines reach.
    At(IpAddr),
    /// At the far end of a link, on whose near end this thread is.
    Over(&'a Arc<Link>),
}

/// A server that answers.
pub struct Subject {
    /// Where it answers.
    pub target: Target,
    /// Its process, as far as the harness knows it.
    pub process: Process,
    /// Where its metrics are, if it has any.
    pub metrics: Option<Target>,
    /// Its ready line: every effective setting.
    pub ready: Value,
    /// The server that it passes requests on to, for a gateway.
    pub upstream: Option<Box<Self>>,
    /// The network through which it is reached; `None`: this machine's loopback interface.
    pub link: Option<Arc<Link>>,
    /// Files that its arguments name; removed when it is gone.
    _files: Option<Files>,
    /// Its place in the list of those that are watched.
    _listed: Option<Listed>,
    /// What limits its process, where anything does; removed when it is gone.
    group: Option<Cgroup>,
    /// When its process ended, where that is known.
    end: Option<End>,
}

impl Subject {
    /// Starts a server on a free port and waits until it answers. Its standard error goes to `stderr`.
    ///
    /// # Errors
    /// It could not be started, ended, or was not ready in time: with the last line that it wrote.
    pub fn start(
        server: &Server,
        environment: &Environment,
        opening: impl Into<Opening>,
        stderr: &Path,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        Self::start_at(Place::Loopback, server, environment, &opening.into(), stderr, interrupt)
    }

    /// [`Self::start`] in another place than on the loopback interface.
    pub fn start_at(
        place: Place<'_>,
        server: &Server,
        environment: &Environment,
        opening: &Opening,
        stderr: &Path,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        let (link, any_port) = match place {
            Place::Loopback => (None, LOOPBACK.to_owned()),
            Place::At(address) => (None, SocketAddr::from((address, 0)).to_string()),
            Place::Over(link) => (Some(link), format!("{}:0", link::SERVER)),
        };
        let listen = match &server.ready {
            Ready::Line(_) => any_port.clone(),
            Ready::Running(at) => return Self::running(server, at, interrupt),
            // In a namespace that was just made all ports are free; a gateway's upstream is in the same one.
            Ready::Connect {} | Ready::Health {} | Ready::Call(_) if link.is_some() => {
                format!("{}:{}", link::SERVER, ONLY_PORT - u16::from(server.upstream.is_some()))
            }
            Ready::Connect {} | Ready::Health {} | Ready::Call(_) => free_address(&any_port)?,
        };
        let program = server.find_program()?;
        let mut values = server.placeholders(environment, &listen, &opening.body);
        let behind = server.upstream.as_ref().and_then(|upstream| upstream.entry.as_ref());
        let start =
            |behind| Self::start_at(place, behind, environment, opening, &upstream_stderr(stderr), interrupt);
        let upstream = behind.map(start).transpose()?.map(Box::new);
        values.extend(upstream.iter().map(|upstream| ("upstream", upstream.target.url())));
        let files = Files::of(server, environment, opening, &mut values)?;
        let own = environment.with(&server.overrides);
        let transport = own.transport();
        let group = Cgroup::create(&own.size()).with_context(|| format!("server {}", server.name))?;
        let mut args = server.arguments(&values);
        if transport == Transport::WebSocket {
            args.extend(server.ws_args.clone());
        }
        for arg in args.iter_mut().filter(|arg| *arg == LOOPBACK) {
            arg.clone_from(&any_port);
        }
        let limits = Limits {
            open_files: server.open_files,
            group: group.as_ref(),
            network: link.map(|link| link.server.fd()),
            folder: server.checkout.as_deref().map(Path::new),
            ..Limits::default()
        };
        let output = Output { stdout: None, stderr };
        let mut process = Owned::spawn_with(&program, &args, &output, environment.placement, limits)?;
        let end = Some(End::of(process.pid()));
        let found = wait_ready(&mut process, server, &listen, interrupt);
        let (addr, metrics, ready) = found
            .map_err(|error| with_last_line(error, stderr, server))
            .map_err(|error| killed(group.as_ref()).unwrap_or(error))?;
        // A gateway's metrics are none of the harness's kind, and are watched all the same.
        let watched = metrics.as_deref().or_else(|| ready.pointer("/metrics").and_then(Value::as_str));
        let listed = watched.and_then(|addr| watch::server_runs(&server.name, addr));
        let metrics = metrics.map(|addr| metrics::at(&addr));
        let target = match transport {
            Transport::Http => server.listening_at(&addr),
            Transport::WebSocket => server
                .websocket_at(&addr)
                .map_or_else(|| websocket(server, &ready, &listen), Ok)
                .map_err(|error| with_last_line(error, stderr, server))?,
            Transport::Ipc => Target::unix(values.get("ipc").context("its arguments have no {ipc}")?),
        };
        let target = target.with_access(&server.access());
        let (process, link) = (Process::Owned(process), link.cloned());
        let (_files, _listed) = (files, listed);
        Ok(Self { target, process, metrics, ready, upstream, link, group, end, _files, _listed })
    }

    /// One that runs already.
    fn running(server: &Server, at: &RunningAt, interrupt: &Interrupt) -> Result<Self> {
        let found = server.target_at(&at.url).and_then(|target| find_running(&target));
        let (target, process) = found.with_context(|| format!("server {}", server.name))?;
        if let Some(pid) = process.pid() {
            all_closed(pid, &target.socket(), interrupt)?;
        }
        let ready = serde_json::json!({ "running": at.url });
        let (metrics, upstream, link, group, _files, _listed) = (None, None, None, None, None, None);
        let end = process.pid().map(End::of);
        Ok(Self { target, process, metrics, ready, upstream, link, group, end, _files, _listed })
    }

    /// Its process id; `None` where no process of this machine is known to be it.
    pub fn pid(&self) -> Option<u32> {
        self.process.pid()
    }

    /// What its process has used of what it may have; `None` where nothing is limited.
    pub fn usage(&self) -> Option<Usage> {
        self.group.as_ref().map(Cgroup::usage)
    }

    /// How long after its start, or after it was found where it ran already, its process ended, in seconds.
    pub fn ended_after_s(&self) -> Option<f64> {
        self.end.as_ref().and_then(End::after_s)
    }

    /// How the server or its upstream ended, if one of them has.
    pub fn died(&mut self) -> Result<Option<String>> {
        // One that runs already may be gone for its parent alone to see.
        let gone = self.ended_after_s().map(|_| "its process is gone".to_owned());
        let own = self.process.died()?.or(gone);
        let Some(upstream) = &mut self.upstream else { return Ok(own) };
        Ok(own.or(upstream.died()?.map(|how| format!("its upstream: {how}"))))
    }
}

/// Why a server of a group is gone, where the kernel killed it for want of memory.
fn killed(group: Option<&Cgroup>) -> Option<anyhow::Error> {
    let usage = group?.usage();
    usage.is_out_of_memory().then(|| OutOfMemory(usage).into())
}

/// Where a server that is ready takes WebSocket connections.
fn websocket(server: &Server, ready: &Value, listen: &str) -> Result<Target> {
    let place = server.ws().context("servers.toml does not say where its ready line names a WebSocket")?;
    let lacks = || format!("its ready line has no {place}: {}", bounded(&ready.to_string()));
    let target = Target::parse(ready.pointer(place).and_then(Value::as_str).with_context(lacks)?)?;
    let is_own = matches!(&server.ready, Ready::Line(places) if places.i_own_this_target);
    check_place(&target, place, listen, is_own)?;
    Ok(target)
}

/// Refuses a place in a ready line to which nothing may be sent: one that is not on loopback, and not where the server
/// was told to listen, unless its entry says that it may.
fn check_place(target: &Target, pointer: &str, listen: &str, is_own: bool) -> Result<()> {
    let host = |addr: &str| addr.rsplit_once(':').map(|(host, _)| host.to_owned());
    if is_own || host(target.addr()) == host(listen) {
        return Ok(());
    }
    ensure!(
        target.is_loopback()?,
        "its ready line names {} ({pointer}), which is not on loopback, so nothing was sent there; it should listen \
         on {listen}, or say in servers.toml that load may be put there: ready.line.i_own_this_target = true",
        bounded(target.addr())
    );
    Ok(())
}

/// Where the standard error of a gateway's upstream goes: next to the gateway's own.
pub fn upstream_stderr(stderr: &Path) -> PathBuf {
    stderr.with_extension("upstream.stderr")
}

/// An address of this machine that nobody listens on now. Another program may take it before the server does; a server
/// with a ready line has no such gap.
fn free_address(any_port: &str) -> Result<String> {
    let listener = TcpListener::bind(any_port).with_context(|| format!("no free port at {any_port}"))?;
    Ok(listener.local_addr()?.to_string())
}

/// Where a server that is ready answers, where its metrics are, and its whole ready line.
type Found = (String, Option<String>, Value);

/// Waits until a server is ready.
fn wait_ready(process: &mut Owned, server: &Server, listen: &str, interrupt: &Interrupt) -> Result<Found> {
    if let Ready::Line(places) = &server.ready {
        return ready_line(process, places, listen, interrupt);
    }
    // What it prints is read all the time, so that it never waits for a reader.
    let _lines = FirstLine::of(process)?;
    let call = if let Ready::Call(call) = &server.ready { Some(call) } else { None };
    let within = if call.is_some() { HEALTHY_WITHIN } else { READY_WITHIN };
    let target = server.listening_at(listen);
    let mut refused = String::new();
    let found = interrupt.wait(within, || {
        if let Some(status) = process.ended()? {
            bail!("it ended before it answered: {}", describe(status));
        }
        let mut connects = || match TcpStream::connect(listen) {
            Ok(_) => true,
            Err(error) => {
                refused = format!(": {error}");
                false
            }
        };
        let is_ready = call.map_or_else(|| Ok(connects()), |call| client::says_ready(&target, call))?;
        Ok(is_ready.then_some(()))
    })?;
    found.with_context(|| match call {
        Some(ReadyCall { request, .. }) => {
            format!("it did not answer {request} on {listen} as it does when it is ready within {within:?}")
        }
        None => format!("it took no connection on {listen} within {within:?}{refused}"),
    })?;
    all_closed(process.pid(), listen, interrupt)?;
    Ok((listen.to_owned(), None, Value::Null))
}

/// Waits until a server has closed the connection that showed that it is ready, which is not to be taken for a file of
/// its own. Other clients may keep theirs.
fn all_closed(pid: u32, addr: &str, interrupt: &Interrupt) -> Result<()> {
    settle(interrupt, || connections_to(pid, addr))
}

fn ready_line(process: &mut Owned, places: &ReadyLine, listen: &str, interrupt: &Interrupt) -> Result<Found> {
    let mut first = FirstLine::of(process)?;
    let (mut closed, mut no_json) = (None, None);
    let line = interrupt.wait(READY_WITHIN, || match first.state()? {
        State::Whole(line) => Ok(Some(line)),
        // Whatever it still prints, it will be no ready line.
        State::Open if first.is_no_json() => {
            let open_for = no_json.get_or_insert_with(Instant::now).elapsed();
            ensure!(open_for <= ENDS_WITHIN, "its ready line is not JSON: {}", first.unended());
            Ok(None)
        }
        State::Open => Ok(None),
        State::Closed => {
            // A process that ends closes its output a moment before the system reports how it ended.
            let closed_for = closed.get_or_insert_with(Instant::now).elapsed();
            match process.ended()? {
                Some(status) => bail!("it ended before it was ready: {}", describe(status)),
                None if closed_for > ENDS_WITHIN => bail!("it closed its output before it was ready"),
                None => Ok(None),
            }
        }
    })?;
    let line =
        line.with_context(|| format!("it was not ready within {READY_WITHIN:?}; {}", first.unended()))?;
    let shown = bounded(&line);
    let ready: Value =
        serde_json::from_str(&line).map_err(|_| anyhow!("its ready line is not JSON: {shown:?}"))?;
    let text = |pointer: &str| -> Result<Option<String>> {
        let Some(addr) = ready.pointer(pointer).and_then(Value::as_str) else { return Ok(None) };
        check_place(&Target::http(addr), pointer, listen, places.i_own_this_target)?;
        Ok(Some(addr.to_owned()))
    };
    let addr = text(&places.addr)?;
    let addr = addr.with_context(|| format!("its ready line has no {}: {shown}", places.addr))?;
    let metrics = places.metrics.as_deref().map(text).transpose()?.flatten();
    Ok((addr, metrics, ready))
}

fn with_last_line(error: anyhow::Error, stderr: &Path, server: &Server) -> anyhow::Error {
    if error.is::<Interrupted>() {
        return error;
    }
    let said = last_line(stderr).map_or_else(String::new, |last| format!(": {last}"));
    // Too few may be why, which no framework says.
    let files = server.open_files.map_or_else(String::new, |files| format!(" (field open_files: {files})"));
    anyhow!("server {}: {error:#}{said}{files}", server.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_websocket_that_is_not_on_loopback_is_refused() {
        let server: Server = serde_json::from_value(serde_json::json!({
            "name": "a", "title": "A", "program": "a", "args": [],
            "ready": { "line": { "addr": "/addr", "ws": "/ws" } },
        }))
        .unwrap();
        let refused = |url: &str| {
            let ready = serde_json::json!({ "ws": url });
            websocket(&server, &ready, LOOPBACK).err().map(|error| error.to_string())
        };
        assert_eq!(refused("ws://127.0.0.1:1"), None);
        assert!(
            refused("ws://192.0.2.1:80").unwrap().contains("192.0.2.1:80 (/ws), which is not on loopback")
        );
    }
}
