//! What the harness and its agents write for each other, into a folder that all of them see. Each file is written whole
//! and then renamed, so that nobody reads half of one.

use bench_core::machine::{CpuTime, Host};
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use bench_core::load::{Load, LoadSample, LoadTool};
use bench_core::repository;

/// The file of a [`SharedLoad`].
pub const PLAN: &str = "plan.json";

/// What that file is called once its trial is void. An agent that no longer finds its plan ends.
pub const VOID_PLAN: &str = "plan.void.json";

/// The ending of a host's [`Hello`].
pub const HELLO: &str = ".hello.json";
/// That of the [`Reply`] to it.
pub const REPLY: &str = ".reply.json";
/// That of its [`HostResult`].
pub const RESULT: &str = ".json";
/// That of its bodies, a body a line.
pub const BODIES: &str = ".bodies";

/// What the hosts are to do together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharedLoad {
    /// Which of a trial's loads it is.
    pub what: String,
    /// When this was written, in UTC: a load that is repeated has another plan.
    pub written_at: String,
    /// SHA-256 of the harness's program, which all agents must be.
    pub harness_sha256: String,
    /// The load tool.
    pub tool: LoadTool,
    /// SHA-256 of its program.
    pub tool_sha256: String,
    /// The folder with the load tools' pins, which is at the same path on all hosts.
    pub pins: PathBuf,
    /// Where to.
    pub url: String,
    /// The load of all hosts together.
    pub load: Load,
    /// The one body; where there are several, each host has a file of its own.
    pub body: Option<String>,
    /// The number of hosts.
    pub hosts: u32,
    /// Their names, where they are known.
    pub names: Vec<String>,
}

/// A host is there.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// Its wall clock, in microseconds since 1970.
    pub at_us: i64,
}

/// The harness has seen it. In microseconds since 1970 by the harness' clock.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// When the greeting was seen.
    pub seen_us: i64,
    /// When this was written.
    pub written_us: i64,
}

/// A host's clock, compared with the harness' by four times.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Clock {
    /// What it is ahead, in microseconds.
    pub ahead_us: f64,
    /// How far that may be wrong, in microseconds: half of what the two messages took.
    pub within_us: f64,
}

impl Clock {
    /// From the four times, as NTP has it: `hello` and `seen_us` are the host's, those in `reply` the harness'.
    pub fn compared(hello: Hello, reply: Reply, seen_us: i64) -> Self {
        let [sent, seen, written, got] =
            [hello.at_us, reply.seen_us, reply.written_us, seen_us].map(|us| us as f64);
        Self {
            ahead_us: f64::midpoint(sent - seen, got - written),
            within_us: ((got - sent) - (written - seen)).max(0.0) / 2.0,
        }
    }

    /// What it is certainly ahead, or behind where negative; 0 where both clocks may agree.
    pub fn certainly_ahead_us(self) -> f64 {
        if self.ahead_us.abs() > self.within_us { self.ahead_us } else { 0.0 }
    }
}

/// What came of a host's share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostResult {
    /// Its rank, from 0.
    pub rank: u32,
    /// What its machine calls itself.
    pub name: String,
    /// The machine.
    pub host: Host,
    /// Its clock, where it was compared.
    pub clock: Option<Clock>,
    /// What it did.
    pub done: Done,
}

/// What a host did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Done {
    /// Nothing, or the load tool failed.
    Refused {
        /// Why.
        #[serde(serialize_with = "bench_core::foreign_text::kept")]
        reason: String,
    },
    /// It sent its share.
    Measured(Measured),
}

/// What a host measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// What its load tool saw.
    pub sample: Box<LoadSample>,
    /// The tool's latencies as a line of an HdrHistogram log (nanoseconds), of a closed loop, where it prints them.
    pub histogram: Option<String>,
    /// CPU time of its load tool.
    pub cpu: CpuTime,
    /// By how much the tool was started late, in microseconds.
    pub late_us: f64,
}

impl HostResult {
    /// What it measured, where it did.
    pub fn measured(&self) -> Option<&Measured> {
        if let Done::Measured(measured) = &self.done { Some(measured) } else { None }
    }
}

/// A file of one host: `rank-R` and its ending.
pub fn of_rank(rank: u32, ending: &str) -> String {
    format!("rank-{rank}{ending}")
}

/// SHA-256 of this program, in hexadecimal.
pub fn own_sha256() -> Result<String> {
    let path = std::env::current_exe().context("this program's own path is not known")?;
    repository::sha256_of_file(&path)
}

/// Microseconds since 1970.
pub fn unix_us(at: SystemTime) -> i64 {
    at.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as i64)
}

/// A start time as agents get it, in UTC.
pub fn start_text(at: SystemTime) -> Result<String> {
    Ok(Timestamp::try_from(at).context("no time")?.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string())
}
