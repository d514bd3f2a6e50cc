//! A server's resources through the window: what it used and held, at moments some 100 ms apart.
//!
//! Not for totals, which `process` reads at the window's ends.

use serde::{Deserialize, Serialize};

/// One moment of a server. Counts and times are since the window's start; what the machine lacks is left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceSample {
    /// When, in milliseconds since the window's start.
    pub t_ms: u64,
    /// CPU time in the program itself, in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_us: Option<u64>,
    /// CPU time in the kernel on its behalf, in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_us: Option<u64>,
    /// Memory that it holds (resident), in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Threads that it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u64>,
    /// How often its threads gave a processor up to wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voluntary_switches: Option<u64>,
    /// How often its threads were taken off a processor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub involuntary_switches: Option<u64>,
    /// Time that its threads could have run but waited for a processor, summed over threads, in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_delay_us: Option<u64>,
    /// Files and sockets that it has open, beyond those it had when it was ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_files: Option<u64>,
}
