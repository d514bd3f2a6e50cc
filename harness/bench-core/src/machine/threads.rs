//! What a thread did.

use serde::{Deserialize, Serialize};

/// One thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadUse {
    /// As the system has it, cut at 15 characters.
    pub name: String,
    /// CPU time, in microseconds.
    pub cpu_us: u64,
    /// Time in which it could have run but waited for a processor, in microseconds; 0 where the machine does not count
    /// it.
    pub run_delay_us: u64,
}

impl ThreadUse {
    /// Time in which it had work: it ran, or waited for a processor.
    pub fn runnable_us(&self) -> u64 {
        self.cpu_us + self.run_delay_us
    }
}
