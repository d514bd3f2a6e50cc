//! Whether servers have what a plan's workloads and loads need. A node may have a chain of its own and no metrics, or
//! run already.

use anyhow::{Context, Result, bail, ensure};

use crate::cgroup::{Cgroup, Size};
use crate::probe::host;
use crate::subject::{Process, find_running};
use bench_core::config::parts::{DUETS, PLACEMENT, STALL};
use bench_core::config::{Campaign, RunningAt, Server};
use bench_core::load::{Capability, LoadTool};
use bench_core::plan::Plan;
use bench_core::target::Target;
use bench_core::transport::Transport;
use bench_core::workload::{Expected, Traffic, Workload};

/// Whether a campaign's servers can be measured with its workloads.
///
/// # Errors
/// One line: which server lacks what, and what to do.
pub(super) fn check(campaign: &Campaign, servers: &[Server], workloads: &[Workload]) -> Result<()> {
    for server in servers {
        check_one(server, workloads)?;
        check_transport(campaign, server)?;
        if server.running_at().is_some() {
            check_running(campaign, server)?;
        }
    }
    Ok(())
}

/// Whether this machine and this user can limit servers as a plan says: a group of each size is made once, and removed.
/// `campaign` is the name to give in an error: the plan may be a part of that campaign.
///
/// # Errors
/// One line: which server, which field, and why not.
pub(super) fn check_limits(plan: &Plan, campaign: &str) -> Result<()> {
    let mut made: Vec<Size> = Vec::new();
    for server in plan.servers.iter().flat_map(Server::and_upstream) {
        let size = plan.environment_of(server).size();
        if size.is_empty() || made.contains(&size) {
            continue;
        }
        let place = || format!("campaign {campaign}: server {}", server.name);
        ensure!(
            server.running_at().is_none(),
            "{}: runs already, so that it can't be limited to {}; leave cpu_quota and memory_max out",
            place(),
            size.words()
        );
        Cgroup::create(&size).with_context(place)?;
        made.push(size);
    }
    Ok(())
}

/// Whether a server takes the connections that the campaign makes, and the campaign's load tools can make them.
fn check_transport(campaign: &Campaign, server: &Server) -> Result<()> {
    let environment = campaign.environment.with(&server.overrides);
    let at = server.running_at();
    let running = at.map(|at| server.target_at(&at.url)).transpose()?;
    let is_encrypted = running.as_ref().map_or(server.tls, Target::is_encrypted);
    // The URL of a server that runs already says how it is reached.
    let transport = running.map_or(environment.transport(), |target| target.transport());
    let (in_flight, batch, over) = (environment.in_flight(), environment.batch(), transport.name());
    let keep_alive = environment.keep_alive();
    let is_ipc = transport == Transport::Ipc;
    let has_rates = campaign.open.is_some() || campaign.searched_rate().is_some();
    let place = format!("campaign {}: server {}", campaign.name, server.name);
    let is_uneven = campaign.connections.iter().any(|count| count % in_flight != 0);
    let unknown = format!(
        "servers.toml does not say how it is reached over {over}; give {}, or leave the server out",
        if is_ipc { "--FLAG={ipc} among its args" } else { "ready.line.ws or ws_path" }
    );
    let refused = [
        (at.is_none() && !server.is_reached_over(transport), unknown.as_str()),
        (is_ipc && environment.network.is_some(), "a Unix socket crosses no network; leave network out"),
        (
            is_ipc && !server.headers.is_empty(),
            "a Unix socket has no headers; leave headers or transport out",
        ),
        (campaign.hold && (in_flight, batch) != (1, 1), "hold sends nothing; leave in_flight and batch out"),
        (!keep_alive && campaign.searches_connections(), "[search] keeps connections; leave keep_alive out"),
        (is_uneven, "each count in connections must be a multiple of in_flight; change one of them"),
        (
            in_flight != 1 && !transport.shares_connections(),
            "over HTTP a connection has one request in flight; leave in_flight out, or set transport to websocket",
        ),
        (
            batch != 1 && (has_rates || server.answers_one_request()),
            "batches are sent in closed loops alone, to servers that answer any request; leave batch out",
        ),
    ];
    if let Some((_, why)) = refused.iter().find(|(applies, _)| *applies) {
        bail!("{place}: {why}");
    }
    let asked = [
        (true, Capability::Over(transport)),
        (in_flight != 1, Capability::SeveralInFlight),
        (!keep_alive, Capability::ClosesEach),
        (
            server.headers.are_more_than_a_host() || at.is_some_and(|at| at.url.contains("${")),
            Capability::Headers,
        ),
        (is_encrypted, Capability::Tls),
        (batch != 1, Capability::Batches),
    ];
    let asked = asked.into_iter().filter_map(|(is_wanted, what)| is_wanted.then_some(what));
    let chosen = campaign.open.as_ref().filter(|open| open.tools.is_empty());
    let chosen = chosen.into_iter().flat_map(|_| LoadTool::of_open_loops());
    campaign.all_tools().chain(chosen).try_for_each(|tool| tool.check(asked.clone())).context(place)
}

/// Whether a server is there, and the true answer to each of these workloads is known.
///
/// # Errors
/// One line: which server lacks what, and what to do.
pub fn check_one(server: &Server, workloads: &[Workload]) -> Result<()> {
    workloads.iter().try_for_each(|workload| check_answers(server, workload))?;
    if let Some(at) = server.running_at() {
        check_place(server, at).with_context(|| format!("server {}", server.name))?;
    }
    server.headers.filled().map(drop).with_context(|| format!("server {}", server.name))?;
    let most = host::most_open_files().unwrap_or(u64::MAX);
    for started in server.and_upstream().filter(|server| server.running_at().is_none()) {
        if started.build.is_empty() {
            started.find_program()?;
        }
        let files = started.open_files.unwrap_or(0);
        ensure!(
            files <= most,
            "server {}: field open_files: {files} is more than this user can give to a process, which is {most} \
             (ulimit -Hn, fs.nr_open); give less, or leave it out",
            started.name
        );
    }
    Ok(())
}

/// Whether load may be put on a server that runs already, and it answers.
fn check_place(server: &Server, at: &RunningAt) -> Result<()> {
    let target = server.target_at(&at.url)?;
    target.filled_path()?;
    target.check_allowed(at.i_own_this_target)?;
    find_running(&target).map(drop)
}

/// What a reader should know of a server before it is measured, a line each.
pub fn notes(server: &Server) -> Vec<String> {
    let name = &server.name;
    let mut notes = Vec::new();
    if !server.has_metrics() {
        notes.push(format!(
            "server {name}: has no metrics; CPU per request rests on the load tool's count, and an error inside HTTP \
             200 is seen only in the answers that are checked"
        ));
    }
    if let Some(at) = server.running_at() {
        notes.push(format!(
            "server {name}: runs already; it is not started afresh for each trial, and its threads, tuning and ledger \
             are its own"
        ));
        let found = Target::parse(&at.url).and_then(|target| find_running(&target));
        if matches!(found, Ok((_, Process::Elsewhere))) {
            notes.push(format!(
                "server {name}: no process of this machine that this user may inspect listens there, so its CPU time, \
                 memory and open files are unknown"
            ));
        }
    }
    notes
}

fn check_answers(server: &Server, workload: &Workload) -> Result<()> {
    let of_ledger = |method: String| (!server.holds.answers(&method)).then_some(method);
    let lacking = match &workload.traffic {
        Traffic::One { expected: Expected::Ledger, .. } => of_ledger(workload.method()),
        Traffic::Mix(requests) => {
            let mut unstated = requests.iter().filter(|request| !request.states_answers());
            unstated.find_map(|request| of_ledger(request.method.clone()))
        }
        // It may have any method.
        Traffic::Corpus(corpus) if corpus.expected == Expected::Ledger && !server.holds.is_everything() => {
            Some("each line".to_owned())
        }
        Traffic::One { .. } | Traffic::Corpus(_) => None,
    };
    let Some(method) = lacking else { return Ok(()) };
    bail!(
        "server {}: does not answer {method} (workload {}) as the campaign's ledger does: it has no {method} in its \
         field holds; leave one of them out, or state the answer in a workload of your own (expected = {{ answer = … \
         }})",
        server.name,
        workload.name
    )
}

/// Whether a campaign leaves a server alone that runs already.
fn check_running(campaign: &Campaign, server: &Server) -> Result<()> {
    let place = format!("campaign {}: server {}", campaign.name, server.name);
    ensure!(
        campaign.environment.with(&server.overrides).network.is_none(),
        "{place} runs already, and a network is made for servers that the harness starts; leave network out"
    );
    let own = (!server.overrides.is_empty()).then_some("a setting of [axes]");
    if let Some(what) = campaign.first_of(&[PLACEMENT, DUETS, STALL]).or(own) {
        bail!("{place}: runs already, and {what} would change it; leave one of them out");
    }
    Ok(())
}

#[cfg(test)]
mod tests;
