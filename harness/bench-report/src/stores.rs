//! Block stores: what a request costs from each, what reading a root costs, and what happens to a light request
//! meanwhile.

use std::fmt::Write;

use serde_json::Value;
use validator_state::Ledger;

use super::Run;
use super::format::{Table, bullets, count, counted, estimate, known, list, significant, time_us};
use bench_model::config::{Server, Stores};
use bench_model::figure::Figure;
use bench_model::results::RunFolder;
use bench_model::workload::Workload;

/// The runs of one chain.
#[derive(Debug)]
pub struct ChainRuns {
    /// The measured requests, where they have begun.
    pub requests: Option<Run>,
    /// The light request with a heavy one in the background, where it has begun.
    pub neighbour: Option<Run>,
}

impl ChainRuns {
    /// Reads the folders of each chain of a run's.
    pub fn load(folder: &RunFolder, stores: &Stores) -> anyhow::Result<Vec<Self>> {
        let run = |name: String| folder.inside(&name).map(|inner| Run::load(&inner)).transpose();
        let chain = |slots: &u64| {
            let requests = run(Stores::folder(*slots))?;
            Ok(Self { requests, neighbour: run(Stores::neighbour_folder(*slots))? })
        };
        stores.slots.iter().map(chain).collect()
    }

    /// Both runs, as far as they have begun.
    pub fn runs(&self) -> impl Iterator<Item = &Run> {
        self.requests.iter().chain(&self.neighbour)
    }
}

/// Parts of the campaign on block stores that have not begun.
pub fn not_begun(run: &Run) -> usize {
    let Some(stores) = &run.plan.campaign.stores else { return 0 };
    stores.folders().len() - run.stores.iter().flat_map(ChainRuns::runs).count()
}

/// A line for each chain: how many times as much CPU as from memory the first request takes.
pub fn headline(run: &Run) -> String {
    let Some(stores) = &run.plan.campaign.stores else { return String::new() };
    let of_chain = |chain: &ChainRuns| {
        let requests = chain.requests.as_ref()?;
        let first = requests.plan.workloads.first()?;
        let of_server = |server: &Server| {
            let cpu = |blocks: &str| cpu_us(requests, &Stores::arm(&server.name, blocks, None), &first.name);
            let memory = cpu(stores.blocks.first()?)?;
            let others = stores.blocks.iter().skip(1);
            let factors =
                others.filter_map(|blocks| Some(format!("{blocks} {}", significant(cpu(blocks)? / memory))));
            Some(format!("{} {}", server.label(), list(factors)))
        };
        let servers: Vec<String> = run.plan.servers.iter().filter_map(of_server).collect();
        Some(format!(
            "**{}**, {} rooted slots, CPU time per request over that from {}: {}.",
            first.name,
            count(roots(requests)),
            stores.blocks[0],
            servers.join("; ")
        ))
    };
    bullets(run.stores.iter().filter_map(of_chain))
}

/// The section: a table of CPU time, one of the cost of a root, and one of the light request's latency.
pub fn section(run: &Run) -> String {
    let Some(stores) = &run.plan.campaign.stores else { return String::new() };
    let mut cpu = table(run, &["rooted slots", "request", "store"]);
    let mut root = table(run, &["rooted slots", "request", "store", "roots read"]);
    let mut light = table(run, &["rooted slots", "store", "walked on"]);
    for chain in &run.stores {
        if let Some(requests) = &chain.requests {
            for workload in &requests.plan.workloads {
                for blocks in &stores.blocks {
                    cpu.row(cpu_row(run, requests, workload, blocks));
                    if *blocks != stores.blocks[0] {
                        root.row(root_row(run, stores, requests, workload, blocks));
                    }
                }
            }
        }
        if let (Some(neighbour), Some(light_request)) = (&chain.neighbour, &stores.neighbour) {
            for blocks in &stores.blocks {
                for on in light_request.threads() {
                    light.row(light_row(run, neighbour, blocks, on));
                }
            }
        }
    }
    let mut out = format!(
        "## Block stores\n\nEach request from each store, at {}. `memory` holds the chain as ranges in memory; every \
         other store is opened read-only and walked for each request.\n\n### CPU time per request\n\n{}\n\
         ### What reading a root costs\n\nCPU time beyond that from {}, over the roots that the store reads: those of \
         the range{}.\n\n{}",
        counted(stores.connections.into(), "connection"),
        cpu.markdown(),
        stores.blocks[0],
        all_read(stores),
        root.markdown()
    );
    if let Some(neighbour) = &stores.neighbour {
        let _ = write!(
            out,
            "\n### {} meanwhile\n\nIts 99th percentile at {} requests/s, from the moment at which each was due, while \
             {} ask for {}, each again once it has its answer.\n\n{}",
            neighbour.workload,
            count(neighbour.rate.into()),
            counted(neighbour.beside_connections.into(), "connection"),
            neighbour.beside,
            light.markdown()
        );
    }
    out
}

fn all_read(stores: &Stores) -> String {
    if stores.reads_all.is_empty() {
        return String::new();
    }
    format!("; with {} all from the range's start to the chain's end", stores.reads_all.join(" and "))
}

/// With a column for each server after those of words.
fn table(run: &Run, words: &[&str]) -> Table {
    let servers = run.plan.servers.iter().map(|server| server.label());
    Table::new(&words.iter().copied().chain(servers).collect::<Vec<_>>(), words.len())
}

/// A row: its words, and a cell for each server.
fn row<const N: usize>(
    run: &Run,
    words: [String; N],
    cell: impl Fn(&Server) -> Option<String>,
) -> Vec<String> {
    let cells = run.plan.servers.iter().map(|server| known(cell(server), "not measured", |cell| cell));
    words.into_iter().chain(cells).collect()
}

fn cpu_row(run: &Run, requests: &Run, workload: &Workload, blocks: &str) -> Vec<String> {
    row(run, [count(roots(requests)), workload.name.clone(), blocks.to_owned()], |server| {
        let arm = Stores::arm(&server.name, blocks, None);
        let cell = requests.summary.cell(&arm, &workload.name, requests.plan.levels()[0])?;
        let cpu = cell.figure(Figure::CpuUsPerRequest)?;
        Some(if cpu.interval.is_some() { estimate(cpu, time_us) } else { time_us(cpu.value) })
    })
}

fn root_row(run: &Run, stores: &Stores, requests: &Run, workload: &Workload, blocks: &str) -> Vec<String> {
    let read = roots_read(requests, workload, stores.reads_all.iter().any(|all| all == blocks));
    let words = [
        count(roots(requests)),
        workload.name.clone(),
        blocks.to_owned(),
        known(read, "not measured", count),
    ];
    row(run, words, |server| {
        let cpu = |blocks: &str| cpu_us(requests, &Stores::arm(&server.name, blocks, None), &workload.name);
        let beyond_us = cpu(blocks)? - cpu(&stores.blocks[0])?;
        let read = read.filter(|read| *read > 0)?;
        Some(format!("{} ns", significant(beyond_us * 1e3 / read as f64)))
    })
}

fn light_row(run: &Run, neighbour: &Run, blocks: &str, on: Option<&str>) -> Vec<String> {
    let workload = &neighbour.plan.campaign.workloads[0];
    let words = [count(roots(neighbour)), blocks.to_owned(), on.unwrap_or("its default").to_owned()];
    row(run, words, |server| {
        let arm = Stores::arm(&server.name, blocks, on);
        let cell = neighbour.summary.cell(&arm, workload, neighbour.plan.levels()[0])?;
        Some(time_us(cell.figure(Figure::P99Us)?.value))
    })
}

fn cpu_us(requests: &Run, server: &str, workload: &str) -> Option<f64> {
    let level = *requests.plan.levels().first()?;
    Some(requests.summary.cell(server, workload, level)?.figure(Figure::CpuUsPerRequest)?.value)
}

/// Rooted slots of a run's chain.
fn roots(run: &Run) -> u64 {
    let spec = run.plan.campaign.environment.ledger();
    Ledger::seeded(&validator_state::SeededSpec { accounts: 1, ..spec }).roots().count() as u64
}

/// Roots that a store reads for a request: those of its range, or all from its start on. `None` where its parameters
/// are no range.
fn roots_read(run: &Run, workload: &Workload, reads_all: bool) -> Option<u64> {
    let body: Value = serde_json::from_str(workload.body().ok()?).ok()?;
    let [start, end] = [0, 1].map(|at| body["params"][at].as_u64());
    let (start, end) = (start?, end?);
    let spec = run.plan.campaign.environment.ledger();
    let ledger = Ledger::seeded(&validator_state::SeededSpec { accounts: 1, ..spec });
    let from_start = ledger.roots().skip_while(|slot| *slot < start);
    Some(from_start.take_while(|slot| reads_all || *slot <= end).count() as u64)
}
