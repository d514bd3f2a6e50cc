//! The binary of the axum server; the server is the library of this package.

use std::process::ExitCode;

fn main() -> ExitCode {
    server_axum::run()
}
