//! From observations to what was found along connections: what counts as bad, and what is reported of it.

use std::collections::BTreeMap;

use bench_core::config::{Campaign, ConfigDir, Percent, Search};
use bench_core::faults::{Kind, Purpose, faults};
use bench_core::observation::{Connecting, Observation, Outcome, Sample};
use bench_core::plan::Trial;
use bench_core::search::{Ending, Judge, Judgement, SearchPlan, Searched, Searches, failing_at, summarize};

use crate::samples::sample;
use crate::{disturbed as next_to_a_busy_process, endings, observation, observe, reported};

const TIMEOUT_MS: u64 = 2_000;

fn campaign() -> Campaign {
    ConfigDir::of_repository().campaign("threshold").unwrap().0
}

fn plan() -> SearchPlan {
    let searched = |server: &str| Searched { server: server.to_owned(), workload: "getBalance".to_owned() };
    let search = Search { from: 100, confirmations: 6, width: Percent(0.3), ..campaign().search.unwrap() };
    let searches = vec![searched("actix"), searched("actix-shipped")];
    SearchPlan { search, seed: 3, timeout_ms: TIMEOUT_MS, window_ms: 3_000, cores: 2, limit: 1_600, searches }
}

/// A window with its slowest request and a number of timeouts.
fn window(slowest_ms: f64, timeouts: u64) -> Outcome {
    let mut sample = sample(10_000.0, 10.0);
    sample.load.latency_us.max = slowest_ms * 1e3;
    if timeouts > 0 {
        sample.load.failed.insert("timeout".to_owned(), timeouts);
    }
    Outcome::Completed(Box::new(sample))
}

/// The same next to a busy process.
fn disturbed(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Completed(sample) => Outcome::Completed(next_to_a_busy_process(sample)),
        Outcome::NotHeld(sample) => Outcome::NotHeld(next_to_a_busy_process(sample)),
        other => other,
    }
}

/// The same where the connections were not held.
fn short(slowest_ms: f64, timeouts: u64) -> Outcome {
    let connecting = Connecting { requested: 1_600, allowed_ms: 10_000, took_ms: None, held: 1_100 };
    match window(slowest_ms, timeouts) {
        Outcome::Completed(mut sample) => {
            sample.connecting = Some(connecting);
            Outcome::NotHeld(sample)
        }
        other => other,
    }
}

fn summary(plan: &SearchPlan, observations: &[Observation]) -> Searches {
    summarize(plan, &campaign(), &BTreeMap::new(), observations).unwrap()
}

#[test]
fn bad_requests_fail_a_trial() {
    let trial = Trial {
        number: 1,
        block: 1,
        server: "actix".into(),
        workload: "getBalance".into(),
        connections: 100,
        ..Trial::default()
    };
    let judged = |outcome| Judge::none_bad(TIMEOUT_MS).judgement(&observation(trial.clone(), outcome));
    let Outcome::Completed(none) = window(1.0, 7) else { panic!("a window is completed") };
    let cases = [
        (window(1_999.0, 0), Judgement::PASS),
        (window(2_001.0, 0), Judgement::FAIL),
        (window(5.0, 1), Judgement::FAIL),
        (short(5.0, 0), Judgement::NotReached),
        (short(5.0, 1), Judgement::FAIL),
        (short(2_001.0, 0), Judgement::FAIL),
        (disturbed(window(1_999.0, 0)), Judgement::PASS),
        (disturbed(window(5.0, 1)), Judgement::Nothing),
        (disturbed(short(5.0, 0)), Judgement::Nothing),
    ];
    for (outcome, expected) in cases.into_iter().chain(endings(*none)) {
        let said = format!("{outcome:?}");
        assert_eq!(judged(outcome), expected, "{said}");
    }
}

#[test]
fn connections_that_were_not_held_are_said_with_the_time_that_passed() {
    let said = |window_s: f64| {
        let connecting = Some(Connecting { requested: 16, allowed_ms: 10_000, took_ms: None, held: 15 });
        let sample = Sample { connecting, window_s, ..sample(1.0, 1.0) };
        Outcome::NotHeld(Box::new(sample)).failure().unwrap()
    };
    let until = |until: &str| {
        format!(
            "held at most 15 of 16 connections; 99 % were not established {until} (a service that closes connections \
             holds fewer)"
        )
    };
    assert_eq!(said(2.04), until("until the load tool ended, after 2.0 s"));
    assert_eq!(said(10.1), until("within 10.0 s"));
}

#[test]
fn a_summary_has_counts_complaints_and_the_failing_trials() {
    let plan = plan();
    let observations = observe(&plan, |server, connections| match (server, connections) {
        ("actix", _) => window(300.0, 0),
        (_, 0..400) => window(300.0, 0),
        (_, 400..700) => window(3_010.0, 2),
        _ => Outcome::ServerDied { reason: "killed by signal 9".to_owned(), after_s: None },
    });
    let summary = summary(&plan, &observations);
    assert_eq!((summary.left, summary.trials), (0, observations.len()));
    let [holds, fails] = &summary.searches[..] else { panic!("two searches") };

    assert_eq!(holds.found.ending, Ending::HoldsToHighest);
    assert_eq!(holds.found.holds.unwrap().at, 1_600);
    let judged = plan.replay(&observations).unwrap().judged;
    assert!(holds.complaints.is_empty() && failing_at(&judged[0], holds.found.fails_most()).is_empty());

    let high = fails.found.fails.unwrap();
    assert_eq!((high.at, high.failed, high.passed), (400, 6, 0));
    assert_eq!(fails.found.holds.unwrap().at, 283);
    let bad = failing_at(&judged[1], Some(high));
    assert_eq!(bad.len(), 6);
    assert!(bad.iter().all(|o| o.trial.server == "actix-shipped" && o.trial.connections == 400));
    let complaints: Vec<(&str, u32)> =
        fails.complaints.iter().map(|(kind, trials)| (kind.as_str(), *trials)).collect();
    assert_eq!(complaints, [("failed requests: timeout", 6), ("slower than the timeout", 6)]);
    let [ended] = &faults(observations.iter().map(|of| (Purpose::Search, of)))[..] else {
        panic!("one fault")
    };
    assert_eq!(
        (&ended.kind, ended.count, ended.from.connections),
        (&Kind::Ended, 1, 800),
        "in the trial beyond"
    );
}

#[test]
fn counts_that_were_not_held_never_pass() {
    let plan = plan();
    let observations = observe(&plan, |server, connections| match (server, connections) {
        (_, 0..1_131) => window(300.0, 0),
        ("actix", _) => short(300.0, 0),
        // Where requests are bad it is a failure, whatever was held.
        (_, _) => short(3_010.0, 2),
    });
    let summary = summary(&plan, &observations);
    let [censored, fails] = &summary.searches[..] else { panic!("two searches") };

    assert_eq!(censored.found.ending, Ending::NotReached);
    assert_eq!(censored.found.holds.unwrap().at, 800);
    assert_eq!((censored.found.fails, censored.found.fails_at()), (None, None));
    let not_held: Vec<u32> = censored.found.not_reached.iter().map(|load| load.at).collect();
    assert_eq!(not_held, [1_131, 1_600], "the climb's count, and the one below it");
    let of = censored.not_reached.unwrap();
    assert_eq!((of.at, of.trials, of.reached), (1_131, 4, 1_100));

    assert_eq!(fails.found.ending, Ending::Interval);
    assert_eq!(fails.found.fails.unwrap().at, 1_131);
    assert_eq!(fails.complaints["connections not held"], 6);
}

#[test]
fn a_search_begins_where_the_campaign_says() {
    let mut plan = plan();
    let first = |plan: &SearchPlan| plan.trial(plan.schedule().next().unwrap()).connections;
    assert_eq!(first(&plan), 100);
    // One that is no step of the search becomes one.
    for begin in [1_600, 200, 150] {
        plan.search.begin = Some(begin);
        assert_eq!(first(&plan), begin);
    }
    plan.search.begin = Some(2_000);
    assert_eq!(first(&plan), 1_600, "no more than the machine holds");
}

/// The report on these servers, which fail from these counts on.
fn report(fails: &[(&str, u32)]) -> String {
    let mut plan = plan();
    let of =
        |(server, _): &(&str, u32)| Searched { server: (*server).to_owned(), ..plan.searches[0].clone() };
    plan.searches = fails.iter().map(of).collect();
    let observations = observe(&plan, |server, connections| {
        let (_, from) = fails.iter().find(|(name, _)| *name == server).unwrap();
        if connections < *from { window(300.0, 0) } else { window(5.0, 1) }
    });
    let [text, ..] = reported(campaign(), &plan, &observations);
    text
}

#[test]
fn a_report_says_what_holds_what_fails_and_whose_limit_it_is() {
    let text = report(&[("actix", 400), ("axum", u32::MAX), ("control", u32::MAX)]);
    for needed in [
        "**getBalance**, with no request that fails or takes longer than 2.00 s: ",
        "**actix-web + hand-written JSON-RPC** holds 283 connections (0/6 failed), fails at 400 connections (6/6 failed); ",
        "holds 1,600 connections (0/6 failed): this machine holds no load above 1,600",
        "at 400: 6 times failed requests: timeout",
        "![Latency against the load, trial by trial](search.svg)",
    ] {
        assert!(text.contains(needed), "the report lacks {needed:?}:\n{text}");
    }
    let whose = "so does control, so it is the limit of the load tool or the machine";
    assert!(!text.contains(whose), "{text}");
    assert!(report(&[("actix", 400), ("control", 400)]).contains(whose));
    assert!(report(&[("actix", 400), ("control", 300)]).contains(whose));
    assert!(!report(&[("actix", 250), ("control", 400)]).contains(whose));
}

#[test]
fn a_server_that_fails_at_times_does_not_hold() {
    let mut plan = plan();
    plan.searches.truncate(1);
    plan.search.begin = Some(1_600);
    // Every other trial at the highest counts fails.
    let mut trials = 0;
    let mut schedule = plan.schedule();
    let mut observations = Vec::new();
    while let Some(next) = schedule.next() {
        trials += 1;
        let fails = next.load.at > 800 && trials % 2 == 0;
        observations.push(observation(plan.trial(next), if fails { window(5.0, 1) } else { window(5.0, 0) }));
        schedule.take(plan.judge().judgement(&observations[observations.len() - 1]));
    }
    let [text, ..] = reported(campaign(), &plan, &observations);
    assert!(text.contains("holds 800 connections (0/6 failed): it fails at times from 1,131 ("), "{text}");
    assert!(text.contains(" on, and this machine holds no load above 1,600"), "{text}");
}
