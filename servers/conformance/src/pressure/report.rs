//! Writes the results: `summary.json` for programs, `report.md` for people.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::Serialize;

use super::{Check, Plan};

#[derive(Serialize)]
struct Summary<'a> {
    started_at: &'a str,
    cores: usize,
    plan: &'a Plan,
    passed: bool,
    servers: Vec<Server<'a>>,
}

#[derive(Serialize)]
struct Server<'a> {
    server: &'a str,
    passed: bool,
    checks: &'a [Check],
}

/// Writes both files into a new folder of `results`, named after the start, and gives the folder.
///
/// # Errors
/// A file can't be written.
pub fn write(
    results: &Path,
    started_at: &str,
    plan: &Plan,
    found: &[(&str, Vec<Check>)],
) -> io::Result<PathBuf> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let servers: Vec<Server<'_>> = found
        .iter()
        .map(|(server, checks)| Server { server, passed: checks.iter().all(Check::passed), checks })
        .collect();
    let passed = servers.iter().all(|server| server.passed);
    let summary = Summary { started_at, cores, plan, passed, servers };
    let dir = results.join(format!("{started_at}-pressure"));
    fs::create_dir_all(&dir)?;
    fs::write(dir.join("summary.json"), serde_json::to_string_pretty(&summary)? + "\n")?;
    fs::write(dir.join("report.md"), text(&summary))?;
    Ok(dir)
}

fn text(summary: &Summary<'_>) -> String {
    let verdict = |passed| if passed { "pass" } else { "**FAIL**" };
    let mut text = format!(
        "# Under pressure, {}\n\nEach check starts a server process of its own; servers and clients share {} cores. \
         Written by `just pressure`.\n\n",
        summary.started_at, summary.cores
    );
    let names = summary.servers.iter().map(|server| server.server);
    // Writing to a string can't fail.
    let _infallible = writeln!(text, "| check | {} |", names.collect::<Vec<_>>().join(" | "));
    let _infallible = writeln!(text, "|---|{}", "---|".repeat(summary.servers.len()));
    let checks = summary.servers.first().map_or(&[][..], |server| server.checks);
    for (index, check) in checks.iter().enumerate() {
        let verdicts = summary.servers.iter().map(|server| verdict(server.checks[index].passed()));
        let _infallible = writeln!(text, "| {} | {} |", check.name, verdicts.collect::<Vec<_>>().join(" | "));
    }
    for (index, check) in checks.iter().enumerate() {
        let _infallible = write!(text, "\n## {}\n\nBound: {}.\n\n", check.name, check.bound);
        let names = summary.servers.iter().map(|server| server.server);
        let _infallible = writeln!(text, "| | {} |", names.collect::<Vec<_>>().join(" | "));
        let _infallible = writeln!(text, "|---|{}", "---:|".repeat(summary.servers.len()));
        let columns: Vec<&Check> = summary.servers.iter().map(|server| &server.checks[index]).collect();
        for figure in &check.figures {
            let cell = |check: &&Check| {
                let found = check.figures.iter().find(|other| other.name == figure.name);
                found.map_or("-".to_owned(), |found| format!("{} {}", found.value, found.unit))
            };
            let cells: Vec<String> = columns.iter().map(|check| cell(check).trim().to_owned()).collect();
            let _infallible = writeln!(text, "| {} | {} |", figure.name, cells.join(" | "));
        }
        let verdicts: Vec<&str> = columns.iter().map(|check| verdict(check.passed())).collect();
        let _infallible = writeln!(text, "| verdict | {} |", verdicts.join(" | "));
        for (server, check) in summary.servers.iter().zip(columns) {
            for failure in &check.failures {
                let _infallible = writeln!(text, "\n{}: {failure}", server.server);
            }
        }
    }
    text
}
