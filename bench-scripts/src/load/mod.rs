//! Load tools. To add one, write a module that implements [`load_tool::Driver`], and an entry in [`LoadTool`]'s table.
//!
//! A load is closed-loop (a connection sends again once it has its answer) or open-loop (requests are due at a rate, answered or not). Units are converted here, once. No other module reads a tool's output.

pub mod bodies;
pub mod bombardier;
pub mod burst;
pub mod details;
pub mod k6;
pub mod load_tool;
pub mod oha;
pub mod records;
pub mod rpc_load;
pub mod toolchain;
pub mod vegeta;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use self::details::Details;
use self::load_tool::{About, Driver};

/// A load tool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LoadTool {
    /// Closed loop; with a limit on its rate, for comparison, still closed.
    #[default]
    Bombardier,
    /// Open loop, one body a request in the order given.
    Vegeta,
    /// Open loop at higher rates; draws its bodies at random from those given.
    Oha,
    /// This workspace's own: closed or open loop.
    RpcLoad,
    /// Users who come and go in stages, each of whom sends one request a second.
    K6,
}

impl LoadTool {
    /// Every load tool: those of the closed loop first, then those of the open loop in the order in which they are tried, and then that of users
    /// in stages.
    pub const ALL: [Self; 5] = [Self::Bombardier, Self::Vegeta, Self::Oha, Self::RpcLoad, Self::K6];

    /// The table: each tool's module.
    pub fn driver(self) -> &'static dyn Driver {
        match self {
            Self::Bombardier => &bombardier::Bombardier,
            Self::Vegeta => &vegeta::Vegeta,
            Self::Oha => &oha::Oha,
            Self::RpcLoad => &rpc_load::RpcLoad,
            Self::K6 => &k6::K6,
        }
    }

    /// The tool of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    /// Those that have open loops, in the order in which they are tried.
    pub fn of_open_loops() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|tool| tool.can().open_loop)
    }

    /// As campaigns and its authors call it.
    pub fn name(self) -> &'static str {
        self.can().name
    }

    /// Whether it reports when a request was due, so that latency can count from then.
    pub fn tells_when_due(self) -> bool {
        self.can().tells_when_due
    }

    /// What it is and can do.
    pub fn can(self) -> &'static About {
        self.driver().about()
    }

    /// Whether it is the default.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// How much load is put on a server: what a campaign varies. A closed loop has connections; an open loop has a rate as well.
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
    /// Whether `connections` is the number of requests in flight, because some servers get several of them on each connection.
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
            None => write!(f, "{} {}", self.connections, self.unit()),
            Some(rate) => write!(f, "{rate} requests/s by {}", self.tool.name()),
        }?;
        if self.disturbed { f.write_str(", disturbed") } else { Ok(()) }
    }
}

impl Level {
    /// What is varied.
    pub const fn unit(self) -> &'static str {
        match self.rate {
            Some(_) => "requests/s",
            None if self.in_flight => "requests in flight",
            None => "connections",
        }
    }

    /// The number that is varied: requests a second of an open loop, connections or requests in flight of a closed one.
    pub fn amount(self) -> u32 {
        self.rate.unwrap_or(self.connections)
    }
}

/// The load tool's own HTTP client.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Client {
    /// fasthttp: no limit on the time to connect; repeats a request in silence where a server closes before the first byte.
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
    /// Requests in flight on each connection at most, at least one. A request that is due while all of them wait for an answer is
    /// sent late.
    pub in_flight: u32,
    /// Whether each request has an id of its own over HTTP too, as over WebSocket; only of tools that reach both.
    pub unique_ids: bool,
    /// Calls in each request, at least one; more are sent as one JSON-RPC batch.
    pub batch: u32,
    /// Whether the connections are held and nothing is sent.
    pub hold: bool,
    /// How long, in milliseconds.
    pub duration_ms: u64,
    /// When a request is given up, in milliseconds from when it was sent.
    pub timeout_ms: u64,
    /// Requests a second that are due, whatever became of those before: an open loop. `None` in a closed one, in which each
    /// connection sends again once it has its answer.
    pub rate: Option<u32>,
    /// The tool's HTTP client.
    pub client: Client,
    /// The stages in which users come and go, for a tool that has users; where empty, `connections` of them come over `duration_ms`.
    pub stages: Vec<UserStage>,
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
            unique_ids: false,
            batch: 1,
            hold: false,
            duration_ms: 0,
            timeout_ms: 0,
            rate: None,
            client: Client::default(),
            stages: Vec::new(),
        }
    }
}

impl Load {
    /// Requests that are due in the window; none in a closed loop.
    pub fn intended(&self) -> u64 {
        u64::from(self.rate.unwrap_or(0)) * self.duration_ms / 1_000
    }

    /// The part of one of several load hosts, by its rank from 0: connections and rate are divided, and the first hosts take one more each
    /// where that leaves a remainder.
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

/// What a load tool saw of one window.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadSample {
    /// Requests that were answered with a 2xx status. With batches, and for `failed` and latency too, a request is a whole batch.
    pub succeeded: u64,
    /// Everything else, by the tool's own words, without ports.
    pub failed: BTreeMap<String, u64>,
    /// How long the tool took, in seconds: the window and the answers it still waited for.
    pub time_taken_s: f64,
    /// Bytes that the tool read, heads included; in an open-loop sample those of bodies alone.
    pub bytes_read: u64,
    /// Bytes that the tool wrote, heads included; `None` of other tools than bombardier and in older runs.
    pub bytes_written: Option<u64>,
    /// Latency, in microseconds. Failed requests are in it too. In an open-loop sample it counts from when a request was due,
    /// and those that never ended, or of which the tool keeps no time, are not in it.
    pub latency_us: Latency,
    /// The quantile function of latency: probability from 0 to 1 and microseconds, rising, finer in the tail. Empty in older runs.
    #[serde(default)]
    pub quantiles: Vec<(f64, f64)>,
    /// Where requests were due at a rate: how well the tool kept to it.
    pub open: Option<OpenWindow>,
    /// The parts of the window, by when requests were due; where that is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<Bin>,
    /// What only a load with users has.
    pub staged: Option<Box<k6::Staged>>,
    /// What only some loads have.
    #[serde(default, skip_serializing_if = "Details::is_default")]
    pub details: Details,
}

/// The requests that were due in one part of a window. Latencies count from when they were due, in microseconds.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Bin {
    /// When it begins, in milliseconds of the window.
    pub from_ms: u32,
    /// Requests that were due and ended.
    pub requests: u32,
    /// Those of them that were answered with a 2xx status; unknown in older runs.
    pub answered: Option<u32>,
    /// Median.
    pub p50_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    /// The slowest.
    pub max_us: f64,
}

/// How a tool kept to the requested rate.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct OpenWindow {
    /// Requests a second that were requested.
    pub requested_rate: f64,
    /// Requests a second that were sent, from when the first was due to when the last was due or sent.
    pub achieved_rate: f64,
    /// Requests that were due.
    pub intended: u64,
    /// Requests that were sent.
    pub sent: u64,
    /// By how much a request was sent late, in microseconds: the tool was slow, or all of its connections waited for answers.
    /// `None` where the tool does not report when a request was due; `latency_us` then counts from when it was sent.
    pub send_lag_us: Option<Latency>,
    /// The part of it that is the tool's own, in microseconds: 0 for a request that waited because all connections were busy.
    /// `None` as above, and in older runs.
    pub own_lag_us: Option<Latency>,
    /// Latency from when a request was sent, in microseconds: what the server took, without what had to wait before.
    pub from_send_us: Latency,
}

/// A latency distribution, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile; unknown in older runs.
    pub p999: Option<f64>,
    /// The slowest request.
    pub max: f64,
}

impl LoadSample {
    /// Requests that failed, of any kind.
    pub fn failures(&self) -> u64 {
        self.failed.values().sum()
    }

    /// Calls of a number of requests: each call of a batch counts.
    pub fn calls(&self, requests: u64) -> u64 {
        requests * u64::from(self.details.batch.unwrap_or(1))
    }

    /// Requests that failed because their connection could not be established.
    pub fn not_connected(&self) -> u64 {
        let is_of_connecting = |kind: &str| kind.starts_with("dial") || kind.contains("connect:");
        self.failed.iter().filter(|(kind, _)| is_of_connecting(kind)).map(|(_, count)| count).sum()
    }

    /// Requests that took longer than `us` microseconds, failed ones included. A lower bound: between two points of the quantile
    /// function the upper one counts.
    pub fn slower_than(&self, us: f64) -> u64 {
        let all = (self.succeeded + self.failures()) as f64;
        let above = self.quantiles.iter().find(|(_, time)| *time > us);
        let counted = above.map_or(0.0, |(probability, _)| (1.0 - probability) * all).round() as u64;
        counted.max(u64::from(self.latency_us.max > us))
    }

    /// Bad requests: those that failed, and those that were answered later than the timeout. A lower bound: how long a failed
    /// request took is not known by itself, so the failed ones count as the slowest.
    pub fn bad(&self, timeout_ms: u64) -> u64 {
        self.failures().max(self.slower_than(timeout_ms as f64 * 1e3))
    }

    /// Requests a second that were sent, whatever became of them.
    pub fn sent_per_second(&self) -> f64 {
        let all = (self.succeeded + self.failures()) as f64;
        self.open.map_or(all / self.time_taken_s, |open| open.achieved_rate)
    }

    /// Share of all requests that were answered with a 2xx status, from 0 to 1.
    pub fn answered_share(&self) -> f64 {
        self.succeeded as f64 / ((self.succeeded + self.failures()) as f64).max(1.0)
    }

    /// Successful requests a second; each call of a batch counts as one.
    pub fn requests_per_second(&self) -> f64 {
        self.calls(self.succeeded) as f64 / self.time_taken_s
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
