//! The legacy server as it is, on the version of tokio that the package beside this file asks for.

use std::process::ExitCode;

fn main() -> ExitCode {
    server_legacy::run()
}
