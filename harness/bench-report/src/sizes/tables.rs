//! The tables of servers in boxes: each is empty where a campaign has nothing for it.

use super::{rate, smallest, words};
use crate::Run;
use crate::format::{
    Table, bytes, count, counted, dash, known, list, percent, significant, thousands, time_us,
};
use bench_analysis::sizes::{BoxVerdict, Figures, SizedCell, SizesSummary, THROTTLED};
use bench_model::config::{SizedBox, Sizes};

/// The smallest box of each server that holds a rate.
pub fn smallest_boxes(run: &Run, sizes: &Sizes, found: &SizesSummary) -> String {
    let servers: Vec<&str> = run.plan.servers.iter().map(|server| server.label()).collect();
    let mut table = Table::of(&format!("request | rate | {}", servers.join(" | ")), 6, []);
    for workload in &run.plan.campaign.workloads {
        for wanted in &sizes.to_hold {
            let boxes = run.plan.servers.iter().map(|server| {
                let of = smallest(sizes, found, &server.name, workload, *wanted);
                dash(of, |of| named(of, found.cell(&server.name, of, workload), *wanted))
            });
            table.row([workload.clone(), rate(*wanted)].into_iter().chain(boxes).collect());
        }
    }
    let note = "Boxes are ordered by processors, then by memory. A dash: none of the measured boxes. *Throttled*: at \
        that rate, the highest that the box holds, its quota was used up in a tenth of the periods or more, so \
        latency has waits for the next one in it.";
    if table.is_empty() { String::new() } else { format!("{}\n{note}\n", table.markdown()) }
}

/// A box that holds a rate, and whether it is throttled where its figures are known: at that rate, or else at the
/// highest that it holds.
fn named(of: &SizedBox, cell: Option<&SizedCell>, wanted: u32) -> String {
    let throttled = cell.and_then(|cell| {
        let at_wanted = cell.always.iter().find(|(rate, _)| *rate == wanted);
        let (at, figures) = at_wanted.copied().or_else(|| cell.held.zip(cell.at_held))?;
        figures.throttled_share.filter(|share| *share >= THROTTLED).map(|_| at)
    });
    known(throttled, &of.words(), |at| format!("{}, throttled at {}", of.words(), rate(at)))
}

/// The cheapest box for each server under each offer, at the highest rate that it holds there.
pub fn costs(run: &Run, sizes: &Sizes, found: &SizesSummary) -> String {
    let Some(prices) = &sizes.prices else { return String::new() };
    let headers = format!(
        "offer | server | request | cheapest box | held | {} an hour | {} per million requests",
        prices.currency, prices.currency
    );
    let mut table = Table::of(&headers, 4, []);
    for offer in &prices.offers {
        for workload in &run.plan.campaign.workloads {
            for server in &run.plan.servers {
                let priced = sizes.boxes.iter().filter_map(|of| {
                    let held = found.cell(&server.name, of, workload)?.held?;
                    Some((of, held, offer.million(of, held)?))
                });
                let Some((of, held, million)) = priced.min_by(|a, b| a.2.total_cmp(&b.2)) else { continue };
                table.row(vec![
                    offer.name.clone(),
                    server.label().to_owned(),
                    workload.clone(),
                    of.words(),
                    rate(held),
                    dash(offer.hour(of), |hour| format!("{hour:.4}")),
                    format!("{million:.5}"),
                ]);
            }
        }
    }
    let note = "At the highest rate that a box holds, all day: a box that is used less costs more for a request. \
        Prices are those of `bench-scripts/prices.toml` when the run began; the shipped ones are examples and no \
        provider's.";
    if table.is_empty() { String::new() } else { format!("{}\n{note}\n", table.markdown()) }
}

/// Every box, with why it holds no more.
pub fn every_box(run: &Run, sizes: &Sizes, found: &SizesSummary) -> String {
    let headers = "server | box | request | threads | held | not held | p99 there | throttled there | throttled above \
        | closed loop | closed loop's p99 | CPU/request | peak memory | killed | trials | why not more";
    let mut table = Table::of(headers, 3, []);
    for workload in &run.plan.campaign.workloads {
        for server in &run.plan.servers {
            for of in &sizes.boxes {
                let Some(cell) = found.cell(&server.name, of, workload) else { continue };
                let at =
                    |figures: Option<Figures>,
                     figure: fn(Figures) -> Option<f64>,
                     write: fn(f64) -> String| { dash(figures.and_then(figure), write) };
                let peaks = [cell.at_held, cell.at_not_held, cell.closed].into_iter().flatten();
                let peak = peaks.filter_map(|figures| figures.memory_peak_bytes).max_by(f64::total_cmp);
                table.row(vec![
                    server.label().to_owned(),
                    of.words(),
                    workload.clone(),
                    dash(cell.threads, count),
                    dash(cell.held, rate),
                    dash(cell.not_held, rate),
                    at(cell.at_held, |it| Some(it.p99_us), time_us),
                    at(cell.at_held, |it| it.throttled_share, percent),
                    at(cell.at_not_held, |it| it.throttled_share, percent),
                    at(cell.closed, |it| Some(it.rate), |value| format!("{}/s", thousands(value))),
                    at(cell.closed, |it| Some(it.p99_us), time_us),
                    at(cell.at_held.or(cell.closed), |it| it.cpu_us_per_request, time_us),
                    dash(peak, bytes),
                    count(cell.out_of_memory as u64),
                    count(cell.trials as u64),
                    words(cell.verdict) + &complaints(cell),
                ]);
            }
        }
    }
    let note = format!(
        "*There* is at the highest rate that is held, *above* at the lowest that is not. The closed loop has {}. \
         Threads are those that the server said it had. Peak memory is that of the group, caches of files included. \
         *Killed* counts trials in which the kernel killed the server for want of memory.",
        counted(sizes.closed_connections.into(), "connection")
    );
    if table.is_empty() { String::new() } else { format!("{}\n{note}\n", table.markdown()) }
}

fn complaints(cell: &SizedCell) -> String {
    if cell.complaints.is_empty() || matches!(cell.verdict, BoxVerdict::OutOfMemory { .. }) {
        return String::new();
    }
    let kinds = cell.complaints.iter().map(|(kind, times)| format!("{times} times {kind}"));
    format!("; {}", list(kinds)).replace('\n', " ")
}

/// Every box at the rates that all of them get.
pub fn at_same_rates(run: &Run, sizes: &Sizes, found: &SizesSummary) -> String {
    let mut table =
        Table::of("request | box | server | rate | p99 | throttled | waited for its quota | cores", 3, []);
    for workload in &run.plan.campaign.workloads {
        for of in &sizes.boxes {
            for server in &run.plan.servers {
                let Some(cell) = found.cell(&server.name, of, workload) else { continue };
                for (wanted, it) in &cell.always {
                    table.row(vec![
                        workload.clone(),
                        of.words(),
                        server.label().to_owned(),
                        rate(*wanted),
                        time_us(it.p99_us),
                        dash(it.throttled_share, percent),
                        dash(it.throttled_s_per_s, |share| format!("{} s/s", significant(share))),
                        dash(it.server_cores, significant),
                    ]);
                }
            }
        }
    }
    if table.is_empty() { String::new() } else { table.markdown() }
}

/// Each box in which a server chose its threads next to the same box with the campaign's.
pub fn own_threads(run: &Run, sizes: &Sizes, found: &SizesSummary) -> String {
    let mut table = Table::of(
        "server | box | request | its own threads | held | closed loop | equal threads | held | closed loop",
        3,
        [],
    );
    for workload in &run.plan.campaign.workloads {
        for of in sizes.boxes.iter().filter(|of| of.default_threads) {
            for server in &run.plan.servers {
                let equal = SizedBox { default_threads: false, ..*of };
                let cells =
                    found.cell(&server.name, of, workload).zip(found.cell(&server.name, &equal, workload));
                let Some((own, equal)) = cells else { continue };
                let figures = |cell: &SizedCell| {
                    [
                        dash(cell.threads, count),
                        dash(cell.held, rate),
                        dash(cell.closed, |it| format!("{}/s", thousands(it.rate))),
                    ]
                };
                let names = [server.label().to_owned(), equal.of.words(), workload.clone()];
                table.row(names.into_iter().chain(figures(own)).chain(figures(equal)).collect());
            }
        }
    }
    let note = "Rust's standard library rounds a quota down when it says how many threads can run at once, to 1 at \
        least: a server that starts a thread for each leaves half a processor of 1.5 unused where one thread is busy. \
        Others round up (`num_cpus`).";
    if table.is_empty() { String::new() } else { format!("{}\n{note}\n", table.markdown()) }
}

/// Each set of processors next to a quota of as many, with the same memory.
pub fn against_sets(run: &Run, sizes: &Sizes, found: &SizesSummary) -> String {
    let mut table = Table::of(
        "server | request | quota | held | p99 at that | closed loop's p99 | set | held | p99 at that | closed loop's \
         p99",
        3,
        [],
    );
    for workload in &run.plan.campaign.workloads {
        for set in sizes.boxes.iter().filter(|of| of.cpuset.is_some() && of.cpu_quota.is_none()) {
            let is_same = |of: &&SizedBox| {
                of.cpuset.is_none()
                    && of.size().cpus() == set.size().cpus()
                    && (of.memory_max, of.default_threads) == (set.memory_max, set.default_threads)
            };
            let Some(quota) = sizes.boxes.iter().find(is_same) else { continue };
            for server in &run.plan.servers {
                let cells =
                    found.cell(&server.name, quota, workload).zip(found.cell(&server.name, set, workload));
                let Some((quota, set)) = cells else { continue };
                let figures = |cell: &SizedCell| {
                    [
                        cell.of.words(),
                        dash(cell.held, rate),
                        dash(cell.at_held, |it| time_us(it.p99_us)),
                        dash(cell.closed, |it| time_us(it.p99_us)),
                    ]
                };
                let names = [server.label().to_owned(), workload.clone()];
                table.row(names.into_iter().chain(figures(quota)).chain(figures(set)).collect());
            }
        }
    }
    if table.is_empty() { String::new() } else { table.markdown() }
}
