//! What `/proc` reports of a server.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use server_kit::testing::PATIENCE;

/// Resident memory, in bytes.
pub fn resident_bytes(pid: u32) -> f64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("the server runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it has memory");
    let kibibytes: f64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
    kibibytes * 1_024.0
}

/// CPU time used so far, in seconds; counted in ticks of 10 ms.
pub fn cpu_s(pid: u32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("the server runs");
    // The second field is the program's name in brackets, and may hold anything.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks: u64 = [11, 12].iter().map(|&field| fields[field].parse::<u64>().expect("a number")).sum();
    ticks as f64 / 100.0
}

/// Its open files.
pub fn open_files(pid: u32) -> usize {
    fs::read_dir(format!("/proc/{pid}/fd")).expect("the server runs").count()
}

/// Waits until it has at most `most` open files.
///
/// # Panics
/// It still has more after [`PATIENCE`].
pub fn wait_for_open_files(pid: u32, most: usize) {
    let deadline = Instant::now() + PATIENCE;
    while open_files(pid) > most {
        assert!(Instant::now() < deadline, "{} files are still open, not {most}", open_files(pid));
        thread::sleep(Duration::from_millis(10));
    }
}

/// Raises this process's own limit of open files as far as it goes: each connection is one.
pub fn raise_open_files() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the pointer is to a live rlimit, which the first call fills and the second reads.
    unsafe {
        assert_eq!(libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit), 0);
        limit.rlim_cur = limit.rlim_max;
        assert_eq!(libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit), 0);
    }
}
