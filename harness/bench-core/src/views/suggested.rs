//! Views of a campaign that states none.

use std::collections::BTreeSet;

use super::super::cell::Cell;
use super::located::{Located, varied};
use crate::config::{Along, Fit, View};
use crate::figure::Figure;
use crate::plan::Plan;

/// The views of all cells: what each is called, and its figures.
const ALL_CELLS: [(&str, &[Figure]); 3] = [
    (
        "Rate",
        &[
            Figure::RequestsPerSecond,
            Figure::AchievedRate,
            Figure::AnswerBytes,
            Figure::EstablishedConnections,
            Figure::ActiveConnections,
            Figure::Stalls,
            Figure::RoundTripUs,
        ],
    ),
    (
        "Latency",
        &[
            Figure::P99Us,
            Figure::P50Us,
            Figure::P999Us,
            Figure::MaxUs,
            Figure::P99FromSendUs,
            Figure::SendLagP99Us,
        ],
    ),
    (
        "CPU and memory",
        &[
            Figure::CpuUsPerRequest,
            Figure::SystemShare,
            Figure::ServerCores,
            Figure::ClientCores,
            Figure::PeakMemoryBytes,
            Figure::ConnectionMemoryBytes,
            Figure::FirstHalfCpuRatio,
            Figure::SegmentsSentAgain,
            Figure::BusiestHost,
            Figure::LatestHostUs,
        ],
    ),
];

/// The fewest rates that make a curve by itself.
const LEAST_RATES: usize = 4;

/// The views that a campaign's kind or its axes suggest; none where it has neither axes nor networks.
pub(super) fn suggested(plan: &Plan, all: &[Located<'_>]) -> Vec<View> {
    let campaign = &plan.campaign;
    match campaign.axes.is_empty() && !campaign.has_network() {
        _ if campaign.hold => of_held(),
        _ if campaign.stages.is_some() => of_users(plan),
        _ if has_rates(plan) => by_rate(),
        true => Vec::new(),
        false => along_the_longest(all),
    }
}

/// Views of all cells, at their highest load: rate, latency, and what was used. Each has the figures that some
/// cell has.
pub(super) fn of_all_cells(plan: &Plan, cells: &[Cell]) -> Vec<View> {
    let has = |figure: &Figure| cells.iter().any(|cell| cell.figure(*figure).is_some());
    let load = Along::Load.name();
    let view = |(title, figures): (&str, &[Figure])| {
        let figures: Vec<Figure> = figures.iter().copied().filter(has).collect();
        (!figures.is_empty()).then(|| View::of(title, &figures, &load))
    };
    let mut views: Vec<View> = ALL_CELLS.into_iter().filter_map(view).collect();
    // CPU time of a server that another load disturbs is for both loads.
    if let Some(used) = views.last_mut().filter(|_| plan.campaign.background().is_some()) {
        used.only = [(Along::Background.name(), false.into())].into();
    }
    views
}

/// Whether an open loop's rates make a curve: there are several, sent by one load tool, and nothing else disturbs the
/// servers or is a part of what they use.
fn has_rates(plan: &Plan) -> bool {
    let Some(open) = &plan.campaign.open else { return false };
    let rates: BTreeSet<u32> = plan.levels().iter().filter_map(|level| level.rate).collect();
    let has_gateway = plan.servers.iter().any(|server| server.upstream.is_some());
    let is_disturbed = open.background.is_some() || open.stall.is_some();
    let has_one_tool = rates.len() == plan.levels().len();
    plan.campaign.axes.is_empty()
        && rates.len() >= LEAST_RATES
        && has_one_tool
        && !is_disturbed
        && !has_gateway
}

/// Views of a campaign that states none: its rate, its CPU time and its latency along the axis of numbers with the most
/// values.
fn along_the_longest(all: &[Located<'_>]) -> Vec<View> {
    let varied = varied(all);
    let values = |axis: &&Along| {
        let numbers = all.iter().filter_map(|one| one.places.get(axis)?.number);
        numbers.map(f64::to_bits).collect::<BTreeSet<_>>().len()
    };
    let (server, load) = (Along::Server, Along::Load);
    let longest =
        varied.iter().filter(|axis| **axis != server && **axis != Along::Workload).max_by_key(values);
    let x = longest.unwrap_or(&load);
    let name = x.name();
    let view =
        |title: &str, figure| View::of(&format!("{title} by {}", name.replace('_', " ")), &[figure], &name);
    vec![
        view("Rate", Figure::RequestsPerSecond),
        view("CPU time", Figure::CpuUsPerRequest),
        view("Latency", Figure::P99Us),
    ]
}

/// Views of an open loop with several rates.
fn by_rate() -> Vec<View> {
    let all = [
        Figure::CpuUsPerRequest,
        Figure::ServerCores,
        Figure::HeldMemoryBytes,
        Figure::RequestsPerSecond,
        Figure::P50Us,
        Figure::P99Us,
    ];
    let rate = Along::Load.name();
    vec![
        View::of("CPU time for a request, by rate", &all, &rate),
        View::of("Processors, by rate", &[Figure::ServerCores], &rate),
        View::of("Memory, by rate", &[Figure::HeldMemoryBytes], &rate),
    ]
}

/// Views of connections that are held and carry nothing.
fn of_held() -> Vec<View> {
    let connections = Along::Load.name();
    let connecting =
        [Figure::ConnectP99Us, Figure::ConnectP50Us, Figure::ConnectAllUs, Figure::CpuUsPerConnection];
    vec![
        View {
            fit: Some(Fit::Line),
            ..View::of("Memory of connections that carry nothing", &[Figure::HeldMemoryBytes], &connections)
        },
        View::of("Connecting all at once", &connecting, &connections),
    ]
}

/// Views of users in stages: what they saw and used, and what one transport changes.
fn of_users(plan: &Plan) -> Vec<View> {
    let has_gateway = plan.servers.iter().any(|server| server.upstream.is_some());
    let behind = [Figure::UpstreamCpuUsPerRequest, Figure::UpstreamMemoryBytes];
    let mut all = vec![
        Figure::P99Us,
        Figure::P50Us,
        Figure::MaxUs,
        Figure::ConnectP50Us,
        Figure::ConnectP99Us,
        Figure::CpuUsPerRequest,
        Figure::PeakMemoryBytes,
    ];
    all.extend(behind.into_iter().filter(|_| has_gateway));
    all.extend([Figure::BusiestClientCores, Figure::SendLagP99Us, Figure::LeftRequests, Figure::Requests]);
    let compared = [Figure::CpuUsPerRequest, Figure::P99Us];
    let over = [("transport".to_owned(), "http".into())].into();
    vec![
        View::of("Users in stages", &all, "transport"),
        View { over, ..View::of("One transport over the other", &compared, "transport") },
    ]
}
