//! What a method costs without any transport: `cargo bench --package validator-state`.
//!
//! Each benchmark checks its answer before it is timed.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    missing_docs,
    reason = "a benchmark may fail loudly; criterion's macros document nothing"
)]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use validator_state::{Answer, Ledger, Method, Params, SEED_ACCOUNT, SeededSpec, State};

fn get_balance(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("state/getBalance");
    for accounts in [1_000, 1_000_000] {
        let state = State::new(Ledger::seeded(&SeededSpec { accounts, ..SeededSpec::default() }));
        let params = format!(r#"["{SEED_ACCOUNT}"]"#);
        let Ok(Answer::Balance(balance)) = state.call(Method::GetBalance, Params::Raw(&params)) else {
            panic!("getBalance gave no balance");
        };
        assert!(balance.lamports > 0);
        group.bench_with_input(BenchmarkId::new("accounts", accounts), &params, |bencher, params| {
            bencher.iter(|| state.call(Method::GetBalance, black_box(Params::Raw(params))));
        });
    }
    group.finish();
}

fn get_blocks(criterion: &mut Criterion) {
    let state = State::new(Ledger::seeded(&SeededSpec { slots: 1_000_000, ..SeededSpec::default() }));
    let mut group = criterion.benchmark_group("state/getBlocks");
    for slots in [10_u64, 1_000, 100_000, 500_000] {
        let params = format!("[1000,{}]", 1_000 + slots);
        let answer = state.call(Method::GetBlocks, Params::Raw(&params)).unwrap();
        let Answer::Blocks(blocks) = &answer else { panic!("getBlocks gave no blocks") };
        let produced = blocks.len();
        assert!(produced > slots * 8 / 10 && produced == blocks.iter().count() as u64);
        group.throughput(Throughput::Elements(produced));
        let mut out = Vec::with_capacity(8 << 20);
        group.bench_with_input(BenchmarkId::new("slots", slots), &params, |bencher, params| {
            bencher.iter(|| {
                out.clear();
                let answer = state.call(Method::GetBlocks, black_box(Params::Raw(params))).unwrap();
                serde_json::to_writer(&mut out, &answer).unwrap();
                out.len()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, get_balance, get_blocks);
criterion_main!(benches);
