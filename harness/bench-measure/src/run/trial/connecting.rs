//! The connections of a closed loop: the window begins once the server holds all of them.
//!
//! Counted from the server's side, by its open files: that is quick with many. A server may close a file that it had
//! open at rest, which then hides a connection, so where no more come the sockets of its port are counted too. The load
//! tool can't reset its figures, so they include what happens while it connects; the window is what comes after that.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::Seen;
use crate::interrupt::Interrupt;
use crate::owned_process::Owned;
use crate::probe::listening_process::{accepted_at, has_socket};
use crate::probe::resources::{held, settle};
use bench_core::observation::Connecting;

/// Usual time between two counts of the server's open files.
const PAUSE: Duration = Duration::from_millis(5);

/// Where the server has had no more files open than before for this long its sockets are counted.
const STUCK: Duration = Duration::from_millis(200);

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
#[derive(Debug, Clone)]
pub(super) struct Holding {
    /// Where the server listens: `HOST:PORT`, or the path of a socket.
    pub addr: String,
    /// Connections of other clients, which a service that ran already had before any load; `None` for a server that was
    /// started for the trial.
    pub others: Option<u64>,
    /// The server's process.
    pub seen: Seen,
    /// How long connecting may take, in milliseconds.
    pub allowed_ms: u64,
}

impl Holding {
    /// Waits until a server holds 99 % of the requested connections, the load tool ends, or connecting has taken too
    /// long since this call. How long it took counts from when the tool was `started`, in milliseconds. `None` where
    /// the server's open files can't be read.
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
        let (mut files, mut ask_at) = (0, began + STUCK);
        loop {
            let counting = Instant::now();
            let Some(open) = held(self.seen.pid, self.seen.at_rest) else { return Ok(None) };
            if open > files {
                (files, ask_at) = (open, counting + STUCK);
            }
            let pause = PAUSE.max(counting.elapsed() * PAUSE_PER_COUNT);
            let mut most = open;
            if open < enough(requested) && Instant::now() >= ask_at {
                let asking = Instant::now();
                most = most.max(self.accepted());
                ask_at = Instant::now() + STUCK.max(asking.elapsed() * PAUSE_PER_COUNT);
            }
            connecting.held = connecting.held.max(most);
            if most >= enough(requested) {
                connecting.took_ms = Some(started.elapsed().as_millis() as u64);
                return Ok(Some(connecting));
            }
            if began.elapsed() >= allowed || tool.wait_through(pause, interrupt)?.is_some() {
                return Ok(Some(connecting));
            }
        }
    }

    /// Connections that the server has accepted, by its sockets, without those of others; 0 where these can't be read.
    fn accepted(&self) -> u64 {
        accepted_at(self.seen.pid, &self.addr).unwrap_or(0).saturating_sub(self.others.unwrap_or(0))
    }

    /// Waits until the connections of an earlier load are gone, so that they are not taken for the window's.
    ///
    /// # Errors
    /// An interrupt.
    pub(super) fn settle(&self, interrupt: &Interrupt) -> Result<()> {
        settle(interrupt, || match held(self.seen.pid, self.seen.at_rest)? {
            // A server of the trial's own closes nothing else, and to count its sockets takes time in each trial.
            0 if self.others.is_some() => Some(self.accepted()),
            open => Some(open),
        })
    }
}

/// 99 % of the connections, rounded up.
fn enough(requested: u32) -> u64 {
    (u64::from(requested) * 99).div_ceil(100)
}

#[cfg(test)]
mod tests {

    use std::net::{TcpListener, TcpStream};
    use std::path::Path;

    use super::*;
    use crate::owned_process::Output;
    use crate::probe::resources::AtRest;
    use bench_core::config::Placement;

    #[test]
    fn ninety_nine_of_a_hundred_are_enough_and_all_of_a_few() {
        assert_eq!([1, 3, 99, 100, 101, 19_900].map(enough), [1, 3, 99, 99, 100, 19_701]);
    }

    /// The server had many more files open at rest than now, so that its files show no connection.
    #[test]
    fn a_connection_that_a_closed_file_hides_is_found_and_one_that_is_not_accepted_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let output = Output { stdout: None, stderr: &dir.path().join("stderr") };
        let mut tool =
            Owned::spawn(Path::new("/bin/sleep"), &["60".to_owned()], &output, Placement::Free).unwrap();
        let interrupt = Interrupt::install().unwrap();
        let at_rest = AtRest { memory_bytes: None, open_files: Some(1_000_000) };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let seen = Seen { pid: std::process::id(), at_rest };
        let holding = Holding { addr: addr.to_string(), others: Some(1), seen, allowed_ms: 1_000 };
        let _other = (TcpStream::connect(addr).unwrap(), listener.accept().unwrap());
        let _clients: Vec<_> = (0..16).map(|_| TcpStream::connect(addr).unwrap()).collect();
        let mut accepted: Vec<_> = (0..15).map(|_| listener.accept().unwrap()).collect();
        let mut connect = |holding: &Holding| {
            let connecting = holding.connect(16, Instant::now(), &mut tool, &interrupt).unwrap().unwrap();
            (connecting.held, connecting.took_ms)
        };
        assert_eq!(connect(&holding), (15, None));
        accepted.push(listener.accept().unwrap());
        let (held, took_ms) = connect(&Holding { allowed_ms: 30_000, ..holding.clone() });
        assert!(held == 16 && took_ms.is_some_and(|took_ms| took_ms < 30_000), "{held} {took_ms:?}");

        accepted.truncate(5);
        let open = || accepted_at(seen.pid, &holding.addr);
        assert_eq!(open(), Some(6));
        let closing = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(150));
            drop(accepted);
        });
        holding.settle(&interrupt).unwrap();
        assert_eq!(open(), Some(1), "they were waited for");
        closing.join().unwrap();
    }
}
