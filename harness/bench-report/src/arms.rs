//! Which arms of a campaign are the same server, reached or loaded in another way.

use super::Run;
use bench_model::config::Server;
use bench_model::transport::Transport;

/// The first server of a run's plan that is the same program with the same arguments: what its arms have in common.
pub(super) fn base<'a>(run: &'a Run, server: &'a Server) -> &'a Server {
    let is_same = |other: &&Server| (&other.program, &other.args) == (&server.program, &server.args);
    run.plan.servers.iter().find(is_same).unwrap_or(server)
}

/// A server of a run's plan.
pub(super) fn named<'a>(run: &'a Run, name: &str) -> Option<&'a Server> {
    run.plan.servers.iter().find(|server| server.name == name)
}

/// What a reader knows a server by whatever its way: its own name where arms have names of their own.
pub(super) fn name<'a>(run: &'a Run, server: &'a str) -> &'a str {
    named(run, server).map_or(server, |server| &base(run, server).name)
}

/// How a server is reached.
pub(super) fn transport(run: &Run, server: &str) -> Transport {
    named(run, server).map_or_else(Transport::default, |server| run.plan.environment_of(server).transport())
}
