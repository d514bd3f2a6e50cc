//! The connections of a closed loop: the window begins once the server holds all of them.
//!
//! Counted from the server's side, by its open files. The load tool can't reset its figures, so they include what
//! happens while it connects; the window is what comes after that.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::Seen;
use crate::owned_process::Owned;
use bench_model::observation::Connecting;
use bench_system::interrupt::Interrupt;
use bench_system::probe::listening_process::has_socket;
use bench_system::probe::resources::{held, settle};

/// Usual time between two counts of the server's open files.
const PAUSE: Duration = Duration::from_millis(5);

/// Where counting them is slow, the pause is 50 times as long as a count takes.
const PAUSE_PER_COUNT: u32 = 50;

/// How long a load tool may take to open its first connection.
const FIRST_CONNECTION: Duration = Duration::from_secs(10);

/// Waits until a load tool has opened a connection, or has ended. Before that an interrupt ends it without a result,
/// since it may not watch for one yet.
///
/// # Errors
/// An interrupt, or the tool's state can't be read.
pub(super) fn first_connection(tool: &mut Owned, interrupt: &Interrupt) -> Result<()> {
    let pid = tool.pid();
    interrupt.wait(FIRST_CONNECTION, || {
        Ok((tool.ended()?.is_some() || has_socket(pid).unwrap_or(true)).then_some(()))
    })?;
    Ok(())
}

/// A window that begins once a server holds its connections.
#[derive(Debug, Clone, Copy)]
pub(super) struct Holding {
    /// The server's process.
    pub seen: Seen,
    /// How long connecting may take, in milliseconds.
    pub allowed_ms: u64,
}

impl Holding {
    /// Waits until a server holds 99 % of the requested connections, the load tool ends, or connecting has taken too
    /// long since this call. How long it took counts from when the tool was `started`. `None` where the server's open
    /// files can't be read.
    ///
    /// # Errors
    /// An interrupt, or the tool's state can't be read.
    pub(super) fn connect(
        &self,
        requested: u32,
        started: Instant,
        tool: &mut Owned,
        interrupt: &Interrupt,
    ) -> Result<Option<Connecting>> {
        let began = Instant::now();
        let allowed = Duration::from_millis(self.allowed_ms);
        let mut connecting = Connecting { requested, allowed_ms: self.allowed_ms, took_ms: None, held: 0 };
        loop {
            let counting = Instant::now();
            let Some(open) = held(self.seen.pid, self.seen.at_rest) else { return Ok(None) };
            connecting.held = connecting.held.max(open);
            if open >= enough(requested) {
                connecting.took_ms = Some(started.elapsed().as_millis() as u64);
                return Ok(Some(connecting));
            }
            let pause = PAUSE.max(counting.elapsed() * PAUSE_PER_COUNT);
            if began.elapsed() >= allowed || tool.wait_through(pause, interrupt)?.is_some() {
                return Ok(Some(connecting));
            }
        }
    }

    /// Waits until the connections of an earlier load are gone, so that they are not taken for the window's.
    ///
    /// # Errors
    /// An interrupt.
    pub(super) fn settle(&self, interrupt: &Interrupt) -> Result<()> {
        settle(interrupt, || held(self.seen.pid, self.seen.at_rest))
    }
}

/// 99 % of the connections, rounded up.
fn enough(requested: u32) -> u64 {
    (u64::from(requested) * 99).div_ceil(100)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::path::Path;

    use super::*;
    use crate::owned_process::Output;
    use bench_model::config::Placement;
    use bench_system::probe::resources::AtRest;

    #[test]
    fn ninety_nine_of_a_hundred_are_enough_and_all_of_a_few() {
        assert_eq!([1, 3, 99, 100, 101, 19_900].map(enough), [1, 3, 99, 99, 100, 19_701]);
    }

    /// This test process stands for the server: files that it opens stand for connections.
    #[test]
    fn connections_are_waited_for_and_never_longer_than_allowed() {
        let dir = tempfile::tempdir().unwrap();
        let output = Output { stdout: None, stderr: &dir.path().join("stderr") };
        let sleep = |seconds: &str| {
            Owned::spawn(Path::new("/bin/sleep"), &[seconds.to_owned()], &output, Placement::Free).unwrap()
        };
        let interrupt = Interrupt::install().unwrap();
        let pid = std::process::id();
        let seen = Seen { pid, at_rest: AtRest::read(pid).unwrap() };
        let holding = Holding { seen, allowed_ms: 30_000 };
        // Other tests of this process open and close files of their own, but not thousands.
        let opening = std::thread::spawn(|| {
            std::thread::sleep(Duration::from_millis(40));
            let began = Instant::now();
            ((0..300).map(|_| File::open("/dev/null").unwrap()).collect::<Vec<_>>(), began)
        });
        let connecting = holding.connect(200, Instant::now(), &mut sleep("60"), &interrupt).unwrap().unwrap();
        let ended = Instant::now();
        assert!(connecting.took_ms.is_some(), "{connecting:?}");
        let (_files, began) = opening.join().unwrap();
        assert!(ended > began, "it waited until there were connections");

        let holding = Holding { allowed_ms: 20, ..holding };
        let connecting =
            holding.connect(50_000, Instant::now(), &mut sleep("60"), &interrupt).unwrap().unwrap();
        assert_eq!((connecting.took_ms, connecting.requested), (None, 50_000));
        assert!(connecting.held < 49_500, "{connecting:?}");

        let holding = Holding { allowed_ms: 600_000, ..holding };
        let connecting =
            holding.connect(50_000, Instant::now(), &mut sleep("0"), &interrupt).unwrap().unwrap();
        assert_eq!(connecting.took_ms, None, "the load tool ended before");

        let gone = Holding { seen: Seen { pid: u32::MAX / 4, ..seen }, ..holding };
        assert_eq!(gone.connect(1, Instant::now(), &mut sleep("60"), &interrupt).unwrap(), None);
    }
}
