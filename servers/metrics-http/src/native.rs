//! Durations in Prometheus' native buckets, whose bounds are powers of the eighth root of two of a second: one array of counts from
//! which the classic buckets are read too, since each of their bounds is a bound of these.
//!
//! Bucket `i` holds what is above 2^((i-1)/8) s and up to 2^(i/8) s. Those kept are of 2^-22 s (0.24 µs) to 2^4 s (16 s).

/// What Prometheus calls the schema: 2 to the power of this are the buckets of a doubling.
pub(crate) const SCHEMA: i32 = 3;

/// Buckets from a power of two to the next.
const PER_DOUBLING: i32 = 1 << SCHEMA;

/// The powers of two, of a second, of the lowest and the highest bound.
const LOWEST: i32 = -22;
const HIGHEST: i32 = 4;

/// Buckets of durations: a first one up to the lowest bound, those of the doublings, and a last one above the highest.
pub const BUCKETS: usize = ((HIGHEST - LOWEST) * PER_DOUBLING) as usize + 2;

/// The lower bounds of the buckets in a doubling, as multiples of its power of two: 2^(0/8) to 2^(7/8).
const WITHIN: [f64; PER_DOUBLING as usize] = [
    1.0,
    1.090_507_732_665_257_7,
    1.189_207_115_002_721,
    1.296_839_554_651_009_6,
    std::f64::consts::SQRT_2,
    1.542_210_825_407_940_7,
    1.681_792_830_507_429,
    1.834_008_086_409_342_4,
];

/// Bits of a float's mantissa, and what is added to its exponent.
const MANTISSA_BITS: u32 = f64::MANTISSA_DIGITS - 1;
const EXPONENT_BIAS: i32 = f64::MAX_EXP - 1;

/// The place of a duration of `ns` nanoseconds in an array of [`BUCKETS`] counts: always below its length.
#[inline]
pub fn bucket(ns: u64) -> usize {
    let bits = (ns as f64 / 1e9).to_bits();
    let exponent = (bits >> MANTISSA_BITS) as i32 - EXPONENT_BIAS;
    let mantissa_only = bits & ((1 << MANTISSA_BITS) - 1);
    let times = f64::from_bits(mantissa_only | ((EXPONENT_BIAS as u64) << MANTISSA_BITS));
    let within = WITHIN.partition_point(|bound| *bound < times) as i32;
    let index = exponent * PER_DOUBLING + within;
    (index - LOWEST * PER_DOUBLING).clamp(0, BUCKETS as i32 - 1) as usize
}

/// Prometheus' index of the bucket at a place of the array.
const fn index(place: usize) -> i32 {
    place as i32 + LOWEST * PER_DOUBLING
}

/// Durations that have the same labels.
#[derive(Debug, Clone)]
pub struct Durations {
    /// Names and values of the labels.
    pub labels: Vec<(&'static str, &'static str)>,
    /// Their sum, in seconds.
    pub sum_s: f64,
    /// How many, by [`bucket`].
    pub counts: [u64; BUCKETS],
}

/// A run of buckets without a gap: how far behind the end of the one before (the first one: its index), and their counts.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) offset: i32,
    pub(crate) counts: Vec<u64>,
}

impl Durations {
    /// How many they are.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Upper bounds in seconds with the number of durations between the one before and this: one bound for each power of two, and
    /// the last one infinite.
    pub fn classic(&self) -> Vec<(f64, u64)> {
        let (first, rest) = self.counts.split_first().unwrap_or((&0, &[]));
        let doublings = rest.chunks(PER_DOUBLING as usize).map(|counts| counts.iter().sum());
        let bounds = (LOWEST..=HIGHEST).map(|power| f64::from(power).exp2()).chain([f64::INFINITY]);
        bounds.zip([*first].into_iter().chain(doublings)).collect()
    }

    /// The lowest bound, in seconds, and how many are not above it.
    pub(crate) fn zero(&self) -> (f64, u64) {
        (f64::from(LOWEST).exp2(), self.counts.first().copied().unwrap_or_default())
    }

    /// The buckets above the lowest bound that hold any. What is above the highest bound is in one that is as wide as the others,
    /// since a native histogram has no bucket without an end.
    pub(crate) fn spans(&self) -> Vec<Span> {
        let mut spans: Vec<Span> = Vec::new();
        let mut end = 0;
        for (place, count) in self.counts.iter().copied().enumerate().skip(1).filter(|(_, count)| *count > 0)
        {
            let offset = index(place) - end;
            match spans.last_mut().filter(|_| offset == 0) {
                Some(span) => span.counts.push(count),
                None => spans.push(Span { offset, counts: vec![count] }),
            }
            end = index(place) + 1;
        }
        spans
    }
}

/// A histogram of durations by labels, which a reader of protobuf gets with its native buckets.
#[derive(Debug, Clone)]
pub struct Family {
    /// Its whole name, with the unit.
    pub name: &'static str,
    /// What it is.
    pub help: &'static str,
    /// Each set of labels.
    pub series: Vec<Durations>,
}

/// What has such a histogram. It also registers as a collector, for readers of text.
pub trait Native: std::fmt::Debug + Send + Sync {
    /// What was counted until now.
    fn family(&self) -> Family;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn durations(ns: &[u64]) -> Durations {
        let mut counts = [0; BUCKETS];
        ns.iter().for_each(|ns| counts[bucket(*ns)] += 1);
        Durations { labels: vec![], sum_s: 0.0, counts }
    }

    /// Durations over all scales, and those next to each bound.
    fn over_all_scales() -> impl Iterator<Item = u64> {
        let spread = (0..36_000).map(|step| (f64::from(step) / 1_000.0).exp2() as u64);
        let bounds = (0..BUCKETS - 1).map(|place| ((f64::from(index(place)) / 8.0).exp2() * 1e9) as u64);
        spread.chain(bounds.flat_map(|ns| ns.saturating_sub(2)..ns + 3))
    }

    #[test]
    fn a_bucket_holds_what_is_above_its_lower_bound_and_up_to_its_upper() {
        let upper = |place: usize| (f64::from(index(place)) / 8.0).exp2();
        // A duration of whole nanoseconds is no closer to a bound than this, unless it is the bound.
        let a_little = 1.0 + 1e-14;
        for ns in over_all_scales() {
            let (place, seconds) = (bucket(ns), ns as f64 / 1e9);
            assert!(place == BUCKETS - 1 || seconds <= upper(place) * a_little, "{ns} ns in {place}");
            assert!(place == 0 || seconds * a_little > upper(place - 1), "{ns} ns in {place}");
        }
    }

    #[test]
    fn a_longer_duration_is_in_no_lower_bucket() {
        let mut all: Vec<u64> = over_all_scales().collect();
        all.sort_unstable();
        assert!(all.is_sorted_by_key(|ns| bucket(*ns)));
    }

    #[test]
    fn a_bound_is_in_the_bucket_below_it_to_the_nanosecond() {
        // 2^-9 s is the smallest power of two of a second in whole nanoseconds.
        for (power, ns) in (-9..=4).map(|power| (power, (f64::from(power).exp2() * 1e9) as u64)) {
            let place = ((power - LOWEST) * PER_DOUBLING) as usize;
            assert_eq!([ns, ns + 1].map(bucket), [place, place + 1], "2^{power} s");
        }
        assert_eq!([0, 1, 238].map(bucket), [0; 3]);
        assert_eq!([239, u64::MAX].map(bucket), [1, BUCKETS - 1]);
    }

    #[test]
    fn the_bounds_within_a_doubling_are_powers_of_the_eighth_root_of_two() {
        for (step, bound) in WITHIN.iter().enumerate() {
            assert!((bound / (step as f64 / 8.0).exp2() - 1.0).abs() < 1e-15, "{step}");
        }
    }

    #[test]
    fn classic_buckets_are_counted_exactly_by_their_bounds() {
        let ns = [0, 238, 239, 1_000_000, 1_953_125, 1_953_126, 16_000_000_000, 16_000_000_001, u64::MAX];
        let classic = durations(&ns).classic();
        assert_eq!(classic.len(), 28);
        let mut below = 0.0;
        for (bound, count) in classic {
            let expected = ns
                .iter()
                .map(|ns| *ns as f64 / 1e9)
                .filter(|s| (below < *s || *s == 0.0 && below == 0.0) && *s <= bound);
            assert_eq!(count, expected.count() as u64, "up to {bound}");
            below = bound;
        }
    }

    #[test]
    fn spans_begin_at_an_index_and_go_on_after_a_gap() {
        let one_second = 1_000_000_000;
        let counted = durations(&[1, one_second, one_second, one_second + 1, 2 * one_second]);
        assert_eq!(counted.zero(), (f64::from(-22).exp2(), 1));
        let spans = [Span { offset: 0, counts: vec![2, 1] }, Span { offset: 6, counts: vec![1] }];
        assert_eq!(counted.spans(), spans, "buckets 0, 1 and 8");
        let early = durations(&[one_second / 2]);
        assert_eq!(early.spans(), [Span { offset: -8, counts: vec![1] }]);
        assert_eq!(durations(&[]).spans(), []);
    }
}
