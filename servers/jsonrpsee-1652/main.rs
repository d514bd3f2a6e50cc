//! The jsonrpsee server as it is, on the jsonrpsee-core that the package's patch makes.

use std::process::ExitCode;

fn main() -> ExitCode {
    server_jsonrpsee::run()
}
