//! Produced slots in order, so that a range of them is a search and a copy, however long the chain is.
//!
//! The set is cheap to copy: old slots are frozen and shared, and only a short tail is copied when a slot is added.

use std::sync::Arc;

/// Newest slots that are copied at each new slot before they are frozen.
const TAIL_SLOTS: usize = 1_024;

/// The slots of inclusive `(first, last)` ranges.
///
/// # Errors
/// The position of the first range that is reversed, or not above the one before it.
pub(crate) fn from_ranges(ranges: impl IntoIterator<Item = (u64, u64)>) -> Result<Vec<u64>, usize> {
    let mut slots: Vec<u64> = Vec::new();
    for (position, (first, last)) in ranges.into_iter().enumerate() {
        if last < first || slots.last().is_some_and(|previous| first <= *previous) {
            return Err(position);
        }
        slots.extend(first..=last);
    }
    Ok(slots)
}

/// Slots in order as inclusive ranges that do not touch, for checksums and files.
pub(crate) fn ranges(slots: &[u64]) -> impl Iterator<Item = (u64, u64)> {
    let runs = slots.chunk_by(|slot, next| slot + 1 == *next);
    runs.filter_map(|run| Some((*run.first()?, *run.last()?)))
}

/// A set of produced slots, in order.
#[derive(Debug, Clone)]
pub(crate) struct SlotSet {
    frozen: Arc<[u64]>,
    tail: Vec<u64>,
}

impl SlotSet {
    /// The set of slots that are in order.
    pub fn new(slots: Arc<[u64]>) -> Self {
        Self { frozen: slots, tail: Vec::new() }
    }

    /// Adds a slot above all others; anything else is ignored.
    pub fn push(&mut self, slot: u64) {
        if self.tail.last().or(self.frozen.last()).is_some_and(|last| slot <= *last) {
            return;
        }
        self.tail.push(slot);
        if self.tail.len() > TAIL_SLOTS {
            self.frozen = [&self.frozen, self.tail.as_slice()].concat().into();
            self.tail.clear();
        }
    }

    /// The slots from `first` to `last`, both included.
    pub fn range(&self, first: u64, last: u64) -> Vec<u64> {
        [between(&self.frozen, first, last), between(&self.tail, first, last)].concat()
    }

    /// How many slots were produced up to and including `slot`. Logarithmic in the chain.
    pub fn count_through(&self, slot: u64) -> usize {
        let through = |produced: &u64| *produced <= slot;
        self.frozen.partition_point(through) + self.tail.partition_point(through)
    }

    /// The produced slot with `index` slots before it.
    pub fn nth(&self, index: usize) -> Option<u64> {
        self.frozen.get(index).or_else(|| self.tail.get(index.checked_sub(self.frozen.len())?)).copied()
    }

    /// The highest produced slot that is not above `slot`.
    pub fn at_or_below(&self, slot: u64) -> Option<u64> {
        self.nth(self.count_through(slot).checked_sub(1)?)
    }
}

/// Those of `slots` from `first` to `last`, both included.
fn between(slots: &[u64], first: u64, last: u64) -> &[u64] {
    let from = slots.partition_point(|slot| *slot < first);
    let to = slots.partition_point(|slot| *slot <= last);
    slots.get(from..to).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(ranges: &[(u64, u64)]) -> SlotSet {
        SlotSet::new(from_ranges(ranges.iter().copied()).unwrap().into())
    }

    /// A set grown slot by slot past several freezes, and the same slots in a plain list.
    fn grown() -> (SlotSet, Vec<u64>) {
        let mut set = set(&[(2, 4), (6, 6), (7, 9)]);
        let mut plain = vec![2, 3, 4, 6, 7, 8, 9];
        for slot in (11..8_000).filter(|slot| slot % 3 != 0) {
            set.push(slot);
            set.push(slot - 1);
            plain.push(slot);
        }
        (set, plain)
    }

    #[test]
    fn ranges_equal_a_plain_filter() {
        let (set, plain) = grown();
        for (first, last) in
            [(0, 0), (0, 2), (3, 3), (5, 5), (4, 12), (0, 100_000), (1_600, 7_999), (7_999, 9_000), (9, 3)]
        {
            let want: Vec<u64> = plain.iter().copied().filter(|slot| (first..=last).contains(slot)).collect();
            assert_eq!(set.range(first, last), want, "{first}..={last}");
        }
    }

    #[test]
    fn rank_and_select_agree() {
        let (set, plain) = grown();
        for (index, slot) in plain.iter().enumerate() {
            assert_eq!(set.nth(index), Some(*slot));
            assert_eq!(set.count_through(*slot), index + 1);
            assert_eq!(set.at_or_below(*slot), Some(*slot));
        }
        assert_eq!(set.nth(plain.len()), None);
        assert_eq!(set.at_or_below(1), None);
        assert_eq!(set.at_or_below(10), Some(9));
    }

    #[test]
    fn ranges_that_touch_are_one() {
        let slots = from_ranges([(2, 4), (6, 6), (7, 9)]).unwrap();
        assert_eq!(slots, [2, 3, 4, 6, 7, 8, 9]);
        assert_eq!(ranges(&slots).collect::<Vec<_>>(), [(2, 4), (6, 9)]);
    }

    #[test]
    fn bad_ranges_are_named_by_position() {
        assert_eq!(from_ranges([(0, 4), (3, 6)]).unwrap_err(), 1);
        assert_eq!(from_ranges([(4, 0)]).unwrap_err(), 0);
    }

    #[test]
    fn the_last_slot_number_there_is_does_not_overflow() {
        let set = set(&[(u64::MAX - 1, u64::MAX)]);
        assert_eq!(set.range(0, u64::MAX).len(), 2);
        assert_eq!(set.at_or_below(u64::MAX), Some(u64::MAX));
    }
}
