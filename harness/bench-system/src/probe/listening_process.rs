//! Which process listens at an address: read from `/proc`, once, before anything is measured.

use std::net::{IpAddr, SocketAddr, SocketAddrV4};

use procfs::net::{TcpState, tcp, tcp6};
use procfs::process::{FDTarget, Process, all_processes};

/// The process of this machine that listens at an address, at one port of all addresses included. `None` where there is
/// none, or where its open files can't be read: it runs as another user, or in another container.
pub fn listener_at(addr: SocketAddrV4) -> Option<u32> {
    let entries = tcp().into_iter().chain(tcp6()).flatten();
    let listening =
        entries.filter(|entry| entry.state == TcpState::Listen && takes(entry.local_address, addr));
    let inodes: Vec<u64> = listening.map(|entry| entry.inode).collect();
    let holds_one = |process: &Process| {
        let files = process.fd().into_iter().flatten().flatten();
        files
            .map(|file| file.target)
            .any(|target| matches!(target, FDTarget::Socket(inode) if inodes.contains(&inode)))
    };
    let process = all_processes().ok()?.flatten().find(holds_one)?;
    u32::try_from(process.pid).ok()
}

/// Whether a socket that listens at `local` takes connections to an address.
fn takes(local: SocketAddr, addr: SocketAddrV4) -> bool {
    let ip = local.ip().to_canonical();
    local.port() == addr.port() && (ip.is_unspecified() || ip == IpAddr::V4(*addr.ip()))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_listener_is_found_until_it_stops() {
        for bound in ["127.0.0.1:0", "0.0.0.0:0"] {
            let listener = TcpListener::bind(bound).unwrap();
            let port = listener.local_addr().unwrap().port();
            let SocketAddr::V4(addr) = SocketAddr::from(([127, 0, 0, 1], port)) else { panic!() };
            assert_eq!(listener_at(addr), Some(std::process::id()), "{bound}");
            drop(listener);
            assert_eq!(listener_at(addr), None, "{bound}");
        }
    }

    #[test]
    fn only_that_port_and_address_take_connections() {
        let addr = "127.0.0.1:8899".parse().unwrap();
        for (local, expected) in [
            ("127.0.0.1:8899", true),
            ("0.0.0.0:8899", true),
            ("[::]:8899", true),
            ("[::ffff:127.0.0.1]:8899", true),
            ("127.0.0.1:8900", false),
            ("127.0.0.2:8899", false),
            ("[::1]:8899", false),
        ] {
            assert_eq!(takes(local.parse().unwrap(), addr), expected, "{local}");
        }
    }
}
