//! Users who come and go in stages, each of whom sends one request a second: a load of k6.

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use super::{Campaign, Percent};
use crate::field_checks::within;
use crate::load::{LoadTool, UserStage};

/// The `[stages]` table of a campaign.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stages {
    /// The stages, in order.
    pub ramp: Vec<Ramp>,
    /// How long each stage is here, of the time that `ramp` says: `"50%"` is half of it. Users send as often as ever.
    #[serde(deserialize_with = "Percent::up_to_all")]
    pub time_scale: Percent,
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

    /// Whether the fields make sense together.
    ///
    /// # Errors
    /// One line with the field.
    pub(super) fn check(&self, campaign: &Campaign) -> Result<()> {
        let is_k6 = campaign.closed_loop_tools() == [LoadTool::K6];
        ensure!(is_k6, "field tool: users in stages are those of k6; write tool = \"k6\"");
        let has_stages = !self.ramp.is_empty();
        ensure!(has_stages, "field stages.ramp: is empty; name a stage: {{ users = 10, seconds = 10 }}");
        for ramp in &self.ramp {
            within("stages.ramp.users", ramp.users.into(), 0, 20_000)?;
            within("stages.ramp.seconds", ramp.seconds.into(), 1, 3_600)?;
        }
        let most = self.most_users();
        within("stages.ramp.users", most.into(), 1, 20_000)?;
        ensure!(
            campaign.connections == [most],
            "field connections: each user has one, and there are {most} at most; write connections = [{most}]"
        );
        let duration_ms = self.duration_ms();
        ensure!(
            campaign.window_ms == duration_ms,
            "field window_ms: the stages last {duration_ms} ms in all, scaled as they are; write window_ms = \
             {duration_ms}"
        );
        Ok(())
    }
}
