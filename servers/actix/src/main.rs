//! The binary of the actix server; the server is the library of this package.

use std::process::ExitCode;

fn main() -> ExitCode {
    server_actix::run()
}
