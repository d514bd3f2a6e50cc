//! The figures of a trial: what each is called, and in which unit.

use serde::{Deserialize, Serialize};

/// A figure of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// Successful requests a second.
    RequestsPerSecond,
    /// Server CPU time for a request, in microseconds.
    CpuUsPerRequest,
    /// Median latency, in microseconds.
    P50Us,
    /// 99th percentile of latency, in microseconds.
    P99Us,
    /// 99.9th percentile of latency, in microseconds.
    P999Us,
    /// Slowest request, in microseconds.
    MaxUs,
    /// Processors that the server used.
    ServerCores,
    /// Processors that the load tool used.
    ClientCores,
    /// The load tool's CPU time for a request, in microseconds.
    ClientCpuUsPerRequest,
    /// Part of the server's CPU time spent in the kernel, from 0 to 1.
    SystemShare,
    /// The most memory that the server held, in bytes.
    PeakMemoryBytes,
    /// The most memory that the server held in the window, in bytes: without what it held in the warm-up alone.
    HeldMemoryBytes,
    /// Memory that the server took for each connection, in bytes: what it held in the window above what it held before.
    ConnectionMemoryBytes,
    /// Connections that waited for an answer on average, by Little's law: rate times mean latency.
    ActiveConnections,
    /// The most connections that the server held open at once.
    EstablishedConnections,
    /// CPU time for a request in the first half of the window over that in the second: 1 where the window is steady.
    FirstHalfCpuRatio,
    /// The same spent in the program itself (user time), in microseconds.
    UserUsPerRequest,
    /// The same spent in the kernel (system time), in microseconds.
    SystemUsPerRequest,
    /// How often the server's threads left a processor, for a request.
    SwitchesPerRequest,
    /// How often the server was stopped in the window.
    Stalls,
    /// Requests a second that the load tool sent in an open loop.
    AchievedRate,
    /// 99th percentile of how late a request was sent in an open loop or by a user, in microseconds.
    SendLagP99Us,
    /// The same without what the server is the reason of; all of it where the tool does not record that.
    OwnLagP99Us,
    /// Median latency from the send itself in an open loop, in microseconds.
    P50FromSendUs,
    /// 99th percentile of latency from the send itself in an open loop, in microseconds.
    P99FromSendUs,
    /// Median time from a request's first segment on the network interface to its answer's, in microseconds.
    WireP50Us,
    /// What the median from the send has beyond that, in microseconds: the load tool's own work.
    ToolUs,
    /// CPU time of the server behind a gateway for a request, in microseconds.
    UpstreamCpuUsPerRequest,
    /// The most memory that the server behind a gateway held, in bytes.
    UpstreamMemoryBytes,
    /// A round trip over the network between load tool and server without load, in microseconds.
    RoundTripUs,
    /// 99th percentile of how much later than due a packet left that network, in microseconds.
    PacketLateP99Us,
    /// Processors that this network used, where the harness carries its packets.
    LinkCores,
    /// Packets that this network carried a second, in both directions.
    PacketsPerSecond,
    /// Segments that were sent again on the machine, for a window.
    SegmentsSentAgain,
    /// Bytes of one answer.
    AnswerBytes,
    /// Median time from the call of `connect` until a connection can carry a request, in microseconds.
    ConnectP50Us,
    /// 99th percentile of that time, in microseconds.
    ConnectP99Us,
    /// Time until all connections of a load were established or had failed, in microseconds.
    ConnectAllUs,
    /// CPU time of the server and of the one behind it for a request, in microseconds; of the server alone where it is
    /// no gateway.
    CpuUsWithUpstream,
    /// CPU time of the server for each connection that it held, in microseconds; only where nothing is sent on them.
    CpuUsPerConnection,
    /// Requests that ended, failed ones included.
    Requests,
    /// Requests whose user left before they ended: neither answered nor failed.
    LeftRequests,
    /// Processors that the load tool used in its busiest twentieth of the window.
    BusiestClientCores,
}

impl Figure {
    /// All figures.
    pub const ALL: [Self; 43] = [
        Self::RequestsPerSecond,
        Self::CpuUsPerRequest,
        Self::P50Us,
        Self::P99Us,
        Self::P999Us,
        Self::MaxUs,
        Self::ServerCores,
        Self::ClientCores,
        Self::ClientCpuUsPerRequest,
        Self::SystemShare,
        Self::PeakMemoryBytes,
        Self::HeldMemoryBytes,
        Self::ConnectionMemoryBytes,
        Self::ActiveConnections,
        Self::EstablishedConnections,
        Self::FirstHalfCpuRatio,
        Self::UserUsPerRequest,
        Self::SystemUsPerRequest,
        Self::SwitchesPerRequest,
        Self::Stalls,
        Self::AchievedRate,
        Self::SendLagP99Us,
        Self::OwnLagP99Us,
        Self::P50FromSendUs,
        Self::P99FromSendUs,
        Self::WireP50Us,
        Self::ToolUs,
        Self::UpstreamCpuUsPerRequest,
        Self::UpstreamMemoryBytes,
        Self::RoundTripUs,
        Self::PacketLateP99Us,
        Self::LinkCores,
        Self::PacketsPerSecond,
        Self::SegmentsSentAgain,
        Self::AnswerBytes,
        Self::ConnectP50Us,
        Self::ConnectP99Us,
        Self::ConnectAllUs,
        Self::CpuUsPerConnection,
        Self::CpuUsWithUpstream,
        Self::Requests,
        Self::LeftRequests,
        Self::BusiestClientCores,
    ];

    /// The figure of that name, as campaigns have it.
    pub fn named(name: &str) -> Option<Self> {
        serde_json::from_value(name.into()).ok()
    }

    /// Its name in campaigns.
    pub fn name(self) -> String {
        let name = serde_json::to_value(self).ok();
        name.and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default()
    }

    /// Whether it is a latency of requests from when they were due.
    pub const fn is_latency(self) -> bool {
        matches!(self, Self::P50Us | Self::P99Us | Self::P999Us | Self::MaxUs)
    }

    /// What a reader knows it by, and its unit.
    pub const fn described(self) -> (&'static str, Unit) {
        match self {
            Self::RequestsPerSecond => ("requests/s", Unit::Number),
            Self::CpuUsPerRequest => ("CPU time per request", Unit::Us),
            Self::P50Us => ("p50", Unit::Us),
            Self::P99Us => ("p99", Unit::Us),
            Self::P999Us => ("p99.9", Unit::Us),
            Self::MaxUs => ("slowest request", Unit::Us),
            Self::ServerCores => ("processors of the server", Unit::Number),
            Self::ClientCores => ("processors of the load tool", Unit::Number),
            Self::ClientCpuUsPerRequest => ("the load tool's CPU time per request", Unit::Us),
            Self::SystemShare => ("share of CPU time in the kernel", Unit::Share),
            Self::PeakMemoryBytes => ("most memory", Unit::Bytes),
            Self::HeldMemoryBytes => ("most memory in the window", Unit::Bytes),
            Self::ConnectionMemoryBytes => ("memory of a connection", Unit::Bytes),
            Self::ActiveConnections => ("active connections", Unit::Number),
            Self::EstablishedConnections => ("open connections", Unit::Number),
            Self::FirstHalfCpuRatio => ("CPU time per request, first half over second", Unit::Number),
            Self::UserUsPerRequest => ("user CPU time per request", Unit::Us),
            Self::SystemUsPerRequest => ("system CPU time per request", Unit::Us),
            Self::SwitchesPerRequest => ("context switches per request", Unit::Number),
            Self::Stalls => ("stalls", Unit::Number),
            Self::AchievedRate => ("requests sent a second", Unit::Number),
            Self::SendLagP99Us => ("lateness of sends, p99", Unit::Us),
            Self::OwnLagP99Us => ("the load tool's own lateness, p99", Unit::Us),
            Self::P50FromSendUs => ("p50 from the send", Unit::Us),
            Self::P99FromSendUs => ("p99 from the send", Unit::Us),
            Self::WireP50Us => ("p50 on the interface", Unit::Us),
            Self::ToolUs => ("time in the load tool", Unit::Us),
            Self::UpstreamCpuUsPerRequest => ("upstream's CPU time per request", Unit::Us),
            Self::UpstreamMemoryBytes => ("upstream's most memory", Unit::Bytes),
            Self::RoundTripUs => ("round trip", Unit::Us),
            Self::PacketLateP99Us => ("lateness of packets, p99", Unit::Us),
            Self::LinkCores => ("processors of the network", Unit::Number),
            Self::PacketsPerSecond => ("packets/s", Unit::Number),
            Self::SegmentsSentAgain => ("segments sent again in a window", Unit::Number),
            Self::AnswerBytes => ("bytes of an answer", Unit::Bytes),
            Self::ConnectP50Us => ("time to connect, p50", Unit::Us),
            Self::ConnectP99Us => ("time to connect, p99", Unit::Us),
            Self::ConnectAllUs => ("all connected within", Unit::Us),
            Self::CpuUsWithUpstream => ("CPU time per request with the server behind it", Unit::Us),
            Self::CpuUsPerConnection => ("CPU time per connection", Unit::Us),
            Self::Requests => ("requests", Unit::Number),
            Self::LeftRequests => ("left by their user", Unit::Number),
            Self::BusiestClientCores => ("processors of the load tool at its busiest", Unit::Number),
        }
    }
}

/// What a figure counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Microseconds.
    Us,
    /// Bytes.
    Bytes,
    /// A share from 0 to 1.
    Share,
    /// A number, or a number a second.
    Number,
}
