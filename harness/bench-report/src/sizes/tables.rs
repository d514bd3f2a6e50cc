//! The tables of servers in boxes, each under its heading: empty where a campaign has nothing for it.

use super::{rate, smallest, words};
use crate::Run;
use crate::columns::Columns;
use crate::format::{bytes, count, counted, dash, known, list, percent, significant, thousands, time_us};
use bench_analysis::sizes::{BoxVerdict, Figures, SizedCell, SizesSummary, THROTTLED};
use bench_model::config::{SizedBox, Sizes};

/// The smallest box of each server that holds a rate.
pub fn smallest_boxes(run: &Run, sizes: &Sizes, found: &SizesSummary) -> String {
    let workloads = run.plan.campaign.workloads.iter();
    let rows = workloads.flat_map(|workload| sizes.to_hold.iter().map(move |wanted| (workload, *wanted)));
    let servers = run.plan.servers.iter().map(|server| (server.label(), &server.name));
    Columns::of(6, rows)
        .column("request", |(workload, _)| *workload)
        .column("rate", |(_, wanted)| rate(*wanted))
        .columns(servers, |(workload, wanted), server| {
            let of = smallest(sizes, found, server, workload, *wanted);
            dash(of, |of| named(of, found.cell(server, of, workload), *wanted))
        })
        .within(|table| {
            format!(
                "### The smallest box that holds a rate\n\n{table}\nBoxes are ordered by processors, then by memory. A \
                 dash: none of the measured boxes. *Throttled*: at that rate, the highest that the box holds, its \
                 quota was used up in a tenth of the periods or more, so latency has waits for the next one in it.\n"
            )
        })
}

/// A box that holds a rate, and whether it is throttled where its figures are known: at that rate, or else at the
/// highest that it holds.
fn named(of: &SizedBox, cell: Option<&SizedCell>, wanted: u32) -> String {
    let throttled = cell.and_then(|cell| {
        let at_wanted = cell.always.iter().find(|(rate, _)| *rate == wanted);
        let (at, figures) = at_wanted.copied().or_else(|| cell.held.zip(cell.at_held))?;
        figures.throttled_share.filter(|share| *share >= THROTTLED).map(|_| at)
    });
    of.words() + &known(throttled, "", |at| format!(", throttled at {}", rate(at)))
}

/// The cheapest box for each server under each offer, at the highest rate that it holds there.
pub fn costs(run: &Run, sizes: &Sizes, found: &SizesSummary) -> String {
    let Some(prices) = &sizes.prices else { return String::new() };
    let mut rows = Vec::new();
    for offer in &prices.offers {
        for workload in &run.plan.campaign.workloads {
            for server in &run.plan.servers {
                let priced = sizes.boxes.iter().filter_map(|of| {
                    let held = found.cell(&server.name, of, workload)?.held?;
                    Some((of, held, offer.million(of, held)?))
                });
                let cheapest = priced.min_by(|a, b| a.2.total_cmp(&b.2));
                rows.extend(cheapest.map(|cheapest| (offer, server, workload, cheapest)));
            }
        }
    }
    Columns::of(4, rows)
        .column("offer", |(offer, ..)| &offer.name)
        .column("server", |(_, server, ..)| server.label())
        .column("request", |(_, _, workload, _)| *workload)
        .column("cheapest box", |(.., (of, _, _))| of.words())
        .column("held", |(.., (_, held, _))| rate(*held))
        .column(format!("{} an hour", prices.currency), |(offer, .., (of, _, _))| {
            dash(offer.hour(of), |hour| format!("{hour:.4}"))
        })
        .column(format!("{} per million requests", prices.currency), |(.., (_, _, million))| {
            format!("{million:.5}")
        })
        .within(|table| {
            format!(
                "### What a million requests cost\n\n{table}\nAt the highest rate that a box holds, all day: a box \
                 that is used less costs more for a request. Prices are those of `bench-scripts/prices.toml` when the \
                 run began; the shipped ones are examples and no provider's.\n"
            )
        })
}

/// Every box, with why it holds no more.
pub fn every_box(run: &Run, sizes: &Sizes, found: &SizesSummary) -> String {
    let mut cells = Vec::new();
    for workload in &run.plan.campaign.workloads {
        for server in &run.plan.servers {
            cells.extend(sizes.boxes.iter().filter_map(|of| found.cell(&server.name, of, workload)));
        }
    }
    let throttled = |at: Option<Figures>| dash(at.and_then(|at| at.throttled_share), percent);
    let p99 = |at: Option<Figures>| dash(at, |at| time_us(at.p99_us));
    let peak = |cell: &SizedCell| {
        let peaks = [cell.at_held, cell.at_not_held, cell.closed].into_iter().flatten();
        peaks.filter_map(|figures| figures.memory_peak_bytes).max_by(f64::total_cmp)
    };
    Columns::of(3, cells)
        .column("server", |cell| run.label(&cell.server))
        .column("box", |cell| cell.of.words())
        .column("request", |cell| &cell.workload)
        .column("threads", |cell| dash(cell.threads, count))
        .column("held", |cell| dash(cell.held, rate))
        .column("not held", |cell| dash(cell.not_held, rate))
        .column("p99 there", |cell| p99(cell.at_held))
        .column("throttled there", |cell| throttled(cell.at_held))
        .column("throttled above", |cell| throttled(cell.at_not_held))
        .column("closed loop", |cell| closed_rate(cell))
        .column("closed loop's p99", |cell| p99(cell.closed))
        .column("CPU/request", |cell| {
            dash(cell.at_held.or(cell.closed).and_then(|at| at.cpu_us_per_request), time_us)
        })
        .column("peak memory", |cell| dash(peak(cell), bytes))
        .column("killed", |cell| count(cell.out_of_memory as u64))
        .column("trials", |cell| count(cell.trials as u64))
        .column("why not more", |cell| words(cell.verdict).1 + &complaints(cell))
        .within(|table| {
            format!(
                "### Every box\n\n{table}\n*There* is at the highest rate that is held, *above* at the lowest that is \
                 not. The closed loop has {}. Threads are those that the server said it had. Peak memory is that of \
                 the group, caches of files included. *Killed* counts trials in which the kernel killed the server for \
                 want of memory.\n",
                counted(sizes.closed_connections.into(), "connection")
            )
        })
}

fn closed_rate(cell: &SizedCell) -> String {
    dash(cell.closed, |at| format!("{}/s", thousands(at.rate)))
}

fn complaints(cell: &SizedCell) -> String {
    if cell.complaints.is_empty() || matches!(cell.verdict, BoxVerdict::OutOfMemory { .. }) {
        return String::new();
    }
    let kinds = cell.complaints.iter().map(|(kind, times)| format!("{times} times {kind}"));
    format!("; {}", list(kinds)).replace('\n', " ")
}

/// What was found of each server in two boxes, request by request.
fn pairs<'a>(run: &Run, found: &'a SizesSummary, boxes: &[[SizedBox; 2]]) -> Vec<[&'a SizedCell; 2]> {
    let mut pairs = Vec::new();
    for workload in &run.plan.campaign.workloads {
        for [of, other] in boxes {
            pairs.extend(run.plan.servers.iter().filter_map(|server| {
                let cell = |of| found.cell(&server.name, of, workload);
                Some([cell(of)?, cell(other)?])
            }));
        }
    }
    pairs
}

/// Every box at the rates that all of them get.
pub fn at_same_rates(run: &Run, sizes: &Sizes, found: &SizesSummary) -> String {
    let boxes: Vec<_> = sizes.boxes.iter().map(|of| [*of, *of]).collect();
    let pairs = pairs(run, found, &boxes);
    let rows = pairs.iter().flat_map(|[cell, _]| cell.always.iter().map(move |(rate, at)| (cell, *rate, at)));
    Columns::of(3, rows)
        .column("request", |(cell, ..)| &cell.workload)
        .column("box", |(cell, ..)| cell.of.words())
        .column("server", |(cell, ..)| run.label(&cell.server))
        .column("rate", |(_, wanted, _)| rate(*wanted))
        .column("p99", |(.., at)| time_us(at.p99_us))
        .column("throttled", |(.., at)| dash(at.throttled_share, percent))
        .column("waited for its quota", |(.., at)| {
            dash(at.throttled_s_per_s, |share| format!("{} s/s", significant(share)))
        })
        .column("cores", |(.., at)| dash(at.server_cores, significant))
        .within(|table| format!("### At the same rates\n\n{table}"))
}

/// Each box in which a server chose its threads next to the same box with the campaign's.
pub fn own_threads(run: &Run, sizes: &Sizes, found: &SizesSummary) -> String {
    let boxes = sizes.boxes.iter().filter(|of| of.default_threads);
    let boxes: Vec<_> = boxes.map(|of| [*of, SizedBox { default_threads: false, ..*of }]).collect();
    Columns::of(3, pairs(run, found, &boxes))
        .column("server", |[own, _]| run.label(&own.server))
        .column("box", |[_, equal]| equal.of.words())
        .column("request", |[own, _]| &own.workload)
        .column("its own threads", |[own, _]| dash(own.threads, count))
        .column("held", |[own, _]| dash(own.held, rate))
        .column("closed loop", |[own, _]| closed_rate(own))
        .column("equal threads", |[_, equal]| dash(equal.threads, count))
        .column("held", |[_, equal]| dash(equal.held, rate))
        .column("closed loop", |[_, equal]| closed_rate(equal))
        .within(|table| {
            format!(
                "### The server's own number of threads\n\n{table}\nRust's standard library rounds a quota down when \
                 it says how many threads can run at once, to 1 at least: a server that starts a thread for each \
                 leaves half a processor of 1.5 unused where one thread is busy. Others round up (`num_cpus`).\n"
            )
        })
}

/// Each set of processors next to a quota of as many, with the same memory.
pub fn against_sets(run: &Run, sizes: &Sizes, found: &SizesSummary) -> String {
    let sets = sizes.boxes.iter().filter(|of| of.cpuset.is_some() && of.cpu_quota.is_none());
    let boxes = sets.filter_map(|set| {
        let is_same = |of: &&SizedBox| {
            of.cpuset.is_none()
                && of.size().cpus() == set.size().cpus()
                && (of.memory_max, of.default_threads) == (set.memory_max, set.default_threads)
        };
        Some([*sizes.boxes.iter().find(is_same)?, *set])
    });
    let p99 = |at: Option<Figures>| dash(at, |at| time_us(at.p99_us));
    Columns::of(3, pairs(run, found, &boxes.collect::<Vec<_>>()))
        .column("server", |[quota, _]| run.label(&quota.server))
        .column("request", |[quota, _]| &quota.workload)
        .column("quota", |[quota, _]| quota.of.words())
        .column("held", |[quota, _]| dash(quota.held, rate))
        .column("p99 at that", |[quota, _]| p99(quota.at_held))
        .column("closed loop's p99", |[quota, _]| p99(quota.closed))
        .column("set", |[_, set]| set.of.words())
        .column("held", |[_, set]| dash(set.held, rate))
        .column("p99 at that", |[_, set]| p99(set.at_held))
        .column("closed loop's p99", |[_, set]| p99(set.closed))
        .within(|table| format!("### A quota against a set of processors\n\n{table}"))
}
