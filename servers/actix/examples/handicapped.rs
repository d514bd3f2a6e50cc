//! The server as its own program starts it, built with the handicap beside the build without, for the tests of the harness.

use std::process::ExitCode;

fn main() -> ExitCode {
    server_actix::run()
}
