//! What a report says of servers that ran already, whose CPU time may be unknown and whose answers may be their own.

use super::Run;
use bench_model::config::{Pool, RunningAt, Server};
use bench_model::figure::Figure;
use bench_model::target::Target;
use bench_system::readable_numbers::counted;

/// What limits a rate, and what CPU time is known: a line.
pub fn sharing(run: &Run) -> String {
    let cores = run.conditions.host.cores;
    let pool = run.plan.hosts.as_ref();
    let hosts =
        |pool: &Pool| format!("{} of the pool {}", counted(pool.hosts.into(), "load host"), pool.name);
    let Some((server, at)) = alone(run) else {
        let load = pool.map_or_else(
            || format!("Server and load generator share {cores} cores: a rate is what both reach together."),
            |pool| {
                format!(
                    "The load comes from {}: a rate is what they and the server reach together.",
                    hosts(pool)
                )
            },
        );
        return format!("{load} CPU per request is the server's own.");
    };
    let place = match (pool, Target::is_of_this_machine(&at.url)) {
        (Some(pool), _) => &format!("The load comes from {}.", hosts(pool)),
        (None, true) => {
            &format!("It shares {cores} cores with the load generator: a rate is what both reach together.")
        }
        (None, false) => "The network between it and the load generator is in every figure.",
    };
    let mut cells = run.summary.cells.iter();
    let cpu = if cells.clone().any(|cell| cell.figure(Figure::CpuUsPerRequest).is_some()) {
        "CPU per request is that of the process that listens at its port."
    } else if cells.any(|cell| cell.completed > 0) {
        "Its CPU time, memory and open files are unknown: no process that the harness may inspect listens there."
    } else {
        "Its CPU time is not shown, as no trial is valid."
    };
    let (server, url) = (server.label(), &at.url);
    format!("{server} ran already, at {url}, and was not started afresh for each trial. {place} {cpu}")
}

/// The bound on the load, and whose answers the reference is.
pub fn notes(run: &Run) -> Vec<String> {
    let Some((server, at)) = alone(run) else { return Vec::new() };
    let load = run.plan.most_load();
    let bound = format!(
        "Load on {} was bounded: at most {} at one time and {} s in all.",
        server.label(),
        counted(load.connections.into(), "connection"),
        load.seconds
    );
    let own = (!at.own_answers.is_empty()).then(|| {
        format!(
            "Answers to {} were compared with the server's own answer, given twice before the run, and not with the \
             campaign's ledger, which it does not have.",
            at.own_answers.join(" and ")
        )
    });
    [bound].into_iter().chain(own).collect()
}

/// The server of a run that has one server, which ran already.
pub fn alone(run: &Run) -> Option<(&Server, &RunningAt)> {
    let [server] = run.plan.servers.as_slice() else { return None };
    Some((server, server.running_at()?))
}
