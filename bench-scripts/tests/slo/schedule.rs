//! Many searches at once: interleaved, in a drawn order, and the same again from what was told.

use std::collections::HashSet;

use rpc_bench::analysis::slo::{Asked, Schedule, Search, Shown};

use crate::{FROM, MOST, RULES, measured};

fn schedule(seed: u64) -> Schedule {
    Schedule::new((0..6).map(|_| Search::new(FROM, MOST, RULES)).collect(), seed)
}

/// Each search has an end of its own.
fn shows(asked: Asked) -> Shown {
    measured(asked.load.rate <= 3_000 * (asked.search as u32 + 1))
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
    for (place, search) in whole.searches().iter().enumerate() {
        let found = search.found();
        let most = 3_000 * (place as u32 + 1);
        assert!(found.lower.unwrap().rate <= most && found.upper.unwrap().rate > most, "{found}");
    }
    assert_eq!(trials, run(&mut schedule(7)), "the same inputs, the same questions");
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
