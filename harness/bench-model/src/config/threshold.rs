//! The search for the connection count from which a server fails: of which servers, how far, how finely, how surely.
//! What this machine can carry is found out when the search begins.

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use super::{Campaign, Tuning};
use crate::field_checks::{distinct, known, within};
use crate::load::{Client, LoadTool};

/// The `[threshold]` table of a campaign.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Threshold {
    /// Whose settings the servers run with, each for a search of its own.
    #[serde(default = "equal_alone")]
    pub tunings: Vec<Tuning>,
    /// The load tool's clients, each for a search of its own.
    #[serde(default = "fasthttp_alone")]
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
    /// How finely: connection counts from one to its double.
    pub steps_per_doubling: u32,
    /// How surely: trials at each end of the answer.
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

fn equal_alone() -> Vec<Tuning> {
    vec![Tuning::Equal]
}

fn fasthttp_alone() -> Vec<Client> {
    vec![Client::Fasthttp]
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
