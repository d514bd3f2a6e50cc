//! What a request costs without sockets, in time: `just micro`, and then `target/criterion/report/index.html`.
//!
//! A group is a question, its lines are the servers or the ways, its axis is slots. Each answer is compared with the state's
//! before anything is timed. Making a request of the framework's own type, which is HTTP's work, is not timed.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    missing_docs,
    reason = "a benchmark may fail loudly; criterion's macros document nothing"
)]

use std::sync::Arc;

use criterion::measurement::WallTime;
use criterion::{
    BatchSize, BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main,
};
use micro::{BLOCKS_SLOTS, Call, Dispatch, Given, find, get_balance, get_blocks, serialise};
use server_kit::{InProcess, Rpc};
use validator_state::{Ledger, SeededSpec, State};

/// Long enough for the longest answer.
fn state() -> Arc<State> {
    Arc::new(State::new(Ledger::seeded(&SeededSpec { slots: 120_000, ..SeededSpec::default() })))
}

fn state_alone(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("1 state alone, getBalance by accounts");
    let call = get_balance().unwrap();
    for accounts in [1_000, 100_000, 1_000_000] {
        let state = State::new(Ledger::seeded(&SeededSpec { accounts, ..SeededSpec::default() }));
        assert_eq!(find(&call, &state, call.params(Given::Text)).unwrap(), 1);
        group.bench_function(BenchmarkId::new("state", accounts), |bencher| {
            bencher.iter(|| find(&call, &state, call.params(Given::Text)));
        });
    }
    group.finish();
    let state = state();
    let mut group = criterion.benchmark_group("1 state alone, getBlocks by slots");
    for slots in BLOCKS_SLOTS {
        let call = get_blocks(&state, slots).unwrap();
        assert_eq!(find(&call, &state, call.params(Given::Text)).unwrap(), slots as u64);
        group.throughput(Throughput::Elements(slots as u64));
        group.bench_function(BenchmarkId::new("state", slots), |bencher| {
            bencher.iter(|| find(&call, &state, call.params(Given::Text)));
        });
    }
    group.finish();
}

/// The two ways of the frameworks: text at once, or a tree of values of which text is made.
fn serialisation(criterion: &mut Criterion) {
    let state = state();
    let mut group = criterion.benchmark_group("2 serialisation of getBlocks by slots");
    for slots in BLOCKS_SLOTS {
        let call = get_blocks(&state, slots).unwrap();
        let truth = serde_json::to_string(&call.ask(&state).unwrap()).unwrap();
        let tree = || serde_json::to_value(call.ask(&state).unwrap()).unwrap().to_string();
        let mut out = Vec::new();
        serialise(&call, &state, call.params(Given::Text), &mut out).unwrap();
        assert!(out == truth.as_bytes() && tree() == truth && truth.matches(',').count() == slots - 1);
        group.throughput(Throughput::Elements(slots as u64));
        group.bench_function(BenchmarkId::new("text", slots), |bencher| {
            bencher.iter(|| serialise(&call, &state, call.params(Given::Text), &mut out));
        });
        group.bench_function(BenchmarkId::new("tree of values, then text", slots), |bencher| {
            bencher.iter(tree);
        });
    }
    group.finish();
}

fn parse_and_dispatch(criterion: &mut Criterion) {
    let state = state();
    let mut group = criterion.benchmark_group("3 parse and dispatch, getBalance");
    every_server(&mut group, "", &state, &get_balance().unwrap());
    group.finish();
    let mut group = criterion.benchmark_group("3 parse and dispatch, getBlocks by slots");
    for slots in BLOCKS_SLOTS {
        group.throughput(Throughput::Elements(slots as u64));
        every_server(&mut group, &slots.to_string(), &state, &get_blocks(&state, slots).unwrap());
    }
    group.finish();
}

fn every_server(group: &mut BenchmarkGroup<'_, WallTime>, at: &str, state: &Arc<State>, call: &Call) {
    let mut add = Servers { group, at, state, call };
    add.dispatch("legacy", server_legacy::Unsocketed::new(state).unwrap());
    add.dispatch("jsonrpsee", server_jsonrpsee::Unsocketed::new(state).unwrap());
    for (rpc, suffix) in [(Rpc::Typed, ""), (Rpc::JsonrpcCore, "-jsonrpc-core")] {
        add.dispatch(&format!("actix{suffix}"), server_actix::Unsocketed::new(rpc, state).unwrap());
        add.dispatch(&format!("axum{suffix}"), server_axum::Unsocketed::new(rpc, state));
    }
}

/// What the servers of one group have in common.
struct Servers<'a, 'b> {
    group: &'a mut BenchmarkGroup<'b, WallTime>,
    at: &'a str,
    state: &'a State,
    call: &'a Call,
}

impl Servers<'_, '_> {
    fn dispatch<P: InProcess>(&mut self, name: &str, server: P) {
        // Compares an answer with the state's.
        let dispatch = std::cell::RefCell::new(Dispatch::new(server, self.state, self.call.clone()).unwrap());
        let id = match self.at {
            "" => BenchmarkId::from_parameter(name),
            at => BenchmarkId::new(name, at),
        };
        self.group.bench_function(id, |bencher| {
            bencher.iter_batched(
                || dispatch.borrow().request(),
                |request| dispatch.borrow_mut().answer(request),
                BatchSize::SmallInput,
            );
        });
    }
}

criterion_group!(benches, state_alone, serialisation, parse_and_dispatch);
criterion_main!(benches);
