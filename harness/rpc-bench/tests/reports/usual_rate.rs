//! The first screen of a run with duets at a rate: what is saved at that rate comes first, what at saturation second, and
//! each figure has the load at which it was measured.

use bench_core::config::{ConfigDir, Instead};
use bench_core::observation::{Observation, Sample};
use bench_core::plan::{self, Plan, Trial};
use bench_core::results::RunFolder;
use bench_measure::run;

use crate::observed::{self, observe_planned};
use crate::samples::{conditions, sample};

/// What a server needs for a request at 4,000/s and in a closed loop, in microseconds.
type Cpu = fn(server: &str, workload: &str) -> (f64, f64);

/// A run of `quick` in which servers need this, and its first screen. At the rate actix has half of the p99.
fn first_screen(cpu: Cpu) -> String {
    let (mut plan, _) = run::resolve(&ConfigDir::of_repository(), "quick", &Instead::default()).unwrap();
    let campaign = &mut plan.campaign;
    (campaign.max_blocks, campaign.max_extra_blocks, campaign.search) = (8, Some(0), None);
    campaign.connections.retain(|connections| campaign.headline.values().any(|at| at == connections));
    if let Some(duets) = &mut campaign.duets {
        assert_eq!((&*duets.connections, &*duets.rate), ([25].as_slice(), [4_000].as_slice()));
        duets.max_blocks = 12;
    }
    plan.trials = plan::trials(&plan.campaign);
    let dir = tempfile::tempdir().unwrap();
    let folder = RunFolder::create(dir.path(), "quick").unwrap();
    let mut duets = plan.duets().unwrap();
    duets.campaign.max_extra_blocks = Some(0);
    put(&folder, &plan, cpu);
    put(&RunFolder::create_inside(&folder, "duets").unwrap(), &duets, cpu);
    bench_report::headline(&bench_report::Run::load(&folder).unwrap()).unwrap()
}

fn put(folder: &RunFolder, plan: &Plan, cpu: Cpu) {
    let gave = |trial: &Trial| -> Sample {
        let wobble = 1.0 + 0.01 * ((f64::from(trial.number) * 0.618_034).fract() - 0.5);
        let (at_rate, closed) = cpu(&trial.server, &trial.workload);
        let cpu_us = if trial.rate.is_some() { at_rate } else { closed } * wobble;
        let mut given = sample(trial.rate.map_or(1e5, f64::from), cpu_us);
        let less = trial.rate.is_some() && trial.server == "actix";
        given.load.latency_us.p99 = if less { 400.0 } else { 800.0 } * wobble;
        given
    };
    let observed = observe_planned(plan, gave).into_iter();
    let at_once = observed.map(|observation| Observation { took_s: 0.001, ..observation });
    observed::fill(folder, plan, &conditions("just bench-all"), at_once);
}

/// The cells of a table's row.
fn row<'a>(screen: &'a str, name: &str) -> Vec<&'a str> {
    let row = screen.lines().find(|line| line.starts_with(&format!("| {name} ")));
    let row = row.unwrap_or_else(|| std::panic::panic_any(format!("no row {name}: {screen}")));
    row.split('|').skip(2).map(str::trim).collect()
}

/// Half as much at saturation is no half at the rate, and neither is said of the other load.
#[test]
fn what_is_saved_at_the_usual_rate_comes_first() {
    let screen = first_screen(|server, workload| match (server, workload) {
        ("actix", "getBalance") => (90.0, 5.0),
        ("actix", _) => (80.0, 6.0),
        _ => (100.0, 10.0),
    });
    let said: Vec<&str> = screen.lines().filter_map(|line| line.strip_prefix("- ")).collect();
    let first = "**At 4,000/s, actix-web saves 10 % of jsonrpc-core's CPU per request for getBalance (0.90 [";
    assert!(said[0].starts_with(first) && said[0].contains(" and 20 % for getBlocks (0.80 ["), "{screen}");
    let second = "At saturation (25 connections), actix-web saves 50 % for getBalance (0.50 [";
    assert!(said[1].starts_with(second) && said[1].contains(" and 40 % for getBlocks (0.60 ["), "{screen}");
    for (name, one, ratio) in [
        ("CPU per request, getBalance at 4,000/s", 100.0, "0.90"),
        ("CPU per request, getBlocks at 4,000/s", 100.0, "0.80"),
        ("CPU per request, getBalance at saturation (25 connections)", 10.0, "0.50"),
        ("CPU per request, getBlocks at saturation (25 connections)", 10.0, "0.60"),
        ("p99, getBalance at 4,000/s", 800.0, "0.50"),
    ] {
        let cells = row(&screen, name);
        let own = cells[0].strip_prefix("1 = ").and_then(|own| own.strip_suffix(" µs")).unwrap();
        let own: f64 = own.parse().unwrap();
        assert!((own / one - 1.0).abs() < 0.01, "{name}: {screen}");
        assert!(cells[2].starts_with(&format!("**{ratio}** [")), "{name}: {screen}");
        assert!(cells[1].starts_with("1.00 ["), "jsonrpsee does not differ: {name}: {screen}");
    }
    assert!(row(&screen, "requests/s, getBalance at 125 connections")[0].starts_with("1 = "), "{screen}");
    assert!(!screen.contains("p99, getBalance at 125"), "that says how many connections wait: {screen}");
}

#[test]
fn servers_that_need_the_same_are_called_no_different() {
    let screen = first_screen(|_, _| (100.0, 10.0));
    let none = "no difference of 2 % or more was found for getBalance and getBlocks.";
    assert!(screen.contains(&format!("**At 4,000/s, {none}**")), "{screen}");
    assert!(screen.contains(&format!("At saturation (25 connections), {none}")), "{screen}");
}

#[test]
fn each_request_has_a_best_server_of_its_own() {
    let screen = first_screen(|server, workload| match (server, workload) {
        ("actix", "getBalance") | ("axum", "getBlocks") => (90.0, 10.0),
        ("jsonrpsee" | "actix" | "axum", _) => (120.0, 20.0),
        _ => (100.0, 10.0),
    });
    let first = screen.lines().find(|line| line.contains("At 4,000/s")).unwrap();
    assert!(first.contains("actix-web saves 10 % of jsonrpc-core's CPU per request for getBalance (0.90 ["));
    assert!(first.contains("; axum saves 10 % for getBlocks (0.90 ["), "{first}");
}
