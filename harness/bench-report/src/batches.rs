//! The section on batches: what a call costs a server when many come in one message, and from which length on that
//! saves no more.

use super::arms::{base, without_batch};
use super::charts::{self, Curve, Picture};
use super::format::{Table, bullets, count, dash, load, ratio, significant, thousands, time_us};
use super::tables::shown;
use super::{Run, arms};
use bench_analysis::{Cell, Comparison, Finding};
use bench_model::config::Server;
use bench_model::figure::Figure;
use bench_model::load::Level;
use bench_model::transport::Transport;

/// The chart's file.
const FILE: &str = "batches.svg";

/// A server over one transport with calls in batches of rising length, on one request and load.
struct Ladder<'a> {
    run: &'a Run,
    server: &'a Server,
    transport: Transport,
    workload: &'a str,
    level: Level,
    /// By rising length.
    rungs: Vec<(u32, &'a Cell)>,
}

/// Every server over every transport that has batches of some length. None of a run over networks: its section on
/// distance has them.
fn ladders(run: &Run) -> Vec<Ladder<'_>> {
    if run.plan.campaign.has_network() {
        return Vec::new();
    }
    let batch = |server: &Server| run.plan.environment_of(server).batch();
    let mut ladders: Vec<Ladder<'_>> = Vec::new();
    for cell in &run.summary.cells {
        let Some(server) = arms::named(run, &cell.server) else { continue };
        let is_same = |ladder: &&mut Ladder<'_>| {
            (ladder.workload, ladder.level) == (&*cell.workload, cell.level)
                && ladder.server.name == base(run, server).name
                && ladder.rungs.iter().any(|(_, other)| {
                    let other = arms::named(run, &other.server);
                    other.is_some_and(|other| without_batch(run, other) == without_batch(run, server))
                })
        };
        match ladders.iter_mut().find(is_same) {
            Some(ladder) => ladder.rungs.push((batch(server), cell)),
            None => ladders.push(Ladder {
                run,
                server: base(run, server),
                transport: run.plan.environment_of(server).transport(),
                workload: &cell.workload,
                level: cell.level,
                rungs: vec![(batch(server), cell)],
            }),
        }
    }
    // Servers that differ in what no environment says, such as a gateway in front, are on one ladder without any batch.
    ladders.retain(|ladder| {
        ladder.rungs.iter().any(|(length, _)| Some(length) != ladder.rungs.first().map(|(first, _)| first))
    });
    ladders.iter_mut().for_each(|ladder| ladder.rungs.sort_by_key(|(batch, _)| *batch));
    ladders
}

impl Ladder<'_> {
    /// CPU for a call in batches of one length over that of another, where the campaign compares the two.
    fn cpu(&self, place: usize, over: usize) -> Option<&Comparison> {
        let name = |place: usize| Some(self.rungs.get(place)?.1.server.as_str());
        self.run.summary.comparison(name(place)?, name(over)?, self.workload, self.level)
    }

    /// From the first length on that the next one saves no distinguishable CPU over: in words.
    fn pays(&self) -> Option<String> {
        let batch = |place: usize| self.rungs.get(place).map_or(0, |(batch, _)| *batch);
        for place in 1..self.rungs.len() {
            let step = self.cpu(place, place - 1)?;
            let (from, to) = (batch(place - 1), batch(place));
            let less = step.cpu.verdict.claims_difference() && step.cpu.ratio.value < 1.0;
            let what = match step.cpu.verdict.claims_difference() {
                _ if less => continue,
                true => "more CPU",
                false if step.cpu.ratio.interval.is_none() => "too few blocks to say what is gained",
                false => "no distinguishable gain",
            };
            return Some(format!("{what} from {from} to {to}, {}", ratio(step.cpu.ratio)));
        }
        Some(format!("each step saves CPU, up to {} calls", count(batch(self.rungs.len() - 1).into())))
    }

    fn rows(&self) -> Vec<Vec<String>> {
        let row = |(place, (batch, cell)): (usize, &(u32, &Cell))| {
            let over = |other: Option<usize>| {
                let pair = other.filter(|other| *other < place).and_then(|other| self.cpu(place, other));
                dash(pair, |pair| judged(&pair.cpu))
            };
            let blocks = self.cpu(place, 0).map_or(cell.completed, |pair| pair.cpu.blocks);
            vec![
                self.server.name.clone(),
                self.transport.name().to_owned(),
                self.workload.to_owned(),
                count((*batch).into()),
                shown(cell, Figure::CpuUsPerRequest, significant),
                over(Some(0)),
                over(place.checked_sub(1)),
                shown(cell, Figure::RequestsPerSecond, thousands),
                shown(cell, Figure::P50Us, time_us),
                count(cell.failed_requests.values().sum()),
                blocks.to_string(),
            ]
        };
        self.rungs.iter().enumerate().map(row).collect()
    }
}

/// A ratio with its interval, bold where it is decided that the two differ.
fn judged(finding: &Finding) -> String {
    let text = ratio(finding.ratio);
    if finding.verdict.claims_difference() { format!("**{text}**") } else { text }
}

/// The whole section; empty where no server gets batches.
pub(super) fn section(run: &Run) -> String {
    let ladders = ladders(run);
    if ladders.is_empty() {
        return String::new();
    }
    let headers = "server | transport | request | calls in a message | CPU µs/call | over single calls | over the length before | calls/s | \
                   p50 of a message | failed messages | blocks";
    let table = Table::of(headers, 3, ladders.iter().flat_map(Ladder::rows));
    let pays = ladders.iter().filter_map(|ladder| {
        Some(format!("**{}**, {}: {}.", ladder.server.name, ladder.transport.name(), ladder.pays()?))
    });
    let each = ladders.first().map_or_else(String::new, |ladder| {
        let unit = if ladder.level.in_flight { "messages in flight" } else { "connections" };
        format!("{} {unit}", load(ladder.level).split(' ').next().unwrap_or_default())
    });
    let picture = chart(run).map_or_else(String::new, |picture| picture.markdown() + "\n");
    format!(
        "## Calls in batches\n\nEach message is a JSON-RPC batch of that many calls, at {each}. CPU and rates count **calls** here and in \
         every other table and chart of this report: a batch of 100 is 100 requests. Latency and failures are of whole messages. In bold: the \
         difference is decided. Where batching stops saving CPU:\n\n{}\n{picture}{}",
        bullets(pays),
        table.markdown()
    )
}

/// CPU for a call against the calls in a message.
pub(super) fn chart(run: &Run) -> Option<Picture> {
    let ladders = ladders(run);
    if ladders.is_empty() {
        return None;
    }
    let curve = |ladder: &Ladder<'_>| {
        let point =
            |(batch, cell): &(u32, &Cell)| Some((f64::from(*batch), cell.figure(Figure::CpuUsPerRequest)?));
        Curve {
            panel: ladder.transport.name().to_owned(),
            server: ladder.server.name.clone(),
            points: ladder.rungs.iter().filter_map(point).collect(),
            fitted: None,
        }
    };
    let curves: Vec<Curve> = ladders.iter().map(curve).collect();
    Some(Picture {
        file: FILE.to_owned(),
        alt: "Server CPU time for a call against the calls in a message, over HTTP and over WebSocket"
            .to_owned(),
        note: String::new(),
        chart: charts::curves(
            run,
            &curves,
            charts::Scales::Log,
            ["calls in a message", "CPU time for a call"],
        )?,
    })
}
