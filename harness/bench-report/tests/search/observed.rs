//! From observations to what was found along a rate: what meets a service level, when the load tool was the limit, what
//! a report shows, and observations that are not the search's.

use std::collections::BTreeMap;

use bench_core::config::{Campaign, ConfigDir};
use bench_core::load::records::{HELD, TOOL_LATE};
use bench_core::load::{Latency, OpenWindow};
use bench_core::machine::CpuTime;
use bench_core::observation::{Observation, Outcome, Sample};
use bench_core::search::{Ending, Judgement, Missed, SearchPlan, Searched, Searches, summarize};
use serde_json::json;

use crate::samples::sample;
use crate::{disturbed, endings, observation, observe, reported};

fn campaign() -> Campaign {
    let config = ConfigDir::of_repository();
    let (campaign, _) = config.campaign("slo").unwrap();
    Campaign { workloads: vec!["getBalance".into()], ..campaign }
}

/// Searches of two servers.
fn plan() -> SearchPlan {
    let searched = |server: &str| Searched { server: server.to_owned(), workload: "getBalance".to_owned() };
    let Campaign { search, window_ms, timeout_ms, .. } = campaign();
    let search = search.unwrap();
    SearchPlan {
        search,
        seed: 3,
        timeout_ms,
        window_ms,
        cores: 2,
        limit: 40_000,
        searches: vec![searched("legacy"), searched("actix")],
    }
}

fn latency(mean_us: f64, p99_us: f64) -> Latency {
    Latency { mean: mean_us, p50: mean_us, p90: p99_us, p99: p99_us, p999: None, max: p99_us * 2.0 }
}

/// What a window was like.
#[derive(Clone, Copy)]
struct Window {
    rate: u32,
    achieved: f64,
    p99_ms: f64,
    lag_p99_ms: f64,
    /// The part of it that is the tool's own.
    own_p99_ms: f64,
    from_send_ms: f64,
    failed: u64,
    server_cores: f64,
    client_cores: f64,
}

/// One that met the level with ease.
const GOOD: Window = Window {
    rate: 10_000,
    achieved: 1.0,
    p99_ms: 2.0,
    lag_p99_ms: 0.1,
    own_p99_ms: 0.1,
    from_send_ms: 1.0,
    failed: 0,
    server_cores: 0.4,
    client_cores: 0.3,
};

/// The server can't keep up: every connection waits for it, and so the tool is late.
const SLOW_SERVER: Window = Window {
    achieved: 0.9,
    p99_ms: 500.0,
    lag_p99_ms: 480.0,
    own_p99_ms: 0.0,
    from_send_ms: 20.0,
    server_cores: 1.4,
    client_cores: 0.5,
    ..GOOD
};

/// The tool can't keep up: few connections are at work, and requests are late all the same.
const SLOW_TOOL: Window =
    Window { own_p99_ms: 480.0, from_send_ms: 0.5, server_cores: 0.5, client_cores: 1.4, ..SLOW_SERVER };

fn measured(of: Window) -> Sample {
    let (rate, ms) = (f64::from(of.rate), |p99: f64| latency(p99 * 500.0, p99 * 1e3));
    let mut sample = sample(rate, 1.0);
    sample.load.latency_us = ms(of.p99_ms);
    sample.load.succeeded = u64::from(of.rate) - of.failed;
    if of.failed > 0 {
        sample.load.failed.insert("timeout".to_owned(), of.failed);
    }
    sample.load.open = Some(OpenWindow {
        requested_rate: rate,
        achieved_rate: rate * of.achieved,
        intended: of.rate.into(),
        sent: of.rate.into(),
        send_lag_us: Some(ms(of.lag_p99_ms)),
        own_lag_us: Some(ms(of.own_p99_ms)),
        from_send_us: latency(of.from_send_ms * 1e3, of.from_send_ms * 2e3),
    });
    sample.server_cpu = Some(CpuTime { user_s: of.server_cores, system_s: 0.0 });
    sample.client_cpu = CpuTime { user_s: of.client_cores, system_s: 0.0 };
    sample
}

fn window(window: Window) -> Outcome {
    Outcome::Completed(Box::new(measured(window)))
}

fn summary(plan: &SearchPlan, observations: &[Observation]) -> Searches {
    summarize(plan, &campaign(), &BTreeMap::new(), observations).unwrap()
}

/// legacy sustains up to 12,000 and is slow above; the tool can't send actix more than 20,000.
fn two_ends(server: &str, rate: u32) -> Outcome {
    match (server, rate) {
        ("legacy", 0..=12_000) | ("actix", 0..=20_000) => window(Window { rate, ..GOOD }),
        ("legacy", _) => window(Window { rate, ..SLOW_SERVER }),
        _ => window(Window { rate, ..SLOW_TOOL }),
    }
}

fn judged(outcome: Outcome) -> (Judgement, Vec<Missed>) {
    let plan = plan();
    let observation = observation(plan.trial(plan.schedule().next().unwrap()), outcome);
    (plan.judge().judgement(&observation), plan.judge().missed(&observation))
}

#[test]
fn each_part_of_the_level_that_was_missed_is_named() {
    let passed = |outcome| matches!(judged(outcome).0, Judgement::Measured { passed: true, .. });
    assert!(passed(window(GOOD)));
    assert!(judged(window(GOOD)).1.is_empty());
    assert!(passed(window(Window { p99_ms: 99.9, from_send_ms: 40.0, ..GOOD })));
    assert!(passed(window(Window { achieved: 0.991, ..GOOD })));

    let busy = Window { server_cores: 1.9, client_cores: 0.1, ..GOOD };
    type IsNamed = fn(&Missed) -> bool;
    let cases: [(Window, IsNamed); 3] = [
        (Window { failed: 1, ..busy }, |missed| matches!(missed, Missed::Failed(share, _) if *share == 1e-4)),
        (Window { p99_ms: 100.0, from_send_ms: 90.0, ..busy }, |missed| *missed == Missed::P99(100_000.0)),
        (Window { achieved: 0.98, from_send_ms: 20.0, ..busy }, |missed| *missed == Missed::Rate(0.98)),
    ];
    for (bad, is_named) in cases {
        let (shown, missed) = judged(window(bad));
        assert!(matches!(shown, Judgement::Measured { passed: false, .. }), "{missed:?}");
        assert!(missed.len() == 1 && is_named(&missed[0]), "{missed:?}");
    }
}

#[test]
fn unsent_requests_are_failures_or_missing_rate() {
    let unsent = |kind: &str, count: u64| {
        let mut sample = measured(Window { server_cores: 1.9, client_cores: 0.1, ..GOOD });
        sample.load.failed.insert(kind.to_owned(), count);
        sample.load.succeeded -= count;
        Outcome::Completed(Box::new(sample))
    };
    assert!(judged(unsent(TOOL_LATE, 90)).1.is_empty(), "0.9 % is within the shortfall");
    let (_, missed) = judged(unsent(TOOL_LATE, 110));
    assert!(matches!(missed[..], [Missed::Rate(share)] if (share - 0.989).abs() < 1e-9), "{missed:?}");
    // One that the server kept from being sent was not served.
    let (shown, missed) = judged(unsent(HELD, 1));
    assert!(matches!(&missed[..], [Missed::Failed(_, kinds)] if kinds[..] == [HELD]), "{missed:?}");
    assert!(matches!(shown, Judgement::Measured { passed: false, .. }));
}

#[test]
fn the_share_that_missed_is_never_too_small() {
    let share = |outcome| match judged(outcome).0 {
        Judgement::Measured { missed, .. } => missed,
        other => panic!("{other:?}"),
    };
    assert_eq!(share(window(GOOD)), 0.0);
    // Of the slowest hundredth some took over 100 ms; how many is not known, so all of them count.
    let tail = share(window(Window { p99_ms: 60.0, from_send_ms: 40.0, ..GOOD }));
    assert!((tail - 0.01).abs() < 1e-9, "{tail}");
    let mut fine = measured(Window { p99_ms: 60.0, from_send_ms: 40.0, ..GOOD });
    fine.load.quantiles = vec![(0.5, 1e3), (0.99, 60e3), (0.999, 90e3), (1.0, 120e3)];
    let tail = share(Outcome::Completed(Box::new(fine)));
    assert!((tail - 0.001).abs() < 1e-9, "{tail}");
    let busy = Window { failed: 2_000, server_cores: 1.9, client_cores: 0.1, ..GOOD };
    let failed = share(window(busy));
    assert!((failed - 0.2).abs() < 1e-9, "{failed}");
}

#[test]
fn a_slow_tool_does_not_count_against_the_server() {
    assert_eq!(judged(window(SLOW_TOOL)).0, Judgement::NotReached);
    assert!(matches!(judged(window(SLOW_SERVER)).0, Judgement::Measured { passed: false, .. }));
    // An idle machine and a server that waits: all connections are at work.
    let waits = Window { server_cores: 0.1, client_cores: 0.1, ..SLOW_SERVER };
    assert!(matches!(judged(window(waits)).0, Judgement::Measured { passed: false, .. }));
    // A full machine of which the tool takes the larger part, with all connections at work.
    let greedy = Window { server_cores: 0.8, client_cores: 1.1, ..SLOW_SERVER };
    assert_eq!(judged(window(greedy)).0, Judgement::NotReached);
    // Sent in time and answered late: the server, whoever used the machine.
    let late = Window { lag_p99_ms: 1.0, achieved: 1.0, ..greedy };
    assert!(matches!(judged(window(late)).0, Judgement::Measured { passed: false, .. }));
}

#[test]
fn a_level_missed_next_to_a_busy_process_says_nothing() {
    let disturbed = |of: Window| judged(Outcome::Completed(disturbed(Box::new(measured(of))))).0;
    assert_eq!(disturbed(SLOW_SERVER), Judgement::Nothing);
    assert_eq!(disturbed(SLOW_TOOL), Judgement::Nothing, "whose lateness it was is not known");
    assert!(matches!(disturbed(GOOD), Judgement::Measured { passed: true, .. }));
}

#[test]
fn own_lateness_of_the_requests_decides_whose_a_late_send_is() {
    let shown = |own_ms: f64, failed: u64| {
        // By the mean few connections were at work: the server stood still for a part of the window.
        judged(window(Window { failed, own_p99_ms: own_ms, client_cores: 0.1, ..SLOW_TOOL })).0
    };
    assert!(
        matches!(shown(1.0, 0), Judgement::Measured { passed: false, .. }),
        "all connections waited for the server"
    );
    assert_eq!(shown(400.0, 0), Judgement::NotReached);
    assert!(
        matches!(shown(400.0, 100), Judgement::Measured { passed: false, .. }),
        "what fails is never excused"
    );
}

#[test]
fn a_server_that_ends_has_missed_the_level() {
    let silent = Outcome::Silent(Box::new(measured(GOOD)));
    let no_rate = Outcome::Completed(Box::new(sample(10_000.0, 1.0)));
    let more = [(silent, Judgement::FAIL), (no_rate, Judgement::Nothing)];
    let cases = endings(measured(GOOD)).into_iter().chain(more);
    for (outcome, expected) in cases {
        let said = format!("{outcome:?}");
        let (shown, missed) = judged(outcome);
        assert_eq!(shown, expected, "{said}");
        assert!(matches!(missed[..], [Missed::NoFigure(_)]), "{missed:?}");
        // Trials are counted by it, so it has no address and no count of this one.
        assert!(!missed[0].kind().contains(['(', '0', '9']), "{}", missed[0].kind());
    }
}

#[test]
fn a_summary_has_bounds_figures_and_what_was_missed() {
    let plan = plan();
    let observations = observe(&plan, two_ends);
    let summary = summary(&plan, &observations);
    assert_eq!((summary.left, summary.trials), (0, observations.len()));
    let [legacy, actix] = &summary.searches[..] else { panic!("two searches") };

    assert_eq!(legacy.found.ending, Ending::Interval);
    let (low, high) = (legacy.found.holds.unwrap(), legacy.found.fails.unwrap());
    assert!(low.at <= 12_000 && high.at > 12_000, "{}", legacy.found);
    let there = legacy.at_held.unwrap();
    assert_eq!(there.p99_us, 2_000.0);
    assert!(there.cpu_us_per_request > 0.0);
    let kinds: Vec<&str> = legacy.complaints.keys().map(String::as_str).collect();
    assert_eq!(kinds, ["p99 too long", "rate not achieved"]);
    assert_eq!(legacy.not_reached, None);

    assert_eq!(actix.found.ending, Ending::NotReached);
    assert_eq!(actix.found.fails, None, "no failure counts against it");
    let limited = actix.not_reached.unwrap();
    assert!(limited.at > 20_000 && limited.reached == u64::from(limited.at) * 9 / 10, "{limited:?}");
    assert_eq!((limited.client_cores, limited.server_cores), (1.4, 0.5));
    assert!(actix.points.iter().any(|point| point.not_reached));
}

#[test]
fn a_search_that_a_busy_process_ends_says_so() {
    let observations = observe(&plan(), |_, rate| match rate {
        0..=12_000 => window(Window { rate, ..GOOD }),
        _ => Outcome::Completed(disturbed(Box::new(measured(Window { rate, ..SLOW_SERVER })))),
    });
    let found = summary(&plan(), &observations).searches.swap_remove(0);
    assert_eq!((found.found.ending, found.found.fails), (Ending::Unmeasured, None));
    let nothing = found.points.iter().filter(|point| point.passed.is_none());
    assert_eq!(
        nothing.map(|point| point.latency_us).collect::<Vec<_>>(),
        [None; 8],
        "it is not the server's"
    );
    let [text, _, _] = reported(campaign(), &plan(), &observations);
    assert!(text.contains("given up because 8 trials showed nothing; 8 times another process"), "{text}");
}

#[test]
fn observations_of_another_search_are_refused() {
    let plan = plan();
    let mut observations = observe(&plan, two_ends);
    assert!(summary(&plan, &observations[..5]).left > 0, "a part of them is an unfinished search");
    observations[3].trial.rate = Some(1);
    let error = summarize(&plan, &campaign(), &BTreeMap::new(), &observations).unwrap_err().to_string();
    assert!(error.contains("is not the next one of its search"), "{error}");
}

#[test]
fn the_report_is_made_from_the_folder_alone() {
    let observations = observe(&plan(), two_ends);
    let [text, chart, summary] = reported(campaign(), &plan(), &observations);
    for needed in [
        "## Where it starts to fail",
        "**jsonrpc-core** holds 11,",
        "**actix-web + hand-written JSON-RPC** holds 19,",
        "requests/s were not reached (",
        " were, with 1.40 cores of the load tool and 0.50 of the server; 6 trials)",
        "### Why it fails there",
        "![Latency against the load, trial by trial](search.svg)",
    ] {
        assert!(text.contains(needed), "the report lacks {needed:?}:\n{text}");
    }
    assert!(chart.contains("requested rate") && chart.contains("jsonrpc-core"), "{chart}");
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    assert_eq!(summary["search"]["searches"][0]["found"]["ending"], json!("interval"));

    let [text, ..] = reported(campaign(), &plan(), &observations[..4]);
    assert!(text.contains("**Incomplete: 0 searches have ended"), "{text}");
}
