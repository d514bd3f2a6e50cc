//! One curve at a time: what a search finds on it.

use bench_analysis::search::Judgement;
use bench_analysis::threshold::{Counted, Ending, FoundThreshold, Rules, Search, grid};

use super::{RULES, noisy, search, sharp, sloped};
use crate::{Draw, judgement, run};

#[test]
fn a_sharp_threshold_is_enclosed_by_neighbours_with_full_counts() {
    let counts = grid(125, 16_000, 4);
    for threshold in [126, 500, 3_400, 7_999, 8_000, 15_999, 16_000] {
        let (found, tried) = search(RULES, &mut Draw::seeded(1), sharp(threshold));
        let (low, high) = (found.last_passing.unwrap(), found.first_failing.unwrap());
        assert!(low.connections < threshold && threshold <= high.connections, "{threshold}: {found}");
        let place = |count| counts.iter().position(|known| *known == count).unwrap();
        assert_eq!(place(low.connections) + 1, place(high.connections), "{threshold}: {found}");
        assert_eq!((low.bad, low.trials), (0, 10));
        assert!(high.bad == high.trials && high.bad == 9, "{found}");
        assert_eq!(found.ending, Ending::Interval);
        assert!(found.between.is_empty() && found.contradictions.is_empty(), "{found:?}");
        assert!(tried.len() <= 32, "{threshold}: {}", tried.len());
    }
}

#[test]
fn a_server_that_never_fails_is_censored_from_above() {
    let (found, tried) = search(RULES, &mut Draw::seeded(1), |_| 0.0);
    assert_eq!(found.ending, Ending::HoldsToHighest);
    assert_eq!(found.last_passing, Some(Counted { connections: 16_000, bad: 0, trials: 10 }));
    assert_eq!((found.first_failing, found.fails_at()), (None, None));
    assert_eq!(tried.len(), 7 + 10, "seven doublings, and ten trials at the highest");
}

#[test]
fn a_search_may_begin_at_any_count() {
    let from = |begin, chance: fn(u32) -> f64| {
        let search = Search::beginning_at(begin, grid(125, 16_000, 4), RULES);
        run(search, |connections| judgement(chance(connections) < 1.0))
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
        [found.last_passing, found.first_failing].map(|end| end.map(|counted| counted.connections))
    };
    for begin in [125, 1_000, 2_828, 3_364, 4_000, 16_000] {
        assert_eq!(ends(begin), ends(0), "from {begin}");
    }
}

#[test]
fn a_server_that_always_fails_is_censored_from_below() {
    let (found, tried) = search(RULES, &mut Draw::seeded(1), |_| 1.0);
    assert_eq!(found.ending, Ending::FailsAtLowest);
    assert_eq!(found.first_failing, Some(Counted { connections: 125, bad: 9, trials: 9 }));
    assert_eq!(found.last_passing, None);
    assert_eq!(tried.len(), 9 + 1, "nine trials at the lowest, and one beyond");
}

#[test]
fn a_sloped_threshold_reports_counts_in_between() {
    let (mut wide, mut settled) = (0, 0);
    for seed in 0..50 {
        let (found, _) = search(RULES, &mut Draw::seeded(seed), sloped(3_400.0, 0.2));
        wide += usize::from(!found.between.is_empty());
        settled += usize::from(found.ending == Ending::Interval);
        for between in &found.between {
            assert!(between.bad > 0 && between.bad < between.trials || between.trials < 10, "{found:?}");
        }
    }
    assert!(settled >= 45, "{settled}");
    assert!(wide >= 45, "{wide}");
}

#[test]
fn one_failing_trial_does_not_decide() {
    // The first trial of all fails, and no other one below 8,000.
    let mut first = true;
    let (found, _) = run(Search::new(grid(125, 16_000, 4), RULES), |connections| {
        judgement(!std::mem::take(&mut first) && connections < 8_000)
    });
    let (low, high) = (found.last_passing.unwrap(), found.first_failing.unwrap());
    assert!(low.connections < 8_000 && high.connections == 8_000, "{found}");
    assert_eq!(found.contradictions[0].connections, 125, "and it is reported: {found:?}");
}

#[test]
fn a_band_of_failures_is_found_and_its_end_reported() {
    let band = |connections: u32| f64::from(u8::from((1_000..1_500).contains(&connections)));
    let (found, _) = search(RULES, &mut Draw::seeded(1), band);
    let high = found.first_failing.unwrap();
    assert_eq!(high.connections, 1_000, "{found}");
    let passing_above: Vec<&Counted> = found.contradictions.iter().filter(|above| above.bad == 0).collect();
    assert_eq!(passing_above.len(), 1, "{found:?}");
    assert!(passing_above[0].connections >= 1_500);
}

#[test]
fn noise_makes_no_passing_count() {
    let mut enclosed = 0;
    for seed in 0..50 {
        let (found, _) = search(RULES, &mut Draw::seeded(seed), noisy(3_400));
        let low = found.last_passing.is_none_or(|low| low.connections < 3_400);
        let high = found.first_failing.is_none_or(|high| high.connections >= 3_400);
        enclosed += usize::from(low && high);
        assert_ne!(found.ending, Ending::Unfinished);
    }
    assert!(enclosed >= 49, "{enclosed}");
}

#[test]
fn the_counts_of_a_grid_rise_from_the_lowest_to_the_highest() {
    assert_eq!(grid(1_000, 4_000, 2), [1_000, 1_414, 2_000, 2_828, 4_000]);
    assert_eq!(grid(1_000, 4_100, 1), [1_000, 2_000, 4_000, 4_100]);
    assert_eq!(grid(1, 4, 8), [1, 2, 3, 4], "each count once");
    assert_eq!(grid(900, 30, 4), [30], "the machine holds less than the lowest");
    assert_eq!(grid(7, 7, 4), [7]);
}

#[test]
fn a_failing_count_needs_more_than_a_coin_would_give() {
    let needed = |confirmations| Rules { confirmations, ..RULES }.bad_to_fail();
    // One-sided sign test at 5 %: published critical values.
    assert_eq!([5, 6, 7, 8, 9, 10, 12, 20].map(needed), [5, 6, 7, 7, 8, 9, 10, 15]);
}

/// Searches from 125 to 16,000 connections on a server that fails from `fails` on, while no more than `holds` can be
/// held.
fn held_up_to(holds: u32, fails: u32) -> (FoundThreshold, Vec<u32>) {
    let (found, tried) = run(Search::new(grid(125, 16_000, 4), RULES), |connections| match connections {
        count if count >= fails => Judgement::FAIL,
        count if count > holds => Judgement::NotReached,
        _ => Judgement::PASS,
    });
    (found, tried.into_iter().map(|(connections, _)| connections).collect())
}

#[test]
fn what_can_be_held_bounds_a_search_from_above() {
    let counts = grid(125, 16_000, 4);
    for holds in [125, 200, 1_000, 9_000, 15_999] {
        let (found, tried) = held_up_to(holds, u32::MAX);
        assert_eq!(found.ending, Ending::NotHeld, "{found}");
        let low = found.last_passing.unwrap();
        let highest = counts.iter().copied().filter(|count| *count <= holds).max().unwrap();
        assert_eq!(low, Counted { connections: highest, bad: 0, trials: 10 }, "{found}");
        assert_eq!((found.first_failing, found.fails_at()), (None, None));
        let lowest = found.not_held.first().unwrap().connections;
        assert_eq!(counts.iter().find(|count| **count > holds), Some(&lowest), "{found:?}");
        assert!(tried.len() <= 8 + 10 + 8, "{holds}: {}", tried.len());
    }
    let (found, tried) = held_up_to(100, u32::MAX);
    assert_eq!((found.ending, found.last_passing, found.first_failing), (Ending::NotHeld, None, None));
    assert_eq!(tried, [125, 125], "nothing is left to try");
}

#[test]
fn a_failing_count_is_found_above_counts_that_can_not_be_held() {
    let (found, _) = held_up_to(1_000, 8_000);
    assert_eq!(found.ending, Ending::NotHeld, "the climb ends where nothing can be held: {found}");
    // From 4,000 on the climb meets failures; what lies below and can't be held is left out, and reported.
    let (found, _) = held_up_to(2_500, 4_000);
    assert_eq!(found.ending, Ending::Interval, "{found}");
    let (low, high) = (found.last_passing.unwrap().connections, found.first_failing.unwrap().connections);
    assert_eq!((low, high), (2_378, 4_000));
    let not_held: Vec<u32> = found.not_held.iter().map(|at| at.connections).collect();
    assert_eq!(not_held, [2_828, 3_364]);
}

#[test]
fn one_trial_that_was_not_held_is_made_again() {
    let mut search = Search::new(grid(125, 16_000, 4), RULES);
    search.take(Judgement::PASS);
    search.take(Judgement::NotReached);
    assert_eq!(search.next(), Some(250), "the same again");
    search.take(Judgement::PASS);
    assert_eq!(search.next(), Some(500));
    assert!(search.found().not_held.is_empty());
}

#[test]
fn trials_that_show_nothing_are_made_again_up_to_a_limit() {
    let mut search = Search::new(grid(125, 16_000, 4), RULES);
    search.take(Judgement::PASS);
    assert_eq!(search.next(), Some(250));
    search.take(Judgement::Nothing);
    assert_eq!(search.next(), Some(250), "the same again");
    search.take(Judgement::Nothing);
    search.take(Judgement::PASS);
    assert_eq!(search.next(), Some(500));
    (0..6).for_each(|_| search.take(Judgement::Nothing));
    assert_eq!(search.next(), None);
    let found = search.found();
    assert_eq!((found.ending, found.unmeasured, found.trials), (Ending::Unmeasured, 8, 10));
}
