//! The search for the highest rate that a server sustains under a service level: the level, of which servers, how far,
//! how finely, how surely. What the load tool can send is found out when the search begins.

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use super::{Campaign, Percent};
use crate::field_checks::{known, within};
use crate::load::LoadTool;

/// The `[slo]` table of a campaign.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slo {
    /// The service level: the 99th percentile of latency, from the moment at which a request was meant to be sent, lies
    /// below this, in milliseconds.
    pub p99_ms: u64,
    /// The service level: the share of the requests that may fail; none may where it is left out.
    pub most_failed: Option<Percent>,
    /// The service level: how far the achieved rate may fall short of the requested one.
    pub shortfall: Percent,
    /// The servers; those of the campaign without its ceiling where left out.
    #[serde(default)]
    pub servers: Vec<String>,
    /// The requests; those of the campaign where left out.
    #[serde(default)]
    pub workloads: Vec<String>,
    /// The load tool: one that sends at a rate.
    pub tool: LoadTool,
    /// Connections that it holds at most.
    pub connections: u32,
    /// The lowest rate, in requests a second.
    pub from: u32,
    /// The highest rate, in requests a second.
    pub most: u32,
    /// How finely: how far below the upper bound the lower one may lie.
    pub width: Percent,
    /// How long a trial of the coarse stage is, in milliseconds.
    pub initial_trial_ms: u64,
    /// How long a trial is that counts in full, in milliseconds.
    pub final_trial_ms: u64,
    /// How surely: how much time in trials of full length decides a rate, in milliseconds.
    pub duration_sum_ms: u64,
    /// The share of that time which may lie in trials that missed the level; none may where it is left out.
    pub exceed_ratio: Option<Percent>,
    /// Trials of one search at most.
    pub most_trials: u32,
}

/// The fewest requests of a window whose 99th percentile means something: a hundredth of them is one.
const LEAST_REQUESTS: u64 = 100;

impl Slo {
    /// Whether the fields make sense together.
    ///
    /// # Errors
    /// One line with the field.
    pub(super) fn check(&self, campaign: &Campaign) -> Result<()> {
        ensure!(
            !campaign.has_closed_loop() && campaign.open.is_none(),
            "table [slo]: the campaign also has other loads (connections, [open], [duets] or [threshold]); give the \
             search a campaign of its own and write connections = []"
        );
        campaign.environment.check_all_cores("a search for a rate needs its")?;
        known("slo.servers", &self.servers, "servers", &campaign.servers)?;
        known("slo.workloads", &self.workloads, "workloads", &campaign.workloads)?;
        // A request that is given up earlier could not be too late.
        within("slo.p99_ms", self.p99_ms, 1, campaign.timeout_ms)?;
        ensure!(
            self.tool.can().open_loop,
            "field slo.tool: {} sends again only when it has its answer, so it holds no rate; give {}",
            self.tool.name(),
            LoadTool::of_open_loops().map(LoadTool::name).collect::<Vec<_>>().join(" or ")
        );
        within("slo.connections", self.connections.into(), 1, 60_000)?;
        within("slo.initial_trial_ms", self.initial_trial_ms, 500, 600_000)?;
        within("slo.final_trial_ms", self.final_trial_ms, self.initial_trial_ms, 600_000)?;
        within("slo.duration_sum_ms", self.duration_sum_ms, self.final_trial_ms, 6_000_000)?;
        let least = (LEAST_REQUESTS * 1_000).div_ceil(self.initial_trial_ms);
        within("slo.from", self.from.into(), least, 10_000_000)?;
        within("slo.most", self.most.into(), self.from.into(), 10_000_000)?;
        let trials = self.duration_sum_ms.div_ceil(self.final_trial_ms);
        within("slo.most_trials", self.most_trials.into(), 2 * trials, 10_000)
    }
}
