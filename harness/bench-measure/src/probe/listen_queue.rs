//! How many connections wait to be accepted, and how many may: read from the kernel (`sock_diag`), which visits
//! listening sockets alone and so costs the same with ten thousand connections as with none.
//!
//! IPv4 only, as the harness starts servers. Where the kernel does not answer, the queue is unknown, never empty.

use std::fs::File;
use std::io::{Read, Write};
use std::net::SocketAddrV4;
use std::time::Duration;

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketFlags, SocketType, netlink, socket_with};

/// The listening sockets of one address, which may be several (`SO_REUSEPORT`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListenQueue {
    /// Connections that wait to be accepted, over all its sockets.
    pub waiting: u64,
    /// Connections that may wait at one of them: the backlog as the kernel has it, cut at `somaxconn`.
    pub limit: u64,
    /// Its sockets.
    pub sockets: u64,
}

/// `SOCK_DIAG_BY_FAMILY`, and the flags of a request for all that match.
const BY_FAMILY: u16 = 20;
const REQUEST_ALL: u16 = (libc::NLM_F_REQUEST | libc::NLM_F_DUMP) as u16;
/// `TCP_LISTEN` as a bit.
const LISTENING: u32 = 1 << 10;
/// How long an answer may take: it comes at once or never.
const PATIENCE: Duration = Duration::from_secs(1);
/// Lengths of a message's head, of the request (`inet_diag_req_v2`) and of an answer (`inet_diag_msg`), in bytes.
const HEAD: usize = 16;
const REQUEST: usize = 56;
const ANSWER: usize = 72;

/// A query that can be sent again and again.
#[derive(Debug)]
pub struct Listening {
    socket: File,
    request: [u8; HEAD + REQUEST],
    addr: SocketAddrV4,
}

impl Listening {
    /// Prepares the query for an address; `None` where the machine does not take it.
    pub fn at(addr: &str) -> Option<Self> {
        let addr: SocketAddrV4 = addr.parse().ok()?;
        let mut request = [0; HEAD + REQUEST];
        request[0..4].copy_from_slice(&((HEAD + REQUEST) as u32).to_ne_bytes());
        request[4..6].copy_from_slice(&BY_FAMILY.to_ne_bytes());
        request[6..8].copy_from_slice(&REQUEST_ALL.to_ne_bytes());
        request[HEAD] = libc::AF_INET as u8;
        request[HEAD + 1] = libc::IPPROTO_TCP as u8;
        request[HEAD + 4..HEAD + 8].copy_from_slice(&LISTENING.to_ne_bytes());
        request[HEAD + 8..HEAD + 10].copy_from_slice(&addr.port().to_be_bytes());
        Some(Self { socket: diagnosis().ok()?, request, addr })
    }

    /// The queue as of now; `None` where nobody listens there or the kernel does not say.
    pub fn read(&self) -> Option<ListenQueue> {
        (&self.socket).write_all(&self.request).ok()?;
        let mut found: Option<ListenQueue> = None;
        let mut buffer = [0; 16_384];
        loop {
            let length = (&self.socket).read(&mut buffer).ok().filter(|length| *length > 0)?;
            let ended = messages(buffer.get(..length)?, |answer| {
                let Some((waiting, limit)) = queue_of(answer, self.addr) else { return };
                let queue = found.get_or_insert(ListenQueue { waiting: 0, limit, sockets: 0 });
                queue.waiting += waiting;
                queue.limit = queue.limit.min(limit);
                queue.sockets += 1;
            });
            if ended {
                return found;
            }
        }
    }
}

/// Gives each message's content; true once the last has come (or an error in its place).
fn messages(mut bytes: &[u8], mut each: impl FnMut(&[u8])) -> bool {
    while let (Some(length), Some(kind)) = (u32_at(bytes, 0), bytes.get(4..6)) {
        let length = length as usize;
        let kind = u16::from_ne_bytes([kind[0], kind[1]]);
        if i32::from(kind) == libc::NLMSG_DONE || i32::from(kind) == libc::NLMSG_ERROR {
            return true;
        }
        let Some(content) = bytes.get(HEAD..length) else { return true };
        each(content);
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    false
}

/// Waiting connections and limit out of an `inet_diag_msg`, where it is of this address or of all addresses.
fn queue_of(answer: &[u8], addr: SocketAddrV4) -> Option<(u64, u64)> {
    let answer = answer.get(..ANSWER)?;
    let port = u16::from_be_bytes([answer[4], answer[5]]);
    let ip = [answer[8], answer[9], answer[10], answer[11]];
    if port != addr.port() || (ip != addr.ip().octets() && ip != [0; 4]) {
        return None;
    }
    Some((u64::from(u32_at(answer, 56)?), u64::from(u32_at(answer, 60)?)))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// A socket on which the kernel answers queries about sockets; the standard library lacks this kind.
fn diagnosis() -> rustix::io::Result<File> {
    let protocol = Some(netlink::SOCK_DIAG);
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, protocol)?;
    set_socket_timeout(&socket, Timeout::Recv, Some(PATIENCE))?;
    Ok(socket.into())
}
