//! One server at a time: what a search finds on it.

use rpc_bench::analysis::slo::{Ending, Load, Search, Shown, grid};

use crate::{Draw, FROM, MOST, RULES, measured, noisy, search, sharp, sloped};

/// Searches a server whose every trial shows what `shows` says of it.
fn ask(mut search: Search, shows: impl Fn(Load) -> Shown) -> Search {
    while let Some(load) = search.next() {
        search.tell(shows(load));
    }
    search
}

fn whole() -> Search {
    Search::new(FROM, MOST, RULES)
}

#[test]
fn a_sharp_end_is_enclosed_by_neighbours_with_full_counts() {
    let rates = grid(FROM, MOST, RULES.width);
    for most in [1_000.0, 1_001.0, 5_500.0, 23_456.0, 63_999.0] {
        let (found, asked) = search(RULES, &mut Draw::seeded(1), sharp(most));
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
        assert!(asked.len() <= 30, "{most}: {}", asked.len());
    }
}

#[test]
fn a_server_that_sustains_everything_is_censored_from_above_at_little_cost() {
    let (found, asked) = search(RULES, &mut Draw::seeded(1), |_| 1.0);
    assert_eq!(found.ending, Ending::HoldsToHighest);
    assert_eq!((found.lower.unwrap().rate, found.upper), (MOST, None));
    let short = asked.iter().filter(|(load, _)| load.duration_ms == RULES.initial_trial_ms).count();
    assert_eq!(
        (short, asked.len() - short),
        (7, 4),
        "six doublings, and four of five windows at the highest"
    );
}

#[test]
fn a_server_that_sustains_nothing_is_censored_from_below_at_little_cost() {
    let (found, asked) = search(RULES, &mut Draw::seeded(1), |_| 0.0);
    assert_eq!(found.ending, Ending::FailsAtLowest);
    assert_eq!((found.lower, found.upper.unwrap().rate), (None, FROM));
    assert!(asked.len() <= 3 && asked.iter().all(|(load, _)| load.rate == FROM), "{asked:?}");
    assert_eq!(found.conditional_rate, None);
}

#[test]
fn a_rate_that_passes_above_one_that_fails_never_counts_and_is_told() {
    // Quick looks show nothing of a band in which long windows fail.
    let band = 4_000..6_000;
    let search = ask(whole(), |load| {
        let long = load.duration_ms == RULES.goal.final_trial_ms;
        measured(load.rate < 20_000 && !(long && band.contains(&load.rate)))
    });
    let found = search.found();
    assert_eq!(found.ending, Ending::Interval, "the band lies between the rates that are tried: {found}");
    assert!(found.lower.unwrap().rate > 6_000);

    // One that begins to fail when it is tried again: what passed above was a fluke.
    let search = ask(whole(), |load| {
        let long = load.duration_ms == RULES.goal.final_trial_ms;
        measured(load.rate < if long { 10_000 } else { 40_000 })
    });
    let found = search.found();
    let (low, high) = (found.lower.unwrap(), found.upper.unwrap());
    assert!(low.rate < 10_000 && high.rate >= 10_000, "{found}");
    assert_eq!(found.ending, Ending::Interval, "{found}");
    assert!(found.inversions.iter().all(|above| above.rate > high.rate && above.short_passed > 0));
    assert!(!found.inversions.is_empty(), "{found:?}");
}

#[test]
fn an_end_of_the_quick_look_that_does_not_hold_moves_away_by_growing_steps() {
    // Quick looks fail from 3,000 on, long windows from 30,000 on.
    let search = ask(whole(), |load| {
        let long = load.duration_ms == RULES.goal.final_trial_ms;
        measured(load.rate < if long { 30_000 } else { 3_000 })
    });
    let found = search.found();
    let (low, high) = (found.lower.unwrap(), found.upper.unwrap());
    assert!(low.rate < 30_000 && high.rate >= 30_000, "{found}");
    assert_eq!(found.ending, Ending::Interval);
    assert!(found.trials <= RULES.most_trials, "{found:?}");
}

#[test]
fn one_window_that_missed_does_not_decide() {
    // The very first look misses, and one long window of every other rate.
    let mut search = whole();
    let mut missed = std::collections::HashSet::new();
    while let Some(load) = search.next() {
        let first = missed.insert((load.rate, load.duration_ms));
        let long = load.duration_ms == RULES.goal.final_trial_ms;
        search.tell(measured(load.rate <= 23_000 && !(first && (long != (load.rate == FROM)))));
    }
    let found = search.found();
    let (low, high) = (found.lower.unwrap(), found.upper.unwrap());
    assert!(low.rate <= 23_000 && high.rate > 23_000, "{found}");
    assert_eq!((low.passed, low.failed), (4, 1), "{found}");
}

#[test]
fn where_the_tool_is_the_limit_the_search_ends_and_holds_nothing_against_the_server() {
    let search = ask(whole(), |load| if load.rate > 10_000 { Shown::ToolLimited } else { measured(true) });
    let found = search.found();
    assert_eq!(found.ending, Ending::ToolCeiling);
    let low = found.lower.unwrap();
    assert!((9_500..=10_000).contains(&low.rate), "just below the ceiling: {found}");
    assert_eq!((low.failed, found.upper), (0, None));
    assert!(found.tool_limited >= 2, "{found:?}");

    let search = ask(whole(), |_| Shown::ToolLimited);
    let found = search.found();
    assert_eq!((found.ending, found.lower, found.upper), (Ending::ToolCeiling, None, None));
    assert_eq!(found.trials, 2);
}

#[test]
fn the_tools_ceiling_above_an_answer_does_not_touch_it() {
    let search = ask(whole(), |load| match load.rate {
        0..=12_000 => measured(true),
        12_001..=15_000 => measured(false),
        _ => Shown::ToolLimited,
    });
    let found = search.found();
    assert_eq!(found.ending, Ending::Interval, "{found}");
    assert!(found.upper.unwrap().rate <= 15_000, "{found}");
}

#[test]
fn trials_that_gave_nothing_are_made_again_and_end_the_search_when_they_are_many() {
    let mut search = whole();
    search.tell(measured(true));
    let second = search.next();
    search.tell(Shown::Nothing);
    assert_eq!(search.next(), second, "the same again");
    (0..7).for_each(|_| search.tell(Shown::Nothing));
    assert_eq!(search.next(), None);
    let found = search.found();
    assert_eq!((found.ending, found.unmeasured, found.trials), (Ending::Unmeasured, 8, 9));
}

#[test]
fn a_search_that_runs_out_of_trials_says_so() {
    let rules = rpc_bench::analysis::slo::Rules { most_trials: 12, ..RULES };
    let (found, asked) = search(rules, &mut Draw::seeded(1), sharp(23_000.0));
    assert_eq!((found.ending, asked.len()), (Ending::TrialsUsedUp, 12));
}

#[test]
fn a_sloped_end_and_noise_are_answered_or_said_to_be_open() {
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
fn the_rates_of_a_grid_are_so_far_apart_as_an_answer_may_be() {
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
