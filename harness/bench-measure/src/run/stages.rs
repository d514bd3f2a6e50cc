//! The trials with users in stages: a part of a run with a folder of its own, in which each server stands once for each
//! transport, so that the transports of a server run within the same block.

use anyhow::{Result, ensure};

use super::stage::Stage;
use bench_model::config::{Campaign, Server, Stages};
use bench_model::plan::Plan;
use bench_model::results::STAGES;
use bench_model::transport::Transport;

/// Whether the servers take users over these transports, and this machine can hold them.
pub(super) fn check(stages: &Stages, servers: &[Server], most_connections: u64) -> Result<()> {
    let most_users = stages.most_users();
    ensure!(
        u64::from(most_users) <= most_connections,
        "field stages.ramp: this machine holds at most {most_connections} users, and {most_users} are to come; see \
         `just doctor`"
    );
    for server in servers {
        ensure!(
            server.takes_websockets() || stages.over_which(server).all(|over| over != Transport::WebSocket),
            "field stages.transports: servers.toml does not say where the ready line of server {} names a WebSocket; \
             give ready.line.ws, or leave the server out",
            server.name
        );
        ensure!(
            [server.overrides.in_flight, server.overrides.batch] == [None, None]
                && server.overrides.transport.is_none(),
            "field stages.transports: the arm {} has a transport, requests in flight or batches of its own; leave \
             them out",
            server.name
        );
    }
    Ok(())
}

/// Runs what is left of the trials with users, where a campaign has any.
pub(super) fn carry_out(outer: &Stage<'_>) -> Result<()> {
    let Some(stages) = &outer.plan.campaign.stages else { return Ok(()) };
    outer.inside(STAGES, |_| Ok(part(&outer.plan, stages)))?.sweep(&|| ())
}

/// The plan of the trials with users of a run's plan: every server over every transport that it takes.
pub fn part(plan: &Plan, stages: &Stages) -> Plan {
    let over = |server: &Server| -> Vec<Server> {
        stages.over_which(server).map(|transport| Stages::over(server, transport)).collect()
    };
    let servers = plan.servers.iter().flat_map(over).collect();
    // The first transport is the one that the others are compared with.
    let pairs = |server: &Server| {
        let mut arms = stages.over_which(server).map(|transport| Stages::arm(&server.name, transport));
        let first = arms.next().unwrap_or_default();
        arms.map(|other| (other, first.clone())).collect::<Vec<_>>()
    };
    let campaign = Campaign {
        tool: Stages::TOOL,
        connections: vec![stages.most_users()],
        comparisons: plan.servers.iter().flat_map(pairs).collect(),
        stages: Some(stages.clone()),
        ..plan.campaign.part(STAGES)
    };
    plan.part(servers, campaign)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bench_model::config::ConfigDir;
    use bench_model::plan::planned;

    fn shipped() -> (Plan, Stages) {
        let config = ConfigDir::of_repository();
        let (plan, _) = super::super::resolve(&config, "stages").unwrap();
        let stages = plan.campaign.stages.clone().unwrap();
        (plan, stages)
    }

    #[test]
    fn every_server_is_measured_over_every_transport_within_each_block() {
        let (plan, stages) = shipped();
        assert!(plan.trials.is_empty(), "the run itself has no trials");
        let part = part(&plan, &stages);
        let arms = plan.servers.len() * 2;
        assert_eq!(part.servers.len(), arms);
        assert_eq!(planned(&part.campaign, &part.trials), arms * plan.campaign.max_blocks as usize);
        assert!(part.trials.iter().all(|trial| trial.tool == Stages::TOOL && trial.connections == 500));
        let mut first: Vec<&str> = part.trials[..arms].iter().map(|trial| trial.server.as_str()).collect();
        first.sort_unstable();
        let mut all: Vec<&str> = part.servers.iter().map(|server| server.name.as_str()).collect();
        all.sort_unstable();
        assert_eq!(first, all);
        let pairs = part.campaign.compared();
        assert_eq!(pairs.len(), plan.servers.len());
        assert_eq!(pairs[0], ("legacy-websocket".to_owned(), "legacy-http".to_owned()));
    }

    #[test]
    fn a_gateway_without_websocket_is_measured_over_http_alone() {
        let config = ConfigDir::of_repository();
        let (plan, _) = super::super::resolve(&config, "gateway-stages").unwrap();
        let stages = plan.campaign.stages.clone().unwrap();
        let part = part(&plan, &stages);
        let names: Vec<&str> = part.servers.iter().map(|server| server.name.as_str()).collect();
        let expected =
            ["actix-http", "actix-websocket", "gateway-http-http", "gateway-ws-http", "gateway-ws-websocket"];
        assert_eq!(names, expected);
        assert_eq!(part.campaign.compared().len(), 2);
        assert!(part.servers.iter().all(|server| server.overrides.transport.is_some()));
    }

    #[test]
    fn what_can_not_be_run_is_named_in_one_line() {
        let (plan, stages) = shipped();
        let said = |servers: &[Server], most| {
            let said = check(&stages, servers, most).unwrap_err().to_string();
            assert_eq!(said.lines().count(), 1, "{said}");
            said
        };
        assert!(check(&stages, &plan.servers, 500).is_ok());
        assert!(said(&plan.servers, 499).contains("at most 499 users, and 500"));
        let config = ConfigDir::of_repository();
        let control = config.server("control").unwrap();
        assert!(said(&[control], 500).contains("ready line of server control"));
        let arm = Stages::over(&plan.servers[0], Transport::Http);
        assert!(said(&[arm], 500).contains("the arm legacy-http"));
    }
}
