//! One file a verb. Each gives `true` where all is well, `false` where it found something that is not; one whose answer
//! may also be open gives an [`Ending`].

pub mod agent;
pub mod browse;
pub mod check;
pub mod compare;
pub mod doctor;
pub mod gate;
pub mod pack;
pub mod record;
pub mod report;
pub mod run;
pub mod serve;
pub mod splice;
pub mod tools;
pub mod try_call;
pub mod watch;
pub mod why;

use std::fmt::Display;
use std::io::{ErrorKind, Write, stdout};
use std::path::Path;

use anyhow::{Context, Result};
use bench_core::results::{Lock, REPORT, RunFolder};
use bench_measure::interrupt::Interrupt;
use bench_measure::probe::host;

/// Prints a whole text, and with that all is well: who closes the other end has read enough.
///
/// # Errors
/// Nothing was printed, or not all: its disk is full, for example.
pub fn print(text: impl AsRef<[u8]>) -> Result<bool> {
    let mut out = stdout();
    match out.write_all(text.as_ref()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(error).context("can't write to standard output")
        }
        _ => Ok(true),
    }
}

/// Prints what a run found first, and where the rest stands.
pub fn say_found(folder: &RunFolder, headline: &str) {
    bench_core::say!("{headline}The whole report: {}", folder.0.join(REPORT).display());
}

/// Takes Ctrl-C over, and lets this process and those that it starts open as many files as they may.
pub fn prepare() -> Result<Interrupt> {
    let interrupt = Interrupt::install()?;
    host::raise_open_files();
    Ok(interrupt)
}

/// A run's folder with the right to write to it.
pub fn locked(folder: RunFolder) -> Result<(RunFolder, Lock)> {
    let lock = folder.lock()?;
    Ok((folder, lock))
}

/// The folder of a run that is resumed, where one is, with the right to write to it.
pub fn resumed(run: Option<&Path>) -> Result<Option<(RunFolder, Lock)>> {
    run.map(|run| locked(RunFolder::open_to_resume(run)?)).transpose()
}

/// A command line that does the same again, and can be pasted into a shell.
pub struct CommandLine(pub String);

impl CommandLine {
    /// Adds an option for each value, which is quoted where a shell would take it for anything but itself.
    pub fn option<T: Display>(mut self, name: &str, values: impl IntoIterator<Item = T>) -> Self {
        self.0.extend(values.into_iter().map(|value| format!(" --{name} {}", quoted(value))));
        self
    }

    /// Adds an option without a value, where it was given.
    pub fn flag(mut self, name: &str, is_given: bool) -> Self {
        self.0.extend(is_given.then(|| format!(" --{name}")));
        self
    }
}

/// An argument as a shell has to be given it. What stands in single quotes is not expanded there: the `${KEY}` of a
/// header or a URL is the harness's own to expand.
pub fn quoted(argument: impl Display) -> String {
    bench_report::shell(&[argument.to_string()])
}

/// How a verb ended that ran well by itself, by the exit code that says so.
#[derive(Clone, Copy)]
pub enum Ending {
    /// All is well.
    Well = 0,
    /// Something is not as it should be.
    Found = 1,
    /// It can't be told.
    Open = 3,
}

impl From<bool> for Ending {
    fn from(is_well: bool) -> Self {
        if is_well { Self::Well } else { Self::Found }
    }
}
