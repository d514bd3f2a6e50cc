//! A link between two network namespaces: the load tool is in one, the server in the other, and every packet between
//! them takes a given time and may be lost.
//!
//! The kernel's netem delays packets between two virtual Ethernet devices.

mod namespace;

use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use self::namespace::Namespace;

/// Bytes of the largest packet.
const MTU: usize = 1_500;

/// Packets that may be under way in one direction; more are dropped, as at a full queue of a router.
const MOST_PACKETS: usize = 100_000;

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
    /// Where the server is.
    pub server: Namespace,
    /// Where the load tool is.
    pub load: Namespace,
    /// The median of the round trips that were timed without load: from a connection request to its refusal, which
    /// kernels write, in microseconds.
    pub round_trip_us: f64,
}

impl Link {
    /// Makes both namespaces and what is between them, and times round trips. Each direction takes `delay` and loses
    /// the share `loss` of its packets, which the kernel draws.
    ///
    /// # Errors
    /// One line: what the system does not permit or lacks, or that no packet passed.
    pub fn new(delay: Duration, loss: f64) -> Result<Self> {
        let (server, load) = (Namespace::new()?, Namespace::new()?);
        [&server, &load].into_iter().try_for_each(|end| end.run("ip", "link set lo up"))?;
        netem(&server, &load, delay, loss).context(
            "a network between load tool and server needs the kernel's netem (modules sch_netem and veth) and tc; leave \
             network out on this machine",
        )?;
        let round_trip_us = load.inside(|| round_trip_us(delay))?.context(
            "no packet passed between two network namespaces that the harness made; leave network out on this machine",
        )?;
        Ok(Self { server, load, round_trip_us })
    }
}

/// Two virtual Ethernet devices with netem behind each.
fn netem(server: &Namespace, load: &Namespace, delay: Duration, loss: f64) -> Result<()> {
    ethernet(server, load)?;
    for end in [server, load] {
        end.run(
            "tc",
            &format!(
                "qdisc add dev {DEVICE} root netem delay {}us loss {}% limit {MOST_PACKETS}",
                delay.as_micros(),
                loss * 100.0
            ),
        )?;
    }
    Ok(())
}

/// Two virtual Ethernet devices that are connected.
fn ethernet(server: &Namespace, load: &Namespace) -> Result<()> {
    let other = format!("/proc/{}/fd/{}", std::process::id(), load.fd());
    server.run("ip", &format!("link add name {DEVICE} type veth peer name {DEVICE} netns {other}\n"))?;
    // Segments leave one by one: netem would delay and lose a whole batch as one packet.
    [(server, SERVER), (load, LOAD)].into_iter().try_for_each(|(end, address)| {
        end.run(
            "ip",
            &format!("addr add {address}/30 dev {DEVICE}\nlink set {DEVICE} mtu {MTU} gso_max_segs 1 up\n"),
        )
    })
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
