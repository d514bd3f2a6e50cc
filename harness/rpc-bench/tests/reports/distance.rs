//! Campaigns over networks of several lengths, on synthetic samples: what their views show, and which
//! campaigns are refused.

use std::path::Path;

use bench_measure::run;
use bench_model::config::ConfigDir;
use bench_model::load::Latency;
use bench_model::observation::{LinkUse, Sample};
use bench_model::plan::{Plan, Trial, trials_at};

use crate::observed::{self, cells, folder, observe_planned, section};
use crate::samples::{conditions, sample};

/// What a machine on which a request takes 500 µs besides its round trip sees, and a link that adds 100 µs to each
/// round trip.
fn seen(plan: &Plan, trial: &Trial) -> Sample {
    let server = plan.server(&trial.server).unwrap();
    let network = plan.environment_of(server).network;
    let round_trip_us = network.map(|network| network.delay().as_secs_f64() * 2e6 + 100.0);
    let latency_us = round_trip_us.unwrap_or(0.0) + 500.0;
    let rate = trial.rate.map_or(f64::from(trial.connections) * 1e6 / latency_us, f64::from);
    let mut sample = sample(rate, 10.0);
    sample.load.latency_us = Latency {
        mean: latency_us,
        p50: latency_us,
        p90: latency_us,
        p99: latency_us * 2.0,
        p999: Some(latency_us * 3.0),
        max: latency_us * 4.0,
    };
    sample.link = round_trip_us.map(|round_trip_us| LinkUse { round_trip_us });
    sample
}

/// The report of a campaign in which every trial was measured, and the names of the run's files.
fn reported(dir: &Path, campaign: &str) -> (String, Vec<String>) {
    let (mut plan, _) = run::resolve(&ConfigDir::of_repository(), campaign).unwrap();
    if let Some(open) = &plan.campaign.open {
        plan.rates = open.levels(|_| None);
        plan.trials = trials_at(&plan.campaign, &plan.rates);
    }
    let observed = observe_planned(&plan, |trial| seen(&plan, trial));
    let folder = folder(dir, campaign, &plan, &conditions("just bench-all distance"), observed);
    let (_, report) = observed::reported(&folder);
    let files = std::fs::read_dir(&folder.0).unwrap();
    let files = files.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    (report, files.collect())
}

/// The row of a section's table that begins with these cells, without them.
fn row(report: &str, heading: &str, first: [&str; 3]) -> Vec<String> {
    let section = section(report, heading);
    let rows: Vec<_> = section.lines().map(cells).filter(|row| row.len() > 4 && row[1..4] == first).collect();
    assert_eq!(rows.len(), 1, "{first:?} in {section}");
    rows[0][4..].to_vec()
}

#[test]
fn a_closed_loops_rate_stands_next_to_connections_over_the_round_trip() {
    let dir = tempfile::tempdir().unwrap();
    let (report, files) = reported(dir.path(), "distance");
    assert!(files.contains(&"view-1.svg".to_owned()) && report.contains("(view-1.svg)"), "{files:?}");
    // 64 connections over 40.1 ms; and one request every 40.6 ms on each.
    let of = |first| row(&report, "Rate over a distance", first);
    let far = of(["over WebSocket", "actix-web", "20 ms each way"]);
    assert_eq!(far[..4], ["40.1 ms", "1,576", "40.6 ms", "81.2 ms"]);
    assert_eq!(far[4..8], ["1,596", "99 %", "0", "4"]);
    let here = of(["over HTTP", "jsonrpc-core", "loopback"]);
    assert_eq!((here[0].as_str(), here[1].as_str(), here[4].as_str()), ("-", "128,000", "-"));
    assert!(!report.contains("0.1 % lost | 2.10 ms"), "a view shows the values that it names");
    let lossy =
        row(&report, "What losses take of it", ["over HTTP", "actix-web", "1 ms each way, 0.1 % lost"]);
    assert!(lossy[1].starts_with("1.00"), "as many as without losses: {lossy:?}");
    let headline = report.split("## Headline").nth(1).unwrap().split("\n## ").next().unwrap();
    for said in
        ["no server can answer more than connections / round trip", "of what connections / round_trip allows"]
    {
        assert!(headline.contains(said), "{said}: {headline}");
    }
    assert!(report.contains("## The network") && report.contains("netem delays"), "{report}");
}

#[test]
fn a_run_without_a_network_has_no_such_section() {
    let dir = tempfile::tempdir().unwrap();
    let (report, _) = reported(dir.path(), "websocket");
    assert!(!report.contains("## The network"), "{report}");
}

#[test]
fn a_network_is_refused_where_it_would_not_be_made() {
    for (campaign, named) in
        [("threshold", "[threshold]"), ("slo", "[slo]"), ("stages", "[stages]"), ("quick", "[duets]")]
    {
        let dir = tempfile::tempdir().unwrap();
        let text = std::fs::read_to_string(ConfigDir::of_repository().named("campaigns", campaign).unwrap())
            .unwrap();
        assert!(text.contains("[environment]\n"), "{campaign}");
        let text = text.replacen("[environment]\n", "[environment]\nnetwork = { delay_ms = 1 }\n", 1);
        std::fs::create_dir(dir.path().join("campaigns")).unwrap();
        std::fs::write(dir.path().join(format!("campaigns/{campaign}.toml")), text).unwrap();
        // Axes need their servers.
        std::fs::copy(ConfigDir::of_repository().0.join("servers.toml"), dir.path().join("servers.toml"))
            .unwrap();
        let refused = format!("{:#}", ConfigDir(dir.path().to_owned()).campaign(campaign).unwrap_err());
        assert!(refused.contains("field network") && refused.contains(named), "{refused}");
        assert_eq!(refused.lines().count(), 1, "{refused}");
    }
}
