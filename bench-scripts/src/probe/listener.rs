//! Which process listens at an address: asked of `/proc`, once, before anything is measured.

use std::fs;
use std::net::SocketAddrV4;

/// The process of this machine that listens at an address, at one port of all addresses included. `None` where there is none, or
/// where its open files can't be read: it runs as another user, or in another container.
pub fn listener_at(addr: SocketAddrV4) -> Option<u32> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| fs::read_to_string(path).unwrap_or_default());
    let inodes: Vec<String> =
        tables.iter().flat_map(|table| table.lines().filter_map(|line| inode_of(line, addr))).collect();
    let sockets: Vec<String> = inodes.iter().map(|inode| format!("socket:[{inode}]")).collect();
    let pids = fs::read_dir("/proc").ok()?.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.into_iter().find(|pid| holds_one(*pid, &sockets))
}

/// The inode in a line of a table, where that is of a socket that listens at the address or at all addresses.
fn inode_of(line: &str, addr: SocketAddrV4) -> Option<String> {
    const LISTENS: &str = "0A";
    let fields: Vec<&str> = line.split_whitespace().collect();
    let &[_, local, _, state, _, _, _, _, _, inode, ..] = fields.as_slice() else { return None };
    let (ip, port) = local.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    // The kernel prints the address as a number in the machine's byte order, that of IPv6 in four of them.
    let own = format!("{:08X}", u32::from_ne_bytes(addr.ip().octets()));
    let is_any = ip.bytes().all(|digit| digit == b'0');
    (state == LISTENS && port == addr.port() && (is_any || ip.ends_with(&own))).then(|| inode.to_string())
}

fn holds_one(pid: u32, sockets: &[String]) -> bool {
    let Ok(files) = fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
    let targets = files.filter_map(|file| fs::read_link(file.ok()?.path()).ok());
    targets.into_iter().any(|target| sockets.iter().any(|socket| target.as_os_str() == socket.as_str()))
}

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, TcpListener};

    use super::*;

    #[test]
    fn the_process_that_listens_is_found_until_it_stops_listening() {
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
    fn a_line_of_another_port_or_state_is_not_taken() {
        let addr = "127.0.0.1:8899".parse().unwrap();
        let line = |local: &str, state: &str| {
            format!(
                "   0: {local} 00000000:0000 {state} 00000000:00000000 00:00000000 00000000     0        0 4242 1 0"
            )
        };
        assert_eq!(inode_of(&line("0100007F:22C3", "0A"), addr).as_deref(), Some("4242"));
        assert_eq!(
            inode_of(&line("00000000000000000000000000000000:22C3", "0A"), addr).as_deref(),
            Some("4242")
        );
        assert_eq!(
            inode_of(&line("0000000000000000FFFF00000100007F:22C3", "0A"), addr).as_deref(),
            Some("4242")
        );
        for (local, state) in [("0100007F:22C4", "0A"), ("0100007F:22C3", "01"), ("0200007F:22C3", "0A")] {
            assert_eq!(inode_of(&line(local, state), addr), None, "{local} {state}");
        }
    }
}
