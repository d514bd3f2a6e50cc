//! The axum server over real sockets, with each JSON-RPC library: how requests arrive, how answers are framed, how it
//! starts and ends. What each method answers is the conformance crate's.

use server_kit::testing::sockets::{HEALTH, Subject};
use server_kit::testing::{assert_stores_answer_alike, example, post, refusal};

fn with(rpc: &'static str) -> Subject {
    Subject::new(env!("CARGO_BIN_EXE_server-axum"), &["--rpc", rpc])
}

fn each() -> [Subject; 2] {
    ["typed", "jsonrpc-core"].map(with)
}

#[test]
fn both_requests_of_the_original_test_are_answered() {
    each().iter().for_each(Subject::assert_original_requests);
}

#[test]
fn the_largest_answer_arrives_whole() {
    each().iter().for_each(Subject::assert_largest_answer);
}

#[test]
fn requests_may_arrive_in_any_pieces() {
    each().iter().for_each(Subject::assert_any_pieces);
}

#[test]
fn http_says_what_is_no_call() {
    each().iter().for_each(Subject::assert_http_statuses);
}

#[test]
fn the_largest_body_is_taken_and_one_byte_more_is_not() {
    each().iter().for_each(Subject::assert_body_limit);
}

#[test]
fn a_moving_chain_is_seen() {
    each().iter().for_each(Subject::assert_moving_chain);
}

#[test]
fn sigterm_ends_it_under_an_idle_connection() {
    each().iter().for_each(Subject::assert_ends_when_idle);
}

#[test]
fn the_ready_line_names_the_library() {
    assert_eq!(with("jsonrpc-core").start(&[]).ready["rpc"], "jsonrpc-core");
    assert_eq!(Subject::new(env!("CARGO_BIN_EXE_server-axum"), &[]).start(&[]).ready["rpc"], "typed");
}

#[test]
fn the_minimal_server_gives_the_same_answers() {
    let minimal = Subject { program: example("minimal-axum"), args: Vec::new() };
    assert_eq!(minimal.original_answers(), with("typed").original_answers());
    let minimal = minimal.start(&[]);
    assert_eq!(minimal.ready["server"], "axum-minimal");
    post(minimal.addr, r#"{"jsonrpc":"2.0","id":1,"method":"getBlocks","params":[0]}"#);
    assert_eq!(minimal.totals().answered, 1);
}

#[test]
fn calls_are_counted_not_requests() {
    let server = with("typed").start(&["--threads", "2"]);
    post(server.addr, HEALTH);
    post(server.addr, &format!("[{HEALTH},{{}},{HEALTH}]"));
    assert_eq!(post(server.addr, r#"{"jsonrpc":"2.0","method":"getHealth"}"#).body, "");
    assert_eq!(post(server.addr, "{").json()["error"]["code"], -32_700);
    assert_eq!((server.totals().answered, server.totals().errors), (3, 0));
}

#[test]
fn the_ready_line_has_the_interval_and_the_simulated_walk() {
    let server = with("typed").start(&["--global-queue-interval", "61", "--walk-ns-per-slot", "129"]);
    let setting = |name: &str| server.ready[name].clone();
    assert_eq!([setting("global_queue_interval"), setting("simulated_walk_ns_per_slot")], [61, 129]);
    assert_eq!(post(server.addr, HEALTH).json()["result"], "ok");
}

#[test]
fn what_cannot_be_is_refused() {
    let subject = with("typed");
    subject.assert_address_in_use();
    let message = refusal(&subject.program, &["--rpc", "xml"]);
    assert!(message.contains("xml") && message.contains("jsonrpc-core"), "{message}");
}

#[test]
fn both_libraries_give_the_same_answers() {
    assert_eq!(with("jsonrpc-core").original_answers(), with("typed").original_answers());
}

#[test]
fn stores_and_threads_change_no_answer() {
    for rpc in ["typed", "jsonrpc-core"] {
        assert_stores_answer_alike(&with(rpc).program, &["--rpc", rpc], env!("CARGO_TARGET_TMPDIR"));
    }
}
