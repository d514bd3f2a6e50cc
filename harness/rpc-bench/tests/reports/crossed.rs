//! HTTP and JSON-RPC apart: observations whose layers' factors are known, and the report of such a run.

use std::path::Path;

use crate::observed::{self, observe};
use crate::samples::{conditions, sample};
use bench_analysis::crossed::{Crossed, crossed};
use bench_analysis::summarize;
use bench_model::config::{Campaign, ConfigDir};
use bench_model::observation::{Observation, Outcome};
use bench_model::plan;
use bench_model::plan::Plan;
use bench_model::results::RunFolder;
use bench_stats::Estimate;

fn config() -> ConfigDir {
    ConfigDir::of_repository()
}

/// The shipped campaign, or what becomes of it by `change`.
fn planned(change: impl Fn(&mut Campaign)) -> Plan {
    let (mut campaign, _) = config().campaign("crossed").unwrap();
    change(&mut campaign);
    Plan {
        workloads: campaign.workloads.iter().map(|name| config().workload(name).unwrap()).collect(),
        servers: campaign.servers.iter().map(|name| config().server(name).unwrap()).collect(),
        trials: plan::trials(&campaign),
        threads: 2,
        campaign,
        ..Plan::default()
    }
}

/// CPU of a server in microseconds: 100 times a factor for HTTP and one for JSON-RPC; `extra` more where both are
/// changed to actix-web and typed.
fn cost(server: &str, extra: f64) -> f64 {
    match server {
        "legacy" => 100.0,
        "axum-jsonrpc-core" => 90.0,
        "actix-jsonrpc-core" => 80.0,
        "axum" => 90.0 * 0.5,
        "axum-ajj" => 90.0 * 0.7,
        "actix" => 80.0 * 0.5 * extra,
        _ => 110.0,
    }
}

/// Every trial of a plan; the machine gets slower from block to block, one server of a pair is disturbed a little, and
/// with more than 25 connections a request costs twice as much.
fn observed(plan: &Plan, extra: f64) -> Vec<Observation> {
    observe(plan, |trial| {
        let drift = 1.0 + 0.1 * f64::from(trial.block);
        let noise = 1.0 + 0.004 * (f64::from(trial.number) * 0.618_034).fract();
        let waiting = if trial.connections > 25 { 2.0 } else { 1.0 };
        sample(10_000.0, cost(&trial.server, extra) * waiting * drift * noise)
    })
}

fn worked_out(plan: &Plan, observations: &[Observation]) -> Vec<Crossed> {
    let summary = summarize(&plan.campaign, &plan.levels(), &plan.trials, observations);
    crossed(plan, &summary.comparisons, observations)
}

fn near(estimate: Estimate, wanted: f64) -> bool {
    let (low, high) = estimate.interval.unwrap();
    (estimate.value / wanted - 1.0).abs() < 0.01 && low < estimate.value && estimate.value < high
}

/// What is found of getBalance on actix over legacy.
fn actix(found: &[Crossed]) -> &Crossed {
    let is_it =
        |one: &&Crossed| (&*one.workload, &*one.server, &*one.over) == ("getBalance", "actix", "legacy");
    found.iter().find(is_it).unwrap()
}

#[test]
fn each_layer_gets_its_own_factor() {
    let plan = planned(|_| ());
    let found = worked_out(&plan, &observed(&plan, 1.0));
    // No pair leads from the baseline to axum-ajj in two steps of one layer each, and jsonrpsee has none.
    let servers: Vec<&str> = found.iter().map(|one| one.server.as_str()).collect();
    assert_eq!(servers, ["actix", "axum", "actix", "axum"], "for each request");
    let one = actix(&found);
    assert_eq!(one.via, "actix-jsonrpc-core");
    assert!(near(one.http.cpu, 0.8) && near(one.rpc.cpu, 0.5) && near(one.whole, 0.4), "{one:?}");
    assert!(near(one.product_over_whole.unwrap(), 1.0), "{one:?}");
    assert!(near(one.http.share.unwrap(), 0.8_f64.ln() / 0.4_f64.ln()), "{one:?}");
    assert!(near(one.rpc.share.unwrap(), 0.5_f64.ln() / 0.4_f64.ln()), "{one:?}");
}

#[test]
fn json_rpc_may_be_changed_first() {
    // legacy over actix goes by way of the server that has the HTTP of one and the JSON-RPC of the other, too.
    let turned = planned(|campaign| {
        for pair in &mut campaign.comparisons {
            *pair = (pair.1.clone(), pair.0.clone());
        }
    });
    let found = worked_out(&turned, &observed(&turned, 1.0));
    let is_it = |one: &&Crossed| (&*one.server, &*one.over) == ("legacy", "actix");
    let one = found.iter().find(is_it).unwrap();
    assert_eq!(one.via, "actix-jsonrpc-core");
    assert!(near(one.http.cpu, 1.25) && near(one.rpc.cpu, 2.0) && near(one.whole, 2.5), "{one:?}");
}

#[test]
fn steps_that_miss_the_whole_are_shown() {
    let plan = planned(|_| ());
    // The pair of the second step is cheaper than the pair of the whole: what a model would hide.
    let mut observations = observed(&plan, 1.0);
    for observation in &mut observations {
        let trial = &observation.trial;
        let is_whole = trial.server == "actix" && trial.beside.as_deref() == Some("legacy");
        if let (true, Outcome::Completed(sample)) = (is_whole, &mut observation.outcome) {
            sample.server_cpu.as_mut().unwrap().user_s *= 1.25;
            sample.server_cpu.as_mut().unwrap().system_s *= 1.25;
        }
    }
    let found = worked_out(&plan, &observations);
    let one = actix(&found);
    assert!(near(one.whole, 0.5) && near(one.product_over_whole.unwrap(), 0.8), "{one:?}");
    let shares = one.http.share.unwrap().value + one.rpc.share.unwrap().value;
    assert!(shares > 1.2, "more than the whole, and shown so: {shares}");
}

#[test]
fn a_whole_near_one_has_no_shares() {
    let plan = planned(|_| ());
    let found = worked_out(&plan, &observed(&plan, 2.5));
    let one = actix(&found);
    assert!(one.http.share.is_none() && one.rpc.share.is_none(), "{one:?}");
}

#[test]
fn without_a_pair_in_one_layer_nothing_is_shown() {
    let plan = planned(|campaign| {
        campaign.servers = ["legacy", "actix", "jsonrpsee"].map(String::from).to_vec();
        let known = |name: &String| campaign.servers.contains(name);
        campaign.comparisons.retain(|(a, b)| known(a) && known(b));
    });
    assert_eq!(worked_out(&plan, &observed(&plan, 1.0)), []);
}

/// A results folder of known observations.
fn folder(dir: &Path, plan: &Plan, observations: &[Observation]) -> RunFolder {
    let conditions = conditions("just bench-all crossed");
    observed::folder(dir, &plan.campaign.name, plan, &conditions, observations.to_vec())
}

#[test]
fn each_row_of_a_pair_has_the_figures_of_its_own_connections() {
    let plan = planned(|campaign| campaign.connections = vec![25, 125]);
    let dir = tempfile::tempdir().unwrap();
    let folder = folder(dir.path(), &plan, &observed(&plan, 1.0));
    bench_report::write(&folder).unwrap();
    let text = std::fs::read_to_string(folder.0.join("report.md")).unwrap();
    let (_, section) = text.split_once("## Side by side").unwrap();
    let figure = |connections: u32| -> f64 {
        let row = format!("| getBlocks at {connections} ");
        let of_pair = |line: &&str| line.starts_with(&row) && line.contains("| jsonrpsee / jsonrpc-core ");
        let line = section.lines().find(of_pair).unwrap();
        line.split('|').nth(3).unwrap().split_whitespace().next().unwrap().parse().unwrap()
    };
    let ratio = figure(125) / figure(25);
    assert!((ratio - 2.0).abs() < 0.05, "{ratio}");
}

#[test]
fn the_report_says_what_each_layer_does() {
    let plan = planned(|_| ());
    let dir = tempfile::tempdir().unwrap();
    let folder = folder(dir.path(), &plan, &observed(&plan, 1.0));
    let run = bench_report::write(&folder).unwrap();
    assert!(run.left() == 0 && run.summary.crossed.len() == 4);
    let text = std::fs::read_to_string(folder.0.join("report.md")).unwrap();
    let row = text.lines().find(|line| {
        line.starts_with("| getBlocks at 25 ")
            && line.contains("| jsonrpc-core ")
            && line.contains(" actix-web + h")
    });
    let row: Vec<&str> = row.unwrap_or_else(|| panic!("{text}")).split('|').map(str::trim).collect();
    assert_eq!(row[2..5], ["actix-web + hand-written JSON-RPC", "jsonrpc-core", "actix-web + jsonrpc-core"]);
    let begins = ["0.8", "0.50 [", "0.40 [", "1.00", "24 % [", "76 % ["];
    for (cell, begin) in row[5..].iter().zip(begins) {
        assert!(cell.starts_with(begin), "{begin}: {row:?}");
    }
    for needed in [
        "## Side by side",
        "| getBalance at 25 | actix-web + hand-written JSON-RPC / axum + hand-written JSON-RPC ",
    ] {
        assert!(text.contains(needed), "the report lacks {needed:?}:\n{text}");
    }
    for unwanted in ["throughput.svg", "ratio of rates", "times its rate", "not measured |"] {
        assert!(
            !text.contains(unwanted),
            "four processes share a core, so rates don't compare: {unwanted:?}\n{text}"
        );
    }
    let summary = std::fs::read_to_string(folder.0.join("summary.json")).unwrap();
    let again: bench_analysis::Summary = serde_json::from_str(&summary).unwrap();
    assert_eq!(again.crossed.len(), 4);
}
