//! The binary of the legacy server; the server is the library of this package.

use std::process::ExitCode;

fn main() -> ExitCode {
    server_legacy::run()
}
