//! Users who come and go in stages, each of whom sends one request a second, over each transport.

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use super::{Campaign, Overrides, Percent, Placement, Server};
use crate::field_checks::{distinct, within};
use crate::load::{LoadTool, UserStage};
use crate::transport::Transport;

/// The `[stages]` table of a campaign.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stages {
    /// The stages, in order.
    pub ramp: Vec<Ramp>,
    /// How long each stage is here, of the time that `ramp` says: `"50%"` is half of it. Users send as often as ever.
    #[serde(deserialize_with = "Percent::up_to_all")]
    pub time_scale: Percent,
    /// How users reach the servers: trials of their own for each.
    pub transports: Vec<Transport>,
}

/// A stage: the number of users changes evenly from that of the stage before, or from none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ramp {
    /// Users at its end.
    pub users: u32,
    /// How long it is before it is scaled, in seconds.
    pub seconds: u32,
}

impl Stages {
    /// The load tool: the one that has users.
    pub const TOOL: LoadTool = LoadTool::K6;

    /// The stages as they are run.
    pub fn scaled(&self) -> Vec<UserStage> {
        let scaled = |ramp: &Ramp| UserStage {
            users: ramp.users,
            duration_ms: (f64::from(ramp.seconds) * 1e3 * self.time_scale.0).round() as u64,
        };
        self.ramp.iter().map(scaled).collect()
    }

    /// How long they are together, in milliseconds.
    pub fn duration_ms(&self) -> u64 {
        self.scaled().iter().map(|stage| stage.duration_ms).sum()
    }

    /// The most users.
    pub fn most_users(&self) -> u32 {
        self.ramp.iter().map(|ramp| ramp.users).max().unwrap_or(0)
    }

    /// The transports over which users reach a server: all of them, but for a gateway that takes no WebSocket, since
    /// the node behind it is reached over HTTP.
    pub fn over_which<'a>(&'a self, server: &'a Server) -> impl Iterator<Item = Transport> + 'a {
        let takes = |over: &Transport| {
            *over != Transport::WebSocket || server.upstream.is_none() || server.takes_websockets()
        };
        self.transports.iter().copied().filter(takes)
    }

    /// The name of a server over a transport.
    pub fn arm(server: &str, transport: Transport) -> String {
        format!("{server}-{}", transport.name().to_lowercase())
    }

    /// A server over a transport.
    pub fn over(server: &Server, transport: Transport) -> Server {
        Server {
            name: Self::arm(&server.name, transport),
            label: Some(format!("{}, {}", server.label(), transport.name())),
            overrides: Overrides { transport: Some(transport), ..server.overrides.clone() },
            ..server.clone()
        }
    }

    /// Whether the fields make sense together.
    ///
    /// # Errors
    /// One line with the field.
    pub(super) fn check(&self, campaign: &Campaign) -> Result<()> {
        let others = campaign.open.is_some() || campaign.slo.is_some() || campaign.stores.is_some();
        ensure!(
            !others && !campaign.has_closed_loop(),
            "table [stages]: the campaign also has other loads (connections, [open], [duets], [threshold], [slo] or \
             [stores]); give the stages a campaign of their own and write connections = []"
        );
        within("max_blocks", campaign.max_blocks.into(), 1, 1_000)?;
        ensure!(
            campaign.environment.placement == Placement::Free,
            "field environment.placement: users in stages need their tool to send in time, so it runs on all cores; \
             write free"
        );
        ensure!(
            campaign.environment.transport.is_none()
                && (campaign.environment.in_flight(), campaign.environment.batch()) == (1, 1),
            "fields environment.transport, environment.in_flight and environment.batch: stages.transports says how \
             users reach a server, and a user sends one call and waits for its answer; leave them out"
        );
        ensure!(
            !self.ramp.is_empty(),
            "field stages.ramp: is empty; name a stage: {{ users = 10, seconds = 10 }}"
        );
        for ramp in &self.ramp {
            within("stages.ramp.users", ramp.users.into(), 0, 20_000)?;
            within("stages.ramp.seconds", ramp.seconds.into(), 1, 3_600)?;
        }
        within("stages.ramp.users", self.most_users().into(), 1, 20_000)?;
        distinct("stages.transports", &self.transports)?;
        let duration_ms = self.duration_ms();
        ensure!(
            campaign.window_ms == duration_ms,
            "field window_ms: the stages last {duration_ms} ms in all, scaled as they are; write window_ms = \
             {duration_ms}"
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ConfigDir;

    #[test]
    fn the_shipped_stages_are_those_of_the_original_at_a_quarter_of_their_time() {
        let config = ConfigDir::of_repository();
        let stages = config.campaign("stages").unwrap().0.stages.unwrap();
        assert_eq!(config.campaign("gateway-stages").unwrap().0.stages.unwrap(), stages);
        let stated: Vec<(u32, u32)> = stages.ramp.iter().map(|ramp| (ramp.users, ramp.seconds)).collect();
        assert_eq!(stated, [(10, 10), (200, 30), (500, 120), (200, 60), (50, 10), (10, 10)]);
        let scaled: Vec<u64> = stages.scaled().iter().map(|stage| stage.duration_ms).collect();
        assert_eq!(scaled, [2_500, 7_500, 30_000, 15_000, 2_500, 2_500]);
        assert_eq!((stages.duration_ms(), stages.most_users()), (60_000, 500));
    }

    #[test]
    fn a_server_over_a_transport_is_an_arm_of_its_own() {
        let config = ConfigDir::of_repository();
        let arm = Stages::over(&config.server("legacy").unwrap(), Transport::WebSocket);
        assert_eq!((arm.name.as_str(), arm.label()), ("legacy-websocket", "jsonrpc-core, WebSocket"));
        assert_eq!(arm.overrides.transport, Some(Transport::WebSocket));
    }
}
