//! Whether the hosts of a block start together, and all come through.
//!
//! A block is void where a host was placed after the start time, where a host was lost, or where the first and the last start are further
//! apart than [`MOST_SKEW`] of the window.

use rand_distr::{Distribution, Exp1, StandardNormal};
use rand_xoshiro::rand_core::Rng;
use serde::{Deserialize, Serialize};

use super::{LEAD_S, WINDOW_S, happens, rounded};

/// The skew above which a block is void, as a share of the window.
pub const MOST_SKEW: f64 = 0.01;

/// Blocks that are simulated of each number of hosts.
pub const BLOCKS: usize = 2_000;

/// Placing a host takes this many seconds in the median, and the logarithm has this standard deviation.
pub const PLACED_S: (f64, f64) = (1.5, 0.5);

/// A host wakes at the start time this much late, on average, in milliseconds.
pub const WAKES_MS: f64 = 0.2;

/// With this probability something else runs at that moment, for this many milliseconds on average.
pub const HELD_UP: (f64, f64) = (1e-4, 200.0);

/// The probability with which a host is lost in a trial.
pub const LOST: f64 = 2e-4;

/// The standard deviation of the offset of a clock that follows no other, in milliseconds.
pub const FREE_MS: f64 = 500.0;

/// A host whose reported offset is larger is replaced before the start, in milliseconds.
pub const CHECKED_MS: f64 = 20.0;

/// The standard deviation of the error of such a report, in milliseconds.
pub const REPORT_MS: f64 = 0.5;

/// How well the hosts' clocks follow one another.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Clocks {
    /// The standard deviation of an offset, in milliseconds.
    pub offset_ms: f64,
    /// The probability with which a clock follows no other.
    pub free: f64,
}

impl Clocks {
    /// Those of one site that chrony disciplines, and those of machines that follow servers far away.
    pub const ALL: [Self; 2] = [Self { offset_ms: 0.1, free: 2e-4 }, Self { offset_ms: 10.0, free: 2e-3 }];
}

/// What became of the blocks of a number of hosts: shares of the blocks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Starts {
    /// The hosts' clocks.
    pub clocks: Clocks,
    /// Load hosts.
    pub hosts: u32,
    /// Blocks whose starts were too far apart.
    pub skewed: f64,
    /// Blocks with a host that was placed too late.
    pub late: f64,
    /// Blocks with a lost host.
    pub lost: f64,
    /// Blocks that are void for any of these reasons.
    pub voided: f64,
    /// The same where hosts with a large offset are replaced before the start.
    pub voided_after_check: f64,
    /// The time from placing to the start with which 99 % of blocks have no late host, in seconds.
    pub lead_s: f64,
}

/// A host of a block.
#[derive(Clone, Copy)]
struct Host {
    offset_ms: f64,
    /// Its start by the true time, from the start time on.
    start_ms: f64,
    placed_s: f64,
    is_lost: bool,
}

/// Simulates [`BLOCKS`] blocks.
pub fn simulate(clocks: Clocks, hosts: u32, rng: &mut impl Rng) -> Starts {
    let mut counts = [0_usize; 5];
    let mut slowest_s = Vec::with_capacity(BLOCKS);
    for _ in 0..BLOCKS {
        let mut block: Vec<Host> = (0..hosts).map(|_| draw(clocks, rng)).collect();
        let before = reasons(&block);
        slowest_s.push(block.iter().map(|host| host.placed_s).fold(0.0, f64::max));
        for host in &mut block {
            *host = checked(*host, clocks, rng);
        }
        let is_void = |reasons: [bool; 3]| reasons.contains(&true);
        let [skewed, late, lost] = before;
        let found = [skewed, late, lost, is_void(before), is_void(reasons(&block))];
        counts.iter_mut().zip(found).for_each(|(count, is)| *count += usize::from(is));
    }
    slowest_s.sort_by(f64::total_cmp);
    let [skewed, late, lost, voided, voided_after_check] =
        counts.map(|count| rounded(count as f64 / BLOCKS as f64));
    let lead_s = rounded(slowest_s[BLOCKS * 99 / 100]);
    Starts { clocks, hosts, skewed, late, lost, voided, voided_after_check, lead_s }
}

fn draw(clocks: Clocks, rng: &mut impl Rng) -> Host {
    let deviation = if happens(rng, clocks.free) { FREE_MS } else { clocks.offset_ms };
    let offset_ms = deviation * normal(rng);
    let held_up_ms = if happens(rng, HELD_UP.0) { HELD_UP.1 * exponential(rng) } else { 0.0 };
    // A clock that is ahead shows the start time early.
    let start_ms = WAKES_MS * exponential(rng) + held_up_ms - offset_ms;
    let placed_s = PLACED_S.0 * libm::exp(PLACED_S.1 * normal(rng));
    Host { offset_ms, start_ms, placed_s, is_lost: happens(rng, LOST) }
}

/// The host, or one in its place that reports a small offset.
fn checked(mut host: Host, clocks: Clocks, rng: &mut impl Rng) -> Host {
    while (host.offset_ms + REPORT_MS * normal(rng)).abs() > CHECKED_MS {
        // Spare hosts are placed already.
        host = Host { placed_s: host.placed_s, ..draw(clocks, rng) };
    }
    host
}

/// Whether a block is skewed, late, or lacks a host.
fn reasons(block: &[Host]) -> [bool; 3] {
    let first = block.iter().map(|host| host.start_ms).fold(f64::INFINITY, f64::min);
    let last = block.iter().map(|host| host.start_ms).fold(f64::NEG_INFINITY, f64::max);
    // By its own clock, which is all that a host knows.
    let is_late = |host: &Host| host.placed_s + host.offset_ms / 1e3 > LEAD_S;
    [
        last - first > MOST_SKEW * WINDOW_S * 1e3,
        block.iter().any(is_late),
        block.iter().any(|host| host.is_lost),
    ]
}

fn normal(rng: &mut impl Rng) -> f64 {
    StandardNormal.sample(rng)
}

fn exponential(rng: &mut impl Rng) -> f64 {
    Exp1.sample(rng)
}
