//! What a run that a person ended is known by.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use anyhow::Result;

/// The run was ended by a signal.
#[derive(Debug)]
pub struct Interrupted;

impl std::fmt::Display for Interrupted {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("interrupted")
    }
}

impl std::error::Error for Interrupted {}

/// What is recorded of a part of a run: its value, or what `failed` makes of its error, on one line. Only an interrupt
/// stays an error, because it ends the run.
///
/// # Errors
/// [`Interrupted`].
pub fn recorded<T>(part: Result<T>, failed: impl FnOnce(String) -> T) -> Result<T> {
    match part {
        Err(error) if !error.is::<Interrupted>() => Ok(failed(format!("{error:#}").replace('\n', " "))),
        part => part,
    }
}

/// Whether a program of the same terminal was ended by what would end the harness: Ctrl-C goes to both.
///
/// # Errors
/// It was: [`Interrupted`].
pub fn check_ended_by_itself(status: ExitStatus) -> Result<()> {
    match status.signal() {
        Some(libc::SIGINT | libc::SIGTERM | libc::SIGHUP) => Err(Interrupted.into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_interrupt_ends_the_run() {
        assert_eq!(recorded(Ok("value".to_owned()), |reason| reason).unwrap(), "value");
        let failed = anyhow::anyhow!("two\nlines").context("a part");
        assert_eq!(recorded(Err(failed), |reason| reason).unwrap(), "a part: two lines");
        let ended = anyhow::Error::from(Interrupted).context("a part");
        assert!(recorded(Err(ended), |reason| reason).unwrap_err().is::<Interrupted>());
    }

    #[test]
    fn a_program_that_a_signal_ended_was_interrupted() {
        let ended = |script: &str| {
            let status = std::process::Command::new("sh").args(["-c", script]).status().unwrap();
            check_ended_by_itself(status).is_ok()
        };
        assert!(!ended("kill -INT $$") && !ended("kill -TERM $$") && !ended("kill -HUP $$"));
        assert!(ended("exit 1") && ended("kill -KILL $$"));
    }
}
