//! `rpc-load`: see the library's documentation.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;
use load_generator::options::{Options, Transport};
use load_generator::output::Report;
use load_generator::run::run;
use load_generator::stats::write_records;

/// Exit code of a call that can't be right.
const WRONG_CALL: u8 = 2;

fn main() -> ExitCode {
    let options = match Options::try_parse() {
        Ok(options) => options,
        Err(error) if !error.use_stderr() => error.exit(),
        Err(error) => {
            let text = error.to_string();
            let first = text.split("\n\n").next().unwrap_or_default();
            let words: Vec<&str> = first.trim_start_matches("error: ").split_whitespace().collect();
            return fail(&format!("{}; see --help", words.join(" ")), WRONG_CALL);
        }
    };
    let (plan, bodies) = match options.plan() {
        Ok(planned) => planned,
        Err(error) => return fail(&format!("{error:#}"), WRONG_CALL),
    };
    // Before the run, so that a wrong name does not cost its results.
    let records = match options.records.as_ref().map(File::create).transpose() {
        Ok(records) => records,
        Err(error) => return fail(&format!("--records: can't write the file: {error}"), WRONG_CALL),
    };
    let (transport, methods) = (plan.target.transport, bodies.methods().to_vec());
    let finish = |outcomes| finish(&options, transport, &methods, outcomes, records);
    match run(&options, plan, bodies).and_then(finish) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&format!("{error:#}"), 1),
    }
}

fn finish(
    options: &Options,
    transport: Transport,
    methods: &[String],
    mut outcomes: load_generator::run::Outcomes,
    records: Option<File>,
) -> Result<()> {
    if let (Some(file), Some(records)) = (records, &mut outcomes.stats.records) {
        write_records(&mut BufWriter::new(file), records).context("can't write the records")?;
    }
    let report = Report::new(options, transport, methods, &outcomes)?;
    let mut out = std::io::stdout().lock();
    if options.json {
        serde_json::to_writer(&mut out, &report)?;
        writeln!(out)?;
    } else {
        writeln!(out, "{report}")?;
    }
    Ok(())
}

fn fail(text: &str, code: u8) -> ExitCode {
    eprintln!("rpc-load: {}", text.replace('\n', " "));
    ExitCode::from(code)
}
