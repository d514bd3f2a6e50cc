//! A handicap of known size: CPU work that every answered call pays on request, to prove that a harness sees a server that
//! is slower by as much.
//!
//! Only in a build with the feature `handicap`, so that no build that is compared holds any of it. Out of scope: imitating a slow
//! system. It uses no memory, no clock, no system call.

use std::hint::black_box;

/// Does `rounds` rounds of work for each of `calls` calls, on the calling thread. A round takes about five cycles on
/// current processors: a shift, an exclusive or, a multiplication.
pub(crate) fn pay(rounds: u32, calls: u64) {
    if rounds == 0 {
        return;
    }
    for _ in 0..calls {
        black_box(mix(rounds));
        wait_for_result();
    }
}

/// Any odd number with well-mixed bits; this is 2^64 over the golden ratio.
const ODD: u64 = 0x9E37_79B9_7F4A_7C15;

/// A chain in which each round needs the one before, and that has no shorter way to its end. Never inlined, so that it is
/// the same code in every server.
#[inline(never)]
fn mix(rounds: u32) -> u64 {
    let mut mixed = black_box(ODD);
    for _ in 0..rounds {
        mixed = (mixed ^ (mixed >> 32)).wrapping_mul(ODD);
    }
    mixed
}

/// Holds the processor back until the work is done. Else it begins with what follows while the last rounds still run, and
/// a dozen of them cost nothing: measured on an AMD EPYC between calls of 0.1 µs, as a fifth of a handicap of 60 rounds.
#[inline(always)]
fn wait_for_result() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the instruction is part of SSE2, which every processor of this architecture has, and touches no memory.
    unsafe {
        std::arch::x86_64::_mm_lfence();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn each_round_changes_the_result() {
        let results: std::collections::HashSet<u64> = (0..1_000).map(mix).collect();
        assert_eq!((results.len(), results.contains(&0)), (1_000, false));
    }

    /// The middle one of several ratios, each of times taken one right after the other, so that a machine that is slower for a
    /// while is so for both; and once more where a burst of other work spoiled most of them.
    #[test]
    fn ten_times_the_rounds_or_the_calls_are_ten_times_the_work() {
        let took = |rounds: u32, calls: u64| {
            let began = Instant::now();
            pay(rounds, calls);
            began.elapsed().as_secs_f64()
        };
        let middle_ratio = |rounds: u32, calls: u64| {
            let mut ratios = [(); 31].map(|()| {
                let one = took(20_000, 1);
                took(rounds, calls) / one
            });
            ratios.sort_by(f64::total_cmp);
            ratios[ratios.len() / 2]
        };
        for (rounds, calls) in [(200_000, 1), (20_000, 10)] {
            let mut ratios = Vec::new();
            let tenfold = (0..4).any(|_| {
                ratios.push(middle_ratio(rounds, calls));
                ratios.iter().any(|ratio| (7.0..14.0).contains(ratio))
            });
            assert!(tenfold, "{rounds} rounds in {calls} calls were {ratios:.2?} times the work");
        }
    }
}
