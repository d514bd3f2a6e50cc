//! `--metrics-calls`, with each JSON-RPC library.

use server_kit::testing::sockets::Subject;

fn each() -> [Subject; 2] {
    ["typed", "jsonrpc-core"].map(|rpc| Subject::new(env!("CARGO_BIN_EXE_server-axum"), &["--rpc", rpc]))
}

server_kit::test_sockets! { each:
    calls_are_timed_by_method_and_outcome assert_times_calls,
    calls_over_websocket_are_timed_as_such assert_ws_times_calls,
}
