//! A whole run, from its options to what it prints.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::process::ExitCode;

use anyhow::{Context, Result};

use crate::options::{Options, Transport};
use crate::output::Report;
use crate::run::{Outcomes, run};
use crate::stats::write_records;

/// Exit code of a call that can't be right.
pub const WRONG_CALL: u8 = 2;

/// Puts the load on and prints what came of it: exit code 0 with results, also where requests failed; 1 where no connection
/// could be established; 2 for a wrong call. Both errors are one line on standard error.
pub fn carry_out(options: &Options) -> ExitCode {
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
    let finish = |outcomes| finish(options, transport, &methods, outcomes, records);
    match run(options, plan, bodies).and_then(finish) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&format!("{error:#}"), 1),
    }
}

fn finish(
    options: &Options,
    transport: Transport,
    methods: &[String],
    mut outcomes: Outcomes,
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

/// One line on standard error, and the exit code.
pub fn fail(text: &str, code: u8) -> ExitCode {
    eprintln!("rpc-load: {}", text.replace('\n', " "));
    ExitCode::from(code)
}
