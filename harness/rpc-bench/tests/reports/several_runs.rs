//! Sentences of the README that are worked out from several runs or figures, so that no single pointer binds them.

use std::collections::BTreeSet;
use std::fs;

use bench_model::config::ConfigDir;
use bench_model::figure::Figure;
use bench_model::results::RunFolder;
use bench_report::Run;

use crate::kept::all;
use crate::on_all_processors;

/// The README on one line.
fn readme() -> String {
    let text = fs::read_to_string(ConfigDir::of_repository().0.join("../README.md")).unwrap();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// All kept runs of a campaign.
fn all_kept(campaign: &str) -> Vec<Run> {
    on_all_processors(&all(campaign), |folder| Run::load(&RunFolder::open(folder).unwrap()).unwrap())
}

/// CPU that three servers need for a request, as a run measured it, in units of jsonrpc-core's for a getBalance.
struct Costs {
    /// jsonrpc-core's for a getBlocks.
    long: f64,
    jsonrpsee: [f64; 2],
    ajj: [f64; 2],
}

impl Costs {
    fn of(run: &Run) -> Self {
        let ratio = |server: &str, workload: &str| {
            let same = |found: &&bench_analysis::Comparison| {
                found.server == server && found.over == "legacy" && found.workload == workload
            };
            run.summary.comparisons.iter().find(same).unwrap().cpu.ratio.value
        };
        let cells = |workload: &str| {
            let cells =
                run.summary.cells.iter().filter(|cell| cell.server == "legacy" && cell.workload == workload);
            let costs: Vec<f64> = cells.map(|cell| cell.figures[&Figure::CpuUsPerRequest].value).collect();
            costs.iter().sum::<f64>() / costs.len() as f64
        };
        let both = |server| [ratio(server, "getBalance"), ratio(server, "getBlocks")];
        Self {
            long: cells("getBlocks") / cells("getBalance"),
            jsonrpsee: both("jsonrpsee"),
            ajj: both("axum-ajj"),
        }
    }

    /// What a request costs on jsonrpc-core, jsonrpsee and `ajj`, where `share` of all, from 0 to 1, are getBlocks.
    fn mixed(&self, share: f64) -> [f64; 3] {
        [[1.0, 1.0], self.jsonrpsee, self.ajj]
            .map(|[balance, blocks]| (1.0 - share) * balance + share * self.long * blocks)
    }

    /// Which of the three is cheapest.
    fn cheapest(&self, share: f64) -> usize {
        let costs = self.mixed(share);
        (0..3).min_by(|a, b| costs[*a].total_cmp(&costs[*b])).unwrap()
    }

    /// jsonrpc-core over the cheapest.
    fn over_cheapest(&self, share: f64) -> f64 {
        self.mixed(share)[0] / self.mixed(share)[self.cheapest(share)]
    }
}

#[test]
fn the_borders_of_a_mix_are_those_of_the_kept_runs() {
    for words in [
        "less than about a tenth of the answers are long, as getBlocks' | **jsonrpsee**",
        "more than a third are long | **axum with [`ajj`]",
        "jsonrpc-core needs at most about an eighth more than that one.",
    ] {
        assert!(readme().contains(words), "{words}");
    }
    let runs = all_kept("crossed");
    assert!(runs.len() >= 3);
    let mut most: f64 = 1.0;
    for run in &runs {
        let costs = Costs::of(run);
        let borders = (0..=1000).map(|share| f64::from(share) / 1000.0);
        let stops = borders.clone().find(|share| costs.cheapest(*share) != 1).unwrap();
        assert!((0.085..0.115).contains(&stops), "{}: jsonrpsee is cheapest up to {stops}", run.name);
        let begins = borders.clone().find(|share| costs.cheapest(*share) == 2).unwrap();
        assert!(begins <= 1.0 / 3.0, "{}: ajj is cheapest from {begins} on", run.name);
        let between = borders.filter(|share| (0.1..=1.0 / 3.0).contains(share));
        most = between.map(|share| costs.over_cheapest(share)).fold(most, f64::max);
    }
    assert!((1.115..1.135).contains(&most), "between the borders jsonrpc-core needs {most} times the least");
}

#[test]
fn four_runs_of_many_builds_lie_within_two_percent_of_each_other() {
    assert!(readme().contains("on Zen 4, four such runs lay within two percent of each other"));
    let text = fs::read_to_string(ConfigDir::of_repository().0.join("../results/pooled.json")).unwrap();
    let pooled: serde_json::Value = serde_json::from_str(&text).unwrap();
    let groups = pooled["groups"].as_array().unwrap().iter().filter(|group| {
        let is_of_table = ["jsonrpsee", "actix", "axum"].iter().any(|server| group["server"] == *server);
        is_of_table && group["figure"] == "cpu" && group["over"] == "legacy" && group["many_builds"] == true
    });
    let mut spreads = Vec::new();
    for model in groups.flat_map(|group| group["models"].as_array().unwrap()) {
        if model["processor"] != "AMD EPYC (family 25, model 17)" {
            continue;
        }
        let runs = model["runs"].as_array().unwrap();
        assert_eq!(runs.len(), 4);
        let ratios = runs.iter().map(|run| run["ratio"]["value"].as_f64().unwrap());
        spreads.push(ratios.clone().fold(0.0, f64::max) / ratios.fold(f64::INFINITY, f64::min));
    }
    assert_eq!(spreads.len(), 6, "three servers, two methods");
    let widest = spreads.iter().copied().fold(1.0, f64::max);
    assert!((1.015..1.02).contains(&widest), "{spreads:?}");
}

#[test]
fn at_500_connections_jsonrpc_core_needs_the_least_memory_for_each_in_every_quick_run() {
    for words in [
        "**With 500 connections of getBalance in place of 125, jsonrpc-core needs the least** in each of the runs of \
         `quick`",
        "with 2,000, whether it or actix-web does differs from run to run",
    ] {
        assert!(readme().contains(words), "{words}");
    }
    let runs = all_kept("quick");
    assert!(runs.len() >= 3);
    let least = |run: &Run, connections: u32| {
        let of = |server: &str| {
            let cell = run.summary.cells.iter().find(|cell| {
                cell.server == server
                    && cell.workload == "getBalance"
                    && cell.level.connections == connections
            });
            cell.unwrap().figures[&Figure::ConnectionMemoryBytes].value
        };
        let servers = ["legacy", "jsonrpsee", "actix", "axum"];
        servers.into_iter().min_by(|a, b| of(a).total_cmp(&of(b))).unwrap()
    };
    for run in &runs {
        assert_eq!(least(run, 500), "legacy", "{}", run.name);
    }
    let at_2000: BTreeSet<&str> = runs.iter().map(|run| least(run, 2_000)).collect();
    assert_eq!(at_2000, BTreeSet::from(["actix", "legacy"]));
}
