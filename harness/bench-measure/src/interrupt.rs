//! Ctrl-C, checked at every wait: the harness ends by returning, so that everything it owns is put away.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
pub use bench_core::interrupted::{Interrupted, check_ended_by_itself, recorded};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// How often a wait checks. Short against every window, long against the cost of a check.
const POLL: Duration = Duration::from_millis(2);

/// Longer than anything waits.
const YEAR: Duration = Duration::from_secs(365 * 24 * 3_600);

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
