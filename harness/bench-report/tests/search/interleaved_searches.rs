//! Many searches at once: interleaved, in a drawn order, and the same again from what was observed. For both kinds of
//! load.

use std::collections::HashSet;
use std::fmt::Debug;

use bench_analysis::interleaved_searches::{NextTrial, Schedule};
use bench_analysis::search::{Judgement, Rule};
use bench_analysis::{slo, threshold};

use crate::threshold::RULES;
use crate::{Draw, judgement};

fn thresholds(seed: u64) -> Schedule<threshold::Doubling> {
    let search = || threshold::Search::new(threshold::grid(125, 16_000, 4), RULES);
    Schedule::new((0..6).map(|_| search()).collect(), seed)
}

fn rates(seed: u64) -> Schedule<slo::MlrSearch> {
    let search = || slo::Search::new(crate::slo::FROM, crate::slo::MOST, crate::slo::RULES);
    Schedule::new((0..6).map(|_| search()).collect(), seed)
}

/// Each search has a threshold of its own.
fn at_connections(next: NextTrial<u32>) -> Judgement {
    judgement(next.load < 1_000 * (next.search as u32 + 1))
}

/// Each search has a highest rate of its own.
fn at_rate(next: NextTrial<slo::RateLoad>) -> Judgement {
    judgement(next.load.rate <= 3_000 * (next.search as u32 + 1))
}

fn run<R: Rule<Load: Debug + PartialEq>>(
    schedule: &mut Schedule<R>,
    shows: impl Fn(NextTrial<R::Load>) -> Judgement,
) -> Vec<(NextTrial<R::Load>, Judgement)> {
    let mut trials = Vec::new();
    while let Some(next) = schedule.next() {
        assert_eq!(schedule.next(), Some(next), "reading it changes nothing");
        trials.push((next, shows(next)));
        schedule.take(shows(next));
    }
    trials
}

fn check_rounds<R: Rule<Load: Debug + PartialEq>>(
    new: impl Fn(u64) -> Schedule<R>,
    shows: impl Fn(NextTrial<R::Load>) -> Judgement,
) {
    let mut whole = new(7);
    let trials = run(&mut whole, &shows);
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
    assert_eq!(trials, run(&mut new(7), &shows), "the same inputs, the same trials");
    assert_ne!(trials, run(&mut new(8), &shows), "the seed decides the order");
}

#[test]
fn a_round_gives_each_unfinished_search_one_trial_in_a_drawn_order() {
    check_rounds(thresholds, at_connections);
    check_rounds(rates, at_rate);
}

#[test]
fn interleaved_searches_find_what_each_would_find_alone() {
    let mut schedule = thresholds(7);
    run(&mut schedule, at_connections);
    for (place, search) in schedule.searches().iter().enumerate() {
        let found = search.found();
        let threshold = 1_000 * (place as u32 + 1);
        assert!(found.last_passing.unwrap().connections < threshold, "{found}");
        assert!(found.first_failing.unwrap().connections >= threshold, "{found}");
    }
    let mut schedule = rates(7);
    run(&mut schedule, at_rate);
    for (place, search) in schedule.searches().iter().enumerate() {
        let found = search.found();
        let most = 3_000 * (place as u32 + 1);
        assert!(found.lower.unwrap().rate <= most && found.upper.unwrap().rate > most, "{found}");
    }
}

fn check_resumed<R: Rule<Load: Debug + PartialEq>>(
    new: impl Fn() -> Schedule<R>,
    shows: impl Fn(NextTrial<R::Load>) -> Judgement,
) {
    let trials = run(&mut new(), &shows);
    for stop in 0..=trials.len() {
        let mut again = new();
        for (_, judgement) in &trials[..stop] {
            again.take(*judgement);
        }
        assert_eq!(again.next(), trials.get(stop).map(|(next, _)| *next), "after {stop}");
        assert_eq!(run(&mut again, &shows), trials[stop..]);
    }
}

#[test]
fn wherever_it_was_stopped_it_resumes_with_the_same_trials() {
    check_resumed(|| thresholds(7), at_connections);
    check_resumed(|| rates(7), at_rate);
}

#[test]
fn noise_in_one_search_does_not_delay_the_others() {
    let mut draw = Draw::seeded(5);
    let mut noisy = thresholds(1);
    let mut trials = 0;
    while let Some(next) = noisy.next() {
        trials += 1;
        let shows = if next.search == 0 { judgement(draw.uniform() >= 0.5) } else { at_connections(next) };
        noisy.take(shows);
    }
    assert!(trials <= 6 * RULES.most_trials);
    assert!(noisy.searches()[1..].iter().all(|search| search.found().first_failing.is_some()));
}
