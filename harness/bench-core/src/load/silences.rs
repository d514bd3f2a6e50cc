//! Times of a window in which no request was answered.

use serde::{Deserialize, Serialize};

/// The width of a part of the window in which answers are counted, in milliseconds.
pub(super) const PART_MS: u64 = 50;

/// So few parts in a row say nothing: 250 ms.
const LEAST_PARTS: usize = 5;

/// How many answers would have come in the time, at least, at the rate of the rest of the window.
const LEAST_MISSED: f64 = 20.0;

/// A service that answers in bursts is silent between any two; one silence is this many times as long as most.
const LONGER_THAN_USUAL: usize = 4;

/// A time in which no request was answered, though others were before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Silence {
    /// When it began, in milliseconds of the window.
    pub from_ms: u64,
    /// When the next answer came, or the window ended.
    pub to_ms: u64,
}

/// The silences of a window, from its answers in each part of it. What came after the window is none of it.
pub(super) fn silences(answered: &[u32], window_ms: u64) -> Vec<Silence> {
    let parts = (window_ms / PART_MS) as usize;
    let answered: Vec<u32> = (0..parts).map(|part| answered.get(part).copied().unwrap_or(0)).collect();
    let mut runs: Vec<(usize, usize)> = Vec::new();
    // Before the first answer the service had not begun.
    let first = answered.iter().position(|count| *count > 0).unwrap_or(parts);
    for part in (first..parts).filter(|part| answered[*part] == 0) {
        match runs.last_mut() {
            Some((_, end)) if *end == part => *end += 1,
            _ => runs.push((part, part + 1)),
        }
    }
    let mut lengths: Vec<usize> = runs.iter().map(|(from, to)| to - from).collect();
    lengths.sort_unstable();
    // Where there is one silence, none is usual.
    let usual = if lengths.len() > 2 { lengths[lengths.len() / 2] } else { 0 };
    let silent: usize = lengths.iter().sum();
    let all: f64 = answered.iter().map(|count| f64::from(*count)).sum();
    let per_part = all / (parts - first).saturating_sub(silent).max(1) as f64;
    let is_one = |(from, to): &(usize, usize)| {
        let length = to - from;
        length >= LEAST_PARTS.max(LONGER_THAN_USUAL * usual) && per_part * length as f64 >= LEAST_MISSED
    };
    let silence =
        |(from, to): (usize, usize)| Silence { from_ms: from as u64 * PART_MS, to_ms: to as u64 * PART_MS };
    runs.into_iter().filter(is_one).map(silence).collect()
}

/// The same from the times at which requests were answered, in microseconds of the window.
pub(super) fn silences_between(answered_us: impl Iterator<Item = u64>, window_ms: u64) -> Vec<Silence> {
    let mut parts = vec![0; (window_ms / PART_MS) as usize];
    for us in answered_us {
        if let Some(part) = parts.get_mut((us / 1_000 / PART_MS) as usize) {
            *part += 1;
        }
    }
    silences(&parts, window_ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(answered: &[u32]) -> Vec<(u64, u64)> {
        let window_ms = answered.len() as u64 * PART_MS;
        silences(answered, window_ms).iter().map(|silence| (silence.from_ms, silence.to_ms)).collect()
    }

    #[test]
    fn a_second_without_an_answer_is_a_silence() {
        let window = [vec![40; 20], vec![0; 20], vec![40; 20]].concat();
        assert_eq!(of(&window), [(1_000, 2_000)]);
        let to_the_end = [vec![40; 20], vec![0; 20]].concat();
        assert_eq!(of(&to_the_end), [(1_000, 2_000)], "it never answered again");
        let twice = [&window[..], &window[..]].concat();
        assert_eq!(of(&twice), [(1_000, 2_000), (4_000, 5_000)]);
    }

    #[test]
    fn no_silence_is_seen_where_there_is_none() {
        assert_eq!(of(&[40; 60]), []);
        assert_eq!(of(&[vec![40; 20], vec![0; 4], vec![40; 20]].concat()), [], "it is too short");
        assert_eq!(of(&[vec![0; 20], vec![40; 20]].concat()), [], "it had not begun");
        assert_eq!(of(&[]), []);
        let one_a_second: Vec<u32> = (0..200).map(|part| u32::from(part % 20 == 0)).collect();
        assert_eq!(of(&one_a_second), [], "nothing more was to come");
        let bursts: Vec<u32> = (0..200).map(|part| if part % 8 == 0 { 64 } else { 0 }).collect();
        assert_eq!(of(&bursts), [], "it answers all at once, and then works for 350 ms");
    }

    #[test]
    fn times_of_answers_are_counted_by_part() {
        let every_ms = (0..3_000_u64).filter(|ms| !(1_200..2_200).contains(ms)).map(|ms| ms * 1_000);
        let found = silences_between(every_ms, 3_000);
        assert_eq!(found, [Silence { from_ms: 1_200, to_ms: 2_200 }]);
    }
}
