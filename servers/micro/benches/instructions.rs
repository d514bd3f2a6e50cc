//! How many instructions a request takes without sockets, counted by callgrind: `just check-instructions`.
//!
//! Each benchmark answers 100 requests, made beforehand, after 100 that are not counted: so neither what a framework does
//! once nor making a request is in the count, and what an allocator or a hash table does now and then weighs little.

#![allow(
    clippy::unwrap_used,
    missing_docs,
    reason = "a benchmark may fail loudly; gungraun's macros document nothing"
)]

use std::hint::black_box;
use std::sync::Arc;

use gungraun::{library_benchmark, library_benchmark_group, main};
use micro::accepted::REQUESTS;
use micro::{Call, Dispatch, Given, find, get_balance, get_blocks, serialise};
use server_kit::{InProcess, Rpc};
use validator_state::{Ledger, Params, SeededSpec, State};

/// A call, and a ledger that holds its answer. Fewer accounts than elsewhere, since each benchmark makes them under
/// valgrind; a look-up costs the same in all sizes.
fn warm_call(slots: usize) -> (Arc<State>, Call) {
    let state =
        Arc::new(State::new(Ledger::seeded(&SeededSpec { accounts: 1_000, slots: 120_000, seed: 1 })));
    let call = if slots == 0 { get_balance() } else { get_blocks(&state, slots) }.unwrap();
    (state, call)
}

/// A server that has answered before, and requests for it.
type Warm<P> = (Dispatch<P>, Vec<<P as InProcess>::Request>);

fn warm<P: InProcess>(server: impl FnOnce(&Arc<State>) -> P, slots: usize) -> Warm<P> {
    let (state, call) = warm_call(slots);
    let mut dispatch = Dispatch::new(server(&state), &state, call).unwrap();
    let requests = |dispatch: &Dispatch<P>| (0..REQUESTS).map(|_| dispatch.request()).collect::<Vec<_>>();
    for request in requests(&dispatch) {
        dispatch.answer(request);
    }
    let requests = requests(&dispatch);
    (dispatch, requests)
}

fn answered<P: InProcess>((mut dispatch, requests): Warm<P>) -> Dispatch<P> {
    for request in requests {
        black_box(dispatch.answer(request));
    }
    dispatch
}

/// The benchmarks of a server: its name, its type, how it is set up.
macro_rules! server {
    ($name:ident, $server:ty, $new:expr) => {
        #[library_benchmark]
        #[bench::get_balance(warm($new, 0))]
        #[bench::get_blocks_10(warm($new, 10))]
        #[bench::get_blocks_500(warm($new, 500))]
        #[bench::get_blocks_5000(warm($new, 5_000))]
        fn $name(warm_call: Warm<$server>) -> Dispatch<$server> {
            answered(warm_call)
        }
    };
}

server!(legacy, server_legacy::Unsocketed, |state| server_legacy::Unsocketed::new(state).unwrap());
server!(jsonrpsee, server_jsonrpsee::Unsocketed, |state| server_jsonrpsee::Unsocketed::new(state).unwrap());
server!(actix, server_actix::Unsocketed, |state| server_actix::Unsocketed::new(Rpc::Typed, state).unwrap());
server!(axum, server_axum::Unsocketed, |state| server_axum::Unsocketed::new(Rpc::Typed, state));
server!(actix_jsonrpc_core, server_actix::Unsocketed, |state| {
    server_actix::Unsocketed::new(Rpc::JsonrpcCore, state).unwrap()
});
server!(axum_jsonrpc_core, server_axum::Unsocketed, |state| {
    server_axum::Unsocketed::new(Rpc::JsonrpcCore, state)
});

/// The method alone: its parameters are made beforehand, as text or as values.
macro_rules! state {
    ($name:ident, $given:expr) => {
        #[library_benchmark]
        #[bench::get_balance(given($given, 0))]
        #[bench::get_blocks_10(given($given, 10))]
        #[bench::get_blocks_500(given($given, 500))]
        #[bench::get_blocks_5000(given($given, 5_000))]
        fn $name((state, call, params): Prepared) -> (Arc<State>, &'static Call) {
            for params in params {
                find(call, &state, params).unwrap();
            }
            (state, call)
        }
    };
}

type Prepared = (Arc<State>, &'static Call, Vec<Params<'static>>);

fn given(given: Given, slots: usize) -> Prepared {
    let (state, call) = warm_call(slots);
    // For the life of the process, since parameters borrow from it.
    let call: &'static Call = Box::leak(Box::new(call));
    (state, call, (0..REQUESTS).map(|_| call.params(given)).collect())
}

state!(state, Given::Text);
state!(state_of_values, Given::Values);

#[library_benchmark]
#[bench::get_balance(warm_call(0))]
#[bench::get_blocks_10(warm_call(10))]
#[bench::get_blocks_500(warm_call(500))]
#[bench::get_blocks_5000(warm_call(5_000))]
fn serialised((state, call): (Arc<State>, Call)) -> (Arc<State>, Call) {
    let mut out = Vec::new();
    for _ in 0..REQUESTS {
        serialise(&call, &state, call.params(Given::Text), &mut out).unwrap();
    }
    (state, call)
}

library_benchmark_group!(
    name = paths,
    benchmarks = [
        state,
        state_of_values,
        serialised,
        legacy,
        jsonrpsee,
        actix,
        axum,
        actix_jsonrpc_core,
        axum_jsonrpc_core
    ]
);
main!(library_benchmark_groups = paths);
