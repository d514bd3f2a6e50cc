//! A burst of connections opened by one thread, as fast as the system allows: how many are slow. Sends nothing on them. Not for
//! load: see the load tools.

use std::net::SocketAddrV4;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

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
        connect(socket, to).with_context(|| format!("can't ask {addr} for {connections} connections"))?;
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
        let mut polled: Vec<libc::pollfd> = self
            .waiting
            .iter()
            .map(|socket| libc::pollfd { fd: socket.as_raw_fd(), events: libc::POLLOUT, revents: 0 })
            .collect();
        // SAFETY: the pointer is to a live array of the length given; the call waits for nothing.
        unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, 0) };
        let waiting = std::mem::take(&mut self.waiting);
        for (socket, poll) in waiting.into_iter().zip(polled) {
            // One that was refused stays and counts as slow.
            let made =
                poll.revents & libc::POLLOUT != 0 && poll.revents & (libc::POLLERR | libc::POLLHUP) == 0;
            if made { self.made.push(socket) } else { self.waiting.push(socket) }
        }
    }
}

fn socket() -> Result<OwnedFd> {
    let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: the call takes no pointer; the descriptor that it gives is new and owned from here on.
    let socket = unsafe {
        let fd = libc::socket(libc::AF_INET, kind, 0);
        (fd >= 0).then(|| OwnedFd::from_raw_fd(fd))
    };
    socket.ok_or_else(std::io::Error::last_os_error).context("no socket for a burst of connections")
}

fn connect(socket: &OwnedFd, to: SocketAddrV4) -> std::io::Result<()> {
    let address = libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: to.port().to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(to.ip().octets()) },
        sin_zero: [0; 8],
    };
    let length = size_of_val(&address) as libc::socklen_t;
    // SAFETY: the pointer is to a local that outlives the call, of the length given.
    let asked = unsafe { libc::connect(socket.as_raw_fd(), (&raw const address).cast(), length) };
    let error = std::io::Error::last_os_error();
    if asked == 0 || error.raw_os_error() == Some(libc::EINPROGRESS) { Ok(()) } else { Err(error) }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

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
