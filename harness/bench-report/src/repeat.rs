//! How a run's loads are made again by hand.

use minijinja::{Value, context};

use super::format::{at, distinct, time_ms};
use super::{Run, commands};
use bench_analysis::grouped;
use bench_model::config::{Background, Server};
use bench_model::load::Level;
use bench_model::workload::Workload;

/// A load's heading, and its command.
type Command = (String, String);

pub(super) fn values(run: &Run) -> Value {
    let campaign = &run.plan.campaign;
    let loads: Vec<Command> = match run.has_sweep() && campaign.stages.is_none() {
        true => loads(run).into_iter().chain(background(run)).collect(),
        false => searched(run),
    };
    let is_open = campaign.open.is_some();
    context! { command => &*run.conditions.command, servers => servers(run), loads, is_open }
}

fn loads(run: &Run) -> Vec<Command> {
    let alone = run.plan.levels().into_iter().map(|level| Level { disturbed: false, ..level });
    let mut loads = Vec::new();
    for workload in run.measured_workloads() {
        for level in distinct(alone.clone()) {
            for (of, server) in commands::loaded_alike(run) {
                let by = level.rate.map_or_else(String::new, |_| format!(" by {}", level.tool.name()));
                let what = format!("{}{by}{of}", at(&workload.name, level));
                loads.push((what, command(run, server, workload, level, campaign_ms(run))));
            }
        }
    }
    loads
}

const fn campaign_ms(run: &Run) -> u64 {
    run.plan.campaign.window_ms
}

fn command(run: &Run, server: Option<&Server>, workload: &Workload, level: Level, ms: u64) -> String {
    let mix = || format!("# a mix, drawn as it is sent: {}", workload.words());
    match level.rate {
        Some(_) => commands::open_load(run, server, workload, level, ms).unwrap_or_else(mix),
        None => commands::load(run, server, workload, level.connections),
    }
}

/// The highest load that each server of a search held.
fn searched(run: &Run) -> Vec<Command> {
    let searches =
        run.summary.search.iter().flat_map(|all| all.searches.iter().map(move |search| (all, search)));
    let held = searches.filter_map(|(all, search)| {
        let (searched, level) = (&search.searched, all.search.level(search.found.holds?.at));
        let workload = run.measured_workloads().find(|workload| workload.name == searched.workload)?;
        let what = format!("{}, held by {}", at(&searched.workload, level), searched.server);
        Some((what, command(run, None, workload, level, all.window_ms)))
    });
    held.collect()
}

/// The load that other requests run next to.
fn background(run: &Run) -> Option<Command> {
    let other = run.plan.campaign.background()?;
    let workload = run.plan.workloads.iter().find(|workload| workload.name == other.workload)?;
    let duration_ms = other.for_ms.unwrap_or(campaign_ms(run) - other.from_ms);
    let Background { connections, rate, tool, .. } = *other;
    let level = Level { connections, rate, tool, ..Level::default() };
    let (from, length) = (time_ms(other.from_ms), time_ms(duration_ms));
    let what = format!("in the background, from {from} of the window for {length}: {}", workload.name);
    Some((what, command(run, None, workload, level, duration_ms)))
}

/// One command for each server; one for each workload where the command holds the request.
pub(super) fn servers(run: &Run) -> String {
    let of_server = |server: &Server| {
        let commands = run
            .plan
            .workloads
            .iter()
            .map(|workload| (commands::server(run, server, workload), &*workload.name));
        let line = |(command, names): (String, Vec<&str>)| {
            format!("# {}, for {}\n{command}\n", server.name, names.join(" and "))
        };
        grouped(commands).into_iter().map(line).collect::<String>()
    };
    run.plan.servers.iter().map(of_server).collect()
}
