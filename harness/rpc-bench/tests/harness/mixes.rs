//! The shipped mixes sent to a real server over a socket: each answer is the true one.

use std::fs;
use std::sync::Arc;

use bench_core::config::ConfigDir;
use bench_core::target::Target;
use bench_measure::client::Connection;
use serde_json::Value;
use validator_state::{Ledger, SeededSpec, State};

use crate::bench::{Bench, PATIENCE, until};

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
