//! How often a search is wrong where the truth is known, what it costs, and that it always ends. Seeded, so that what
//! passes once passes always. `cargo test --package bench-report --test search -- --nocapture table` prints the tables
//! that docs/METHODOLOGY.md quotes.

use bench_core::search::{Ending, Found, Goal, Judgement, Load, Mlr, Rules, Search, bad_to_fail, grid};

use crate::{Draw, connections, judgement, rate};

const SEARCHES: usize = 2_000;

/// How far an answer along a rate may be off before it counts as far off: twice the width.
const FAR: f64 = 0.1;

/// What came of many searches on one kind of server.
#[derive(Debug, Default)]
struct Tally {
    missed: usize,
    contradicted: usize,
    far_off: usize,
    too_high: usize,
    both_ends: usize,
    used_up: usize,
    trials: usize,
    seconds: f64,
    doublings: Vec<f64>,
}

impl Tally {
    /// Takes what was found where `holds` is whether a load holds in truth, `above` and `below` where it is far from it.
    fn take(&mut self, found: &Found, trials: usize, truth: f64, first_fails: bool) {
        // The truth is the first load that fails, or the last one that holds.
        let too_high = |times: f64| {
            found.holds.is_some_and(|low| match first_fails {
                true => f64::from(low.at) >= truth * times,
                false => f64::from(low.at) > truth * times,
            })
        };
        let too_low = |times: f64| {
            found.fails.is_some_and(|high| match first_fails {
                true => f64::from(high.at) < truth * times,
                false => f64::from(high.at) <= truth * times,
            })
        };
        self.missed += usize::from(too_high(1.0) || too_low(1.0));
        self.contradicted += usize::from(!found.contradictions.is_empty());
        self.far_off += usize::from(too_high(1.0 + FAR) || too_low(1.0 - FAR));
        self.too_high += usize::from(too_high(1.0));
        self.used_up += usize::from(found.ending == Ending::TrialsUsedUp);
        self.trials += trials;
        if let (Some(low), Some(high)) = (found.holds, found.fails) {
            self.both_ends += 1;
            self.doublings.push((f64::from(high.at) / f64::from(low.at)).log2());
        }
    }

    /// Searches along connections, on thresholds drawn between 250 and 8,000.
    fn along_connections<C: Fn(u32) -> f64>(
        rules: connections::Rules,
        seed: u64,
        curve: impl Fn(f64) -> C,
    ) -> Self {
        let mut draw = Draw::seeded(seed);
        let mut tally = Self::default();
        for _ in 0..SEARCHES {
            let threshold = 250.0 * 32.0_f64.powf(draw.uniform());
            let (found, trials) = connections::search(rules, &mut draw, curve(threshold));
            tally.take(&found, trials, threshold, true);
        }
        tally.doublings.sort_by(f64::total_cmp);
        tally
    }

    /// Searches along a rate, on servers whose highest rate is drawn between 2,000 and 32,000.
    fn along_rate<C: Fn(u32) -> f64>(curve: impl Fn(f64) -> C) -> Self {
        let mut draw = Draw::seeded(1);
        let mut tally = Self::default();
        for _ in 0..SEARCHES {
            let most = 2_000.0 * 16.0_f64.powf(draw.uniform());
            let (found, tried) = rate::search(36, &mut draw, curve(most));
            tally.take(&found, tried.len(), most, false);
            tally.seconds += tried.iter().map(|(load, _)| if load.is_short { 1.0 } else { 3.0 }).sum::<f64>();
        }
        tally
    }

    fn percent(count: usize) -> f64 {
        count as f64 / SEARCHES as f64 * 100.0
    }

    fn row_of_connections(&self, name: &str) -> String {
        let width = self.doublings.get(self.doublings.len() / 2).map_or(f64::NAN, |width| width.exp2());
        let [missed, both_ends, used_up] = [self.missed, self.both_ends, self.used_up].map(Self::percent);
        let trials = self.trials as f64 / SEARCHES as f64;
        format!("| {name} | {missed:.1} % | {both_ends:.0} % | {used_up:.0} % | {width:.2} | {trials:.0} |")
    }

    fn row_of_rate(&self, name: &str) -> String {
        let [missed, too_high, far_off, used_up] =
            [self.missed, self.too_high, self.far_off, self.used_up].map(Self::percent);
        let [trials, seconds] = [self.trials as f64, self.seconds].map(|all| all / SEARCHES as f64);
        format!(
            "| {name} | {missed:.1} % | {too_high:.1} % | {far_off:.1} % | {used_up:.0} % | {trials:.0} | {seconds:.0} s |"
        )
    }
}

/// The share of searches along connections whose interval misses the truth, by kind of server, for the rules of a long
/// and of a short search.
#[test]
fn the_table_of_error_rates_along_connections() {
    use connections::{noisy, sharp, sloped};
    let short = connections::Rules { steps_per_doubling: 2, confirmations: 5, most_trials: 40 };
    for (rules, seed) in [(connections::RULES, 1), (short, 2)] {
        let of_sharp = Tally::along_connections(rules, seed, |threshold| sharp(threshold.ceil() as u32));
        let varying = |by: f64| Tally::along_connections(rules, seed, |threshold| sloped(threshold, by));
        let of_noisy = Tally::along_connections(rules, seed, |threshold| noisy(threshold.ceil() as u32));
        let kinds = [
            ("sharp", &of_sharp, 0.0),
            ("varies by 5 %", &varying(0.05), 5.0),
            ("varies by 20 %", &varying(0.2), 5.0),
            ("varies by 50 %", &varying(0.5), 5.0),
            ("1 in 5 shows the opposite", &of_noisy, 5.0),
        ];
        println!(
            "{rules:?}:\n| server | wrong | both ends | trials ran out | lowest failing / highest passing | trials |"
        );
        for (name, tally, most_wrong) in kinds {
            let row = tally.row_of_connections(name);
            println!("{row}");
            assert!(Tally::percent(tally.missed) <= most_wrong, "{row}");
        }
        assert_eq!((of_sharp.both_ends, of_sharp.used_up, of_sharp.contradicted), (SEARCHES, 0, 0));
        let widest = of_sharp.doublings.last().unwrap();
        assert!(
            *widest < 1.04 / f64::from(rules.steps_per_doubling),
            "a sharp threshold is enclosed by one step: {widest}"
        );
    }
}

/// The share of searches along a rate whose interval misses the truth, by kind of server, with the settings of `just
/// bench-all slo`.
#[test]
fn the_table_of_error_rates_along_a_rate() {
    use rate::{noisy, sharp, sloped};
    let kinds = [
        ("sharp end", Tally::along_rate(sharp)),
        ("varies by 2 %", Tally::along_rate(|most| sloped(most, 0.02))),
        ("varies by 5 %", Tally::along_rate(|most| sloped(most, 0.05))),
        ("varies by 20 %", Tally::along_rate(|most| sloped(most, 0.2))),
        ("one trial in fifty shows the opposite", Tally::along_rate(|most| noisy(most, 0.02))),
        ("one trial in five shows the opposite", Tally::along_rate(|most| noisy(most, 0.2))),
    ];
    let mut table =
        "| server | truth missed | too high | off by over 10 % | trials used up | trials | load |\n\
                     |---|---|---|---|---|---|---|\n"
            .to_owned();
    for (name, tally) in &kinds {
        table.push_str(&tally.row_of_rate(name));
        table.push('\n');
    }
    let page = include_str!("../../../../docs/METHODOLOGY.md");
    assert!(page.contains(&table), "docs/METHODOLOGY.md must have this table:\n{table}");
    let [sharp, two, five, _, rare, often] = kinds.map(|(_, tally)| tally);
    assert_eq!((sharp.missed, sharp.both_ends, sharp.contradicted), (0, SEARCHES, 0), "{sharp:?}");
    assert_eq!((two.far_off, five.far_off), (0, 0));
    // Noise makes an answer too low, and hardly ever too high: a server sustains the rate in the answer.
    for noisy in [rare, often] {
        assert!(Tally::percent(noisy.too_high) <= 2.0, "{noisy:?}");
    }
}

/// Runs a search to its end; whatever its trials show, it tries only what it may and its ends are in order.
fn ends(mut search: Search, loads: &[u32], most: u32, mut shows: impl FnMut(Load) -> Judgement) -> Found {
    assert!(loads.windows(2).all(|pair| pair[0] < pair[1]), "{loads:?}");
    let mut trials = 0;
    while let Some(load) = search.next() {
        assert!(loads.contains(&load.at));
        trials += 1;
        assert!(trials <= most, "{}", search.found());
        assert_eq!(search.found().ending, Ending::Unfinished);
        search.take(shows(load));
    }
    let found = search.found();
    assert_eq!(found.trials, trials);
    assert_ne!(found.ending, Ending::Unfinished);
    if let (Some(low), Some(high)) = (found.holds, found.fails) {
        assert!(low.at < high.at, "{found}");
    }
    if found.ending == Ending::Interval {
        assert!(found.holds.is_some() && found.fails.is_some(), "{found:?}");
    }
    assert!(found.not_reached.windows(2).all(|two| two[0].at < two[1].at), "{found:?}");
    search.take(judgement(false));
    assert_eq!(search.found(), found, "what comes after the end changes nothing");
    found
}

#[test]
fn a_search_along_connections_always_ends_within_its_bound() {
    let mut draw = Draw::seeded(3);
    for _ in 0..4_000 {
        let rules = connections::Rules {
            steps_per_doubling: draw.count(1, 9),
            confirmations: draw.count(5, 15),
            most_trials: draw.count(30, 400),
        };
        let from = draw.count(1, 2_000);
        let counts = grid(from, draw.count(1, 30_000), rules.width());
        let search = rules.search(&counts, draw.count(0, 40_000));
        let (chance, nothing) = (draw.uniform(), if draw.count(0, 3) == 0 { 0.05 } else { 0.0 });
        let not_held = if draw.count(0, 1) == 0 { 0.0 } else { draw.uniform() };
        let found = ends(search, &counts, rules.most_trials, |load| match draw.uniform() {
            drawn if drawn < nothing => Judgement::Nothing,
            _ if draw.uniform() < not_held * f64::from(load.at) / 30_000.0 => Judgement::NotReached,
            _ => judgement(draw.uniform() >= chance),
        });
        let left_out: Vec<u32> = found.not_reached.iter().map(|load| load.at).collect();
        let is_end = |end: &bench_core::search::Tested| left_out.contains(&end.at);
        assert!(![found.holds, found.fails].iter().flatten().any(is_end), "{found:?}");
        assert!(not_held > 0.0 || left_out.is_empty());
        if found.ending == Ending::NotReached {
            assert!(!left_out.is_empty() && found.fails.is_none(), "{found:?}");
        }
        assert!(found.holds.is_none_or(|low| low.failed == 0 && low.passed == rules.confirmations));
        assert!(found.fails.is_none_or(|high| high.failed >= bad_to_fail(rules.confirmations)));
    }
}

#[test]
fn a_search_along_a_rate_always_ends_within_its_bound() {
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
        };
        let most_trials = draw.count(14, 200);
        let rates = grid(draw.count(100, 5_000), draw.count(50, 90_000), rules.width);
        let search = Search::by(Mlr::new(rates.clone(), draw.count(0, 90_000), rules), most_trials);
        let chance = draw.uniform();
        let (tool, nothing) = (0.1 * draw.uniform(), if draw.count(0, 3) == 0 { 0.05 } else { 0.0 });
        let found = ends(search, &rates, most_trials, |load| {
            assert!(!load.is_short || rules.initial_trial_ms < final_trial_ms);
            match draw.uniform() {
                drawn if drawn < nothing => Judgement::Nothing,
                drawn if drawn < nothing + tool => Judgement::NotReached,
                _ => judgement(draw.uniform() < chance),
            }
        });
        let conditional = found.conditional_rate.zip(found.holds);
        assert!(conditional.is_none_or(|(in_time, low)| in_time <= f64::from(low.at)), "{found:?}");
    }
}

/// Without a bound on trials every search settles: no end ever moves for ever.
#[test]
fn a_search_settles_by_itself() {
    let of_connections = connections::Rules { most_trials: u32::MAX, ..connections::RULES };
    let counts = connections::counts(of_connections);
    let rates = grid(rate::FROM, rate::MOST, rate::RULES.width);
    let mut draw = Draw::seeded(4);
    for along_rate in [false, true] {
        for _ in 0..1_500 {
            let (search, loads, trials_each) = match along_rate {
                // One short window, and five of full length, decide any rate.
                true => (rate::of_at_most(u32::MAX, rate::RULES), &rates, 6),
                false => (connections::whole(of_connections), &counts, of_connections.confirmations),
            };
            let chances: Vec<f64> = loads.iter().map(|_| draw.uniform()).collect();
            let found = ends(search, loads, loads.len() as u32 * trials_each, |load| {
                let place = loads.iter().position(|known| *known == load.at).unwrap();
                judgement(draw.uniform() >= chances[place])
            });
            let settled = [Ending::Interval, Ending::FailsAtLowest, Ending::HoldsToHighest];
            assert!(settled.contains(&found.ending), "{found}");
        }
    }
}
