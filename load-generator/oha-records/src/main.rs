//! `oha-records DATABASE`: writes the requests in a database of oha 1.16.0 as CSV to standard output, in the order of their tickets.
//!
//! It has a line of names. Times are in seconds since oha's start: when a request's ticket came, when it was sent and when its answer
//! ended. The others are its HTTP status and its bytes. It is a program of its own because SQLite's C takes most of a minute to compile,
//! and nothing else here needs it.

use std::error::Error;
use std::io::{BufWriter, Write};
use std::process::ExitCode;

use rusqlite::{Connection, OpenFlags};

/// Exit code of a call that can't be right.
const WRONG_CALL: u8 = 2;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    let (Some(database), None) = (args.next(), args.next()) else {
        return fail("give one database of oha: oha-records DATABASE", WRONG_CALL);
    };
    match write(database.as_ref(), &mut BufWriter::new(std::io::stdout().lock())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&format!("{}: {error}", database.display()), 1),
    }
}

fn write(database: &std::path::Path, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let database = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let mut query = database.prepare(
        "SELECT start_latency_correction, start, end, status, len_bytes FROM oha ORDER BY start_latency_correction, start",
    )?;
    let mut rows = query.query([])?;
    writeln!(out, "ticket_s,sent_s,ended_s,status,bytes")?;
    while let Some(row) = rows.next()? {
        let [ticket_s, sent_s, ended_s]: [f64; 3] = [row.get(0)?, row.get(1)?, row.get(2)?];
        let (status, bytes): (u16, i64) = (row.get(3)?, row.get(4)?);
        writeln!(out, "{ticket_s},{sent_s},{ended_s},{status},{bytes}")?;
    }
    Ok(out.flush()?)
}

fn fail(text: &str, code: u8) -> ExitCode {
    eprintln!("oha-records: {}", text.replace('\n', " "));
    ExitCode::from(code)
}
