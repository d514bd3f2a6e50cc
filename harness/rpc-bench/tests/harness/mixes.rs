//! The shipped mixes sent to a real server over a socket: each answer is the true one. A mix in an open loop: answers
//! that are right without load are checked again under load, and a server that is wrong then is found.

use std::fs;
use std::sync::Arc;

use bench_measure::client::Connection;
use bench_model::config::ConfigDir;
use bench_model::target::Target;
use serde_json::Value;
use validator_state::{Ledger, SeededSpec, State};

use crate::bench::{Bench, PATIENCE, WINDOWS, stderr, until};

#[test]
fn a_real_server_answers_every_mix_with_the_truth() {
    let Some(bench) = Bench::new(1) else { return };
    let server = bench.start(&["serve", "actix", "--listen", "127.0.0.1:0"]);
    let addr = until("the server is ready", || {
        let log = fs::read_to_string(bench.path("log")).unwrap();
        let mut lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let ready = lines.find(|line| line["ready"] == true)?;
        ready["addr"].as_str().map(str::to_owned)
    });
    let ledger = SeededSpec::default();
    let state = State::new(Ledger::seeded(&ledger));
    let shipped = ConfigDir::of_repository();
    let mut connection = Connection::new(&Target::http(&addr), PATIENCE).unwrap();
    for name in ["wallet", "explorer", "everything"] {
        let requests = Arc::new(shipped.workload(name).unwrap().requests(&ledger).unwrap());
        for request in requests.stream(3).take(400) {
            let answer = connection.request(&request.body).unwrap();
            assert_eq!(answer.json().as_ref(), request.truth(&state).unwrap().answer(), "{}", request.body);
        }
    }
    server.signal(libc::SIGTERM);
    assert_eq!(server.exit_code(), Some(0));
}

/// A bench that can put an open loop on; without vegeta the test says so and ends, except in CI, where that is a
/// failure.
fn with_vegeta() -> Option<Bench> {
    Bench::new(1).filter(Bench::link_vegeta)
}

/// Runs one block of a mix at a rate, and gives the exit code.
fn run_mix(bench: &Bench) -> Option<i32> {
    let mix = "why = \"a test\"\n[[request]]\nweight = 3\nmethod = \"getBalance\"\naccount = { zipf = 1.0 }\n\
               [[request]]\nweight = 1\nmethod = \"getBlocks\"\nblocks = { slots = 9, from = \"random\" }\n";
    bench.write("workloads/mix.toml", mix);
    bench.replace("campaigns/tiny.toml", "[\"getBalance\"]", "[\"mix\"]");
    bench.replace("campaigns/tiny.toml", "connections = [3]", "connections = []");
    // Long enough for answers to be checked under load, some of them after the server begins to lie.
    bench.replace("campaigns/tiny.toml", WINDOWS, "warmup_ms = 1000\nwindow_ms = 1000\ntimeout_ms = 1000");
    bench.replace(
        "campaigns/tiny.toml",
        "[environment]",
        "[open]\nrates = [100]\nconnections = 8\ntools = [\"vegeta\"]\n[environment]",
    );
    let output = bench.run(&["run", "tiny"]);
    bench.nothing_is_left_running();
    assert!(bench.folder().join("report.md").is_file(), "{}", stderr(&output));
    output.status.code()
}

#[test]
fn a_mix_at_a_rate_is_checked_under_load() {
    let Some(bench) = with_vegeta() else { return };
    assert_eq!(run_mix(&bench), Some(0));
    assert_eq!(bench.outcomes(), ["completed", "completed"]);
    for observation in bench.observations() {
        let count = |pointer: &str| observation["outcome"].pointer(pointer).and_then(Value::as_u64).unwrap();
        assert!(count("/checked/asked") > 0, "{observation}");
        assert_eq!((count("/checked/wrong"), count("/checked/unanswered")), (0, 0), "{observation}");
        // The server counts the load's requests and the harness's own, and no more.
        assert_eq!(
            count("/server_requests"),
            count("/load/succeeded") + count("/checked/asked"),
            "{observation}"
        );
    }
    let report = bench.report();
    assert!(report.contains("exponent 1 (75 %), getBlocks of 9 slots anywhere (25 %)"), "{report}");
    assert!(report.contains("compared with the true one: all were right.\n"), "{report}");
}
