# The verbs of this project. `just` alone lists them.

# The first build takes minutes, so cargo shows it; later ones are quiet.
bench := if path_exists("target/debug/rpc-bench") == "true" { "cargo rpc-bench" } else { "echo 'Building the harness; the first time that takes two to three minutes.' >&2 && cargo run --bin rpc-bench --" }

# CI lints as it compiles: clippy by itself would compile all crates below ours a second time. Nothing whose speed is shown is
# built by it.
lints := env("LINT_AS_IT_COMPILES", "")
cargo := if lints == "" { "cargo" } else { "cargo --config 'build.rustc-workspace-wrapper=\".ci/clippy-rustc\"'" }

# Two threads for each processor, and `test` runs two such at once: most tests wait, for a window to pass or for a server. With more,
# load tools start too late for these.
cargo_test := "RUST_TEST_THREADS=${RUST_TEST_THREADS:-$(($(nproc) * 2))} " + cargo + " test --workspace --no-fail-fast"

# The harness's tests put load on servers, and wait most of the time; the others run next to them.
tests_next_to_it := "export RUST_TEST_THREADS=${RUST_TEST_THREADS:-$(($(nproc) * 4))}; " + cargo_test + " --exclude rpc-bench --lib --bins --tests; code=$?; " + cargo_test + " --bin rpc-bench --test reports && exit $code"

_list:
    @just --list --unsorted

_build-tests:
    @{{cargo}} test --workspace --no-run

# Runs two commands at once: the first is shown as it runs, and the other behind it. Fails where either does.
_both first other:
    #!/usr/bin/env bash
    set -uo pipefail
    shown_later=$(mktemp)
    trap 'rm -f "$shown_later"' EXIT
    { {{other}}; } >"$shown_later" 2>&1 &
    {{first}}
    first=$?
    wait $!
    other=$?
    cat "$shown_later"
    exit $((first > other ? first : other))

# Run a campaign of bench-scripts/campaigns and write its report: just bench-all (quick), just bench-all threshold (--hosts POOL: from several load hosts)
[no-exit-message]
bench-all campaign="quick" *options:
    @{{bench}} run {{campaign}} {{options}}

# Open a run's report in the browser, the newest one where none is named: tabs, charts, every trial
[no-exit-message]
open *run:
    @{{bench}} open {{run}}

# Compare two runs, of two commits or two machines: just compare BEFORE AFTER; or list the ratios of every kept run: just compare --all
[no-exit-message]
compare *runs:
    @{{bench}} compare {{runs}}

# Say which functions of two servers take how many instructions of a request: just why actix legacy getBlocks (needs valgrind)
[no-exit-message]
why *question:
    @{{bench}} why {{question}}

# Measure one call to a service that runs already, of any kind: just try http://127.0.0.1:8545 --method eth_blockNumber (--params JSON, --rate N, --header 'NAME: VALUE'; --help)
[no-exit-message]
[positional-arguments]
try *call:
    @{{bench}} try "$@"

# Say what of this machine would spoil a measurement, and what to do
[no-exit-message]
doctor:
    @{{bench}} doctor

# Run every test that takes no minutes and needs no special machine; what is missing here is skipped, and said
[no-exit-message]
test: _build-tests (_both (cargo_test + " --test harness --test repository") tests_next_to_it)

# Repeat the original test with what its figures say that it ran on, then change one thing at a time, in about a quarter of an hour
[group('measure')]
[no-exit-message]
original *options:
    @{{bench}} run original {{options}}

# Compare each server with itself at another commit: just gate --base-rev REV (--server NAME: that one alone). Exit code 0, 1 or 3: nothing moved beyond 3 %, something did, inconclusive
[group('measure')]
[no-exit-message]
gate *options:
    @{{bench}} gate {{options}}

# Write the report of a run again, from its folder alone (--views FILE: by other views, without measuring again)
[group('results')]
[no-exit-message]
report run *options:
    @{{bench}} report {{run}} {{options}}

# Make finished runs small enough to keep in the repository; they can't be resumed after that
[group('results')]
[no-exit-message]
pack +runs:
    @{{bench}} pack {{runs}}

# Start one server (legacy, jsonrpsee, actix, axum, control, ...) and print a curl and a bombardier line
[group('by hand')]
[no-exit-message]
serve name *options:
    @{{bench}} serve {{name}} --workload getBalance {{options}}

# Watch runs live: starts Prometheus (and node_exporter where installed) and says where; then, elsewhere: just bench-all smoke --prometheus 127.0.0.1:0
[group('by hand')]
[no-exit-message]
watch *options:
    @{{bench}} watch {{options}}

# Find or build the pinned load tools and say where they are: bombardier and vegeta; k6 where named (about 2 minutes)
[group('by hand')]
[no-exit-message]
tools *names:
    @{{bench}} tools {{names}}

# Run the criterion micro-benchmarks: state, serialisation, parse and dispatch (report in target/criterion/report)
[group('by hand')]
[no-exit-message]
micro *options:
    cargo bench --package micro --no-default-features --bench times -- {{options}}

# Write one chain into a folder, as files and into each block store that needs no C++: just ledger DIR --slots N (--accounts N, --seed N)
[group('by hand')]
[no-exit-message]
ledger dir *options:
    @cargo run --quiet --release --package block-stores --bin ledger -- {{dir}} {{options}}

# Build the servers with RocksDB into target/rocksdb: C++ that takes minutes once, and needs libclang and a C++ compiler. One by one, as the campaign builds them
[group('by hand')]
build-rocksdb:
    cargo build --release --features rocksdb --target-dir target/rocksdb --package block-stores
    for server in legacy jsonrpsee actix axum; do cargo build --release --features rocksdb --target-dir target/rocksdb --package server-$server || exit; done

# Test the servers' other builds: with a handicap, with timed calls
[private]
test-builds:
    {{cargo_test}} --exclude rpc-bench --exclude conformance --features handicap,calls --lib --test handicap --test calls -- handicap calls

# Run the tests that put load on servers for minutes, and those that work out each kept run again
[group('develop')]
test-long: _build-tests (_both (cargo_test + " --test harness -- --ignored") (cargo_test + " --test reports --test repository --test conformance -- --ignored --skip the_stages_build --skip ajj:: --skip agave_node"))

# What CI runs: format, clippy, licences and sources of crates, the smoke campaign and whether its report is whole, tests with that run in results/, the long ones too, those of the servers' other builds, those of images where these changed, and of axum-ajj, RocksDB and the node where they are built, each micro-benchmark once, servers against themselves at the last accepted commit where their sources changed; tests say whether the pages agree with their runs
[group('develop')]
ci: check-fmt lint deny smoke test-after-a-run test-builds test-changed-images test-built-ajj test-rocksdb test-node check-bench check-moves

# Press every server as hard as the contract demands, for some seven minutes, and write the figures into results/
[group('develop')]
pressure *options:
    @cargo run --quiet --release --package conformance --bin pressure -- {{options}}

# Send generated requests to all servers for SECONDS seconds; a wrong answer is a failure
[group('develop')]
fuzz seconds *options:
    @cargo run --quiet --release --package conformance --bin fuzz -- --seconds {{seconds}} --results results {{options}}

# Test the images of containers/ without a container engine: their stages build two servers once more
[private]
test-images:
    {{cargo_test}} --test repository -- --ignored the_stages_build

# Test axum-ajj, a server of a workspace of its own, which is built first: minutes once
[private]
test-ajj:
    {{cargo}} test --workspace --test conformance ajj -- --ignored

# Test what reads RocksDB, where it is built
[private]
test-rocksdb:
    @if test -x target/rocksdb/release/ledger; then cargo test --release --features rocksdb --target-dir target/rocksdb --package block-stores && cargo test --release --features rocksdb --target-dir target/rocksdb --package server-legacy stores; else echo "SKIPPED: RocksDB's block stores are not built here; build them with just build-rocksdb"; fi

# The gateway alone takes minutes to build by itself.
[private]
test-changed-images:
    @base=$(sed -n 's/^base = "\(.*\)"/\1/p' servers/accepted-moves.toml) && if git diff --quiet "$base" -- containers/Containerfile containers/stages.sh; then echo "SKIPPED: images: neither Containerfile nor stages.sh changed since ${base%"${base#????????????}"}; test them with just test-images"; else just test-images; fi

[private]
test-built-ajj:
    @if test -x target/axum-ajj/debug/server-axum-ajj; then just test-ajj; else echo "SKIPPED: axum-ajj is not built here; build and test it with just test-ajj"; fi

# Test the node's RPC service from crates, where it is built
[private]
test-node:
    @if test -x target/agave-node/release/agave-node; then cargo test --workspace --test conformance agave_node -- --ignored; else echo "SKIPPED: the node is not built here; docs/ADD-A-SERVER.md says how"; fi

# Clippy with warnings denied
[private]
lint:
    {{cargo}} {{ if lints == "" { "clippy --workspace --all-targets -- --deny warnings" } else { "build --workspace --all-targets" } }}

# Check the crates that are built here: licences, versions, sources, and advisories where their database can be reached
[private]
[no-exit-message]
deny:
    cargo deny --version 2>/dev/null | grep --quiet --line-regexp "cargo-deny 0.20.2" || CARGO_PROFILE_DEV_DEBUG=false cargo install --debug --locked --quiet cargo-deny@0.20.2
    cargo deny check licenses bans sources
    mkdir -p target
    if timeout 30 cargo deny fetch db 2>target/advisories.log; then cargo deny check advisories; else echo "SKIPPED: advisories: the database can't be reached"; fi

# Write the blocks of README.md, docs/ and results/README.md again that show the newest kept runs (--check: change nothing)
[group('develop')]
[no-exit-message]
splice *options:
    @{{bench}} splice {{options}}

# README's two commands in their order: a user's run, for which smoke's stands, must make no test fail. It is untracked, and its name is that of
# the campaign whose newest kept run most tests read. Without vegeta the tests of open loops skip.
[private]
test-after-a-run:
    target/debug/rpc-bench tools vegeta
    @run=results/$(basename target/smoke/*-smoke -smoke)-quick; trap 'rm -rf "$run"' EXIT INT TERM; cp -r target/smoke/*-smoke "$run" && just test && just test-long

[private]
check-fmt:
    cargo fmt --all --check

# Each benchmark once, as criterion has it for tests, on the crates that the tests have: what it shows does not depend on its speed.
[private]
check-bench:
    {{cargo}} test --workspace --bench times

# Servers whose sources changed since the last accepted commit, against themselves at that one. Where it is inconclusive, as it often is on a
# busy machine, that is a warning.
[private]
check-moves:
    @{{cargo}} build --quiet --workspace --bin rpc-bench --example minimal-actix
    @target/debug/rpc-bench --results target/gate-results gate --since-accepted || { code=$?; test $code -eq 3 && echo "WARNING: the gate is inconclusive; on a quiet machine: just gate --since-accepted" || exit $code; }

# By the harness and the servers that the tests have built, with their features, for which an example is named (any): what smoke shows does not depend
# on speed, and each server by itself would have most crates below it built once more. test-images builds two of them by themselves.
[private]
smoke:
    {{cargo}} build --quiet --workspace --bins --example minimal-actix
    rm -rf target/smoke
    target/debug/rpc-bench --results target/smoke run smoke --built dev
    target/debug/rpc-bench --results target/smoke check
