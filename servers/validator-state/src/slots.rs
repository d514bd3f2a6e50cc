//! Produced slots as sorted ranges, so that an answer costs as much as it is long, however long the chain is.
//!
//! A chain skips about one slot in twenty, so ranges are a tenth of the slots. The set is cheap to copy: old ranges are
//! frozen and shared, and only a short tail is copied when a slot is added.

use std::sync::Arc;

use serde::ser::{Serialize, SerializeSeq, Serializer};

/// Tail ranges that are copied at each new slot before they are frozen.
const TAIL_RANGES: usize = 512;

/// An inclusive range of produced slots, and how many were produced before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Range {
    first: u64,
    last: u64,
    before: u64,
}

/// A set of produced slots, in order.
#[derive(Debug, Clone, Default)]
pub struct SlotSet {
    frozen: Arc<[Range]>,
    tail: Vec<Range>,
}

impl SlotSet {
    /// Builds the set from inclusive `(first, last)` ranges.
    ///
    /// # Errors
    /// The position of the first range that is reversed, or not above the one before it.
    pub fn from_ranges(ranges: impl IntoIterator<Item = (u64, u64)>) -> Result<Self, usize> {
        let mut frozen: Vec<Range> = Vec::new();
        let mut before = 0;
        for (position, (first, last)) in ranges.into_iter().enumerate() {
            if last < first || frozen.last().is_some_and(|previous| first <= previous.last) {
                return Err(position);
            }
            match frozen.last_mut() {
                Some(previous) if previous.last + 1 == first => previous.last = last,
                _ => frozen.push(Range { first, last, before }),
            }
            before += last - first + 1;
        }
        Ok(Self { frozen: frozen.into(), tail: Vec::new() })
    }

    /// Adds a slot above all others; anything else is ignored.
    pub fn push(&mut self, slot: u64) {
        if self.last().is_some_and(|last| slot <= last) {
            return;
        }
        let before = self.len();
        match self.tail.last_mut() {
            Some(range) if range.last + 1 == slot => range.last = slot,
            _ => self.tail.push(Range { first: slot, last: slot, before }),
        }
        if self.tail.len() > TAIL_RANGES {
            self.frozen = self.frozen.iter().chain(&self.tail).copied().collect();
            self.tail.clear();
        }
    }

    /// How many slots were produced.
    pub fn len(&self) -> u64 {
        self.tail
            .last()
            .or(self.frozen.last())
            .map_or(0, |range| range.before + (range.last - range.first + 1))
    }

    /// Whether no slot was produced.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The highest produced slot.
    pub fn last(&self) -> Option<u64> {
        self.tail.last().or(self.frozen.last()).map(|range| range.last)
    }

    /// How many slots were produced up to and including `slot`. Logarithmic in the chain.
    pub fn count_through(&self, slot: u64) -> u64 {
        match self.at(self.position(slot)) {
            Some(range) if range.first <= slot => range.before + (slot - range.first + 1),
            Some(range) => range.before,
            None => self.len(),
        }
    }

    /// The highest produced slot that is not above `slot`.
    pub fn at_or_below(&self, slot: u64) -> Option<u64> {
        self.nth(self.count_through(slot).checked_sub(1)?)
    }

    /// The produced slot with `index` slots before it. Logarithmic in the chain.
    pub fn nth(&self, index: u64) -> Option<u64> {
        let holds = |range: &Range| range.before <= index;
        let position = self.frozen.partition_point(holds) + self.tail.partition_point(holds);
        let range = self.at(position.checked_sub(1)?)?;
        let slot = range.first + (index - range.before);
        (slot <= range.last).then_some(slot)
    }

    /// The inclusive ranges, merged where they touch, for checksums and tests.
    pub fn ranges(&self) -> impl Iterator<Item = (u64, u64)> {
        self.frozen.iter().chain(&self.tail).map(|range| (range.first, range.last))
    }

    /// Position of the first range that ends at or after `slot`, over frozen and tail.
    fn position(&self, slot: u64) -> usize {
        let below = |range: &Range| range.last < slot;
        match self.frozen.last() {
            Some(last) if last.last >= slot => self.frozen.partition_point(below),
            _ => self.frozen.len() + self.tail.partition_point(below),
        }
    }

    fn at(&self, position: usize) -> Option<&Range> {
        self.frozen.get(position).or_else(|| self.tail.get(position.checked_sub(self.frozen.len())?))
    }
}

/// The produced slots of one answer: those of a set between two slots, both included. Serialises as a JSON array.
#[derive(Debug, Clone)]
pub struct Blocks {
    set: Option<Arc<SlotSet>>,
    first: u64,
    last: u64,
}

impl Blocks {
    /// No slots.
    pub const EMPTY: Self = Self { set: None, first: 1, last: 0 };

    /// The slots of `set` from `first` to `last`.
    pub fn new(set: Arc<SlotSet>, first: u64, last: u64) -> Self {
        if last < first { Self::EMPTY } else { Self { set: Some(set), first, last } }
    }

    /// How many slots the answer holds.
    pub fn len(&self) -> u64 {
        self.set.as_ref().map_or(0, |set| {
            let below = self.first.checked_sub(1).map_or(0, |slot| set.count_through(slot));
            set.count_through(self.last) - below
        })
    }

    /// Whether the answer holds no slot.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The slots in order. Costs as much as there are slots, after one search.
    pub fn iter(&self) -> impl Iterator<Item = u64> {
        let start = self.set.as_ref().map_or(0, |set| set.position(self.first));
        self.set.iter().flat_map(move |set| {
            (start..)
                .map_while(|position| set.at(position))
                .take_while(|range| range.first <= self.last)
                .flat_map(|range| range.first.max(self.first)..=range.last.min(self.last))
        })
    }
}

impl Serialize for Blocks {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut array = serializer.serialize_seq(usize::try_from(self.len()).ok())?;
        self.iter().try_for_each(|slot| array.serialize_element(&slot))?;
        array.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A set grown slot by slot past several freezes, and the same slots in a plain list.
    fn grown() -> (Arc<SlotSet>, Vec<u64>) {
        let mut set = SlotSet::from_ranges([(2, 4), (6, 6), (7, 9)]).unwrap();
        let mut plain = vec![2, 3, 4, 6, 7, 8, 9];
        for slot in (11..8_000).filter(|slot| slot % 3 != 0) {
            set.push(slot);
            plain.push(slot);
        }
        (Arc::new(set), plain)
    }

    #[test]
    fn answers_equal_a_plain_filter() {
        let (set, plain) = grown();
        assert_eq!(set.len(), plain.len() as u64);
        for (first, last) in
            [(0, 0), (0, 2), (3, 3), (5, 5), (4, 12), (0, 100_000), (1_600, 7_999), (7_999, 9_000)]
        {
            let want: Vec<u64> = plain.iter().copied().filter(|slot| (first..=last).contains(slot)).collect();
            let blocks = Blocks::new(set.clone(), first, last);
            assert_eq!(blocks.iter().collect::<Vec<_>>(), want, "{first}..={last}");
            assert_eq!(blocks.len(), want.len() as u64, "{first}..={last}");
            assert_eq!(serde_json::to_string(&blocks).unwrap(), serde_json::to_string(&want).unwrap());
        }
    }

    #[test]
    fn rank_and_select_agree() {
        let (set, plain) = grown();
        for (index, slot) in plain.iter().enumerate() {
            assert_eq!(set.nth(index as u64), Some(*slot));
            assert_eq!(set.count_through(*slot), index as u64 + 1);
            assert_eq!(set.at_or_below(*slot), Some(*slot));
        }
        assert_eq!(set.nth(plain.len() as u64), None);
        assert_eq!(set.at_or_below(1), None);
        assert_eq!(set.at_or_below(10), Some(9));
    }

    #[test]
    fn bad_ranges_are_named_by_position() {
        assert_eq!(SlotSet::from_ranges([(0, 4), (3, 6)]).unwrap_err(), 1);
        assert_eq!(SlotSet::from_ranges([(4, 0)]).unwrap_err(), 0);
    }

    #[test]
    fn the_last_slot_number_there_is_does_not_overflow() {
        let set = Arc::new(SlotSet::from_ranges([(u64::MAX - 1, u64::MAX)]).unwrap());
        assert_eq!(Blocks::new(set.clone(), 0, u64::MAX).iter().count(), 2);
        assert_eq!(set.at_or_below(u64::MAX), Some(u64::MAX));
    }
}
