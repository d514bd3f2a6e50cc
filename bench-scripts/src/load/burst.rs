//! A burst of connections opened by one thread, as fast as the system allows: how many are slow. Sends nothing on them. Not for
//! load: see the load tools.

use std::net::SocketAddrV4;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};

use crate::interrupt::Interrupt;

/// A connection that is not established by then is slow: one that was dropped is tried again after 1 s.
pub const SLOW: Duration = Duration::from_millis(900);

/// A burst under way. Dropping it closes its connections.
#[derive(Debug)]
pub struct Begun {
    waiting: Vec<OwnedFd>,
    made: Vec<OwnedFd>,
    last: Instant,
}

/// Begins to open connections without waiting for any.
///
/// # Errors
/// The address is not an IPv4 one, or the system gives no socket (open files).
pub fn begin(addr: &str, connections: u32) -> Result<Begun> {
    let to: SocketAddrV4 = addr.parse().with_context(|| format!("{addr} is no IPv4 address with a port"))?;
    let sockets: Vec<OwnedFd> = (0..connections).map(|_| socket()).collect::<Result<_>>()?;
    for socket in &sockets {
        match connect(socket, &to) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            refused => refused.with_context(|| format!("can't open {connections} connections to {addr}"))?,
        }
    }
    Ok(Begun { waiting: sockets, made: Vec::new(), last: Instant::now() })
}

impl Begun {
    /// Waits until all are established or it is clear which of them are slow, and gives the number of those.
    pub fn slow(mut self, interrupt: &Interrupt) -> Result<u32> {
        let end = self.last + SLOW;
        let left = end.saturating_duration_since(Instant::now());
        interrupt.wait(left, || {
            self.poll();
            Ok(self.waiting.is_empty().then_some(()))
        })?;
        self.poll();
        Ok(self.waiting.len() as u32)
    }

    /// Moves those that are established.
    fn poll(&mut self) {
        let mut polled: Vec<PollFd<'_>> =
            self.waiting.iter().map(|socket| PollFd::new(socket, PollFlags::OUT)).collect();
        // It waits for nothing; where it fails, none is taken for established.
        let _ = poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
        let polled: Vec<PollFlags> = polled.iter().map(PollFd::revents).collect();
        for (socket, found) in std::mem::take(&mut self.waiting).into_iter().zip(polled) {
            // One that was refused stays and counts as slow.
            let made = found.contains(PollFlags::OUT) && !found.intersects(PollFlags::ERR | PollFlags::HUP);
            if made { self.made.push(socket) } else { self.waiting.push(socket) }
        }
    }
}

fn socket() -> Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)
        .context("no socket for a burst of connections")
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::fd::AsRawFd;

    use super::*;

    /// A listener that nobody accepts from, with room for `backlog` connections and one more.
    fn listener(backlog: i32) -> (TcpListener, String) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        // SAFETY: listen takes no pointer; a second call sets another backlog.
        unsafe { libc::listen(listener.as_raw_fd(), backlog) };
        let addr = listener.local_addr().unwrap().to_string();
        (listener, addr)
    }

    #[test]
    fn a_queue_holds_one_more_than_its_backlog_and_the_next_is_slow() {
        let interrupt = Interrupt::install().unwrap();
        let (_listener, addr) = listener(5);
        assert_eq!(begin(&addr, 6).unwrap().slow(&interrupt).unwrap(), 0);
        let (_listener, addr) = listener(5);
        assert_eq!(begin(&addr, 9).unwrap().slow(&interrupt).unwrap(), 3);
    }

    #[test]
    fn what_is_no_address_is_an_error() {
        assert!(begin("[::1]:80", 1).is_err());
    }
}
