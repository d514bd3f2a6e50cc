//! Requests that have arrived and that the server has not read yet. Frameworks that stop close a connection
//! they think idle, also if a whole request waits in its socket: so a server lets these be read first.
//!
//! Reads the kernel's counters once a server is to end; before that, nothing of this runs.

use std::os::fd::RawFd;
use std::time::{Duration, Instant};
use std::{fs, mem, thread};

/// The least time for which a server continues as before: what it has read already, such as pipelined requests, is answered, and
/// connections that wait to be accepted are.
const AT_LEAST: Duration = Duration::from_millis(100);

/// The most that a connection with unread bytes is waited for: its client may be one that reads no answers.
const AT_MOST: Duration = Duration::from_secs(2);

const STEP: Duration = Duration::from_millis(5);

/// `tcp_info` is longer than what is needed of it, and has grown over time.
const TCP_INFO_BYTES: usize = 256;

/// The offsets of `tcpi_state` and `tcpi_bytes_received` in it (`linux/tcp.h`).
const STATE_AT: usize = 0;
const BYTES_RECEIVED_AT: usize = 128;

/// `TCP_ESTABLISHED`.
const ESTABLISHED: u8 = 1;

/// Returns once everything has been read that had arrived when it was called, or after 2 s.
pub(crate) fn wait_until_read() {
    let began = Instant::now();
    let mut unread: Vec<(RawFd, u64)> = connections()
        .into_iter()
        .filter_map(|fd| {
            let progress = progress(fd)?;
            (progress.read < progress.received).then_some((fd, progress.received))
        })
        .collect();
    thread::sleep(AT_LEAST / 2);
    while !unread.is_empty() && began.elapsed() < AT_MOST {
        unread.retain(|&(fd, arrived)| progress(fd).is_some_and(|progress| progress.read < arrived));
        thread::sleep(STEP);
    }
    // What was read last is still to be answered.
    thread::sleep(AT_LEAST / 2);
}

/// Bytes that a connection has received, and of those the ones that the server has read.
#[derive(Debug)]
struct Progress {
    received: u64,
    read: u64,
}

/// Every file of the process; [`progress`] finds which are connections.
fn connections() -> Vec<RawFd> {
    let Ok(files) = fs::read_dir("/proc/self/fd") else { return Vec::new() };
    files.filter_map(|file| file.ok()?.file_name().to_str()?.parse().ok()).collect()
}

/// `None` for anything but an open connection.
fn progress(fd: RawFd) -> Option<Progress> {
    let mut info = [0_u8; TCP_INFO_BYTES];
    let mut length = libc::socklen_t::try_from(info.len()).ok()?;
    let mut unread: libc::c_int = 0;
    // SAFETY: the pointers are to locals that outlive the calls, and `length` is that of `info`. A number that is no open
    // socket (any more) makes the calls fail.
    let failed = unsafe {
        libc::getsockopt(fd, libc::IPPROTO_TCP, libc::TCP_INFO, info.as_mut_ptr().cast(), &raw mut length)
            != 0
            || libc::ioctl(fd, libc::FIONREAD, &raw mut unread) != 0
    };
    let end = BYTES_RECEIVED_AT + mem::size_of::<u64>();
    if failed || info[STATE_AT] != ESTABLISHED || (length as usize) < end {
        return None;
    }
    let received = u64::from_ne_bytes(info.get(BYTES_RECEIVED_AT..end)?.try_into().ok()?);
    Some(Progress { received, read: received.saturating_sub(u64::try_from(unread).ok()?) })
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn what_a_connection_received_and_read_is_known() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        let known =
            |server: &TcpStream| progress(server.as_raw_fd()).map(|known| (known.received, known.read));
        assert_eq!(known(&server), Some((0, 0)));
        client.write_all(&[1; 100]).unwrap();
        server.peek(&mut [0]).unwrap();
        assert_eq!(known(&server), Some((100, 0)));
        server.read_exact(&mut [0; 60]).unwrap();
        assert_eq!(known(&server), Some((100, 60)));
        assert!(connections().contains(&server.as_raw_fd()));
        assert!(progress(listener.as_raw_fd()).is_none(), "a listener is no connection");
    }
}
