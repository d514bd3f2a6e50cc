//! Many searches at once: interleaved, in a drawn order, and the same again from what was told.

use std::collections::HashSet;

use rpc_bench::analysis::threshold::{Asked, Schedule, Search, Shown, grid};

use crate::{Draw, RULES};

fn schedule(seed: u64) -> Schedule {
    Schedule::new((0..6).map(|_| Search::new(grid(125, 16_000, 4), RULES)).collect(), seed)
}

/// Each search has a threshold of its own.
fn shows(asked: Asked) -> Shown {
    if asked.load >= 1_000 * (asked.search as u32 + 1) { Shown::Fail } else { Shown::Pass }
}

fn run(schedule: &mut Schedule) -> Vec<(Asked, Shown)> {
    let mut trials = Vec::new();
    while let Some(asked) = schedule.next() {
        assert_eq!(schedule.next(), Some(asked), "asking changes nothing");
        trials.push((asked, shows(asked)));
        schedule.tell(shows(asked));
    }
    trials
}

#[test]
fn a_round_gives_each_search_that_goes_on_one_trial_in_a_drawn_order() {
    let mut whole = schedule(7);
    let trials = run(&mut whole);
    let numbers: Vec<u32> = trials.iter().map(|(asked, _)| asked.number).collect();
    assert_eq!(numbers, (1..=trials.len() as u32).collect::<Vec<_>>());
    let last = trials.last().unwrap().0.round;
    let mut orders = HashSet::new();
    for round in 1..=last {
        let order: Vec<usize> =
            trials.iter().filter(|(asked, _)| asked.round == round).map(|(asked, _)| asked.search).collect();
        let distinct: HashSet<usize> = order.iter().copied().collect();
        assert_eq!(distinct.len(), order.len(), "round {round}");
        orders.insert(order);
    }
    assert!(orders.len() > 10, "{}", orders.len());
    assert_eq!(whole.left(), 0);
    for (place, search) in whole.searches().iter().enumerate() {
        let found = search.found();
        let threshold = 1_000 * (place as u32 + 1);
        assert!(found.last_clean.unwrap().connections < threshold, "{found}");
        assert!(found.first_failing.unwrap().connections >= threshold, "{found}");
    }
    assert_ne!(trials, run(&mut schedule(8)), "the seed decides the order");
}

#[test]
fn wherever_it_was_stopped_it_goes_on_as_if_it_had_not_been() {
    let trials = run(&mut schedule(7));
    for stop in 0..=trials.len() {
        let mut again = schedule(7);
        for (_, shown) in &trials[..stop] {
            again.tell(*shown);
        }
        assert_eq!(again.next(), trials.get(stop).map(|(asked, _)| *asked), "after {stop}");
        assert_eq!(run(&mut again), trials[stop..]);
    }
}

#[test]
fn noise_in_one_search_does_not_hold_the_others() {
    let mut draw = Draw::seeded(5);
    let mut noisy = schedule(1);
    let mut trials = 0;
    while let Some(asked) = noisy.next() {
        trials += 1;
        let shown = match asked.search {
            0 if draw.uniform() < 0.5 => Shown::Fail,
            0 => Shown::Pass,
            _ => shows(asked),
        };
        noisy.tell(shown);
    }
    assert!(trials <= 6 * RULES.most_trials);
    assert!(noisy.searches()[1..].iter().all(|search| search.found().first_failing.is_some()));
}
