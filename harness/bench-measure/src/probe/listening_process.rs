//! Which process listens at an address, and which connections its port has: read from `/proc`, before anything is
//! measured.

use std::collections::HashSet;
use std::fs;
use std::net::{IpAddr, SocketAddr};

use procfs::net::{TcpState, tcp, tcp6};
use procfs::process::{FDTarget, Process, all_processes};

use super::process_usage::process;

/// The process of this machine that listens at an address, at one port of all addresses included. `None` where there is
/// none, or where its open files can't be read: it runs as another user, or in another container. Of several the
/// system takes the one that listens at that address alone.
pub fn listener_at(addr: SocketAddr) -> Option<u32> {
    let entries = tcp().into_iter().chain(tcp6()).flatten();
    let listening = entries.filter(|entry| entry.state == TcpState::Listen);
    let ranked = listening.filter_map(|entry| Some((rank(entry.local_address, addr)?, entry.inode)));
    let ranked: Vec<(u8, u64)> = ranked.collect();
    let first = ranked.iter().map(|(rank, _)| *rank).min()?;
    let inodes: Vec<u64> =
        ranked.iter().filter(|(rank, _)| *rank == first).map(|(_, inode)| *inode).collect();
    let holds_one = |process: &Process| {
        let mut files = process.fd().into_iter().flatten().flatten();
        files.any(|file| matches!(file.target, FDTarget::Socket(inode) if inodes.contains(&inode)))
    };
    let process = all_processes().ok()?.flatten().find(holds_one)?;
    u32::try_from(process.pid).ok()
}

/// Connections to an address (`HOST:PORT`, or the path of a socket), in the network of a process, that its server has
/// not closed: also those that it has not accepted yet, and those that only the client has closed. `None` where they
/// can't be read.
pub fn connections_to(pid: u32, addr: &str) -> Option<u64> {
    connections(pid, addr, |state| matches!(state, TcpState::Established | TcpState::CloseWait), |_| true)
}

/// Those of them that a server has accepted and that neither side has closed. `None` where they can't be read.
pub fn accepted_at(pid: u32, addr: &str) -> Option<u64> {
    // One that waits to be accepted has no inode yet.
    connections(pid, addr, |state| matches!(state, TcpState::Established), |inode| inode != 0)
}

/// Connections to an address whose state over TCP and whose inode count.
fn connections(pid: u32, addr: &str, is_open: fn(&TcpState) -> bool, counts: fn(u64) -> bool) -> Option<u64> {
    let process = process(pid)?;
    let open = if addr.starts_with('/') {
        let table = fs::read_to_string(format!("/proc/{pid}/net/unix")).ok()?;
        let inodes = table.lines().filter_map(|line| connected_inode(line, addr));
        inodes.filter(|inode| counts(*inode)).count()
    } else {
        let port: u16 = addr.rsplit_once(':')?.1.parse().ok()?;
        // A machine without IPv6 has no table of it.
        let entries = process.tcp().ok()?.into_iter().chain(process.tcp6().unwrap_or_default());
        let its = entries.filter(|entry| entry.local_address.port() == port);
        let its = its.filter(|entry| is_open(&entry.state) && counts(entry.inode));
        // The kernel writes the table in pieces, and one connection twice where others come and go in between.
        its.map(|entry| (entry.local_address, entry.remote_address)).collect::<HashSet<_>>().len()
    };
    Some(open as u64)
}

/// Whether a process has opened a socket. `None` where its files can't be read.
pub fn has_socket(pid: u32) -> Option<bool> {
    let mut files = process(pid)?.fd().ok()?.flatten();
    Some(files.any(|file| matches!(file.target, FDTarget::Socket(_))))
}

/// The inode of a connected Unix socket, from a line of the system's table, where it has this path. Paths may have
/// spaces, which procfs takes for their end.
fn connected_inode(line: &str, path: &str) -> Option<u64> {
    // Num RefCount Protocol Flags Type St Inode Path
    let own = line.strip_suffix(path)?.strip_suffix(' ')?;
    let fields: Vec<&str> = own.split_whitespace().collect();
    let [_, _, _, _, _, state, inode] = fields.as_slice() else { return None };
    // Connecting, and connected.
    matches!(*state, "02" | "03").then(|| inode.parse().ok())?
}

/// Whether a socket that listens at `local` takes connections to an address: 0 where that is its own, more where it
/// takes those to others too.
fn rank(local: SocketAddr, addr: SocketAddr) -> Option<u8> {
    let (own, wanted) = (local.ip().to_canonical(), addr.ip().to_canonical());
    let rank = match (own, wanted) {
        _ if own == wanted => 0,
        (IpAddr::V4(own), IpAddr::V4(_)) if own.is_unspecified() => 1,
        (IpAddr::V6(own), IpAddr::V6(_)) if own.is_unspecified() => 1,
        (IpAddr::V6(own), IpAddr::V4(_)) if own.is_unspecified() => 2,
        _ => return None,
    };
    (local.port() == addr.port()).then_some(rank)
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_listener_is_found_until_it_stops() {
        for (bound, ip) in [
            ("127.0.0.1:0", "127.0.0.1"),
            ("0.0.0.0:0", "127.0.0.1"),
            ("[::1]:0", "::1"),
            ("[::]:0", "::1"),
            ("[::]:0", "127.0.0.1"),
            ("127.0.0.1:0", "::ffff:127.0.0.1"),
        ] {
            let listener = match TcpListener::bind(bound) {
                Ok(listener) => listener,
                Err(error) if bound.starts_with('[') => {
                    eprintln!("SKIPPED: {bound}: {error}");
                    continue;
                }
                Err(error) => panic!("{error}"),
            };
            let port = listener.local_addr().unwrap().port();
            let addr = SocketAddr::new(ip.parse().unwrap(), port);
            assert_eq!(listener_at(addr), Some(std::process::id()), "{bound}");
            drop(listener);
            // A process that another test starts holds all sockets of this one until it runs its own program.
            let is_gone = |_| {
                thread::sleep(Duration::from_millis(10));
                listener_at(addr).is_none()
            };
            assert!((0..500).any(is_gone), "{bound}");
        }
    }

    #[test]
    fn a_connection_counts_until_the_server_has_closed_it_too() {
        let own = std::process::id();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        counts(&addr.to_string(), || TcpStream::connect(addr).unwrap(), || listener.accept().unwrap().0);

        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a socket's  name");
        let listener = UnixListener::bind(&path).unwrap();
        let connect = || UnixStream::connect(&path).unwrap();
        counts(path.to_str().unwrap(), connect, || listener.accept().unwrap().0);

        assert_eq!(has_socket(own), Some(true));
        assert_eq!((connections_to(u32::MAX, &addr.to_string()), has_socket(u32::MAX)), (None, None));
        assert_eq!(connections_to(own, "no port"), None);
    }

    fn counts<S>(addr: &str, connect: impl Fn() -> S, accept: impl Fn() -> S) {
        let both = || (connections_to(std::process::id(), addr), accepted_at(std::process::id(), addr));
        let count = || both().0;
        assert_eq!(both(), (Some(0), Some(0)));
        let client = connect();
        assert_eq!(both(), (Some(1), Some(0)), "not accepted yet");
        let server = accept();
        assert_eq!(both(), (Some(1), Some(1)));
        drop(client);
        assert_eq!(count(), Some(1), "closed by the client alone");
        drop(server);
        assert_eq!(both(), (Some(0), Some(0)));
    }

    /// Without it a count among connections that come and go is half as much again, or more.
    #[test]
    fn a_connection_counts_once_while_others_come_and_go() {
        let pair = |listener: &TcpListener| {
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            (client, listener.accept().unwrap().0)
        };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap().to_string();
        let _kept: Vec<_> = (0..16).map(|_| pair(&listener)).collect();
        let ends = AtomicBool::new(false);
        thread::scope(|scope| {
            // Sockets that listen leave nothing behind, which would fill the machine's table.
            let come_and_go = || {
                while !ends.load(Ordering::Relaxed) {
                    drop((0..50).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect::<Vec<_>>());
                }
            };
            scope.spawn(come_and_go);
            let counts: Vec<_> = (0..20).map(|_| accepted_at(std::process::id(), &addr)).collect();
            ends.store(true, Ordering::Relaxed);
            assert_eq!(counts, vec![Some(16); 20]);
        });
    }
}
