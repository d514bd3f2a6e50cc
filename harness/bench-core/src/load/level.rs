//! How much load is put on a server, and how: connections or a rate, for how long, with what timeout.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{Capability, LoadTool};
use crate::figure::Figure;
use crate::headers::Access;
use crate::readable_numbers::thousands;

/// How much load is put on a server: what a campaign varies. A closed loop has connections; an open loop has a rate as
/// well.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Level {
    /// Connections of a closed loop; in an open loop, the most that the load tool may hold.
    pub connections: u32,
    /// Requests a second that are sent whether or not earlier ones were answered; `None` in a closed loop.
    pub rate: Option<u32>,
    /// The load tool.
    #[serde(default, skip_serializing_if = "LoadTool::is_default")]
    pub tool: LoadTool,
    /// Whether the campaign's background load runs as well.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disturbed: bool,
    /// Whether `connections` is the number of requests in flight, because some servers get several of them on each
    /// connection.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_flight: bool,
}

impl From<u32> for Level {
    fn from(connections: u32) -> Self {
        Self { connections, ..Self::default() }
    }
}

impl std::fmt::Display for Level {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.rate {
            None => write!(f, "{} {}", self.connections, self.unit_of(self.connections)),
            Some(rate) => write!(f, "{rate} requests/s by {}", self.tool.name()),
        }?;
        if self.disturbed { f.write_str(", disturbed") } else { Ok(()) }
    }
}

impl Level {
    /// Whether its load tool tells a figure: in an open loop a latency counts from when a request was due.
    pub fn tells(self, figure: Figure) -> bool {
        self.rate.is_none() || self.tool.can(Capability::TellsWhenDue) || !figure.is_latency()
    }

    /// What is varied.
    pub const fn unit(self) -> &'static str {
        match self.rate {
            Some(_) => "requests/s",
            None if self.in_flight => "requests in flight",
            None => "connections",
        }
    }

    /// The unit of that many.
    pub const fn unit_of(self, amount: u32) -> &'static str {
        match (self.rate, self.in_flight, amount) {
            (None, true, 1) => "request in flight",
            (None, false, 1) => "connection",
            _ => self.unit(),
        }
    }

    /// The number that is varied: requests a second of an open loop, connections or requests in flight of a closed one.
    pub fn amount(self) -> u32 {
        self.rate.unwrap_or(self.connections)
    }
}

/// A request at a load, for a table's cell: `getBalance at 125`, `getBalance at 2,000/s`.
pub fn at(workload: &str, level: Level) -> String {
    let unit = if level.rate.is_some() { "/s" } else { "" };
    format!("{workload} at {}{unit}", thousands(level.amount().into()))
}

/// The load tool's own HTTP client.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Client {
    /// fasthttp: no limit on the time to connect; repeats a request in silence where a server closes before the first
    /// byte.
    #[default]
    Fasthttp,
    /// Go's `net/http`: one limit over all that a request needs, connecting included.
    Http1,
}

impl Client {
    /// As campaigns call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fasthttp => "fasthttp",
            Self::Http1 => "http1",
        }
    }

    /// The other client.
    pub const fn other(self) -> Self {
        match self {
            Self::Fasthttp => Self::Http1,
            Self::Http1 => Self::Fasthttp,
        }
    }

    /// Whether it is the tool's default.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// A load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// Connections held; in an open loop at most.
    pub connections: u32,
    /// Requests in flight on each connection at most, at least one. A request that is due while all of them wait for an
    /// answer is sent late.
    pub in_flight: u32,
    /// Whether bodies are sent with the ids that they have, and answers counted by their status alone: for a server that
    /// answers the same text to all. Other tools than rpc-load always do.
    pub as_is: bool,
    /// Calls in each request, at least one; more are sent as one JSON-RPC batch.
    pub batch: u32,
    /// Whether the connections are held and nothing is sent.
    pub hold: bool,
    /// Whether each request has a connection of its own, which the server closes.
    pub close_each: bool,
    /// How long, in milliseconds.
    pub duration_ms: u64,
    /// When a request is given up, in milliseconds from when it was sent.
    pub timeout_ms: u64,
    /// Requests a second that are due, whatever became of those before: an open loop. `None` in a closed one, in which
    /// each connection sends again once it has its answer.
    pub rate: Option<u32>,
    /// The tool's HTTP client.
    pub client: Client,
    /// The stages in which users come and go, for a tool that has users.
    pub stages: Vec<UserStage>,
    /// What reaching the server takes.
    #[serde(flatten)]
    pub access: Access,
}

/// A stage of a load with users: their number changes evenly from that of the stage before, or from none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserStage {
    /// Users at its end.
    pub users: u32,
    /// How long it is, in milliseconds.
    pub duration_ms: u64,
}

impl Default for Load {
    /// No load, one request at a time on each connection.
    fn default() -> Self {
        Self {
            connections: 0,
            in_flight: 1,
            as_is: false,
            batch: 1,
            hold: false,
            close_each: false,
            duration_ms: 0,
            timeout_ms: 0,
            rate: None,
            client: Client::default(),
            stages: Vec::new(),
            access: Access::default(),
        }
    }
}

impl Load {
    /// Requests that are due in the window; none in a closed loop.
    pub fn intended(&self) -> u64 {
        u64::from(self.rate.unwrap_or(0)) * self.duration_ms / 1_000
    }

    /// The part of one of several load hosts, by its rank from 0: connections and rate are divided, and the first hosts
    /// take one more each where that leaves a remainder.
    #[must_use]
    pub fn share(&self, rank: u32, hosts: u32) -> Self {
        let part = |of: u32| of / hosts + u32::from(rank < of % hosts);
        Self { connections: part(self.connections), rate: self.rate.map(part), ..self.clone() }
    }

    /// The most users of a load that has users.
    pub fn most_users(&self) -> u32 {
        self.stages.iter().map(|stage| stage.users).max().unwrap_or(self.connections)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shares_of_all_hosts_are_the_load() {
        for (connections, rate, hosts) in [(64, 1_000, 3), (7, 11, 4), (5, 5, 5), (1, 9, 1)] {
            let load = Load { connections, rate: Some(rate), duration_ms: 500, ..Load::default() };
            let shares: Vec<Load> = (0..hosts).map(|rank| load.share(rank, hosts)).collect();
            assert_eq!(shares.iter().map(|share| share.connections).sum::<u32>(), connections);
            assert_eq!(shares.iter().filter_map(|share| share.rate).sum::<u32>(), rate);
            let [most, least] = [shares.first(), shares.last()].map(|share| share.unwrap().connections);
            assert!(most - least <= 1 && shares.iter().all(|share| share.duration_ms == 500));
        }
    }
}
