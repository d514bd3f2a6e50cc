//! Searches along a rate, one server at a time: what is found on it.

use bench_core::search::{Ending, Found, Goal, Judgement, Load, Mlr, Rules, Search, grid};

use crate::{Draw, connections, judgement, run, scale};

/// Four of five windows of 3 s must pass; 5 % apart.
pub const RULES: Rules = Rules {
    width: 0.05,
    initial_trial_ms: 1_000,
    goal: Goal { final_trial_ms: 3_000, duration_sum_ms: 15_000, exceed_ratio: 0.2 },
};

pub const MOST_TRIALS: u32 = 60;

pub const FROM: u32 = 1_000;
pub const MOST: u32 = 64_000;

/// A search of at most N trials.
pub fn of_at_most(most_trials: u32, rules: Rules) -> Search {
    Search::by(Mlr::new(grid(FROM, MOST, rules.width), FROM, rules), most_trials)
}

pub fn whole(rules: Rules) -> Search {
    of_at_most(MOST_TRIALS, rules)
}

/// Searches a server whose trials pass with this chance; also gives what was tried, and whether it passed.
pub fn search(most_trials: u32, draw: &mut Draw, chance: impl Fn(u32) -> f64) -> (Found, Vec<(Load, bool)>) {
    run(of_at_most(most_trials, RULES), |load| judgement(draw.uniform() < chance(load.at)))
}

/// The chance of a server that sustains up to `most` and nothing above.
pub fn sharp(most: f64) -> impl Fn(u32) -> f64 {
    move |rate| f64::from(u8::from(f64::from(rate) <= most))
}

/// The chance of a server whose highest rate varies from trial to trial by `spread`, relatively (the standard deviation
/// of its logarithm; logistic), and that passes at `most` four times of five.
pub fn sloped(most: f64, spread: f64) -> impl Fn(u32) -> f64 {
    move |rate| 1.0 / (1.0 + 0.25 * ((f64::from(rate) / most).ln() / scale(spread)).exp())
}

/// The chance of a server with a sharp end, of whose trials this share shows the opposite.
pub fn noisy(most: f64, opposite: f64) -> impl Fn(u32) -> f64 {
    move |rate| if f64::from(rate) <= most { 1.0 - opposite } else { opposite }
}

/// What is found on a server whose trials show this.
fn find(shows: impl FnMut(Load) -> Judgement) -> Found {
    run(whole(RULES), shows).0
}

#[test]
fn a_server_that_sustains_everything_or_nothing_is_censored() {
    let (found, tried) = search(MOST_TRIALS, &mut Draw::seeded(1), |_| 1.0);
    assert_eq!((found.ending, found.holds.unwrap().at, found.fails), (Ending::HoldsToHighest, MOST, None));
    let short = tried.iter().filter(|(load, _)| load.is_short).count();
    assert_eq!(
        (short, tried.len() - short),
        (7, 4),
        "six doublings, and four of five windows at the highest"
    );
    let (found, tried) = search(MOST_TRIALS, &mut Draw::seeded(1), |_| 0.0);
    assert_eq!((found.ending, found.holds, found.fails.unwrap().at), (Ending::FailsAtLowest, None, FROM));
    assert!(tried.len() <= 3 && tried.iter().all(|(load, _)| load.at == FROM), "{tried:?}");
    assert_eq!(found.conditional_rate, None);
}

#[test]
fn loss_inversion_never_counts_and_is_reported() {
    // Short windows show nothing of a band in which long windows fail.
    let band = 4_000..6_000;
    let found = find(|load| {
        let long = !load.is_short;
        judgement(load.at < 20_000 && !(long && band.contains(&load.at)))
    });
    assert_eq!(found.ending, Ending::Interval, "the band lies between the rates that are tried: {found}");
    assert!(found.holds.unwrap().at > 6_000);

    // One that begins to fail when it is tried again: what passed above was a fluke.
    let found = find(|load| {
        let long = !load.is_short;
        judgement(load.at < if long { 10_000 } else { 40_000 })
    });
    let (low, high) = (found.holds.unwrap(), found.fails.unwrap());
    assert!(low.at < 10_000 && high.at >= 10_000, "{found}");
    assert_eq!(found.ending, Ending::Interval, "{found}");
    assert!(found.contradictions.iter().all(|above| above.at > high.at && above.short_passed > 0));
    assert!(!found.contradictions.is_empty(), "{found:?}");
}

#[test]
fn an_unconfirmed_end_moves_away_by_growing_steps() {
    // Short windows fail from 3,000 on, long windows from 30,000 on.
    let found = find(|load| {
        let long = !load.is_short;
        judgement(load.at < if long { 30_000 } else { 3_000 })
    });
    let (low, high) = (found.holds.unwrap(), found.fails.unwrap());
    assert!(low.at < 30_000 && high.at >= 30_000, "{found}");
    assert_eq!(found.ending, Ending::Interval);
    assert!(found.trials <= MOST_TRIALS, "{found:?}");
}

#[test]
fn one_window_that_missed_does_not_decide() {
    // The very first window misses, and one long window of every other rate.
    let mut missed = std::collections::HashSet::new();
    let found = find(|load| {
        let first = missed.insert((load.at, load.is_short));
        let long = !load.is_short;
        judgement(load.at <= 23_000 && !(first && (long != (load.at == FROM))))
    });
    let (low, high) = (found.holds.unwrap(), found.fails.unwrap());
    assert!(low.at <= 23_000 && high.at > 23_000, "{found}");
    assert_eq!((low.passed, low.failed), (4, 1), "{found}");
}

#[test]
fn the_tools_limit_ends_a_search_without_a_failure() {
    let found = find(|load| if load.at > 10_000 { Judgement::NotReached } else { judgement(true) });
    assert_eq!(found.ending, Ending::NotReached);
    let low = found.holds.unwrap();
    assert!((9_500..=10_000).contains(&low.at), "just below the ceiling: {found}");
    assert_eq!((low.failed, found.fails), (0, None));
    assert!(
        found.not_reached.iter().all(|rate| rate.at > 10_000) && !found.not_reached.is_empty(),
        "{found:?}"
    );

    let found = find(|_| Judgement::NotReached);
    assert_eq!((found.ending, found.holds, found.fails), (Ending::NotReached, None, None));
    assert_eq!(found.trials, 2);
}

#[test]
fn the_tools_ceiling_above_an_answer_does_not_touch_it() {
    let found = find(|load| match load.at {
        0..=12_000 => judgement(true),
        12_001..=15_000 => judgement(false),
        _ => Judgement::NotReached,
    });
    assert_eq!(found.ending, Ending::Interval, "{found}");
    assert!(found.fails.unwrap().at <= 15_000, "{found}");
}

#[test]
fn trials_that_show_nothing_are_made_again_up_to_a_limit() {
    for mut search in [whole(RULES), connections::whole(connections::RULES)] {
        search.take(judgement(true));
        let second = search.next();
        search.take(Judgement::Nothing);
        assert_eq!(search.next(), second, "the same again");
        (0..7).for_each(|_| search.take(Judgement::Nothing));
        assert_eq!(search.next(), None);
        let found = search.found();
        assert_eq!((found.ending, found.unmeasured, found.trials), (Ending::Unmeasured, 8, 9));
    }
}

#[test]
fn a_search_may_begin_at_any_rate() {
    let rates = grid(FROM, MOST, RULES.width);
    for begin in [0, FROM, 10_000, 30_000, MOST] {
        let search = Search::by(Mlr::new(rates.clone(), begin, RULES), MOST_TRIALS);
        let first = search.next().unwrap().at;
        assert_eq!(first, rates.iter().copied().filter(|rate| *rate <= begin).max().unwrap_or(FROM));
        let (found, _) = run(search, |load| judgement(load.at <= 10_000));
        assert_eq!(found.ending, Ending::Interval, "from {begin}: {found}");
        assert!(
            found.holds.unwrap().at <= 10_000 && found.fails.unwrap().at > 10_000,
            "from {begin}: {found}"
        );
    }
}

#[test]
fn a_search_that_runs_out_of_trials_says_so() {
    let (found, tried) = search(12, &mut Draw::seeded(1), sharp(23_000.0));
    assert_eq!((found.ending, tried.len()), (Ending::TrialsUsedUp, 12));
}

#[test]
fn the_rates_of_a_grid_are_as_far_apart_as_an_answer_may_be() {
    assert_eq!(grid(1_000, 4_000, 0.5), [1_000, 2_000, 4_000]);
    assert_eq!(
        grid(1_000, 4_100, 0.5),
        [1_000, 1_601, 2_562, 4_100],
        "the highest is no closer to the next than others"
    );
    assert_eq!(grid(900, 300, 0.1), [300], "less is reached than the lowest");
    assert_eq!(grid(1, 4, 0.1), [1, 2, 3, 4], "each load once");
    assert_eq!(grid(7, 7, 0.1), [7]);
    for pair in grid(FROM, MOST, 0.05).windows(2) {
        let width = 1.0 - f64::from(pair[0]) / f64::from(pair[1]);
        assert!(width < 0.051, "{pair:?}");
    }
}
