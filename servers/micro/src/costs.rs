//! The three rungs, and what a request costs on each.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use serde::Serialize;
use server_kit::{InProcess, Rpc};
use validator_state::{Answer, Params, State};

use crate::call::{Call, Given};

/// Requests that are made at once, before they are answered and timed: as many as actix-web keeps the heads of. Reading the
/// clocks costs them about a hundredth of what the cheapest of them costs.
const CHUNK: u64 = 128;

/// A server that can be called without sockets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Server {
    /// jsonrpc-core and jsonrpc-http-server
    Legacy,
    /// tokio and jsonrpsee
    Jsonrpsee,
    /// actix-web and hand-written JSON-RPC
    Actix,
    /// axum and hand-written JSON-RPC
    Axum,
    /// actix-web and jsonrpc-core
    ActixJsonrpcCore,
    /// axum and jsonrpc-core
    AxumJsonrpcCore,
}

impl Server {
    /// How it hands parameters to the method.
    pub const fn given(self) -> Given {
        match self {
            Self::Legacy | Self::ActixJsonrpcCore | Self::AxumJsonrpcCore => Given::Values,
            Self::Jsonrpsee | Self::Actix | Self::Axum => Given::Text,
        }
    }
}

/// How far a request goes; each holds what is below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Rung {
    /// The answer is found
    State,
    /// The answer is found and written as JSON text once
    Serialise,
    /// All that a server does between reading HTTP and writing it
    Dispatch,
}

/// Finds an answer, as no server can do without. The parameters are read; nothing is written.
///
/// # Errors
/// The state answers with an error.
pub fn find(call: &Call, state: &State, params: Params<'_>) -> Result<u64> {
    Ok(match call.ask_with(state, params)? {
        Answer::Blocks(blocks) => black_box(blocks).len() as u64,
        answer => {
            black_box(answer);
            1
        }
    })
}

/// Finds an answer and writes it as JSON text, with room for it made before.
///
/// # Errors
/// The state answers with an error.
pub fn serialise(call: &Call, state: &State, params: Params<'_>, out: &mut Vec<u8>) -> Result<u64> {
    out.clear();
    serde_json::to_writer(&mut *out, &call.ask_with(state, params)?).context("write the answer")?;
    Ok(black_box(&*out).len() as u64)
}

/// A server without its sockets, and the call that it answers.
pub struct Dispatch<P: InProcess> {
    server: P,
    call: Call,
    /// Bytes of the true answer.
    answer_bytes: u64,
}

impl<P: InProcess> Dispatch<P> {
    /// Calls once, and compares the answer with the state's.
    ///
    /// # Errors
    /// The answer is not the state's.
    pub fn new(mut server: P, state: &State, call: Call) -> Result<Self> {
        let request = server.request(call.body());
        let answer = server.answer(request).context("the server gave no answer with status 200")?;
        call.check(state, answer.as_ref())?;
        Ok(Self { answer_bytes: answer.as_ref().len() as u64, server, call })
    }

    /// A request of the framework's own type.
    pub fn request(&self) -> P::Request {
        self.server.request(self.call.body())
    }

    /// Answers a request, and gives the length of the answer; 0 where there is none.
    pub fn answer(&mut self, request: P::Request) -> u64 {
        self.server.answer(request).map_or(0, |answer| black_box(answer.as_ref()).len() as u64)
    }

    /// The cost of a number of requests.
    fn cost(&mut self, requests: u64) -> Result<Cost> {
        let (server, call) = (&mut self.server, &self.call);
        let mut made = Vec::with_capacity(CHUNK as usize);
        measure(requests, self.answer_bytes, |chunk, stopwatch| {
            made.extend((0..chunk).map(|_| server.request(call.body())));
            stopwatch.time(|| {
                made.drain(..)
                    .map(|request| server.answer(request).map_or(0, |answer| answer.as_ref().len() as u64))
                    .sum()
            })
        })
    }
}

/// What a server's requests cost on a rung, `repeats` times, after a tenth as many that nobody measures.
///
/// # Errors
/// The server can't be set up, an answer is not the state's, or a clock can't be read.
pub fn cost_of(
    server: Server,
    rung: Rung,
    state: &Arc<State>,
    call: &Call,
    requests: u64,
    repeats: u32,
) -> Result<Vec<Cost>> {
    fn dispatch<'a, P: InProcess + 'a>(server: P, state: &State, call: &Call) -> Result<Measure<'a>> {
        let mut dispatch = Dispatch::new(server, state, call.clone())?;
        Ok(Box::new(move |requests| dispatch.cost(requests)))
    }
    let given = server.given();
    let mut cost = match (rung, server) {
        (Rung::State, _) => steady(call, given, |params| find(call, state, params)),
        (Rung::Serialise, _) => {
            let mut out = Vec::new();
            steady(call, given, move |params| serialise(call, state, params, &mut out))
        }
        (Rung::Dispatch, Server::Legacy) => dispatch(server_legacy::Unsocketed::new(state)?, state, call)?,
        (Rung::Dispatch, Server::Jsonrpsee) => {
            dispatch(server_jsonrpsee::Unsocketed::new(state)?, state, call)?
        }
        (Rung::Dispatch, Server::Actix | Server::ActixJsonrpcCore) => {
            dispatch(server_actix::Unsocketed::new(rpc(given), state)?, state, call)?
        }
        (Rung::Dispatch, Server::Axum | Server::AxumJsonrpcCore) => {
            dispatch(server_axum::Unsocketed::new(rpc(given), state), state, call)?
        }
    };
    cost(requests.div_ceil(10))?;
    (0..repeats).map(|_| cost(requests)).collect()
}

/// Measures a number of requests.
type Measure<'a> = Box<dyn FnMut(u64) -> Result<Cost> + 'a>;

/// The JSON-RPC library that hands parameters over like this.
const fn rpc(given: Given) -> Rpc {
    match given {
        Given::Text => Rpc::Typed,
        Given::Values => Rpc::JsonrpcCore,
    }
}

/// What calls of `work` cost, each of which gives what the first gave. Their parameters are made before they are timed.
fn steady<'a>(
    call: &'a Call,
    given: Given,
    mut work: impl FnMut(Params<'a>) -> Result<u64> + 'a,
) -> Measure<'a> {
    Box::new(move |requests| {
        let each = work(call.params(given))?;
        let mut made = Vec::with_capacity(CHUNK as usize);
        measure(requests, each, |chunk, stopwatch| {
            made.extend((0..chunk).map(|_| call.params(given)));
            stopwatch.time(|| made.drain(..).map(|params| work(params).unwrap_or(0)).sum())
        })
    })
}

/// What a number of requests cost, all together.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cost {
    /// How many there were.
    pub requests: u64,
    /// CPU time of the thread, user and system.
    pub cpu_ns: u64,
    /// Time by the clock.
    pub wall_ns: u64,
    /// Calls of the allocator, and requested bytes: in a build that counts them.
    pub allocations: Option<(u64, u64)>,
}

/// Times chunks of requests, until all are answered; `chunk` makes some and answers them under the stopwatch. Each must
/// give as much as the one that was compared with the true answer.
fn measure(
    requests: u64,
    each: u64,
    mut chunk: impl FnMut(u64, &mut Stopwatch) -> Result<u64>,
) -> Result<Cost> {
    let mut stopwatch = Stopwatch::default();
    let mut left = requests;
    while left > 0 {
        let now = left.min(CHUNK);
        let given = chunk(now, &mut stopwatch)?;
        ensure!(given == each * now, "an answer is shorter or longer than the one that was checked");
        left -= now;
    }
    Ok(Cost { requests, ..stopwatch.0 })
}

/// Sums up what is done between its clicks.
#[derive(Default)]
struct Stopwatch(Cost);

impl Stopwatch {
    fn time(&mut self, work: impl FnOnce() -> u64) -> Result<u64> {
        let (wall, allocated, cpu_ns) = (Instant::now(), allocations(), thread_cpu_ns()?);
        let done = work();
        let cpu_ns = thread_cpu_ns()?.saturating_sub(cpu_ns);
        let allocated_now = allocations();
        self.0.wall_ns += u64::try_from(wall.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.0.cpu_ns += cpu_ns;
        if let (Some(now), Some(before)) = (allocated_now, allocated) {
            let sum = self.0.allocations.get_or_insert_default();
            *sum = (sum.0 + now.0 - before.0, sum.1 + now.1 - before.1);
        }
        Ok(done)
    }
}

#[cfg(feature = "count-allocations")]
fn allocations() -> Option<(u64, u64)> {
    let server_kit::Allocations { count, bytes } = server_kit::allocations();
    Some((count, bytes))
}

#[cfg(not(feature = "count-allocations"))]
fn allocations() -> Option<(u64, u64)> {
    None
}

/// CPU time of the calling thread, user and system.
fn thread_cpu_ns() -> Result<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a local that outlives the call.
    let read = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    ensure!(read == 0, "the thread's CPU clock can't be read: {}", std::io::Error::last_os_error());
    Ok(time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs())
}
