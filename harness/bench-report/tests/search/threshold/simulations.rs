//! How often a search is wrong where the truth is known, what it costs, and that it always ends. Seeded, so that what
//! passes once passes always. `cargo test --package bench-report --test search -- --nocapture table` prints the table
//! that docs/METHODOLOGY.md quotes.

use bench_analysis::search::Judgement;
use bench_analysis::threshold::{Ending, Rules, Search, grid};

use super::{RULES, noisy, search, sharp, sloped};
use crate::{Draw, judgement};

const SEARCHES: usize = 2_000;

/// What came of many searches on one kind of server.
#[derive(Debug, Default)]
struct Tally {
    wrong: usize,
    both_ends: usize,
    unsettled: usize,
    trials: usize,
    doublings: Vec<f64>,
}

impl Tally {
    /// Searches on thresholds drawn between 250 and 8,000.
    fn of<C: Fn(u32) -> f64>(rules: Rules, seed: u64, curve: impl Fn(f64) -> C) -> Self {
        let mut draw = Draw::seeded(seed);
        let mut tally = Self::default();
        for _ in 0..SEARCHES {
            let threshold = 250.0 * 32.0_f64.powf(draw.uniform());
            let (found, tried) = search(rules, &mut draw, curve(threshold));
            let below = found.last_passing.is_none_or(|low| f64::from(low.connections) < threshold);
            let above = found.first_failing.is_none_or(|high| threshold <= f64::from(high.connections));
            tally.wrong += usize::from(!(below && above));
            tally.unsettled += usize::from(found.ending == Ending::Unsettled);
            tally.trials += tried.len();
            if let (Some(low), Some(high)) = (found.last_passing, found.first_failing) {
                tally.both_ends += 1;
                tally.doublings.push((f64::from(high.connections) / f64::from(low.connections)).log2());
            }
        }
        tally.doublings.sort_by(f64::total_cmp);
        tally
    }

    fn wrong_share(&self) -> f64 {
        self.wrong as f64 / SEARCHES as f64
    }

    fn row(&self, name: &str) -> String {
        let percent = |count: usize| count as f64 / SEARCHES as f64 * 100.0;
        let width = self.doublings.get(self.doublings.len() / 2).map_or(f64::NAN, |width| width.exp2());
        format!(
            "| {name} | {:.1} % | {:.0} % | {:.0} % | {width:.2} | {:.0} |",
            percent(self.wrong),
            percent(self.both_ends),
            percent(self.unsettled),
            self.trials as f64 / SEARCHES as f64
        )
    }
}

/// The share of searches whose interval misses the truth, by kind of server, for the rules of a long and of a short
/// search.
#[test]
fn the_table_of_error_rates() {
    let short = Rules { steps_per_doubling: 2, confirmations: 5, most_trials: 40 };
    for (rules, seed) in [(RULES, 1), (short, 2)] {
        let kinds = [
            ("sharp", Tally::of(rules, seed, |threshold| sharp(threshold.ceil() as u32)), 0.0),
            ("varies by 5 %", Tally::of(rules, seed, |threshold| sloped(threshold, 0.05)), 0.05),
            ("varies by 20 %", Tally::of(rules, seed, |threshold| sloped(threshold, 0.2)), 0.05),
            ("varies by 50 %", Tally::of(rules, seed, |threshold| sloped(threshold, 0.5)), 0.05),
            (
                "1 in 5 shows the opposite",
                Tally::of(rules, seed, |threshold| noisy(threshold.ceil() as u32)),
                0.05,
            ),
        ];
        println!("{rules:?}:");
        println!(
            "| server | wrong | both ends | trials ran out | lowest failing / highest passing | trials |"
        );
        for (name, tally, most_wrong) in &kinds {
            println!("{}", tally.row(name));
            assert!(tally.wrong_share() <= *most_wrong, "{name}: {}", tally.row(name));
        }
        let [sharp, ..] = &kinds;
        assert_eq!((sharp.1.both_ends, sharp.1.unsettled), (SEARCHES, 0));
        let widest = sharp.1.doublings.last().unwrap();
        assert!(
            *widest < 1.04 / f64::from(rules.steps_per_doubling),
            "a sharp threshold is enclosed by one step: {widest}"
        );
    }
}

/// Whatever trials show, a search ends within its bound, tries only counts of its grid, and its ends are in order.
#[test]
fn a_search_always_ends_within_its_bound() {
    let mut draw = Draw::seeded(3);
    for _ in 0..4_000 {
        let rules = Rules {
            steps_per_doubling: draw.count(1, 9),
            confirmations: draw.count(5, 15),
            most_trials: draw.count(30, 400),
        };
        let from = draw.count(1, 2_000);
        let counts = grid(from, draw.count(1, 30_000), rules.steps_per_doubling);
        assert!(counts.windows(2).all(|pair| pair[0] < pair[1]), "{counts:?}");
        let mut search = Search::beginning_at(draw.count(0, 40_000), counts.clone(), rules);
        let (chance, nothing) = (draw.uniform(), if draw.count(0, 3) == 0 { 0.05 } else { 0.0 });
        let not_held = if draw.count(0, 1) == 0 { 0.0 } else { draw.uniform() };
        let mut trials = 0;
        while let Some(connections) = search.next() {
            assert!(counts.contains(&connections));
            trials += 1;
            assert!(trials <= rules.most_trials, "{rules:?}");
            assert_eq!(search.found().ending, Ending::Unfinished);
            search.take(match draw.uniform() {
                drawn if drawn < nothing => Judgement::Nothing,
                _ if draw.uniform() < not_held * f64::from(connections) / 30_000.0 => Judgement::NotReached,
                _ if draw.uniform() < chance => Judgement::FAIL,
                _ => Judgement::PASS,
            });
        }
        let found = search.found();
        assert_eq!(found.trials, trials);
        assert_ne!(found.ending, Ending::Unfinished);
        if let (Some(low), Some(high)) = (found.last_passing, found.first_failing) {
            assert!(low.connections < high.connections, "{found}");
        }
        assert!(found.not_held.windows(2).all(|two| two[0].connections < two[1].connections), "{found:?}");
        let left_out: Vec<u32> = found.not_held.iter().map(|at| at.connections).collect();
        let ends = [found.last_passing, found.first_failing];
        assert!(ends.iter().flatten().all(|end| !left_out.contains(&end.connections)), "{found:?}");
        assert!(not_held > 0.0 || left_out.is_empty());
        if found.ending == Ending::NotHeld {
            assert!(!left_out.is_empty() && found.first_failing.is_none(), "{found:?}");
        }
        if found.ending == Ending::Interval {
            assert!(found.last_passing.is_some() && found.first_failing.is_some(), "{found:?}");
        }
        assert!(found.last_passing.is_none_or(|low| low.bad == 0 && low.trials == rules.confirmations));
        assert!(found.first_failing.is_none_or(|high| high.bad >= rules.bad_to_fail()));
        search.take(Judgement::FAIL);
        assert_eq!(search.found(), found, "what comes after the end changes nothing");
    }
}

/// Without a bound on trials every search settles: no end ever moves for ever.
#[test]
fn a_search_settles_by_itself() {
    let mut draw = Draw::seeded(4);
    for _ in 0..2_000 {
        let rules = Rules { most_trials: u32::MAX, ..RULES };
        let mut search = Search::new(grid(125, 16_000, 4), rules);
        let chances: Vec<f64> = (0..40).map(|_| draw.uniform()).collect();
        let counts = grid(125, 16_000, 4);
        let mut trials = 0;
        while let Some(connections) = search.next() {
            trials += 1;
            assert!(trials <= counts.len() * RULES.confirmations as usize, "{}", search.found());
            let place = counts.iter().position(|known| *known == connections).unwrap();
            search.take(judgement(draw.uniform() >= chances[place]));
        }
        let ending = search.found().ending;
        assert!(
            matches!(ending, Ending::Interval | Ending::FailsAtLowest | Ending::HoldsToHighest),
            "{ending:?}"
        );
    }
}
