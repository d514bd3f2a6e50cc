//! A link between two network namespaces: the load tool is in one, the server in the other, and every packet between
//! them takes a given time and may be lost.
//!
//! Where the kernel has netem, that delays packets between two virtual Ethernet devices. Elsewhere packets pass through
//! the harness ([`line`]): each namespace has a TUN device, and a thread for each direction carries packets from one to
//! the other.

mod line;
mod namespace;

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use bench_model::observation::Carrier;

pub use self::line::Counts;
use self::line::{Line, MOST_PACKETS, MTU};
use self::namespace::Namespace;

/// The server's address, and the load tool's: of the range for tests of networks (RFC 2544), which nobody else has in
/// these namespaces.
pub const SERVER: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
const LOAD: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 2);

/// What the devices are called, each in its namespace.
const DEVICE: &str = "bench";

/// A port on which nobody listens.
const CLOSED_PORT: u16 = 1;

/// Round trips that are timed: at least as many as the first, and at most as many as the second.
const PINGS: (usize, usize) = (5, 20);

/// How long timing round trips may take before the most have been timed.
const PINGING: Duration = Duration::from_millis(200);

/// A link between two namespaces that goes when this is dropped and no process is left in them.
#[derive(Debug)]
pub struct Link {
    // Before the namespaces, so that the devices are no longer in use when these go.
    lines: Option<[Line; 2]>,
    /// Where the server is.
    pub server: Namespace,
    /// Where the load tool is.
    pub load: Namespace,
    /// The median of the round trips that were timed without load: from a connection request to its refusal, which
    /// kernels write, in microseconds.
    pub round_trip_us: f64,
}

/// What a link did between two calls of [`Link::take`].
#[derive(Debug)]
pub struct Taken {
    /// What passed packets on.
    pub carrier: Carrier,
    /// CPU time of the harness's threads since the link's start, in seconds.
    pub cpu_s: Option<f64>,
    /// To the server and back; none of netem.
    pub counts: Option<[Counts; 2]>,
}

impl Link {
    /// Makes both namespaces and what is between them, and times round trips. Each direction takes `delay` and loses
    /// the share `loss` of its packets; which ones follows from `seed`, but the kernel's netem draws them itself.
    ///
    /// # Errors
    /// One line: what the system does not permit or lacks, or that no packet passed.
    pub fn new(delay: Duration, loss: f64, seed: u64) -> Result<Self> {
        let (server, load) = (Namespace::new()?, Namespace::new()?);
        [&server, &load].into_iter().try_for_each(|end| end.ip("link set lo up\n"))?;
        let lines = match has_netem() {
            true => netem(&server, &load, delay, loss).map(|()| None)?,
            false => Some(userspace([&server, &load], delay, loss, seed)?),
        };
        let round_trip_us = load.inside(|| round_trip_us(delay))?.context(
            "no packet passed between two network namespaces that the harness made; leave network out on this machine",
        )?;
        let link = Self { lines, server, load, round_trip_us };
        // What was passed on so far belongs to no measurement.
        link.take()?;
        Ok(link)
    }

    /// What happened to packets since the last call, and the CPU time so far.
    ///
    /// # Errors
    /// There is no memory for histograms.
    pub fn take(&self) -> Result<Taken> {
        let Some([there, back]) = &self.lines else {
            return Ok(Taken { carrier: Carrier::Netem, cpu_s: None, counts: None });
        };
        let cpu_s = there.cpu_s().zip(back.cpu_s()).map(|(there, back)| there + back);
        Ok(Taken { carrier: Carrier::Userspace, cpu_s, counts: Some([there.take()?, back.take()?]) })
    }
}

/// Whether this kernel has netem and `tc` is installed; found out once.
fn has_netem() -> bool {
    static HAS: OnceLock<bool> = OnceLock::new();
    let tried = || -> Result<()> {
        let alone = Namespace::new()?;
        alone.ip(&format!("link add name {DEVICE} type veth peer name other\n"))?;
        alone.tc(&format!("qdisc add dev {DEVICE} root netem delay 1ms"))
    };
    *HAS.get_or_init(|| tried().is_ok())
}

/// Two virtual Ethernet devices with netem behind each.
fn netem(server: &Namespace, load: &Namespace, delay: Duration, loss: f64) -> Result<()> {
    ethernet(server, load)?;
    for end in [server, load] {
        end.tc(&format!(
            "qdisc add dev {DEVICE} root netem delay {}us loss {}% limit {MOST_PACKETS}",
            delay.as_micros(),
            loss * 100.0
        ))?;
    }
    Ok(())
}

/// Two virtual Ethernet devices that are connected.
fn ethernet(server: &Namespace, load: &Namespace) -> Result<()> {
    let other = format!("/proc/{}/fd/{}", std::process::id(), load.fd());
    server.ip(&format!("link add name {DEVICE} type veth peer name {DEVICE} netns {other}\n"))?;
    // Segments leave one by one: netem would delay and lose a whole batch as one packet.
    [(server, SERVER), (load, LOAD)].into_iter().try_for_each(|(end, address)| {
        end.ip(&format!(
            "addr add {address}/30 dev {DEVICE}\nlink set {DEVICE} mtu {MTU} gso_max_segs 1 up\n"
        ))
    })
}

/// Two TUN devices, and a thread for each direction between them.
fn userspace([server, load]: [&Namespace; 2], delay: Duration, loss: f64, seed: u64) -> Result<[Line; 2]> {
    let device = |end: &Namespace, address: Ipv4Addr| -> Result<Arc<File>> {
        let opened = end.inside(tun)?;
        let tun = opened.context(
            "no netem in this kernel and no TUN device: a network between load tool and server needs one of the two \
             (modules sch_netem and veth, or tun); leave network out on this machine",
        )?;
        end.ip(&format!(
            "addr add {address}/30 dev {DEVICE}\nlink set {DEVICE} mtu {MTU} txqueuelen {MOST_PACKETS} up\n"
        ))?;
        Ok(Arc::new(tun))
    };
    let (server, load) = (device(server, SERVER)?, device(load, LOAD)?);
    Ok([
        Line::start(Arc::clone(&load), Arc::clone(&server), delay, loss, seed)?,
        Line::start(server, load, delay, loss, seed ^ u64::MAX)?,
    ])
}

/// Makes a TUN device in the namespace of this thread. It goes when its file is closed.
fn tun() -> io::Result<File> {
    let file =
        OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open("/dev/net/tun")?;
    // SAFETY: ifreq is plain data, for which all zeroes are valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (place, letter) in request.ifr_name.iter_mut().zip(DEVICE.bytes()) {
        *place = letter as libc::c_char;
    }
    // Packets as they are, without a header of the device's own.
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: the request is a local that outlives the call, and TUNSETIFF reads and writes an ifreq.
    let made = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw mut request) };
    if made < 0 { Err(io::Error::last_os_error()) } else { Ok(file) }
}

/// Times connection requests to a port on which nobody listens, and gives the median; none where all were lost. The
/// first one is not counted, since two Ethernet devices find each other out with it.
fn round_trip_us(delay: Duration) -> Option<f64> {
    let closed = SocketAddr::from((SERVER, CLOSED_PORT));
    // Shorter than what a lost request takes, which the kernel sends again after a second.
    let patience = (delay * 4 + Duration::from_millis(100)).min(delay * 2 + Duration::from_millis(900));
    let began = Instant::now();
    let mut timed = Vec::new();
    for attempt in 0..=PINGS.1 {
        if attempt > PINGS.0 && began.elapsed() > PINGING {
            break;
        }
        let sent = Instant::now();
        let refused = TcpStream::connect_timeout(&closed, patience)
            .is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused);
        if refused && attempt > 0 {
            timed.push(sent.elapsed().as_secs_f64() * 1e6);
        }
    }
    timed.sort_by(f64::total_cmp);
    timed.get(timed.len() / 2).copied()
}

#[cfg(test)]
mod tests;
