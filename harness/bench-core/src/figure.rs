//! The figures of a trial: what each is called, in which unit, and which of two values is the better one.

use serde::{Deserialize, Serialize};

const MORE: Option<Better> = Some(Better::More);
const LESS: Option<Better> = Some(Better::Less);
/// Of a figure of the load, of the load tool, or of what happened.
const NEITHER: Option<Better> = None;

/// Each figure: its documentation, its name, what a reader knows it by, its unit, and its better direction.
macro_rules! figures {
    ($($(#[doc = $doc:literal])+ $name:ident = $title:literal, $unit:ident, $better:ident;)+) => {
        /// A figure of a trial.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Figure {
            $($(#[doc = $doc])+ $name,)+
        }

        impl Figure {
            /// All figures.
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// What a reader knows it by, and its unit.
            pub const fn described(self) -> (&'static str, Unit) {
                match self {
                    $(Self::$name => ($title, Unit::$unit),)+
                }
            }

            /// Which of two values of a server is the better one; `None` where that says nothing of it.
            pub const fn better(self) -> Option<Better> {
                match self {
                    $(Self::$name => $better,)+
                }
            }
        }
    };
}

figures! {
    /// Successful requests a second.
    RequestsPerSecond = "requests/s", Number, MORE;
    /// Server CPU time for a request, in microseconds.
    CpuUsPerRequest = "CPU per request", Us, LESS;
    /// Server CPU time for a message, in microseconds: a batch is one message, however many calls it has.
    CpuUsPerMessage = "CPU time per message", Us, LESS;
    /// Median latency, in microseconds.
    P50Us = "p50", Us, LESS;
    /// 99th percentile of latency, in microseconds.
    P99Us = "p99", Us, LESS;
    /// 99.9th percentile of latency, in microseconds.
    P999Us = "p99.9", Us, LESS;
    /// Slowest request, in microseconds.
    MaxUs = "slowest request", Us, LESS;
    /// Processors that the server used.
    ServerCores = "processors of the server", Number, NEITHER;
    /// Processors that the load tool used.
    ClientCores = "processors of the load tool", Number, NEITHER;
    /// The load tool's CPU time for a request, in microseconds.
    ClientCpuUsPerRequest = "the load tool's CPU time per request", Us, NEITHER;
    /// Part of the server's CPU time spent in the kernel, from 0 to 1.
    SystemShare = "share of CPU time in the kernel", Share, NEITHER;
    /// The most memory that the server held, in bytes.
    PeakMemoryBytes = "most memory", Bytes, LESS;
    /// The most memory that the server held in the window, in bytes: without what it held in the warm-up alone.
    HeldMemoryBytes = "most memory in the window", Bytes, LESS;
    /// Memory that the server took for each connection, in bytes: what it held in the window above what it held before.
    ConnectionMemoryBytes = "memory of a connection", Bytes, LESS;
    /// Connections that waited for an answer on average, by Little's law: rate times mean latency.
    ActiveConnections = "active connections", Number, NEITHER;
    /// The most connections that the server held open at once.
    EstablishedConnections = "open connections", Number, NEITHER;
    /// CPU time for a request in the first half of the window over that in the second: 1 where the window is steady.
    FirstHalfCpuRatio = "CPU time per request, first half over second", Number, NEITHER;
    /// Server CPU time for a request in the program itself (user time), in microseconds.
    UserUsPerRequest = "user CPU time per request", Us, LESS;
    /// The same spent in the kernel (system time), in microseconds.
    SystemUsPerRequest = "system CPU time per request", Us, LESS;
    /// How often the server's threads left a processor, for a request.
    SwitchesPerRequest = "context switches per request", Number, LESS;
    /// How often the server was stopped in the window.
    Stalls = "stalls", Number, NEITHER;
    /// Requests a second that the load tool sent in an open loop.
    AchievedRate = "requests sent a second", Number, NEITHER;
    /// 99th percentile of how late a request was sent in an open loop or by a user, in microseconds.
    SendLagP99Us = "lateness of sends, p99", Us, NEITHER;
    /// The same without what the server is the reason of; all of it where the tool does not record that.
    OwnLagP99Us = "the load tool's own lateness, p99", Us, NEITHER;
    /// Median latency from the send itself in an open loop, in microseconds.
    P50FromSendUs = "p50 from the send", Us, LESS;
    /// 99th percentile of latency from the send itself in an open loop, in microseconds.
    P99FromSendUs = "p99 from the send", Us, LESS;
    /// CPU time of the server behind a gateway for a request, in microseconds.
    UpstreamCpuUsPerRequest = "upstream's CPU time per request", Us, LESS;
    /// The most memory that the server behind a gateway held, in bytes.
    UpstreamMemoryBytes = "upstream's most memory", Bytes, LESS;
    /// A round trip over the network between load tool and server without load, in microseconds.
    RoundTripUs = "round trip", Us, NEITHER;
    /// Segments that were sent again on the machine, for a window.
    SegmentsSentAgain = "segments sent again in a window", Number, NEITHER;
    /// Bytes of one answer.
    AnswerBytes = "bytes of an answer", Bytes, NEITHER;
    /// Median time from the call of `connect` until a connection can carry a request, in microseconds.
    ConnectP50Us = "time to connect, p50", Us, LESS;
    /// 99th percentile of that time, in microseconds.
    ConnectP99Us = "time to connect, p99", Us, LESS;
    /// Time until all connections of a load were established or had failed, in microseconds.
    ConnectAllUs = "all connected within", Us, LESS;
    /// CPU time of the server and of the one behind it for a request, in microseconds; of the server alone where it is
    /// no gateway.
    CpuUsWithUpstream = "CPU time per request with the server behind it", Us, LESS;
    /// CPU time of the server for each connection that it held, in microseconds; only where nothing is sent on them.
    CpuUsPerConnection = "CPU time per connection", Us, LESS;
    /// How fast the server's memory grew in the window without its first tenth, in KiB an hour; below 0 where it fell.
    MemorySlopeKibPerHour = "growth of memory, KiB an hour", Number, NEITHER;
    /// p99 in the second half of the window over that in the first, medians of parts; without the window's first tenth.
    P99SecondHalfOverFirst = "p99, second half over first", Number, NEITHER;
    /// Requests a second that the background load sent.
    BackgroundRate = "requests/s of the background load", Number, NEITHER;
    /// Part of them that was answered in time, from 0 to 1.
    BackgroundAnsweredShare = "share of the background load answered", Share, MORE;
    /// The highest p99 of any part of the window while a background load ran that ends within it, in microseconds.
    BackgroundPeakP99Us = "highest p99 next to the background load", Us, LESS;
    /// How long after the end of the background load p99 was back where it was, in microseconds; where it never was, the
    /// rest of the window.
    BackAfterUs = "time until p99 is back", Us, LESS;
    /// Requests that ended, failed ones included.
    Requests = "requests", Number, NEITHER;
    /// Part of the requests that failed, from 0 to 1.
    FailedShare = "share of failed requests", Share, LESS;
    /// Requests whose user left before they ended: neither answered nor failed.
    LeftRequests = "left by their user", Number, NEITHER;
    /// Processors that the load tool used in its busiest twentieth of the window.
    BusiestClientCores = "processors of the load tool at its busiest", Number, NEITHER;
    /// Part of the periods of the server's `cpu_quota` in which it was used up, from 0 to 1.
    ThrottledShare = "share of periods without processor time left", Share, NEITHER;
    /// The share of its processors that the busiest of several load hosts used, from 0 to 1.
    BusiestHost = "share of the busiest load host", Share, NEITHER;
    /// How long after the start time the last of several load hosts began, in microseconds.
    LatestHostUs = "latest start of a load host", Us, NEITHER;
}

impl Figure {
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
}

/// The better direction of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// Such as requests a second.
    More,
    /// Such as time.
    Less,
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
