//! After how many blocks comparisons are judged.

use crate::stats::{FAMILY_ERROR, least_count, nominal_level};

/// Each interim analysis has this many times the blocks of the one before.
const GROWTH: f64 = 1.5;

/// The block counts at which a family of `family` comparisons is judged: from the first that can decide anything,
/// growing by half, to `max_blocks`. Where nothing stops early there is one analysis, at the end.
pub fn planned_block_counts(family: usize, max_blocks: u32, stops_early: bool) -> Vec<u32> {
    if !stops_early {
        return vec![max_blocks];
    }
    let alpha = FAMILY_ERROR / family.max(1) as f64;
    // The level of an analysis depends on how many there are, and their number on where they begin.
    let from = |first: usize| growing(first as f64, max_blocks);
    let decides = |first: &usize| *first >= least_count(nominal_level(&from(*first), alpha));
    let first = (least_count(alpha)..max_blocks as usize).find(decides).unwrap_or(max_blocks as usize);
    from(first)
}

fn growing(first: f64, max_blocks: u32) -> Vec<u32> {
    let mut blocks = first;
    let mut block_counts = Vec::new();
    // An analysis just before the last would use up error and save nothing.
    while blocks * GROWTH.sqrt() < f64::from(max_blocks) {
        block_counts.push(blocks as u32);
        blocks = (blocks * GROWTH).round();
    }
    block_counts.push(max_blocks);
    block_counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn analyses_begin_where_something_can_be_decided() {
        assert_eq!(planned_block_counts(1, 40, true), [8, 12, 18, 27, 40]);
        assert_eq!(planned_block_counts(12, 40, true)[0], 11);
        assert_eq!(
            planned_block_counts(12, 7, true),
            [7],
            "too few to decide anything: one analysis, at the end"
        );
        assert_eq!(planned_block_counts(12, 40, false), [40]);
        assert_eq!(planned_block_counts(0, 1, true), [1]);
    }
}
