//! The server as its own program starts it. Tests of the harness build it with the handicap, and the program without.

use std::process::ExitCode;

fn main() -> ExitCode {
    server_actix::run()
}
