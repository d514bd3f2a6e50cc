//! How many instructions a request takes without sockets, counted by callgrind: `just check-instructions`.
//!
//! Each benchmark answers ten requests, made beforehand, after ten that are not counted: so neither what a framework does
//! once nor making a request is in the count.

#![allow(
    clippy::unwrap_used,
    missing_docs,
    reason = "a benchmark may fail loudly; gungraun's macros document nothing"
)]

use std::hint::black_box;
use std::sync::Arc;

use gungraun::{library_benchmark, library_benchmark_group, main};
use micro::accepted::REQUESTS;
use micro::{Call, Dispatch, find, get_balance, get_blocks, serialise};
use server_kit::InProcess;
use validator_state::{Ledger, SeededSpec, State};

/// A call, and a ledger that holds its answer. Fewer accounts than elsewhere, since each benchmark makes them under
/// valgrind; a look-up costs the same in all sizes.
fn asked(slots: usize) -> (Arc<State>, Call) {
    let state =
        Arc::new(State::new(Ledger::seeded(&SeededSpec { accounts: 1_000, slots: 120_000, seed: 1 })));
    let call = if slots == 0 { get_balance() } else { get_blocks(&state, slots) }.unwrap();
    (state, call)
}

/// A server that has answered before, and requests for it.
type Warm<P> = (Dispatch<P>, Vec<<P as InProcess>::Request>);

fn warm<P: InProcess>(slots: usize) -> Warm<P> {
    let (state, call) = asked(slots);
    let mut dispatch = Dispatch::<P>::new(&state, call).unwrap();
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

#[library_benchmark]
#[bench::get_balance(warm(0))]
#[bench::get_blocks_10(warm(10))]
#[bench::get_blocks_500(warm(500))]
#[bench::get_blocks_5000(warm(5_000))]
#[bench::get_blocks_100000(warm(100_000))]
fn legacy(asked: Warm<server_legacy::Unsocketed>) -> Dispatch<server_legacy::Unsocketed> {
    answered(asked)
}

#[library_benchmark]
#[bench::get_balance(warm(0))]
#[bench::get_blocks_10(warm(10))]
#[bench::get_blocks_500(warm(500))]
#[bench::get_blocks_5000(warm(5_000))]
#[bench::get_blocks_100000(warm(100_000))]
fn jsonrpsee(asked: Warm<server_jsonrpsee::Unsocketed>) -> Dispatch<server_jsonrpsee::Unsocketed> {
    answered(asked)
}

#[library_benchmark]
#[bench::get_balance(warm(0))]
#[bench::get_blocks_10(warm(10))]
#[bench::get_blocks_500(warm(500))]
#[bench::get_blocks_5000(warm(5_000))]
#[bench::get_blocks_100000(warm(100_000))]
fn actix(asked: Warm<server_actix::Unsocketed>) -> Dispatch<server_actix::Unsocketed> {
    answered(asked)
}

#[library_benchmark]
#[bench::get_balance(asked(0))]
#[bench::get_blocks_10(asked(10))]
#[bench::get_blocks_500(asked(500))]
#[bench::get_blocks_5000(asked(5_000))]
#[bench::get_blocks_100000(asked(100_000))]
fn state((state, call): (Arc<State>, Call)) -> (Arc<State>, Call) {
    for _ in 0..REQUESTS {
        find(&call, &state).unwrap();
    }
    (state, call)
}

#[library_benchmark]
#[bench::get_balance(asked(0))]
#[bench::get_blocks_10(asked(10))]
#[bench::get_blocks_500(asked(500))]
#[bench::get_blocks_5000(asked(5_000))]
#[bench::get_blocks_100000(asked(100_000))]
fn serialised((state, call): (Arc<State>, Call)) -> (Arc<State>, Call) {
    let mut out = Vec::new();
    for _ in 0..REQUESTS {
        serialise(&call, &state, &mut out).unwrap();
    }
    (state, call)
}

library_benchmark_group!(name = paths, benchmarks = [state, serialised, legacy, jsonrpsee, actix]);
main!(library_benchmark_groups = paths);
