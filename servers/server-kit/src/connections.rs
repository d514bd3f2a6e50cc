//! A server's connections, as the kernel knows them: read when somebody reads the metrics, so that serving pays nothing.

use std::fmt::Result;
use std::net::SocketAddr;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::{fs, mem};

use metrics_http::{Collector, DescriptorEncoder, Unit, Writer};
use socket2::SockRef;

/// `tcp_info` is longer than what is needed of it, and has grown over time.
const TCP_INFO_BYTES: usize = 256;

/// The offsets of `tcpi_bytes_acked` and `tcpi_bytes_received` in it (`linux/tcp.h`).
const BYTES_ACKED_AT: usize = 120;
const BYTES_RECEIVED_AT: usize = 128;

/// The connections of a server: accepted, and open.
#[derive(Debug, Clone, Default)]
pub struct Connections(Arc<Known>);

#[derive(Debug, Default)]
struct Known {
    /// Where the server listens, once it does.
    listens: OnceLock<Vec<SocketAddr>>,
    /// Whether the server counts what it accepts; not every framework says when it does.
    accepted: OnceLock<Accepted>,
}

/// Counts accepted connections. A copy counts the same.
#[derive(Debug, Clone, Copy)]
pub struct Accepted(&'static AtomicU64);

impl Accepted {
    /// Counts one more.
    pub fn add(self) {
        self.0.fetch_add(1, Relaxed);
    }
}

impl Connections {
    /// The server listens on these addresses now; the first call counts.
    pub fn listens_on(&self, addrs: Vec<SocketAddr>) {
        // Set before: then it is the same.
        let _before = self.0.listens.set(addrs);
    }

    /// Where a server counts what it accepts. Without a call, it has no such metric.
    pub fn accepted(&self) -> Accepted {
        *self.0.accepted.get_or_init(|| Accepted(Box::leak(Box::default())))
    }
}

/// Bytes that the open connections have carried.
#[derive(Debug, Default, PartialEq, Eq)]
struct Open {
    connections: u64,
    received: u64,
    sent: u64,
}

impl Open {
    /// Those of this process that came to one of these ports.
    fn read(listens: &[SocketAddr]) -> Self {
        let Ok(files) = fs::read_dir("/proc/self/fd") else { return Self::default() };
        let files = files.filter_map(|file| file.ok()?.file_name().to_str()?.parse().ok());
        files.filter_map(|fd| bytes_of(fd, listens)).fold(Self::default(), |sum, (received, sent)| Self {
            connections: sum.connections + 1,
            received: sum.received + received,
            sent: sum.sent + sent,
        })
    }
}

/// Bytes received and sent by a connection to one of these ports; `None` of any other file, and of one that was just closed.
fn bytes_of(fd: RawFd, listens: &[SocketAddr]) -> Option<(u64, u64)> {
    // SAFETY: the descriptor is used for two calls that read about it, and not closed. Should another thread close it between
    // them, they fail, or say what is true of the file that has its number then.
    let socket = unsafe { std::os::fd::BorrowedFd::borrow_raw(fd) };
    let socket = SockRef::from(&socket);
    let (here, _) = (socket.local_addr().ok()?.as_socket()?, socket.peer_addr().ok()?);
    if !listens.iter().any(|listen| listen.port() == here.port()) {
        return None;
    }
    let mut info = [0_u8; TCP_INFO_BYTES];
    let mut length = libc::socklen_t::try_from(info.len()).ok()?;
    // SAFETY: the pointers are to locals that outlive the call, and `length` is that of `info`.
    let failed = unsafe {
        libc::getsockopt(fd, libc::IPPROTO_TCP, libc::TCP_INFO, info.as_mut_ptr().cast(), &raw mut length)
    };
    let number = |at: usize| {
        let bytes = info.get(at..at + mem::size_of::<u64>())?;
        Some(u64::from_ne_bytes(bytes.try_into().ok()?))
    };
    match failed {
        0 if length as usize >= BYTES_RECEIVED_AT + mem::size_of::<u64>() => {
            Some((number(BYTES_RECEIVED_AT)?, number(BYTES_ACKED_AT)?))
        }
        _ => None,
    }
}

impl Collector for Connections {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> Result {
        let mut writer = Writer::new(encoder);
        if let Some(Accepted(count)) = self.0.accepted.get() {
            let help = "Connections that were accepted";
            writer.counter("rpc_server_connections_accepted", help, None, count.load(Relaxed))?;
        }
        let Some(listens) = self.0.listens.get() else { return Ok(()) };
        let Open { connections, received, sent } = Open::read(listens);
        writer.gauge("rpc_server_connections_open", "Connections that are open", None, connections)?;
        let bytes = Some(&Unit::Bytes);
        let help = "Bytes received on the connections that are open, each since its begin";
        writer.gauge("rpc_server_connections_open_received", help, bytes, received)?;
        let help = "Bytes sent and acknowledged on the connections that are open, each since its begin";
        writer.gauge("rpc_server_connections_open_sent", help, bytes, sent)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn the_connections_to_a_port_and_their_bytes_are_known() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let listens = [listener.local_addr().unwrap()];
        assert_eq!(Open::read(&listens), Open::default(), "a listener is no connection");
        let mut client = TcpStream::connect(listens[0]).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        client.write_all(&[1; 100]).unwrap();
        server.read_exact(&mut [0; 60]).unwrap();
        server.write_all(&[2; 30]).unwrap();
        client.read_exact(&mut [0; 30]).unwrap();
        let Open { connections, received, sent } = Open::read(&listens);
        // The client's end is of this process too, and has another port of its own.
        assert_eq!((connections, received), (1, 100));
        // The first acknowledgement counts as a byte in some kernels.
        assert!((30..=31).contains(&sent), "{sent}");
        drop((client, server));
        assert_eq!(Open::read(&listens), Open::default());
    }
}
