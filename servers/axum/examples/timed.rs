//! The server as its own program starts it. Tests of the harness build it with its calls timed, and the program without.

use std::process::ExitCode;

fn main() -> ExitCode {
    server_axum::run()
}
