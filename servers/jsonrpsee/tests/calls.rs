//! `--metrics-calls`, by the framework's middleware of calls.

use server_kit::testing::sockets::Subject;

fn each() -> [Subject; 1] {
    [Subject::new(env!("CARGO_BIN_EXE_server-jsonrpsee"), &[])]
}

server_kit::test_sockets! { each:
    calls_are_timed_by_method_and_outcome assert_times_calls,
    calls_over_websocket_are_timed_as_such assert_ws_times_calls,
}
