//! The actix server over real sockets, with each JSON-RPC library: how requests arrive, how answers are framed, how it
//! starts and ends. The conformance crate tests what each method answers.

use server_kit::testing::sockets::Subject;
use server_kit::testing::{assert_stores_answer_alike, refusal};

fn with(rpc: &'static str) -> Subject {
    Subject::new(env!("CARGO_BIN_EXE_server-actix"), &["--rpc", rpc])
}

/// The tests of each library are tests of their own, so that they run at the same time: some wait for seconds.
macro_rules! test_each_library {
    ($($name:ident $rpc:literal),*) => { $(
        mod $name {
            fn each() -> [super::Subject; 1] {
                [super::with($rpc)]
            }

            server_kit::test_sockets!(each);
            server_kit::test_websocket!(each);
            server_kit::test_sockets! { each:
                a_slow_subscriber_is_disconnected assert_slow_subscriber_is_disconnected_once_it_reads,
            }
        }
    )* };
}

test_each_library! { typed "typed", jsonrpc_core "jsonrpc-core" }

#[test]
fn the_ready_line_names_the_library() {
    assert_eq!(with("jsonrpc-core").start(&[]).ready["rpc"], "jsonrpc-core");
    assert_eq!(Subject::new(env!("CARGO_BIN_EXE_server-actix"), &[]).start(&[]).ready["rpc"], "typed");
}

#[test]
fn calls_are_counted_not_requests() {
    with("typed").assert_counts_calls();
}

#[test]
fn what_cannot_be_is_refused() {
    let subject = with("typed");
    subject.assert_address_in_use();
    let message = refusal(&subject.program, &["--threads", "513"]);
    assert!(message.contains("--threads 513") && message.contains("512"), "{message}");
    let message = refusal(&subject.program, &["--global-queue-interval", "61"]);
    assert!(
        message.contains("--global-queue-interval 61") && message.contains("actix has no tokio"),
        "{message}"
    );
    let message = refusal(&subject.program, &["--rpc", "xml"]);
    assert!(message.contains("xml") && message.contains("jsonrpc-core"), "{message}");
}

#[test]
fn the_minimal_server_gives_the_same_answers() {
    with("typed").assert_minimal("actix", false);
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
