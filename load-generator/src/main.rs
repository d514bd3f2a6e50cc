//! `rpc-load`: see the library's documentation. `rpc-bench load` is the same.

use std::process::ExitCode;

use clap::Parser;
use load_generator::cli::{WRONG_CALL, carry_out, fail};
use load_generator::options::Options;

fn main() -> ExitCode {
    match Options::try_parse() {
        Ok(options) => carry_out(&options),
        Err(error) if !error.use_stderr() => error.exit(),
        Err(error) => {
            let text = error.to_string();
            let first = text.split("\n\n").next().unwrap_or_default();
            let words: Vec<&str> = first.trim_start_matches("error: ").split_whitespace().collect();
            fail(&format!("{}; see --help", words.join(" ")), WRONG_CALL)
        }
    }
}
