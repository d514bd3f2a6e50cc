//! CPU time of a process.

use serde::{Deserialize, Serialize};

/// CPU time since a process started, in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuTime {
    /// In the program itself.
    pub user_s: f64,
    /// In the kernel on its behalf, its share of network processing included.
    pub system_s: f64,
}

impl CpuTime {
    /// Both together.
    pub fn total_s(self) -> f64 {
        self.user_s + self.system_s
    }

    /// An exact total, divided as the ticks of user and system time are. Before the first tick there is nothing to
    /// divide by, and next to nothing to divide.
    pub fn divided(total_s: f64, user_ticks: u64, system_ticks: u64) -> Self {
        let ticks = user_ticks + system_ticks;
        let user_s = total_s * if ticks > 0 { user_ticks as f64 / ticks as f64 } else { 0.5 };
        Self { user_s, system_s: total_s - user_s }
    }

    /// The time of two processes.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { user_s: self.user_s + other.user_s, system_s: self.system_s + other.system_s }
    }

    /// The time between an earlier reading and this one.
    pub fn since(self, earlier: Self) -> Self {
        Self { user_s: self.user_s - earlier.user_s, system_s: self.system_s - earlier.system_s }
    }
}

impl From<&libc::rusage> for CpuTime {
    fn from(usage: &libc::rusage) -> Self {
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
        Self { user_s: seconds(usage.ru_utime), system_s: seconds(usage.ru_stime) }
    }
}
