//! The end of a server: SIGTERM or SIGINT makes it drain, and a watchdog makes sure that it ends in time.

use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::unread;

/// What a server may take to drain. Idle keep-alive connections would hold some frameworks for ever; a server must be
/// gone 5 s after the signal.
const DRAIN_LIMIT: Duration = Duration::from_millis(4_500);

/// Signals that the server is to end. A clone signals the same.
#[derive(Debug, Clone, Default)]
pub struct Shutdown(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    requested: Mutex<bool>,
    changed: Condvar,
}

impl Shutdown {
    /// Blocks until SIGTERM or SIGINT, and until the requests that arrived before have been read (see `unread`), so that
    /// a framework that drains knows of them. From the signal on the server has 4.5 s to drain; after that, or on a second signal, the process
    /// ends by itself. All of these ends have exit code 0: the signal is how a server is meant to be stopped.
    pub fn wait(&self) {
        let mut requested = self.0.requested.lock().unwrap_or_else(PoisonError::into_inner);
        while !*requested {
            requested = self.0.changed.wait(requested).unwrap_or_else(PoisonError::into_inner);
        }
        drop(requested);
        unread::wait_until_read();
    }

    /// Listens for signals on a thread of its own.
    pub(crate) fn install() -> io::Result<Self> {
        let shutdown = Self::default();
        let mut signals = Signals::new([SIGTERM, SIGINT])?;
        let requested = shutdown.clone();
        thread::Builder::new().name("signals".to_owned()).spawn(move || {
            let mut arrived = signals.forever();
            if arrived.next().is_some() {
                requested.request();
                // Without the watchdog thread a second signal still ends the process.
                let _watchdog = thread::Builder::new().name("watchdog".to_owned()).spawn(|| {
                    thread::sleep(DRAIN_LIMIT);
                    std::process::exit(0);
                });
            }
            if arrived.next().is_some() {
                std::process::exit(0);
            }
        })?;
        Ok(shutdown)
    }

    fn request(&self) {
        *self.0.requested.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everyone_who_waits_is_woken_also_afterwards() {
        let shutdown = Shutdown::default();
        let waiters = [(); 3].map(|()| {
            let shutdown = shutdown.clone();
            thread::spawn(move || shutdown.wait())
        });
        shutdown.request();
        for waiter in waiters {
            waiter.join().unwrap();
        }
        shutdown.wait();
    }
}
