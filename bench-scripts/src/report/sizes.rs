//! Servers in boxes: the headline's sentences, and a section with the heat map, the smallest boxes, what a million requests cost, and every
//! box with the reason why it holds no more.

use super::Run;
use super::charts::{Chart, Heat, Picture, Tile, heat_chart};
use super::format::{Table, bullets, bytes, count, dash, list, percent, significant, thousands, time_us};
use crate::analysis::sizes::{FULL, Figures, SizedCell, SizesSummary, THROTTLED, Verdict};
use crate::config::{SizedBox, Sizes};

/// The boxes of a run's campaign and what was found; `None` where it has none, or they have not begun.
fn of(run: &Run) -> Option<(&Sizes, &SizesSummary)> {
    run.plan.campaign.sizes.as_ref().zip(run.summary.sizes.as_ref())
}

/// Whether the campaign has boxes and their trials have not begun.
pub fn not_begun(run: &Run) -> usize {
    usize::from(run.plan.campaign.sizes.is_some() && run.summary.sizes.is_none())
}

impl SizesSummary {
    fn cell(&self, server: &str, of: &SizedBox, workload: &str) -> Option<&SizedCell> {
        self.cells.iter().find(|cell| cell.server == server && cell.of == *of && cell.workload == workload)
    }
}

fn rate(rate: u32) -> String {
    format!("{}/s", thousands(rate.into()))
}

/// Why a box holds no more, in words; a throttled server is not called slow.
fn words(verdict: Verdict) -> String {
    let share = |share| percent(share);
    match verdict {
        Verdict::HoldsAll => "holds the highest rate tried".to_owned(),
        Verdict::OutOfMemory { kills } => {
            format!("**out of memory**: killed in {} of its windows", count(kills as u64))
        }
        Verdict::Throttled { share: of } => {
            format!("**throttled**, not slow: its quota was used up in {} of the periods", share(of))
        }
        Verdict::SetFull { share: of } => format!("**its processors were full** ({})", share(of)),
        Verdict::MachineFull { share: of } => {
            format!("the machine was full ({}), which it shares with the load tool", share(of))
        }
        Verdict::ToolLimited => "the load tool sent no more".to_owned(),
        Verdict::Slow => "**slow**: it missed the level with processors free, and unthrottled".to_owned(),
        Verdict::Open => "not ended".to_owned(),
    }
}

/// The same in a word, for a heat map.
const fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::HoldsAll => "held all",
        Verdict::OutOfMemory { .. } => "memory",
        Verdict::Throttled { .. } => "throttled",
        Verdict::SetFull { .. } => "CPU full",
        Verdict::MachineFull { .. } => "machine full",
        Verdict::ToolLimited => "tool",
        Verdict::Slow => "slow",
        Verdict::Open => "open",
    }
}

/// The smallest box in which a server holds a rate, with the campaign's threads.
fn smallest<'a>(
    sizes: &'a Sizes,
    found: &SizesSummary,
    server: &str,
    workload: &str,
    rate: u32,
) -> Option<&'a SizedBox> {
    let holds = |of: &&SizedBox| {
        let cell = found.cell(server, of, workload);
        !of.default_threads && cell.is_some_and(|cell| cell.held >= Some(rate))
    };
    sizes.boxes.iter().filter(holds).min_by_key(|of| of.order())
}

/// A line for each server and request, and one on what ended rates.
pub fn headline(run: &Run) -> String {
    let Some((sizes, found)) = of(run) else { return String::new() };
    let mut lines = Vec::new();
    for workload in &run.plan.campaign.workloads {
        for server in &run.plan.servers {
            let boxes = sizes.to_hold.iter().map(|wanted| {
                let smallest = smallest(sizes, found, &server.name, workload, *wanted);
                let of = smallest.map_or_else(|| "none of these boxes".to_owned(), SizedBox::words);
                format!("{} in {of}", rate(*wanted))
            });
            lines.push(format!(
                "**{}**, {workload}: the smallest box holds {}.",
                server.label(),
                list(boxes)
            ));
        }
    }
    let of_kind = |is: fn(&Verdict) -> bool| found.cells.iter().filter(|cell| is(&cell.verdict)).count();
    lines.push(format!(
        "Why boxes hold no more, of {}: throttled in {}, out of memory in {}, processors of their set full in {}, the machine full or the load \
         tool at its limit in {}, slow by themselves in {}.",
        found.cells.len(),
        of_kind(|verdict| matches!(verdict, Verdict::Throttled { .. })),
        of_kind(|verdict| matches!(verdict, Verdict::OutOfMemory { .. })),
        of_kind(|verdict| matches!(verdict, Verdict::SetFull { .. })),
        of_kind(|verdict| matches!(verdict, Verdict::MachineFull { .. } | Verdict::ToolLimited)),
        of_kind(|verdict| matches!(verdict, Verdict::Slow)),
    ));
    lines.push(format!("The service level: {}.", level(sizes)));
    bullets(lines)
}

fn level(sizes: &Sizes) -> String {
    format!("no failure, p99 below {} ms, at most {} short of the rate", sizes.p99_ms, sizes.shortfall)
}

/// The section; empty for a campaign without boxes.
pub fn section(run: &Run) -> String {
    let Some((sizes, found)) = of(run) else { return String::new() };
    let pictures: Vec<String> = pictures(run).iter().map(Picture::markdown).collect();
    let mut parts = vec![
        format!("## Sizes\n\n{}\n", explanation(run, sizes)),
        pictures.join("\n"),
        under("The smallest box that holds a rate", smallest_boxes(run, sizes, found)),
        under("What a million requests cost", costs(run, sizes, found)),
        under("Every box", every_box(run, sizes, found)),
        under("At the same rates", at_same_rates(run, sizes, found)),
        under("The server's own number of threads", own_threads(run, sizes, found)),
        under("A quota against a set of processors", against_sets(run, sizes, found)),
    ];
    if !found.failed.is_empty() {
        parts.push(format!("### Trials without a figure\n\n{}", bullets(found.failed.iter().cloned())));
    }
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}

/// A table with its notes under a heading; nothing where it is empty.
fn under(heading: &str, text: String) -> String {
    if text.is_empty() { text } else { format!("### {heading}\n\n{text}") }
}

fn explanation(run: &Run, sizes: &Sizes) -> String {
    format!(
        "Each server runs in boxes of limited processors and memory (cgroups); the load tool is outside, on the same {} cores. {} sends at a steady \
         rate over at most {} connections, whether or not the server keeps up. A rate is *held* that met the level in one of two windows of {}: {}. \
         Latency counts from when a request was meant to be sent. A quota is given out every 100 ms: a server that has used it up waits for the next \
         period. It is *throttled* where that happened in {} of the periods or more, and then no slower than its box; *slow* is only what misses the \
         level unthrottled, with memory, and with less than {} of the processors used.",
        run.conditions.host.cores,
        run.plan.campaign.tool.name(),
        thousands(sizes.connections.into()),
        time_us(run.plan.campaign.window_ms as f64 * 1e3),
        level(sizes),
        percent(THROTTLED),
        percent(FULL),
    )
}

fn smallest_boxes(run: &Run, sizes: &Sizes, found: &SizesSummary) -> String {
    let servers: Vec<&str> = run.plan.servers.iter().map(|server| server.label()).collect();
    let mut table = Table::of(&format!("request | rate | {}", servers.join(" | ")), 6, []);
    for workload in &run.plan.campaign.workloads {
        for wanted in &sizes.to_hold {
            let boxes =
                run.plan.servers.iter().map(|server| {
                    dash(smallest(sizes, found, &server.name, workload, *wanted), SizedBox::words)
                });
            table.row([workload.clone(), rate(*wanted)].into_iter().chain(boxes).collect());
        }
    }
    let note = "Boxes are ordered by processors, then by memory. A dash: none of the measured boxes.";
    if table.is_empty() { String::new() } else { format!("{}\n{note}\n", table.markdown()) }
}

/// The cheapest box for each server under each offer, at the highest rate that it holds there.
fn costs(run: &Run, sizes: &Sizes, found: &SizesSummary) -> String {
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
    let note = "At the highest rate that a box holds, all day: a box that is used less costs more for a request. Prices are those of \
                `bench-scripts/prices.toml` when the run began; the shipped ones are examples and no provider's.";
    if table.is_empty() { String::new() } else { format!("{}\n{note}\n", table.markdown()) }
}

fn every_box(run: &Run, sizes: &Sizes, found: &SizesSummary) -> String {
    let headers = "server | box | request | threads | held | not held | p99 there | throttled there | throttled above | closed loop | \
                   closed loop's p99 | CPU/request | peak memory | killed | trials | why not more";
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
        "*There* is at the highest rate that is held, *above* at the lowest that is not. The closed loop has {} connections. Threads are those that the \
         server said it had. Peak memory is that of the group, caches of files included. *Killed* counts trials in which the kernel killed the server \
         for want of memory.",
        thousands(sizes.closed_connections.into())
    );
    if table.is_empty() { String::new() } else { format!("{}\n{note}\n", table.markdown()) }
}

fn complaints(cell: &SizedCell) -> String {
    if cell.complaints.is_empty() || matches!(cell.verdict, Verdict::OutOfMemory { .. }) {
        return String::new();
    }
    let kinds = cell.complaints.iter().map(|(kind, times)| format!("{times} times {kind}"));
    format!("; {}", list(kinds)).replace('\n', " ")
}

fn at_same_rates(run: &Run, sizes: &Sizes, found: &SizesSummary) -> String {
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
fn own_threads(run: &Run, sizes: &Sizes, found: &SizesSummary) -> String {
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
    let note = "Rust's standard library rounds a quota down when it says how many threads can run at once, to 1 at least: a server that starts \
                a thread for each leaves half a processor of 1.5 unused where one thread is busy. Others round up (`num_cpus`).";
    if table.is_empty() { String::new() } else { format!("{}\n{note}\n", table.markdown()) }
}

/// Each set of processors next to a quota of as many, with the same memory.
fn against_sets(run: &Run, sizes: &Sizes, found: &SizesSummary) -> String {
    let mut table = Table::of(
        "server | request | quota | held | p99 at that | closed loop's p99 | set | held | p99 at that | closed loop's p99",
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

/// A heat map for each request.
pub fn pictures(run: &Run) -> Vec<Picture> {
    let Some((sizes, found)) = of(run) else { return Vec::new() };
    let picture = |workload: &String| Picture {
        file: format!("sizes-{workload}.svg"),
        alt: format!("{workload}: the highest rate under the service level, server by server and box by box"),
        note: "Requests a second, and in a word why not more; the stronger the colour, the higher the rate."
            .to_owned(),
        chart: heat(run, sizes, found, workload),
    };
    run.plan.campaign.workloads.iter().map(picture).collect()
}

fn heat(run: &Run, sizes: &Sizes, found: &SizesSummary, workload: &str) -> Chart {
    let most = f64::from(sizes.rates.last().copied().unwrap_or(1));
    let least = f64::from(sizes.rates.first().copied().unwrap_or(1)) / 2.0;
    let tile = |cell: Option<&SizedCell>| {
        let Some(cell) = cell else { return Tile { share: 0.0, text: "-".to_owned() } };
        let held = cell.held.map_or(0.0, f64::from);
        // By powers, as the rates rise.
        let share = if held > 0.0 { (held / least).ln() / (most / least).ln() } else { 0.0 };
        let shown = cell.held.map_or_else(|| "none".to_owned(), |held| thousands(held.into()));
        Tile { share, text: format!("{shown}, {}", word(cell.verdict)) }
    };
    let columns = run.plan.servers.iter().map(|server| {
        let tiles = sizes.boxes.iter().map(|of| tile(found.cell(&server.name, of, workload)));
        (server.label().to_owned(), tiles.collect())
    });
    heat_chart(
        format!("{workload}: the highest rate with p99 below {} ms, requests/s", sizes.p99_ms),
        Heat { names: sizes.boxes.iter().map(SizedBox::words).collect(), columns: columns.collect() },
    )
}
