//! Searches along connections, one curve at a time: what is found on it.

use bench_core::search::{Bisection, Ending, Found, Judgement, Search, Tested, bad_to_fail, grid};

use crate::{Draw, judgement, run, scale};

/// How finely, and with how many trials.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    pub steps_per_doubling: u32,
    pub confirmations: u32,
    pub most_trials: u32,
}

impl Rules {
    /// How far apart two neighbours are.
    pub fn width(self) -> f64 {
        1.0 - 0.5_f64.powf(1.0 / f64::from(self.steps_per_doubling))
    }

    /// A search among these counts.
    pub fn search(self, counts: &[u32], begin: u32) -> Search {
        Search::by(Bisection::new(counts, begin, self.width(), self.confirmations), self.most_trials)
    }
}

pub const RULES: Rules = Rules { steps_per_doubling: 4, confirmations: 10, most_trials: 80 };

pub fn counts(rules: Rules) -> Vec<u32> {
    grid(125, 16_000, rules.width())
}

pub fn whole(rules: Rules) -> Search {
    rules.search(&counts(rules), 0)
}

/// Searches a server whose trials fail with this chance; also gives what was tried, and whether it passed.
pub fn search(rules: Rules, draw: &mut Draw, chance: impl Fn(u32) -> f64) -> (Found, usize) {
    let (found, tried) = run(whole(rules), |load| judgement(draw.uniform() >= chance(load.at)));
    (found, tried.len())
}

/// The chance of a server that fails from `threshold` on and never below.
pub fn sharp(threshold: u32) -> impl Fn(u32) -> f64 {
    move |connections| f64::from(u8::from(connections >= threshold))
}

/// The chance of a server whose threshold varies from trial to trial by `spread`, relatively (the standard deviation of
/// its logarithm; logistic, whose tails are heavier than those of a normal one).
pub fn sloped(threshold: f64, spread: f64) -> impl Fn(u32) -> f64 {
    move |connections| 1.0 / (1.0 + (-(f64::from(connections) / threshold).ln() / scale(spread)).exp())
}

/// The chance of a server with a sharp threshold, of whose trials one in five shows the opposite.
pub fn noisy(threshold: u32) -> impl Fn(u32) -> f64 {
    move |connections| if connections >= threshold { 0.8 } else { 0.2 }
}

/// A count after these trials.
fn tested(at: u32, failed: u32, trials: u32) -> Option<Tested> {
    Some(Tested { at, passed: trials - failed, failed, short_passed: 0, short_failed: 0 })
}

#[test]
fn a_server_that_never_or_always_fails_is_censored() {
    let (found, tried) = search(RULES, &mut Draw::seeded(1), |_| 0.0);
    assert_eq!(
        (found.ending, found.holds, found.fails),
        (Ending::HoldsToHighest, tested(16_000, 0, 10), None)
    );
    assert_eq!(tried, 7 + 10, "seven doublings, and ten trials at the highest");
    let (found, tried) = search(RULES, &mut Draw::seeded(1), |_| 1.0);
    assert_eq!((found.ending, found.holds, found.fails), (Ending::FailsAtLowest, None, tested(125, 9, 9)));
    assert_eq!(tried, 9 + 1, "nine trials at the lowest, and one beyond");
}

#[test]
fn a_search_may_begin_at_any_count() {
    let from = |begin, chance: fn(u32) -> f64| {
        run(RULES.search(&counts(RULES), begin), |load| judgement(chance(load.at) < 1.0))
    };
    let never = |_| 0.0;
    for (begin, trials) in [(16_000, 10), (u32::MAX, 10), (8_000, 1 + 10), (8_100, 1 + 10), (0, 7 + 10)] {
        let (found, tried) = from(begin, never);
        assert_eq!((found.ending, tried.len()), (Ending::HoldsToHighest, trials), "from {begin}: {tried:?}");
    }
    // Whatever the first count is, the same two neighbours are found.
    let at_3_400 = |connections| f64::from(u8::from(connections >= 3_400));
    let ends = |begin| {
        let (found, _) = from(begin, at_3_400);
        [found.holds, found.fails].map(|end| end.map(|load| load.at))
    };
    for begin in [125, 1_000, 2_828, 3_364, 4_000, 16_000] {
        assert_eq!(ends(begin), ends(0), "from {begin}");
    }
}

#[test]
fn a_sloped_threshold_reports_counts_in_between() {
    let (mut wide, mut settled) = (0, 0);
    for seed in 0..50 {
        let (found, _) = search(RULES, &mut Draw::seeded(seed), sloped(3_400.0, 0.2));
        wide += usize::from(!found.between.is_empty());
        settled += usize::from(found.ending == Ending::Interval);
        for between in &found.between {
            assert!(between.failed > 0 && between.passed > 0 || between.trials() < 10, "{found:?}");
        }
    }
    assert!(settled >= 45, "{settled}");
    assert!(wide >= 45, "{wide}");
}

#[test]
fn one_failing_trial_does_not_decide() {
    // The first trial of all fails, and no other one below 8,000.
    let mut first = true;
    let (found, _) = run(whole(RULES), |load| judgement(!std::mem::take(&mut first) && load.at < 8_000));
    let (low, high) = (found.holds.unwrap(), found.fails.unwrap());
    assert!(low.at < 8_000 && high.at == 8_000, "{found}");
    assert_eq!(found.contradictions[0].at, 125, "and it is reported: {found:?}");
}

#[test]
fn a_band_of_failures_is_found_and_its_end_reported() {
    let band = |connections: u32| f64::from(u8::from((1_000..1_500).contains(&connections)));
    let (found, _) = search(RULES, &mut Draw::seeded(1), band);
    let high = found.fails.unwrap();
    assert_eq!(high.at, 1_000, "{found}");
    let passing_above: Vec<&Tested> = found.contradictions.iter().filter(|above| above.failed == 0).collect();
    assert_eq!(passing_above.len(), 1, "{found:?}");
    assert!(passing_above[0].at >= 1_500);
}

#[test]
fn a_failing_count_needs_more_than_a_coin_would_give() {
    // One-sided sign test at 5 %: published critical values.
    assert_eq!([5, 6, 7, 8, 9, 10, 12, 20].map(bad_to_fail), [5, 6, 7, 7, 8, 9, 10, 15]);
}

/// Searches from 125 to 16,000 connections on a server that fails from `fails` on, while no more than `holds` can be
/// held.
fn held_up_to(holds: u32, fails: u32) -> (Found, Vec<u32>) {
    let (found, tried) = run(whole(RULES), |load| match load.at {
        count if count >= fails => Judgement::FAIL,
        count if count > holds => Judgement::NotReached,
        _ => Judgement::PASS,
    });
    (found, tried.into_iter().map(|(load, _)| load.at).collect())
}

#[test]
fn what_can_be_held_bounds_a_search_from_above() {
    let counts = counts(RULES);
    for holds in [125, 200, 1_000, 9_000, 15_999] {
        let (found, tried) = held_up_to(holds, u32::MAX);
        assert_eq!(found.ending, Ending::NotReached, "{found}");
        let low = found.holds.unwrap();
        let highest = counts.iter().copied().filter(|count| *count <= holds).max().unwrap();
        assert_eq!(Some(low), tested(highest, 0, 10), "{found}");
        assert_eq!((found.fails, found.fails_at()), (None, None));
        let lowest = found.not_reached.first().unwrap().at;
        assert_eq!(counts.iter().find(|count| **count > holds), Some(&lowest), "{found:?}");
        assert!(tried.len() <= 8 + 10 + 8, "{holds}: {}", tried.len());
    }
    let (found, tried) = held_up_to(100, u32::MAX);
    assert_eq!((found.ending, found.holds, found.fails), (Ending::NotReached, None, None));
    assert_eq!(tried, [125, 125], "nothing is left to try");
}

#[test]
fn a_failing_count_is_found_above_counts_that_can_not_be_held() {
    let (found, _) = held_up_to(1_000, 8_000);
    assert_eq!(found.ending, Ending::NotReached, "the climb ends where nothing can be held: {found}");
    // From 4,000 on the climb meets failures; what lies below and can't be held is left out, and reported.
    let (found, _) = held_up_to(2_500, 4_000);
    assert_eq!(found.ending, Ending::Interval, "{found}");
    let (low, high) = (found.holds.unwrap().at, found.fails.unwrap().at);
    assert_eq!((low, high), (2_378, 4_000));
    let not_held: Vec<u32> = found.not_reached.iter().map(|at| at.at).collect();
    assert_eq!(not_held, [2_828, 3_364]);
}

fn next(search: &Search) -> u32 {
    search.next().unwrap().at
}

#[test]
fn one_trial_that_was_not_held_is_made_again() {
    let mut search = whole(RULES);
    search.take(Judgement::PASS);
    search.take(Judgement::NotReached);
    assert_eq!(next(&search), 250, "the same again");
    search.take(Judgement::PASS);
    assert_eq!(next(&search), 500);
    assert!(search.found().not_reached.is_empty());
}
