//! Servers in boxes: the headline's sentences, and a section with the heat map, the smallest boxes, what a million
//! requests cost, and every box with the reason why it holds no more.

mod tables;

use super::Run;
use super::charts::{Chart, Heat, Picture, Tile, heat_chart};
use super::format::{bullets, count, counted, known, list, percent, sections, thousands, time_ms};
use bench_analysis::sizes::{BoxVerdict, FULL, SizedCell, SizesSummary, THROTTLED};
use bench_model::config::{SizedBox, Sizes};

/// The boxes of a run's campaign and what was found; `None` where it has none, or they have not begun.
fn of(run: &Run) -> Option<(&Sizes, &SizesSummary)> {
    run.plan.campaign.sizes.as_ref().zip(run.summary.sizes.as_ref())
}

/// Whether the campaign has boxes and their trials have not begun.
pub fn not_begun(run: &Run) -> usize {
    usize::from(run.plan.campaign.sizes.is_some() && run.summary.sizes.is_none())
}

fn rate(rate: u32) -> String {
    format!("{}/s", thousands(rate.into()))
}

/// Why a box holds no more: in a word for a heat map, and in words; a throttled server is not called slow.
fn words(verdict: BoxVerdict) -> (&'static str, String) {
    let (word, words) = match verdict {
        BoxVerdict::HoldsAll => ("held all", "holds the highest rate tried"),
        BoxVerdict::OutOfMemory { kills } => {
            let kills = count(kills as u64);
            return ("memory", format!("**out of memory**: killed in {kills} of its windows"));
        }
        BoxVerdict::Throttled { share } => {
            let share = percent(share);
            let words = format!("**throttled**, not slow: its quota was used up in {share} of the periods");
            return ("throttled", words);
        }
        BoxVerdict::SetFull { share } => {
            return ("CPU full", format!("**its processors were full** ({})", percent(share)));
        }
        BoxVerdict::MachineFull { share } => {
            let of = "which it shares with the load tool and other processes";
            return ("machine full", format!("the machine was full ({}), {of}", percent(share)));
        }
        BoxVerdict::ToolLimited => ("tool", "the load tool sent no more"),
        BoxVerdict::NotMeasured => {
            ("no figure", "**not measured**: no window gave a figure; see the trials without one")
        }
        BoxVerdict::Slow => ("slow", "**slow**: it missed the level with processors free, and unthrottled"),
        BoxVerdict::Open => ("open", "not ended"),
    };
    (word, words.to_owned())
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
                let of = known(smallest, "none of these boxes", SizedBox::words);
                format!("{} in {of}", rate(*wanted))
            });
            let boxes = list(boxes);
            lines.push(format!("**{}**, {workload}: the smallest box holds {boxes}.", server.label()));
        }
    }
    let of_kind = |is: fn(&BoxVerdict) -> bool| found.cells.iter().filter(|cell| is(&cell.verdict)).count();
    lines.push(format!(
        "Why boxes hold no more, of {}: throttled in {}, out of memory in {}, processors of their set full in {}, the \
         machine full or the load tool at its limit in {}, slow by themselves in {}{}.",
        found.cells.len(),
        of_kind(|verdict| matches!(verdict, BoxVerdict::Throttled { .. })),
        of_kind(|verdict| matches!(verdict, BoxVerdict::OutOfMemory { .. })),
        of_kind(|verdict| matches!(verdict, BoxVerdict::SetFull { .. })),
        of_kind(|verdict| matches!(verdict, BoxVerdict::MachineFull { .. } | BoxVerdict::ToolLimited)),
        of_kind(|verdict| matches!(verdict, BoxVerdict::Slow)),
        match of_kind(|verdict| matches!(verdict, BoxVerdict::NotMeasured)) {
            0 => String::new(),
            boxes => format!(", **not measured in {boxes}**"),
        },
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
    let failed = match found.failed.as_slice() {
        [] => String::new(),
        failed => format!("### Trials without a figure\n\n{}", bullets(failed.iter().cloned())),
    };
    sections([
        format!("## Sizes\n\n{}\n", explanation(run, sizes)),
        pictures.join("\n"),
        tables::smallest_boxes(run, sizes, found),
        tables::costs(run, sizes, found),
        tables::every_box(run, sizes, found),
        tables::at_same_rates(run, sizes, found),
        tables::own_threads(run, sizes, found),
        tables::against_sets(run, sizes, found),
        failed,
    ])
}

fn explanation(run: &Run, sizes: &Sizes) -> String {
    format!(
        "Each server runs in boxes of limited processors and memory (cgroups); the load tool is outside, on the same \
         {} cores. {} sends at a steady rate over at most {}, whether or not the server keeps up. A rate is *held* \
         that met the level in {} windows of {}: {}. Latency counts from when a request was meant to be sent. A quota \
         is given out every 100 ms: a server that has used it up waits for the next period. It is *throttled* where \
         that happened in {} of the periods or more, and then no slower than its box; *slow* is only what misses the \
         level unthrottled, with memory, and with less than {} of the processors used.",
        run.conditions.host.cores,
        run.plan.campaign.tool.name(),
        counted(sizes.connections.into(), "connection"),
        if sizes.windows_to_hold == 1 { "one of two" } else { "two of at most three" },
        time_ms(run.plan.campaign.window_ms),
        level(sizes),
        percent(THROTTLED),
        percent(FULL),
    )
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
        let shown = known(cell.held, "none", |held| thousands(held.into()));
        Tile { share, text: format!("{shown}, {}", words(cell.verdict).0) }
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
