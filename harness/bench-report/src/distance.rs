//! The section on distance: what a network between load tool and server does to a server's rate and latency, next to
//! what arithmetic expects of it.

use super::Run;
use super::charts::{self, Picture};
use super::format::{Table, at, bullets, count, dash, percent, significant, thousands, time_us};
use super::tables::{failed_requests, none};
use bench_analysis::Cell;
use bench_model::config::{Network, Overrides, Server};
use bench_model::figure::Figure;
use bench_model::observation::Carrier;
use bench_model::transport::Transport;

/// The picture's file.
const FILE: &str = "distance.svg";

/// A server and how calls are sent to it, which a campaign measures over several networks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Family {
    /// The server's own name without what the arm adds.
    pub server: String,
    pub transport: Transport,
    /// Requests that share a connection.
    in_flight: u32,
    /// Calls in a request.
    pub batch: u32,
    /// Its other settings where an arm has them, but for what it may use of the machine.
    others: Overrides,
}

impl Family {
    fn of(run: &Run, server: &Server) -> Self {
        let environment = run.plan.environment_of(server);
        let campaign = &run.plan.campaign;
        let entry = campaign.arm(&server.name).and_then(|arm| campaign.base(arm).server.clone());
        Self {
            server: entry.unwrap_or_else(|| server.name.clone()),
            transport: environment.transport(),
            in_flight: environment.in_flight(),
            batch: environment.batch(),
            others: Overrides {
                transport: None,
                in_flight: None,
                batch: None,
                network: None,
                cpu_quota: None,
                cpuset: None,
                memory_max: None,
                ..server.overrides.clone()
            },
        }
    }

    /// What a reader knows it by.
    pub fn label(&self) -> String {
        let mut label = format!("{} over {}", self.server, self.transport.name());
        if self.in_flight > 1 {
            label.push_str(&format!(", {} in flight on a connection", self.in_flight));
        }
        if self.batch > 1 {
            label.push_str(&format!(", batches of {}", self.batch));
        }
        if !self.others.is_empty() {
            label.push_str(&format!(", {}", self.others.words()));
        }
        label
    }
}

/// What a run's rates count.
pub(super) fn calls(run: &Run) -> &'static str {
    if super::batches::of(run) { "calls" } else { "requests" }
}

/// A family's cell over one network; `None` is the loopback interface.
pub(super) struct Placed<'a> {
    pub family: Family,
    pub network: Option<Network>,
    pub cell: &'a Cell,
}

impl Placed<'_> {
    /// A figure's value.
    pub fn value(&self, figure: Figure) -> Option<f64> {
        self.cell.figure(figure).map(|estimate| estimate.value)
    }

    /// Calls per second where each connection has one request on its way all the time and the server takes no time: the
    /// calls of all connections over the round trip. `None` in an open loop and without a network.
    pub fn by_arithmetic(&self) -> Option<f64> {
        let round_trip_us = self.value(Figure::RoundTripUs)?;
        let closed = self.cell.level.rate.is_none();
        let on_their_way = f64::from(self.cell.level.connections) * f64::from(self.family.batch);
        closed.then(|| on_their_way * 1e6 / round_trip_us)
    }
}

/// The cells of a run that compares networks, a family after the other and the nearest network first; empty for any
/// other run. A server that may use less of the machine than the others is left out: what it loses by that is no matter
/// of distance.
pub(super) fn placed(run: &Run) -> Vec<Placed<'_>> {
    if !run.plan.campaign.has_network() {
        return Vec::new();
    }
    let mut families: Vec<Family> = Vec::new();
    for server in &run.plan.servers {
        let family = Family::of(run, server);
        if !families.contains(&family) {
            families.push(family);
        }
    }
    let place = |cell| -> Option<Placed<'_>> {
        let cell: &Cell = cell;
        let server = run.plan.servers.iter().find(|server| server.name == cell.server)?;
        let environment = run.plan.environment_of(server);
        let is_as_large = environment.size() == run.plan.campaign.environment.size();
        is_as_large.then(|| Placed { family: Family::of(run, server), network: environment.network, cell })
    };
    // The ceiling shows what the load tool can send.
    let cells = run.summary.cells.iter().filter(|cell| !run.plan.is_ceiling(&cell.server));
    let mut placed: Vec<Placed<'_>> = cells.filter_map(place).collect();
    placed.sort_by_key(|found| {
        let family = families.iter().position(|family| *family == found.family);
        let workload = run.plan.campaign.workloads.iter().position(|name| *name == found.cell.workload);
        (workload, found.cell.level.amount(), family, found.network.map(u64::from))
    });
    placed
}

/// What arithmetic expects of a closed loop's rate, as a name.
pub(super) fn expected(run: &Run) -> &'static str {
    let several = run.plan.servers.iter().any(|server| Family::of(run, server).batch > 1);
    if several { "calls on their way / round trip" } else { "connections / round trip" }
}

/// The chart; `None` where no network was measured.
pub(super) fn picture(run: &Run) -> Option<Picture> {
    let chart = charts::distance(run)?;
    let is_closed = run.plan.campaign.open.is_none();
    let arithmetic = if is_closed { format!(" A thin line is {}.", expected(run)) } else { String::new() };
    Some(Picture {
        file: FILE.to_owned(),
        alt: "What a distance does to rate and latency".to_owned(),
        note: format!(
            "Each point is a server over a network without losses; its place is the round trip that was timed without load.{arithmetic}"
        ),
        chart,
    })
}

/// The answer of a closed loop: what rates are left over the longest network, next to those without one. Empty
/// otherwise.
pub(super) fn headline(run: &Run) -> String {
    let placed = placed(run);
    let farthest =
        placed.iter().filter_map(|placed| placed.network).max_by_key(|network| u64::from(*network));
    let Some(network) = farthest.filter(|_| run.plan.campaign.open.is_none()) else { return String::new() };
    let mut batches: Vec<u32> = placed.iter().map(|placed| placed.family.batch).collect();
    batches.sort_unstable();
    batches.dedup();
    let calls = calls(run);
    let mut lines: Vec<String> = Vec::new();
    for &batch in &batches {
        let rates = |over: Option<Network>, of: fn(&Placed<'_>) -> Option<f64>| {
            let there = placed.iter().filter(|one| one.network == over && one.family.batch == batch);
            range(&there.filter_map(of).collect::<Vec<f64>>())
        };
        let measured = |over| rates(over, |placed| placed.value(Figure::RequestsPerSecond));
        let each = match batch {
            1 if batches.len() == 1 => String::new(),
            1 => " with one call in a request".to_owned(),
            _ => format!(" with batches of {batch}"),
        };
        lines.push(format!(
            "Over {}{each}, all servers and transports give {} {calls}/s, and {} on this machine's loopback interface: the round trip allows {}, \
             whatever the server.",
            network.words(),
            measured(Some(network)),
            measured(None),
            rates(Some(network), |placed| placed.by_arithmetic())
        ));
    }
    if batches == [1] {
        lines.push(
            "A client that is far away needs more connections, more requests on each, or batches.".to_owned(),
        );
    }
    bullets(lines)
}

/// From the least to the most of some rates.
fn range(rates: &[f64]) -> String {
    let [least, most] = [f64::min, f64::max]
        .map(|of| rates.iter().copied().reduce(of).map_or_else(|| "no rate".to_owned(), thousands));
    if least == most { least } else { format!("{least} to {most}") }
}

/// The whole section; empty where the run makes no network.
pub(super) fn section(run: &Run) -> String {
    let placed = placed(run);
    if placed.is_empty() {
        return String::new();
    }
    let table = if run.plan.campaign.open.is_some() { open_loop(&placed) } else { closed_loop(run, &placed) };
    let picture = picture(run).map_or_else(String::new, |picture| picture.markdown());
    format!("## Distance\n\n{picture}\n{}\n{}", table.markdown(), bullets(notes(run, &placed)))
}

fn network(placed: &Placed<'_>) -> String {
    placed.network.map_or_else(|| "loopback".to_owned(), Network::words)
}

/// The same family, request and load over the nearest network.
fn nearest<'a>(all: &'a [Placed<'_>], of: &Placed<'_>) -> Option<&'a Placed<'a>> {
    let same = |other: &&Placed<'_>| {
        other.network.is_some()
            && other.family == of.family
            && other.cell.workload == of.cell.workload
            && other.cell.level == of.cell.level
    };
    // They are sorted by distance.
    all.iter().find(same)
}

fn closed_loop(run: &Run, all: &[Placed<'_>]) -> Table {
    let row = |placed: &Placed<'_>| {
        let rate = placed.value(Figure::RequestsPerSecond);
        let most_near = nearest(all, placed).and_then(|near| near.value(Figure::RequestsPerSecond));
        let bound = placed.by_arithmetic().zip(most_near).map(|(far, near)| far.min(near));
        let mut row = vec![
            placed.family.label(),
            at(&placed.cell.workload, placed.cell.level),
            network(placed),
            dash(placed.value(Figure::RoundTripUs), time_us),
            rate.map_or_else(|| none(placed.cell), thousands),
            dash(placed.by_arithmetic(), thousands),
            dash(rate.zip(bound), |(rate, bound)| percent(rate / bound)),
        ];
        row.extend([Figure::P50Us, Figure::P99Us].map(|figure| dash(placed.value(figure), time_us)));
        row.extend(costs(placed));
        row
    };
    let (calls, possible) = (calls(run), expected(run));
    let headers = format!(
        "server | request | network | round trip | {calls}/s | {possible} | of what is possible | p50 | p99 | \
         failed requests | segments sent again | cores of the network | packet late, p99 | trials"
    );
    Table::of(&headers, 3, all.iter().map(row))
}

fn open_loop(all: &[Placed<'_>]) -> Table {
    let row = |placed: &Placed<'_>| {
        let round_trip = placed.value(Figure::RoundTripUs);
        let above = |figure: Figure| {
            let above = placed.value(figure).zip(round_trip).map(|(latency, trip)| latency - trip);
            dash(above, |us| if us < 0.0 { format!("-{}", time_us(-us)) } else { time_us(us) })
        };
        let mut row = vec![
            placed.family.label(),
            at(&placed.cell.workload, placed.cell.level),
            network(placed),
            dash(round_trip, time_us),
            dash(placed.value(Figure::P50Us), time_us),
            above(Figure::P50Us),
            dash(placed.value(Figure::P99Us), time_us),
            above(Figure::P99Us),
            dash(placed.value(Figure::P999Us), time_us),
        ];
        row.extend(costs(placed));
        row
    };
    let headers = "server | request | network | round trip | p50 | p50 above it | p99 | p99 above it | p99.9 | failed requests | \
                   segments sent again | cores of the network | packet late, p99 | trials";
    Table::of(headers, 3, all.iter().map(row))
}

/// What both tables end with.
fn costs(placed: &Placed<'_>) -> [String; 5] {
    [
        failed_requests(placed.cell),
        dash(placed.cell.retransmits, count),
        dash(placed.value(Figure::LinkCores), significant),
        dash(placed.value(Figure::PacketLateP99Us), time_us),
        count(placed.cell.completed as u64),
    ]
}

fn notes(run: &Run, placed: &[Placed<'_>]) -> Vec<String> {
    let mut notes = vec![
        "Load tool and server are in network namespaces of their own on this machine. A network delays every packet by its time each way; \
         packets hold 1,500 bytes at most. The round trip was timed before each trial, without load, from a connection request to its refusal \
         by the other side's kernel, so it has what the network costs above twice its delay. An idle \
         machine wakes its threads later than a busy one, so under load a round trip may be a little shorter."
            .to_owned(),
    ];
    if run.plan.campaign.open.is_none() {
        notes.push(
            format!(
                "What is possible is the lower one of two rates: {}, and the same server's rate over the network with \
                 the shortest delay, which has what carrying packets costs.",
                expected(run)
            ),
        );
    }
    if super::batches::of(run) {
        notes.push(
            "CPU and rates count calls in every table and chart of this report: a batch of 100 is 100 calls. Latency and failures are of whole \
             batches."
                .to_owned(),
        );
    }
    let carriers = &run.summary.carriers;
    if carriers.contains(&Carrier::Userspace) {
        notes.push(
            "This machine's kernel has no netem, so threads of the harness carry the packets from one namespace to the other. They use the same \
             cores as server and load tool: \"cores of the network\" is their CPU time over the window's, and \"packet late\" how much later than \
             due a packet was passed on. A rate that needs many packets a second is lower for it than over a real network."
                .to_owned(),
        );
    }
    if carriers.contains(&Carrier::Netem) {
        notes.push("The kernel's netem delays the packets; what it costs is not counted.".to_owned());
    }
    if placed.iter().any(|placed| placed.network.is_some_and(|network| network.loss() > 0.0)) {
        notes.push(
            "A lost segment of a short answer is sent again only when a timer ends, after 200 ms at least, since no later segment shows the \
             loss earlier."
                .to_owned(),
        );
    }
    notes
}
