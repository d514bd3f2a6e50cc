//! One server at a time: what a search finds on it.

use bench_analysis::search::Judgement;
use bench_analysis::slo::{Ending, FoundRate, RateLoad, Search, grid};

use super::{FROM, MOST, RULES, noisy, search, sharp, sloped};
use crate::{Draw, judgement, run};

/// What is found on a server whose trials show this.
fn find(shows: impl FnMut(RateLoad) -> Judgement) -> FoundRate {
    run(whole(), shows).0
}

fn whole() -> Search {
    Search::new(FROM, MOST, RULES)
}

#[test]
fn a_sharp_end_is_enclosed_by_neighbours_with_full_counts() {
    let rates = grid(FROM, MOST, RULES.width);
    for most in [1_000.0, 1_001.0, 5_500.0, 23_456.0, 63_999.0] {
        let (found, tried) = search(RULES, &mut Draw::seeded(1), sharp(most));
        let (low, high) = (found.lower.unwrap(), found.upper.unwrap());
        assert!(f64::from(low.rate) <= most && most < f64::from(high.rate), "{most}: {found}");
        let place = |rate| rates.iter().position(|known| *known == rate).unwrap();
        assert_eq!(place(low.rate) + 1, place(high.rate), "{most}: {found}");
        assert_eq!((low.passed, low.failed), (4, 0), "four of five windows are enough: {found}");
        // A short window of 1 s that failed there before counts: 1 s and one window exceed a fifth of 15 s.
        assert!(high.failed * 3 + high.short_failed > 3 && high.passed == 0, "{found}");
        assert_eq!(found.conditional_rate, Some(f64::from(low.rate)));
        assert_eq!(found.ending, Ending::Interval);
        assert!(found.inversions.is_empty(), "{found:?}");
        assert!(tried.len() <= 30, "{most}: {}", tried.len());
    }
}

#[test]
fn a_server_that_sustains_everything_is_censored_from_above() {
    let (found, tried) = search(RULES, &mut Draw::seeded(1), |_| 1.0);
    assert_eq!(found.ending, Ending::HoldsToHighest);
    assert_eq!((found.lower.unwrap().rate, found.upper), (MOST, None));
    let short = tried.iter().filter(|(load, _)| load.duration_ms == RULES.initial_trial_ms).count();
    assert_eq!(
        (short, tried.len() - short),
        (7, 4),
        "six doublings, and four of five windows at the highest"
    );
}

#[test]
fn a_server_that_sustains_nothing_is_censored_from_below() {
    let (found, tried) = search(RULES, &mut Draw::seeded(1), |_| 0.0);
    assert_eq!(found.ending, Ending::FailsAtLowest);
    assert_eq!((found.lower, found.upper.unwrap().rate), (None, FROM));
    assert!(tried.len() <= 3 && tried.iter().all(|(load, _)| load.rate == FROM), "{tried:?}");
    assert_eq!(found.conditional_rate, None);
}

#[test]
fn loss_inversion_never_counts_and_is_reported() {
    // Short windows show nothing of a band in which long windows fail.
    let band = 4_000..6_000;
    let found = find(|load| {
        let long = load.duration_ms == RULES.goal.final_trial_ms;
        judgement(load.rate < 20_000 && !(long && band.contains(&load.rate)))
    });
    assert_eq!(found.ending, Ending::Interval, "the band lies between the rates that are tried: {found}");
    assert!(found.lower.unwrap().rate > 6_000);

    // One that begins to fail when it is tried again: what passed above was a fluke.
    let found = find(|load| {
        let long = load.duration_ms == RULES.goal.final_trial_ms;
        judgement(load.rate < if long { 10_000 } else { 40_000 })
    });
    let (low, high) = (found.lower.unwrap(), found.upper.unwrap());
    assert!(low.rate < 10_000 && high.rate >= 10_000, "{found}");
    assert_eq!(found.ending, Ending::Interval, "{found}");
    assert!(found.inversions.iter().all(|above| above.rate > high.rate && above.short_passed > 0));
    assert!(!found.inversions.is_empty(), "{found:?}");
}

#[test]
fn an_unconfirmed_end_moves_away_by_growing_steps() {
    // Short windows fail from 3,000 on, long windows from 30,000 on.
    let found = find(|load| {
        let long = load.duration_ms == RULES.goal.final_trial_ms;
        judgement(load.rate < if long { 30_000 } else { 3_000 })
    });
    let (low, high) = (found.lower.unwrap(), found.upper.unwrap());
    assert!(low.rate < 30_000 && high.rate >= 30_000, "{found}");
    assert_eq!(found.ending, Ending::Interval);
    assert!(found.trials <= RULES.most_trials, "{found:?}");
}

#[test]
fn one_window_that_missed_does_not_decide() {
    // The very first window misses, and one long window of every other rate.
    let mut missed = std::collections::HashSet::new();
    let found = find(|load| {
        let first = missed.insert((load.rate, load.duration_ms));
        let long = load.duration_ms == RULES.goal.final_trial_ms;
        judgement(load.rate <= 23_000 && !(first && (long != (load.rate == FROM))))
    });
    let (low, high) = (found.lower.unwrap(), found.upper.unwrap());
    assert!(low.rate <= 23_000 && high.rate > 23_000, "{found}");
    assert_eq!((low.passed, low.failed), (4, 1), "{found}");
}

#[test]
fn the_tools_limit_ends_a_search_without_a_failure() {
    let found = find(|load| if load.rate > 10_000 { Judgement::NotReached } else { judgement(true) });
    assert_eq!(found.ending, Ending::ToolCeiling);
    let low = found.lower.unwrap();
    assert!((9_500..=10_000).contains(&low.rate), "just below the ceiling: {found}");
    assert_eq!((low.failed, found.upper), (0, None));
    assert!(found.tool_limited >= 2, "{found:?}");

    let found = find(|_| Judgement::NotReached);
    assert_eq!((found.ending, found.lower, found.upper), (Ending::ToolCeiling, None, None));
    assert_eq!(found.trials, 2);
}

#[test]
fn the_tools_ceiling_above_an_answer_does_not_touch_it() {
    let found = find(|load| match load.rate {
        0..=12_000 => judgement(true),
        12_001..=15_000 => judgement(false),
        _ => Judgement::NotReached,
    });
    assert_eq!(found.ending, Ending::Interval, "{found}");
    assert!(found.upper.unwrap().rate <= 15_000, "{found}");
}

#[test]
fn trials_that_show_nothing_are_made_again_up_to_a_limit() {
    let mut search = whole();
    search.take(judgement(true));
    let second = search.next();
    search.take(Judgement::Nothing);
    assert_eq!(search.next(), second, "the same again");
    (0..7).for_each(|_| search.take(Judgement::Nothing));
    assert_eq!(search.next(), None);
    let found = search.found();
    assert_eq!((found.ending, found.unmeasured, found.trials), (Ending::Unmeasured, 8, 9));
}

#[test]
fn a_search_that_runs_out_of_trials_says_so() {
    let rules = bench_analysis::slo::Rules { most_trials: 12, ..RULES };
    let (found, tried) = search(rules, &mut Draw::seeded(1), sharp(23_000.0));
    assert_eq!((found.ending, tried.len()), (Ending::TrialsUsedUp, 12));
}

#[test]
fn slopes_and_noise_leave_no_search_unfinished() {
    for seed in 0..50 {
        let mut draw = Draw::seeded(seed);
        for found in [
            search(RULES, &mut draw, sloped(23_000.0, 0.05)).0,
            search(RULES, &mut draw, noisy(23_000.0, 0.2)).0,
        ] {
            assert_ne!(found.ending, Ending::Unfinished);
            if let (Some(low), Some(high)) = (found.lower, found.upper) {
                assert!(low.rate < high.rate, "{found}");
            }
        }
    }
}

#[test]
fn the_rates_of_a_grid_are_as_far_apart_as_an_answer_may_be() {
    assert_eq!(grid(1_000, 4_000, 0.5), [1_000, 2_000, 4_000]);
    assert_eq!(
        grid(1_000, 4_100, 0.5),
        [1_000, 1_601, 2_562, 4_100],
        "the highest is no closer to the next than others"
    );
    assert_eq!(grid(900, 300, 0.1), [300], "the tool reaches less than the lowest");
    for pair in grid(FROM, MOST, 0.05).windows(2) {
        let width = 1.0 - f64::from(pair[0]) / f64::from(pair[1]);
        assert!(width < 0.051, "{pair:?}");
    }
}
