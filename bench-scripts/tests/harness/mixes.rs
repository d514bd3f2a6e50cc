//! The shipped mixes asked of a real server over a socket: each answer is the true one.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use rpc_bench::config::ConfigDir;
use rpc_bench::http::Connection;
use serde_json::Value;
use validator_state::{Ledger, SeededSpec, State};

use crate::bench::{Bench, PATIENCE, until};

#[test]
fn a_real_server_answers_every_mix_with_the_truth() {
    let Some(bench) = Bench::new(1) else { return };
    let server = bench.start(&["serve", "actix", "--listen", "127.0.0.1:0"]);
    let addr = until("the server is ready", || {
        let log = fs::read_to_string(bench.path("log")).unwrap();
        let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let ready = lines.filter(|line| line["ready"] == true).next()?;
        ready["addr"].as_str().map(str::to_owned)
    });
    let ledger = SeededSpec::default();
    let state = State::new(Ledger::seeded(&ledger));
    let shipped = ConfigDir(Path::new(env!("CARGO_MANIFEST_DIR")).to_owned());
    let connection = Connection::new(&addr, PATIENCE);
    for name in ["wallet", "explorer", "everything"] {
        let questions = Arc::new(shipped.workload(name).unwrap().questions(&ledger).unwrap());
        for question in questions.stream(3).take(400) {
            let (status, text) = connection.ask(&question.body).unwrap();
            let answer: Value = serde_json::from_str(&text).unwrap();
            assert_eq!((status, answer), (200, question.truth(&state).unwrap()), "{}", question.body);
        }
    }
    server.signal(libc::SIGTERM);
    assert_eq!(server.exit_code(), Some(0));
}
