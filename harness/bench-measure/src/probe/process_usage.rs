//! A process's CPU time and memory, from outside it.

use anyhow::{Context, Result};
use bench_core::machine::CpuTime;
use procfs::process::Process;
use rustix::time::{ClockId, clock_gettime};

/// CPU time of another process, dead threads included.
///
/// The total comes from the process's CPU clock, which counts nanoseconds; `/proc` gives only how it divides between
/// user and system, in ticks of usually 10 ms.
pub fn cpu_time(pid: u32) -> Result<CpuTime> {
    let total_s = clock_s(pid)?;
    let stat = process(pid)
        .and_then(|process| process.stat().ok())
        .with_context(|| format!("process {pid} is gone"))?;
    Ok(CpuTime::divided(total_s, stat.utime, stat.stime))
}

/// A process's CPU clock, all its threads included, in seconds.
///
/// # Errors
/// The process is gone.
pub fn clock_s(pid: u32) -> Result<f64> {
    let mut clock: libc::clockid_t = 0;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: both pointers are to locals that outlive the calls.
    let failed = unsafe {
        libc::clock_getcpuclockid(pid as libc::pid_t, &raw mut clock) != 0
            || libc::clock_gettime(clock, &raw mut time) != 0
    };
    anyhow::ensure!(!failed, "process {pid} is gone");
    Ok(time.tv_sec as f64 + time.tv_nsec as f64 / 1e9)
}

/// CPU time of the calling thread, in seconds.
pub fn thread_cpu_s() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// A process in `/proc`; `None` where it is gone.
pub(super) fn process(pid: u32) -> Option<Process> {
    Process::new(i32::try_from(pid).ok()?).ok()
}

/// The most memory that a process has held, in bytes.
pub fn peak_memory_bytes(pid: u32) -> Option<u64> {
    process(pid)?.status().ok()?.vmhwm.map(|kib| kib * 1024)
}
