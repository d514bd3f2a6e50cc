//! What is known of the machine of a run, of a process on it, and of a limited part of it; `bench-measure` reads it.

mod box_size;
mod cpu_time;
mod foreign_cpu;
mod host;
mod network;
mod resources;
mod threads;
mod usage;

use std::env;
use std::path::PathBuf;
use std::sync::OnceLock;

pub use box_size::{Cpus, MemoryMax, Size};
pub use cpu_time::CpuTime;
pub use foreign_cpu::{ForeignCpu, MUCH_FOREIGN};
pub use host::{Host, HostActivity, MUCH_STEAL, Processor};
pub use network::NetworkCounters;
pub use resources::ResourceSample;
pub use threads::ThreadUse;
pub use usage::{OutOfMemory, Usage};

/// Processors that this process may use. Found once: to find it reads files of the kernel, and reports need it for
/// each sample.
pub fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get))
}

/// The program of that name on the `PATH`.
pub fn on_path(program: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?).map(|dir| dir.join(program)).find(|path| path.is_file())
}

/// What was counted from an earlier reading to a later one; unknown where it is unknown in one of them.
pub fn counted(now: Option<u64>, earlier: Option<u64>) -> Option<u64> {
    Some(now?.saturating_sub(earlier?))
}
