//! Searches: for the connection count from which a server fails, and for the highest rate that it sustains under a
//! service level. Of which servers, how far, how finely, with how many trials; what this machine can carry and what the load tool
//! can send is found out when a search begins.

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use super::{Campaign, Percent, Tuning};
use crate::field_checks::{distinct, known, within};
use crate::load::{Client, LoadTool};

/// The `[threshold]` table of a campaign.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Threshold {
    /// Whose settings the servers run with, each for a search of its own.
    #[serde(default = "usual_alone")]
    pub tunings: Vec<Tuning>,
    /// The load tool's clients, each for a search of its own.
    #[serde(default = "usual_alone")]
    pub clients: Vec<Client>,
    /// The servers; those of the campaign without its ceiling where left out.
    #[serde(default)]
    pub servers: Vec<String>,
    /// The requests; those of the campaign where left out.
    #[serde(default)]
    pub workloads: Vec<String>,
    /// The lowest connection count.
    pub from: u32,
    /// The highest connection count, where the machine holds as many.
    pub most: u32,
    /// The connection count that is tried first; the lowest where left out. A server that holds the highest one needs
    /// fewer trials if that is the first.
    pub begin: Option<u32>,
    /// How finely: connection counts from one to its double.
    pub steps_per_doubling: u32,
    /// How many trials at each end of the answer.
    pub confirmations: u32,
    /// Trials of one search at most.
    pub most_trials: u32,
    /// Load before the window, in milliseconds; the campaign's where left out.
    pub warmup_ms: Option<u64>,
    /// The window after the connections are made, in milliseconds, longer than the timeout; the campaign's where left
    /// out.
    pub window_ms: Option<u64>,
    /// When the load tool gives up a request, in milliseconds; the campaign's where left out.
    pub timeout_ms: Option<u64>,
}

/// Equal settings, or fasthttp.
fn usual_alone<T: Default>() -> Vec<T> {
    vec![T::default()]
}

impl Threshold {
    /// Whether the fields make sense together.
    ///
    /// # Errors
    /// One line with the field.
    pub(super) fn check(&self, campaign: &Campaign) -> Result<()> {
        distinct("threshold.tunings", &self.tunings)?;
        distinct("threshold.clients", &self.clients)?;
        known("threshold.servers", &self.servers, "servers", &campaign.servers)?;
        known("threshold.workloads", &self.workloads, "workloads", &campaign.workloads)?;
        within("threshold.from", self.from.into(), 1, 60_000)?;
        within("threshold.most", self.most.into(), self.from.into(), 60_000)?;
        let begin = self.begin.unwrap_or(self.from);
        within("threshold.begin", begin.into(), self.from.into(), self.most.into())?;
        within("threshold.steps_per_doubling", self.steps_per_doubling.into(), 1, 32)?;
        // With fewer than five trials a count that fails every other time may well give even the clearest outcome.
        within("threshold.confirmations", self.confirmations.into(), 5, 100)?;
        let least = 2 * u64::from(self.confirmations);
        within("threshold.most_trials", self.most_trials.into(), least, 10_000)?;
        within("threshold.warmup_ms", self.warmup_ms.unwrap_or(campaign.warmup_ms), 100, 60_000)?;
        let window_ms = self.window_ms.unwrap_or(campaign.window_ms);
        let timeout_ms = self.timeout_ms.unwrap_or(campaign.timeout_ms);
        within("threshold.window_ms", window_ms, 500, 600_000)?;
        within("threshold.timeout_ms", timeout_ms, 1, 60_000)?;
        ensure!(
            window_ms > timeout_ms,
            "field threshold.window_ms: a window of {window_ms} ms can't show a request that takes longer than the \
             timeout of {timeout_ms} ms; give more than {timeout_ms}"
        );
        ensure!(
            campaign.closed_loop_tools() == [LoadTool::Bombardier],
            "field tool: [threshold] is searched with bombardier, whose clients it names; leave tool out, or give the \
             search a campaign of its own"
        );
        Ok(())
    }
}

impl Campaign {
    /// The servers of a search: those that it names, or else the campaign's without its ceiling.
    pub fn searched_servers(&self, named: &[String]) -> Vec<String> {
        let not_ceiling = |server: &&String| Some(*server) != self.ceiling.as_ref();
        if named.is_empty() {
            self.servers.iter().filter(not_ceiling).cloned().collect()
        } else {
            named.to_vec()
        }
    }

    /// The requests of a search: those that it names, or else the campaign's.
    pub fn searched_workloads(&self, named: &[String]) -> Vec<String> {
        if named.is_empty() { self.workloads.clone() } else { named.to_vec() }
    }
}

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
    /// How much time in trials of full length decides a rate, in milliseconds.
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
