//! The legacy server as it is, on the version of tokio that the package's manifest requires.

use std::process::ExitCode;

fn main() -> ExitCode {
    server_legacy::run()
}
