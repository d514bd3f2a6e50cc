//! The binary of the jsonrpsee server; the server is the library of this package.

use std::process::ExitCode;

fn main() -> ExitCode {
    server_jsonrpsee::run()
}
