//! HTTP and JSON-RPC apart: observations whose layers' factors are known, and the report of such a run.

use std::path::Path;

use crate::observed::observe;
use crate::samples::{conditions, sample};
use bench_analysis::crossed::{Crossed, Layer, crossed};
use bench_analysis::summarize;
use bench_model::config::{Campaign, ConfigDir};
use bench_model::observation::{Observation, Outcome};
use bench_model::plan;
use bench_model::plan::Plan;
use bench_model::results::{RunFolder, pretty};
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

#[test]
fn each_layer_gets_its_own_factor() {
    let plan = planned(|_| ());
    let found = worked_out(&plan, &observed(&plan, 1.0));
    assert_eq!(found.len(), 2, "one for each request");
    let one = &found[0];
    assert_eq!((one.workload.as_str(), one.baseline.as_str()), ("getBalance", "legacy"));
    let cell = |server: &str| one.cells.iter().find(|cell| cell.server == server).unwrap();
    assert_eq!(cell("legacy").cpu, None, "the baseline is relative to itself");
    assert!(near(cell("actix").cpu.unwrap(), 0.4) && near(cell("axum-jsonrpc-core").cpu.unwrap(), 0.9));
    assert_eq!(one.cells.len(), 6);
    let path = one.paths.iter().find(|path| path.server == "actix").unwrap();
    assert_eq!((path.http.layer, path.rpc.layer), (Layer::Http, Layer::Rpc));
    assert_eq!(
        (path.http.server.as_str(), path.rpc.over.as_str()),
        ("actix-jsonrpc-core", "actix-jsonrpc-core")
    );
    assert!(near(path.http.cpu, 0.8) && near(path.rpc.cpu, 0.5) && near(path.whole, 0.4), "{path:?}");
    assert!((path.product - path.http.cpu.value * path.rpc.cpu.value).abs() < 1e-12);
    assert!(near(path.product_over_whole.unwrap(), 1.0), "{path:?}");
    assert!(near(path.http_share.unwrap(), 0.8_f64.ln() / 0.4_f64.ln()), "{path:?}");
    assert!(near(path.rpc_share.unwrap(), 0.5_f64.ln() / 0.4_f64.ln()), "{path:?}");
    let beside: Vec<&str> = one.beside.iter().map(|(server, _)| server.as_str()).collect();
    assert_eq!(beside, ["jsonrpsee"]);
    assert!(near(one.beside[0].1, 1.1));
}

#[test]
fn a_layer_that_one_server_has_alone_is_a_cell_and_a_step() {
    let plan = planned(|_| ());
    let found = worked_out(&plan, &observed(&plan, 1.0));
    let cell = found[0].cells.iter().find(|cell| cell.server == "axum-ajj").unwrap();
    assert_eq!((cell.http.as_str(), cell.rpc.as_str()), ("axum", "ajj"));
    assert!(near(cell.cpu.unwrap(), 0.63), "{cell:?}");
    let step = found[0].steps.iter().find(|step| step.server == "axum-ajj").unwrap();
    assert_eq!((step.layer, step.over.as_str(), step.fixed.as_str()), (Layer::Rpc, "axum", "axum"));
    assert!(near(step.cpu, 1.4), "{step:?}");
    // No pair leads from the baseline to it in two steps of one layer each.
    assert!(found[0].paths.iter().all(|path| path.server != "axum-ajj"));
}

#[test]
fn steps_that_miss_the_whole_are_shown() {
    let plan = planned(|campaign| {
        campaign.comparisons.retain(|pair| *pair != ("actix".into(), "axum".into()));
    });
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
    let path = found[0].paths.iter().find(|path| path.server == "actix").unwrap();
    assert!(near(path.whole, 0.5) && near(path.product_over_whole.unwrap(), 0.8), "{path:?}");
    let shares = path.http_share.unwrap().value + path.rpc_share.unwrap().value;
    assert!(shares > 1.2, "more than the whole, and shown so: {shares}");
}

#[test]
fn a_whole_near_one_has_no_shares() {
    let plan = planned(|_| ());
    let found = worked_out(&plan, &observed(&plan, 2.5));
    let path = found[0].paths.iter().find(|path| path.server == "actix").unwrap();
    assert!(path.http_share.is_none() && path.rpc_share.is_none(), "{path:?}");
}

#[test]
fn a_pair_is_found_in_whichever_order_it_was_compared() {
    let turned = planned(|campaign| {
        for pair in &mut campaign.comparisons {
            if *pair == ("actix".into(), "actix-jsonrpc-core".into()) {
                *pair = (pair.1.clone(), pair.0.clone());
            }
        }
    });
    let found = worked_out(&turned, &observed(&turned, 1.0));
    let path = found[0].paths.iter().find(|path| path.server == "actix").unwrap();
    assert!(near(path.rpc.cpu, 0.5), "{path:?}");
    assert!(near(path.product_over_whole.unwrap(), 1.0), "{path:?}");
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
    let folder = RunFolder::create(dir, &plan.campaign.name).unwrap();
    folder.write_new("plan.json", &pretty(plan).unwrap()).unwrap();
    folder.write_new("environment.json", &conditions("just bench-all crossed")).unwrap();
    observations.iter().for_each(|observation| folder.append(observation).unwrap());
    folder
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
    assert!(run.left() == 0 && run.summary.crossed.len() == 2);
    let text = std::fs::read_to_string(folder.0.join("report.md")).unwrap();
    for needed in [
        "**getBlocks** at 25 connections, each pair at the same time on one core: server CPU for a request, relative \
         to jsonrpc-core.",
        "| HTTP \\ JSON-RPC |",
        "| hyper 0.14      |         1 (baseline) |         not built | not built ",
        "- **actix-web + hand-written JSON-RPC**: changing HTTP alone (from hyper 0.14 to actix-web, both with \
         jsonrpc-core) takes **0.8",
        "; changing JSON-RPC alone (from jsonrpc-core to hand-written, both on actix-web) takes **0.50 [",
        "both together 0.40 [",
        "(the two multiplied: 0.40",
        "Of the logarithm of the whole, HTTP makes 24 % [",
        "- Changing HTTP alone (from axum to actix-web, both with jsonrpc-core) takes **0.88",
        "- Changing JSON-RPC alone (from hand-written to ajj, both on axum) takes **1.4",
        "- jsonrpsee is no cell of this table; it takes **1.1",
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
    assert_eq!(again.crossed.len(), 2);
}
