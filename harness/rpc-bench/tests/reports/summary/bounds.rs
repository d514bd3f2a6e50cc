//! The bounds that a campaign states, and whether they hold.

use super::*;
use bench_core::config::CampaignArm;

fn rule() -> PassRule {
    PassRule {
        figure: Figure::CpuUsPerRequest,
        server: Some("actix".into()),
        over: Some("legacy".into()),
        at_most: None,
        within: None,
    }
}

#[test]
fn equivalence_is_shown_by_the_interval_s_ends() {
    let within = |ratio: f64, low: f64, high: f64| {
        let rule = PassRule { within: Some("5%".parse().unwrap()), ..rule() };
        rule.holds(Estimate { value: ratio, interval: Some((low, high)) })
    };
    assert!(within(1.0, 0.96, 1.04) && within(0.97, 0.953, 0.99));
    assert!(!within(1.05, 0.93, 1.17), "the middle alone shows nothing");
    assert!(!within(1.0, 0.951, 1.0) && !within(1.0, 1.0, 1.051), "1/1.05 is 0.952");
    let at_most = PassRule { at_most: Some(1.5), ..rule() };
    assert!(!at_most.holds(Estimate { value: 1.4, interval: Some((1.3, 1.6)) }));
    assert!(!at_most.holds(Estimate { value: 1.4, interval: None }), "no interval shows nothing");
}

/// Duets in which actix takes `ratio` times the CPU of legacy, give or take `noise`.
fn bound_of_duets(ratio: f64, noise: f64) -> (Option<Estimate>, bool) {
    let rule = PassRule { within: Some("5%".parse().unwrap()), ..rule() };
    let mut campaign = Campaign { pass: vec![rule], ..campaign(12) };
    campaign.environment.placement = Placement::Duet;
    let summary = of(&campaign, |trial| {
        let wobble = 1.0 + noise * ((f64::from(trial.number) * 0.618_034).fract() - 0.5);
        let cpu_us = 10.0 * wobble * if trial.server == "actix" { ratio } else { 1.0 };
        completed(sample(10_000.0, cpu_us))
    });
    let bound = &summary.bounds[0];
    let [_, cpu] = rate_and_cpu(actix_over_legacy(&summary));
    assert_eq!(bound.found, Some(cpu.ratio), "one ratio, printed once");
    (bound.found, bound.holds)
}

#[test]
fn a_bound_of_duets_rests_on_what_ran_side_by_side() {
    assert!(bound_of_duets(1.01, 0.01).1);
    assert!(!bound_of_duets(1.10, 0.01).1);
    let (ratio, holds) = bound_of_duets(1.0, 0.4);
    assert!(!holds, "an interval that is too wide shows nothing: {ratio:?}");
}

#[test]
fn a_bound_holds_or_breaks_and_never_passes_unmeasured() {
    let rule = |at_most| PassRule { at_most: Some(at_most), ..rule() };
    let campaign = Campaign { pass: vec![rule(0.85), rule(0.75)], ..campaign(6) };
    let holds = |observations: &[Observation]| -> Vec<bool> {
        summarized(&campaign, observations).bounds.iter().map(|bound| bound.holds).collect()
    };
    let measured = observe(&campaign, |trial| {
        completed(sample(100_000.0, if trial.server == "actix" { 8.0 } else { 10.0 }))
    });
    assert_eq!(holds(&measured), [true, false]);
    assert_eq!(holds(&[]), [false, false]);
}

/// Two loads, of which one bound breaks at the first and holds at the second: each load at which it was judged, whether
/// there is a ratio, and whether it holds.
fn bounds_at_two_loads(campaign: Campaign) -> Vec<(u32, bool, bool)> {
    let rule = PassRule { at_most: Some(0.85), ..rule() };
    let campaign = Campaign { pass: vec![rule], connections: vec![125, 500], ..campaign };
    let summary = of(&campaign, |trial| {
        let cpu_us = match (&*trial.server, trial.connections) {
            ("actix", 125) => 20.0,
            ("actix", _) => 8.0,
            _ => 10.0,
        };
        completed(sample(100_000.0, cpu_us))
    });
    let bounds = summary.bounds.iter();
    bounds.map(|bound| (bound.level.connections, bound.found.is_some(), bound.holds)).collect()
}

#[test]
fn a_bound_is_judged_at_the_loads_that_are_compared() {
    assert_eq!(bounds_at_two_loads(campaign(12)), [(125, true, false), (500, true, true)]);
    let headline = BTreeMap::from([("getBalance".to_owned(), 500)]);
    let campaign = Campaign { headline, compare_headline_only: true, ..campaign(12) };
    assert_eq!(bounds_at_two_loads(campaign), [(500, true, true)]);
    // Servers that share no load have no ratio.
    let arm = |name: &str, connections: u32| CampaignArm {
        name: name.to_owned(),
        server: name.to_owned(),
        loads: BTreeMap::from([("getBalance".to_owned(), vec![connections])]),
        ..CampaignArm::default()
    };
    let with = |arms: Vec<CampaignArm>| bounds_at_two_loads(Campaign { arms, ..super::campaign(12) });
    assert_eq!(with(vec![arm("actix", 500), arm("legacy", 125)]), [(125, false, false)]);
    assert_eq!(with(vec![arm("actix", 500)]), [(500, true, true)]);
}

#[test]
fn a_bound_on_a_figure_is_one_for_each_server_and_for_each_trial() {
    let rule = PassRule { server: None, over: None, at_most: Some(11.0), ..rule() };
    let campaign = Campaign { pass: vec![rule], ..campaign(3) };
    let summary = of(&campaign, |trial| {
        let cpu_us = if trial.server == "actix" && trial.block == 2 { 12.0 } else { 10.0 };
        completed(sample(10_000.0, cpu_us))
    });
    let named = |bound: &bench_core::Bound| (bound.rule.server.clone().unwrap(), bound.holds);
    let mut found: Vec<_> = summary.bounds.iter().map(named).collect();
    found.sort();
    assert!(found.contains(&("actix".to_owned(), false)), "one trial of three is above: {found:?}");
    assert!(found.contains(&("legacy".to_owned(), true)), "{found:?}");
    assert_eq!(summary.bounds[0].rule.words(), "at most 11");
}

/// A plan holds every field of a rule, and is read again to resume and to report.
#[test]
fn a_rule_is_read_as_a_plan_writes_it() {
    let rules = [
        PassRule { within: Some("5%".parse().unwrap()), ..rule() },
        PassRule { at_most: Some(1.25), ..rule() },
    ];
    for rule in rules {
        let written = serde_json::to_string(&rule).unwrap();
        assert_eq!(serde_json::from_str::<PassRule>(&written).unwrap(), rule, "{written}");
    }
}
