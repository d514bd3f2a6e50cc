//! A campaign over networks of several lengths, on synthetic samples: what the section on distance says, and which
//! campaigns are refused.

use std::path::Path;

use bench_measure::run;
use bench_model::config::ConfigDir;
use bench_model::load::Latency;
use bench_model::observation::Carrier;
use bench_model::observation::{LinkUse, Observation, Outcome, Sample};
use bench_model::plan::{Plan, Trial, trials_at};
use bench_model::results::{RunFolder, pretty};

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
    sample.link = round_trip_us.map(|round_trip_us| LinkUse {
        carrier: Carrier::Userspace,
        round_trip_us,
        cpu_s: Some(0.25),
        packets: Some(10_000),
        lost: Some(0),
        refused: Some(0),
        late_p50_us: Some(40.0),
        late_p99_us: Some(70.0),
    });
    sample
}

/// The report of a campaign in which every trial was measured, and the names of the run's files.
fn reported(dir: &Path, campaign: &str) -> (String, Vec<String>) {
    reported_of(&ConfigDir::of_repository(), dir, campaign)
}

fn reported_of(config: &ConfigDir, dir: &Path, campaign: &str) -> (String, Vec<String>) {
    let (mut plan, text) = run::resolve(config, campaign).unwrap();
    if let Some(open) = &plan.campaign.open {
        plan.rates = open.levels(|_| None);
        plan.trials = trials_at(&plan.campaign, &plan.rates);
    }
    let folder = RunFolder::create(dir, campaign).unwrap();
    folder.write_new("campaign.toml", &text).unwrap();
    folder.write_new("plan.json", &pretty(&plan).unwrap()).unwrap();
    folder.write_new("environment.json", &conditions("just bench-all distance")).unwrap();
    for trial in plan.trials.iter().filter(|trial| trial.block <= plan.campaign.max_blocks) {
        let outcome = Outcome::Completed(Box::new(seen(&plan, trial)));
        let observation =
            Observation { trial: trial.clone(), started_at: String::new(), took_s: 1.0, outcome };
        folder.append(&observation).unwrap();
    }
    bench_report::write(&folder).unwrap();
    let files = std::fs::read_dir(&folder.0).unwrap();
    let files = files.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    (std::fs::read_to_string(folder.0.join("report.md")).unwrap(), files.collect())
}

/// The cells of the row of a server over a network, after both.
fn row(report: &str, server: &str, network: &str) -> Vec<String> {
    let cells = |line: &str| line.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    let rows = report.lines().map(cells);
    let rows: Vec<_> = rows.filter(|row| row.len() > 10 && row[1] == server && row[3] == network).collect();
    assert_eq!(rows.len(), 1, "{server} over {network}");
    rows[0][4..].to_vec()
}

#[test]
fn a_closed_loops_rate_stands_next_to_connections_over_the_round_trip() {
    let dir = tempfile::tempdir().unwrap();
    let (report, files) = reported(dir.path(), "distance");
    assert!(files.contains(&"distance.svg".to_owned()) && report.contains("(distance.svg)"), "{files:?}");
    // 64 connections over 40.1 ms; and one request every 40.6 ms on each.
    let far = row(&report, "actix over WebSocket", "20 ms each way");
    assert_eq!(far[..6], ["40.1 ms", "1,576", "1,596", "99 %", "40.6 ms", "81.2 ms"]);
    assert_eq!(far[6..11], ["0", "-", "0.250", "70.0 µs", "4"]);
    // 64 over 100 µs are more than it gives over that network, whose rate is the bound.
    let near = row(&report, "actix over WebSocket", "0 ms each way");
    assert_eq!(near[..4], ["100 µs", "106,666", "640,000", "100 %"]);
    let here = row(&report, "legacy over HTTP", "loopback");
    assert_eq!(here[..4], ["-", "128,000", "-", "-"]);
    let headline = report.split("## Distance").next().unwrap();
    assert!(
        headline.contains(
            "Over 20 ms each way, all servers and transports give 1,576 requests/s, and 128,000 on this machine's loopback interface: the round \
             trip allows 1,596"
        ),
        "{headline}"
    );
    for said in ["no netem", "a timer ends", "the lower one of two rates"] {
        assert!(report.contains(said), "{said}: {report}");
    }
}

/// Arms of one server whose other settings differ are rows of their own, and one in a smaller box is none.
#[test]
fn arms_with_other_settings_are_named_and_boxed_ones_left_out() {
    let shipped = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench-scripts"));
    let dir = tempfile::tempdir().unwrap();
    for folder in ["workloads", "servers.toml"] {
        std::os::unix::fs::symlink(shipped.join(folder), dir.path().join(folder)).unwrap();
    }
    std::fs::create_dir(dir.path().join("campaigns")).unwrap();
    let text = std::fs::read_to_string(ConfigDir(shipped.to_owned()).named("campaigns", "distance").unwrap())
        .unwrap();
    let arm = |name: &str, settings: &str| {
        format!("\n[[arm]]\nname = \"{name}\"\nserver = \"actix\"\nsettings = {{ {settings} }}\n")
    };
    let others = arm("one", "threads = 1") + &arm("half", "cpu_quota = 0.5, network = { delay_ms = 40 }");
    std::fs::write(dir.path().join("campaigns/distance.toml"), text + &others).unwrap();
    let (report, _) = reported_of(&ConfigDir(dir.path().to_owned()), dir.path(), "distance");
    assert_eq!(row(&report, "actix over HTTP, 1 worker", "loopback")[1], "128,000");
    assert_eq!(row(&report, "actix over HTTP", "loopback")[1], "128,000");
    assert!(!report.contains("40 ms each way |"), "{report}");
    assert!(report.contains("Over 20 ms each way, all servers"), "the farthest of those that are compared");
}

#[test]
fn batches_have_a_bound_of_their_own() {
    let dir = tempfile::tempdir().unwrap();
    let (report, _) = reported(dir.path(), "distance-batches");
    // The samples know of no batch: each of them has one call for a connection and round trip.
    let far = row(&report, "actix over HTTP, batches of 100", "20 ms each way");
    assert_eq!(far[..4], ["40.1 ms", "1,576", "159,601", "1 %"]);
    assert_eq!(row(&report, "actix over HTTP", "20 ms each way")[2], "1,596");
    assert!(!report.contains("## Calls in batches"), "networks are not lengths of batches");
    for said in ["with batches of 100, all servers", "calls/s", "calls on their way / round trip"] {
        assert!(report.contains(said), "{said}: {report}");
    }
}

#[test]
fn an_open_loops_latency_stands_next_to_the_round_trip() {
    let dir = tempfile::tempdir().unwrap();
    let (report, _) = reported(dir.path(), "distance-rates");
    let far = row(&report, "legacy over HTTP", "1 ms each way, 0.1 % lost");
    assert_eq!(far[..6], ["2.10 ms", "2.60 ms", "500 µs", "5.20 ms", "3.10 ms", "7.80 ms"]);
    assert!(!report.contains("connections / round trip"), "a closed loop's arithmetic");
    assert!(!report.contains("control over HTTP"), "the ceiling is no server to compare distances of");
}

#[test]
fn a_run_without_a_network_has_no_such_section() {
    let dir = tempfile::tempdir().unwrap();
    let (report, files) = reported(dir.path(), "websocket-rates");
    assert!(!report.contains("## Distance") && !files.contains(&"distance.svg".to_owned()), "{files:?}");
}

#[test]
fn a_network_is_refused_where_it_would_not_be_made() {
    let shipped = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench-scripts"));
    for (campaign, named) in [
        ("threshold", "[threshold]"),
        ("slo", "[slo]"),
        ("stages", "[stages]"),
        ("store", "[stores]"),
        ("duets", "duet"),
        ("quick", "[duets]"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let text =
            std::fs::read_to_string(ConfigDir(shipped.to_owned()).named("campaigns", campaign).unwrap())
                .unwrap();
        assert!(text.contains("[environment]\n"), "{campaign}");
        let text = text.replacen("[environment]\n", "[environment]\nnetwork = { delay_ms = 1 }\n", 1);
        std::fs::create_dir(dir.path().join("campaigns")).unwrap();
        std::fs::write(dir.path().join(format!("campaigns/{campaign}.toml")), text).unwrap();
        let refused = format!("{:#}", ConfigDir(dir.path().to_owned()).campaign(campaign).unwrap_err());
        assert!(refused.contains("field network") && refused.contains(named), "{refused}");
        assert_eq!(refused.lines().count(), 1, "{refused}");
    }
}
