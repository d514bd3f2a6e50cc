//! The server-side counts that the harness compares with the load tool's own.

use server_kit::testing::sockets::HEALTH;
use server_kit::testing::{get, post};

use crate::cases::call;
use crate::servers::Server;
use crate::verdict::Verdict;

/// What is sent, how many calls of it a method answers, and how many of those with an error.
const COUNTED: [(&str, u64, u64); 4] = [
    (HEALTH, 1, 0),
    (r#"{"jsonrpc":"2.0","id":1,"method":"nope"}"#, 0, 0),
    (r#"{"jsonrpc":"2.0","id":1,"method":"getBalance","params":[]}"#, 1, 1),
    (r#"[{"jsonrpc":"2.0","id":1,"method":"getHealth"},{"jsonrpc":"2.0","id":2,"method":"nope"}]"#, 1, 0),
];

/// Sends requests and reads the counts after each, where the server has metrics.
pub fn count(server: &Server) {
    if !server.has_metrics() {
        return;
    }
    let running = server.start(&[]);
    let mut verdict = Verdict::of(server);
    for (body, answered, errors) in COUNTED {
        let before = running.totals();
        post(running.addr, body);
        let after = running.totals();
        let got = (after.answered - before.answered, after.errors - before.errors);
        let outcome = if got == (answered, errors) {
            Ok(())
        } else {
            Err(format!("counted {got:?}, not {:?}", (answered, errors)))
        };
        verdict.take(&format!("counters/{body}"), outcome);
    }
    let before = running.totals();
    get(running.addr, "/health");
    get(running.addr, "/");
    post(running.addr, &call("getBalance", &" ".repeat(60_000)));
    let outcome = if running.totals() == before { Ok(()) } else { Err("counted as calls".to_owned()) };
    verdict.take("counters/http-alone", outcome);
    verdict.close();
}
