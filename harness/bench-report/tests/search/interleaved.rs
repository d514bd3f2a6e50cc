//! Many searches at once: interleaved, in a drawn order, and the same again from what was observed. For both kinds of
//! load.

use std::collections::HashSet;

use bench_core::search::{Judgement, NextTrial, Schedule};

use crate::{Draw, connections, judgement, rate};

fn counts(seed: u64) -> Schedule {
    Schedule::new((0..6).map(|_| connections::whole(connections::RULES)).collect(), seed)
}

fn rates(seed: u64) -> Schedule {
    Schedule::new((0..6).map(|_| rate::whole(rate::RULES)).collect(), seed)
}

/// The first load at which each search fails.
fn fails_from(search: usize) -> u32 {
    2_500 * (search as u32 + 1)
}

fn shows(next: NextTrial) -> Judgement {
    judgement(next.load.at < fails_from(next.search))
}

fn run(schedule: &mut Schedule) -> Vec<(NextTrial, Judgement)> {
    let mut trials = Vec::new();
    while let Some(next) = schedule.next() {
        assert_eq!(schedule.next(), Some(next), "reading it changes nothing");
        trials.push((next, shows(next)));
        schedule.take(shows(next));
    }
    trials
}

#[test]
fn a_round_gives_each_unfinished_search_one_trial_in_a_drawn_order() {
    for new in [counts, rates] {
        let mut whole = new(7);
        let trials = run(&mut whole);
        let numbers: Vec<u32> = trials.iter().map(|(next, _)| next.number).collect();
        assert_eq!(numbers, (1..=trials.len() as u32).collect::<Vec<_>>());
        let last = trials.last().unwrap().0.round;
        let mut orders = HashSet::new();
        for round in 1..=last {
            let order: Vec<usize> =
                trials.iter().filter(|(next, _)| next.round == round).map(|(next, _)| next.search).collect();
            let distinct: HashSet<usize> = order.iter().copied().collect();
            assert_eq!(distinct.len(), order.len(), "round {round}");
            orders.insert(order);
        }
        assert!(orders.len() > 10, "{}", orders.len());
        assert_eq!(whole.left(), 0);
        assert_eq!(trials, run(&mut new(7)), "the same inputs, the same trials");
        assert_ne!(trials, run(&mut new(8)), "the seed decides the order");
        // Each search finds what it would find alone.
        for (place, search) in whole.searches().iter().enumerate() {
            let (found, fails) = (search.found(), fails_from(place));
            assert!(found.holds.unwrap().at < fails && found.fails.unwrap().at >= fails, "{found}");
        }
        // Wherever it was stopped, it resumes with the same trials.
        for stop in 0..=trials.len() {
            let mut again = new(7);
            trials[..stop].iter().for_each(|(_, judgement)| again.take(*judgement));
            assert_eq!(run(&mut again), trials[stop..], "after {stop}");
        }
    }
}

#[test]
fn noise_in_one_search_does_not_delay_the_others() {
    let mut draw = Draw::seeded(5);
    let mut noisy = counts(1);
    let mut trials = 0;
    while let Some(next) = noisy.next() {
        trials += 1;
        noisy.take(if next.search == 0 { judgement(draw.uniform() >= 0.5) } else { shows(next) });
    }
    assert!(trials <= 6 * connections::RULES.most_trials);
    assert!(noisy.searches()[1..].iter().all(|search| search.found().fails.is_some()));
}
