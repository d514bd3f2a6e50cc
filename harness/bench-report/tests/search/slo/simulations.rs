//! How often a search is wrong where the truth is known, what it costs, and that it always ends. Seeded, so that what
//! passes once passes always. `cargo test --package bench-report --test search -- --nocapture table` prints the table
//! that docs/METHODOLOGY.md quotes.

use bench_analysis::search::Judgement;
use bench_analysis::slo::{Ending, Goal, RateLoad, Rules, Search, grid};

use super::{RULES, noisy, search, sharp, sloped};
use crate::{Draw, judgement};

const SEARCHES: usize = 2_000;

/// How far an answer may be off before it counts as far off: twice the width.
const FAR: f64 = 0.1;

/// What came of many searches on one kind of server.
#[derive(Debug, Default)]
struct Tally {
    missed: usize,
    far_off: usize,
    too_high: usize,
    answered: usize,
    used_up: usize,
    trials: usize,
    seconds: f64,
}

impl Tally {
    /// Searches on servers whose highest rate is drawn between 2,000 and 32,000.
    fn of<C: Fn(u32) -> f64>(rules: Rules, seed: u64, curve: impl Fn(f64) -> C) -> Self {
        let mut draw = Draw::seeded(seed);
        let mut tally = Self::default();
        for _ in 0..SEARCHES {
            let most = 2_000.0 * 16.0_f64.powf(draw.uniform());
            let (found, tried) = search(rules, &mut draw, curve(most));
            let above = |times: f64| found.lower.is_some_and(|low| f64::from(low.rate) > most * times);
            let below = |times: f64| found.upper.is_some_and(|high| f64::from(high.rate) <= most * times);
            tally.missed += usize::from(above(1.0) || below(1.0));
            tally.far_off += usize::from(above(1.0 + FAR) || below(1.0 - FAR));
            tally.too_high += usize::from(above(1.0));
            tally.answered += usize::from(found.ending == Ending::Interval);
            tally.used_up += usize::from(found.ending == Ending::TrialsUsedUp);
            tally.trials += tried.len();
            tally.seconds += tried.iter().map(|(load, _)| load.duration_ms as f64 / 1e3).sum::<f64>();
        }
        tally
    }

    fn share(count: usize) -> f64 {
        count as f64 / SEARCHES as f64
    }

    fn row(&self, name: &str) -> String {
        let percent = |count| Self::share(count) * 100.0;
        format!(
            "| {name} | {:.1} % | {:.1} % | {:.1} % | {:.0} % | {:.0} | {:.0} s |",
            percent(self.missed),
            percent(self.too_high),
            percent(self.far_off),
            percent(self.used_up),
            self.trials as f64 / SEARCHES as f64,
            self.seconds / SEARCHES as f64
        )
    }
}

/// The share of searches whose interval misses the truth, by kind of server, with the settings of `just bench-all slo`.
#[test]
fn the_table_of_error_rates() {
    let rules = Rules { most_trials: 36, ..RULES };
    let kinds = [
        ("sharp end", Tally::of(rules, 1, sharp)),
        ("varies by 2 %", Tally::of(rules, 1, |most| sloped(most, 0.02))),
        ("varies by 5 %", Tally::of(rules, 1, |most| sloped(most, 0.05))),
        ("varies by 20 %", Tally::of(rules, 1, |most| sloped(most, 0.2))),
        ("one trial in fifty shows the opposite", Tally::of(rules, 1, |most| noisy(most, 0.02))),
        ("one trial in five shows the opposite", Tally::of(rules, 1, |most| noisy(most, 0.2))),
    ];
    let mut table =
        "| server | truth missed | too high | off by over 10 % | trials used up | trials | load |\n\
                     |---|---|---|---|---|---|---|\n"
            .to_owned();
    for (name, tally) in &kinds {
        table.push_str(&tally.row(name));
        table.push('\n');
    }
    let page = include_str!("../../../../../docs/METHODOLOGY.md");
    assert!(page.contains(&table), "docs/METHODOLOGY.md must have this table:\n{table}");
    let [sharp, two, five, _, rare, often] = kinds.map(|(_, tally)| tally);
    assert_eq!((sharp.missed, sharp.answered), (0, SEARCHES), "{}", sharp.row("sharp end"));
    assert_eq!((two.far_off, five.far_off), (0, 0));
    // Noise makes an answer too low, and hardly ever too high: a server sustains the rate in the answer.
    for noisy in [rare, often] {
        assert!(Tally::share(noisy.too_high) <= 0.02, "{}", noisy.row("noisy"));
    }
}

/// Whatever trials show, a search ends within its bound, tries only what it may, and its ends are in order.
#[test]
fn a_search_always_ends_within_its_bound() {
    let mut draw = Draw::seeded(3);
    for _ in 0..4_000 {
        let final_trial_ms = u64::from(draw.count(1, 5)) * 1_000;
        let rules = Rules {
            width: 0.01 + 0.4 * draw.uniform(),
            initial_trial_ms: final_trial_ms / u64::from(draw.count(1, 2)),
            goal: Goal {
                final_trial_ms,
                duration_sum_ms: final_trial_ms * u64::from(draw.count(1, 7)),
                exceed_ratio: [0.0, 0.1, 0.2, 0.5][draw.count(0, 3) as usize],
            },
            most_trials: draw.count(14, 200),
        };
        let (from, most) = (draw.count(100, 5_000), draw.count(50, 90_000));
        let rates = grid(from, most, rules.width);
        assert!(rates.windows(2).all(|pair| pair[0] < pair[1]), "{rates:?}");
        let mut search = Search::new(from, most, rules);
        let chance = draw.uniform();
        let (tool, nothing) = (0.1 * draw.uniform(), if draw.count(0, 3) == 0 { 0.05 } else { 0.0 });
        let mut trials = 0;
        while let Some(RateLoad { rate, duration_ms }) = search.next() {
            assert!(rates.contains(&rate));
            assert!([rules.initial_trial_ms, final_trial_ms].contains(&duration_ms));
            trials += 1;
            assert!(trials <= rules.most_trials, "{rules:?}");
            assert_eq!(search.found().ending, Ending::Unfinished);
            search.take(match draw.uniform() {
                drawn if drawn < nothing => Judgement::Nothing,
                drawn if drawn < nothing + tool => Judgement::NotReached,
                _ => judgement(draw.uniform() < chance),
            });
        }
        let found = search.found();
        assert_eq!(found.trials, trials);
        assert_ne!(found.ending, Ending::Unfinished);
        if let (Some(low), Some(high)) = (found.lower, found.upper) {
            assert!(low.rate < high.rate, "{found}");
        }
        if found.ending == Ending::Interval {
            assert!(found.lower.is_some() && found.upper.is_some(), "{found:?}");
        }
        let conditional = found.conditional_rate.zip(found.lower);
        assert!(conditional.is_none_or(|(in_time, low)| in_time <= f64::from(low.rate)), "{found:?}");
        search.take(judgement(false));
        assert_eq!(search.found(), found, "what comes after the end changes nothing");
    }
}

/// Without a bound on trials every search settles: no end ever moves for ever.
#[test]
fn a_search_settles_by_itself() {
    let mut draw = Draw::seeded(4);
    let rules = Rules { most_trials: u32::MAX, ..RULES };
    let rates = grid(1_000, 64_000, rules.width);
    for _ in 0..1_000 {
        let chances: Vec<f64> = rates.iter().map(|_| draw.uniform()).collect();
        let mut search = Search::new(1_000, 64_000, rules);
        let mut trials = 0;
        while let Some(load) = search.next() {
            trials += 1;
            // One short window, and five of full length, decide any rate.
            assert!(trials <= rates.len() * 6, "{}", search.found());
            let place = rates.iter().position(|known| *known == load.rate).unwrap();
            search.take(judgement(draw.uniform() < chances[place]));
        }
        let ending = search.found().ending;
        assert!(
            matches!(ending, Ending::Interval | Ending::FailsAtLowest | Ending::HoldsToHighest),
            "{ending:?}"
        );
    }
}
