//! Ctrl-C, checked at every wait: the harness ends by returning, so that everything it owns is put away.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// How often a wait checks. Short against every window, long against the cost of a check.
const POLL: Duration = Duration::from_millis(2);

/// Longer than anything waits.
const YEAR: Duration = Duration::from_secs(365 * 24 * 3_600);

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
        Some(SIGINT | SIGTERM | SIGHUP) => Err(Interrupted.into()),
        _ => Ok(()),
    }
}

/// Whether a person or the system wants the harness to end.
#[derive(Debug, Clone)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Takes SIGINT, SIGTERM and SIGHUP over.
    pub fn install() -> Result<Self> {
        let flag = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register(signal, flag.clone()).context("can't take over Ctrl-C")?;
        }
        Ok(Self(flag))
    }

    /// Ends every wait, as a signal does.
    pub fn raise(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Waits until `done`, or until a signal comes, which is how it is meant to end.
    ///
    /// # Errors
    /// What `done` gives.
    pub fn wait_for_end(&self, mut done: impl FnMut() -> Result<bool>) -> Result<()> {
        match self.wait(YEAR, || Ok(done()?.then_some(()))) {
            Err(error) if !error.is::<Interrupted>() => Err(error),
            _ => Ok(()),
        }
    }

    /// Waits until `done` gives something, `limit` has passed (`None`), or a signal came.
    ///
    /// # Errors
    /// [`Interrupted`], or what `done` gives.
    pub fn wait<T>(&self, limit: Duration, mut done: impl FnMut() -> Result<Option<T>>) -> Result<Option<T>> {
        let end = Instant::now() + limit;
        loop {
            if self.0.load(Ordering::Relaxed) {
                return Err(Interrupted.into());
            }
            if let Some(value) = done()? {
                return Ok(Some(value));
            }
            if Instant::now() >= end {
                return Ok(None);
            }
            std::thread::sleep(POLL);
        }
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

    #[test]
    fn a_signal_is_how_a_wait_for_the_end_ends() {
        let interrupt = Interrupt(Arc::default());
        let mut asked = 0;
        let third = || {
            asked += 1;
            Ok(asked == 3)
        };
        assert!(interrupt.wait_for_end(third).is_ok() && asked == 3);
        assert!(
            interrupt.wait_for_end(|| anyhow::bail!("a part")).unwrap_err().to_string().contains("a part")
        );
        let raised = || {
            interrupt.raise();
            Ok(false)
        };
        assert!(interrupt.wait_for_end(raised).is_ok());
    }
}
