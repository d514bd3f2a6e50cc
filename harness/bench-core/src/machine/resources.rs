//! What a server used and held at a moment.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// One moment of a server. Counts and times are since the window's start; what the machine lacks is left out.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceSample {
    /// When it had been read, in milliseconds since the window's start.
    pub t_ms: u64,
    /// CPU time in the program itself, in microseconds.
    pub user_us: Option<u64>,
    /// CPU time in the kernel on its behalf, in microseconds.
    pub system_us: Option<u64>,
    /// Memory that it holds (resident), in bytes.
    pub memory_bytes: Option<u64>,
    /// Threads that it has.
    pub threads: Option<u64>,
    /// How often its threads gave a processor up to wait.
    pub voluntary_switches: Option<u64>,
    /// How often its threads were taken off a processor.
    pub involuntary_switches: Option<u64>,
    /// Time that its threads could have run but waited for a processor, summed over threads, in microseconds.
    pub run_delay_us: Option<u64>,
    /// Files and sockets that it has open, beyond those it had when it was ready.
    pub open_files: Option<u64>,
    /// Connections that wait to be accepted.
    pub listen_waiting: Option<u64>,
}
