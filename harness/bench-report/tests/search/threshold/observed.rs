//! From observations to what was found: what counts as bad, what is reported of it, and observations that are not the
//! search's.

use bench_analysis::Lost;
use bench_analysis::faults::{Kind, Purpose, faults};
use bench_analysis::interleaved_searches::Searches;
use bench_analysis::search::Judgement;
use bench_analysis::threshold::{
    Bound, Ending, Limit, SearchPlan, Searched, ThresholdSummary, failing_at, judgement,
};
use bench_model::config::{Threshold, Tuning};
use bench_model::load::Client;
use bench_model::observation::{Connecting, Observation, Outcome, Sample};
use bench_model::plan::Trial;

use crate::samples::sample;
use crate::{disturbed as next_to_a_busy_process, observation};

const TIMEOUT_MS: u64 = 2_000;

fn plan() -> SearchPlan {
    let searched = |server: &str, tuning| Searched {
        server: server.to_owned(),
        base: "actix".to_owned(),
        tuning: Some(tuning),
        workload: "getBalance".to_owned(),
        client: Client::Fasthttp,
        limit: Limit { connections: 1_600, by: Bound::OpenFiles },
    };
    let threshold = Threshold {
        tunings: vec![Tuning::Equal, Tuning::Shipped],
        clients: vec![Client::Fasthttp],
        servers: Vec::new(),
        workloads: Vec::new(),
        from: 100,
        most: 60_000,
        begin: None,
        steps_per_doubling: 2,
        confirmations: 6,
        most_trials: 40,
        warmup_ms: None,
        window_ms: None,
        timeout_ms: None,
    };
    let searches = vec![searched("actix", Tuning::Equal), searched("actix-shipped", Tuning::Shipped)];
    SearchPlan { threshold, seed: 3, timeout_ms: TIMEOUT_MS, searches }
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

/// All trials of a plan, as `gives` answers them by server and connections.
fn observe(plan: &SearchPlan, gives: impl Fn(&str, u32) -> Outcome) -> Vec<Observation> {
    crate::observe(plan, |trial| gives(&trial.server, trial.connections))
}

fn summary(plan: &SearchPlan, observations: &[Observation]) -> ThresholdSummary {
    plan.summarize(&plan.replay(observations).unwrap())
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
    let judged = |outcome| judgement(&observation(trial.clone(), outcome), TIMEOUT_MS);
    let reason = || "x".to_owned();
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
        (Outcome::NoSuccess(none), Judgement::FAIL),
        (Outcome::Unanswered { reason: reason() }, Judgement::FAIL),
        (Outcome::ServerDied { reason: reason(), after_s: None }, Judgement::FAIL),
        (Outcome::NoAnswer { when: reason(), reason: reason() }, Judgement::FAIL),
        (Outcome::one_wrong_answer("", reason()), Judgement::FAIL),
        (Outcome::ToolFailed { reason: reason() }, Judgement::Nothing),
        (Outcome::Invalid { reason: reason() }, Judgement::Nothing),
    ];
    for (outcome, expected) in cases {
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
    assert_eq!((summary.left, summary.trials, summary.bad_to_fail), (0, observations.len(), 6));
    let [holds, fails] = &summary.searches[..] else { panic!("two searches") };

    assert_eq!(holds.found.ending, Ending::HoldsToHighest);
    assert_eq!(holds.found.last_passing.unwrap().connections, 1_600);
    let judged = plan.replay(&observations).unwrap().judged;
    assert!(holds.complaints.is_empty() && failing_at(&judged[0], holds.found.fails_most()).is_empty());

    let high = fails.found.first_failing.unwrap();
    assert_eq!((high.connections, high.bad, high.trials), (400, 6, 6));
    assert_eq!(fails.found.last_passing.unwrap().connections, 283);
    let bad = failing_at(&judged[1], Some(high));
    assert_eq!(bad.len(), 6);
    assert!(bad.iter().all(|o| o.trial.server == "actix-shipped" && o.trial.connections == 400));
    let complaints: Vec<(&str, u32)> =
        fails.complaints.iter().map(|(kind, trials)| (kind.as_str(), *trials)).collect();
    assert_eq!(complaints, [("slower than the timeout", 6), ("timeout", 6)]);
    assert_eq!(fails.slowest_ms, Some(3_010.0));
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
fn a_search_that_a_busy_process_ends_has_no_figures_of_it() {
    let plan = plan();
    // From 400 connections on every trial fails, next to a busy process.
    let observations = observe(&plan, |_, connections| {
        let Outcome::Completed(mut sample) = window(300.0, 0) else { panic!("a window is completed") };
        let connecting = Connecting { requested: connections, allowed_ms: 10_000, took_ms: Some(5), held: 0 };
        sample.connecting = Some(connecting);
        if connections < 400 { Outcome::Completed(sample) } else { disturbed(short(3_010.0, 2)) }
    });
    let found = summary(&plan, &observations).searches.swap_remove(0);
    assert_eq!((found.found.ending, found.found.unmeasured), (Ending::Unmeasured, 8));
    assert_eq!(found.found.first_failing, None);
    let complaints: Vec<(&str, u32)> =
        found.complaints.iter().map(|(kind, trials)| (kind.as_str(), *trials)).collect();
    assert_eq!(complaints, [(Lost::ForeignCpu.words(), 8)]);
    assert_eq!(found.slowest_ms, None, "whose 3,010 ms these were is not known");
    let connecting: Vec<u32> = found.connecting.iter().map(|at| at.connections).collect();
    assert_eq!(connecting, [100, 200], "of the counts below");
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

    assert_eq!(censored.found.ending, Ending::NotHeld);
    assert_eq!(censored.found.last_passing.unwrap().connections, 800);
    assert_eq!((censored.found.first_failing, censored.found.fails_at()), (None, None));
    let not_held: Vec<u32> = censored.found.not_held.iter().map(|at| at.connections).collect();
    assert_eq!(not_held, [1_131, 1_600], "the climb's count, and the one below it");
    let at = censored.connecting.iter().find(|at| at.connections == 1_131).unwrap();
    assert_eq!((at.trials, at.short, at.median_ms, at.held), (2, 2, None, Some(1_100)));

    assert_eq!(fails.found.ending, Ending::Interval);
    assert_eq!(fails.found.first_failing.unwrap().connections, 1_131);
    assert_eq!(fails.complaints["connections not held"], 6);
}

#[test]
fn observations_of_another_search_are_refused() {
    let plan = plan();
    let mut observations = observe(&plan, |_, _| window(1.0, 0));
    assert!(summary(&plan, &observations[..5]).left > 0, "a part of them is an unfinished search");
    observations.swap(0, 1);
    let error = plan.replay(&observations).unwrap_err().to_string();
    assert!(error.contains("is not the next one of its search"), "{error}");
}

#[test]
fn a_search_begins_where_the_campaign_says() {
    let mut plan = plan();
    let first = |plan: &SearchPlan| plan.trial(plan.schedule().next().unwrap()).connections;
    assert_eq!(first(&plan), 100);
    // One that is no step of the search becomes one.
    for begin in [1_600, 200, 150] {
        plan.threshold.begin = Some(begin);
        assert_eq!(first(&plan), begin);
    }
    plan.threshold.begin = Some(2_000);
    assert_eq!(first(&plan), 1_600, "no more than the machine holds");
}
