//! A search along a load axis: from how many connections on a server fails, or up to which rate it meets a service
//! level. How far, how finely, and with how many trials; what this machine can carry is found out when a search begins.

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use super::{Campaign, Percent};
use crate::field_checks::{known, within};
use crate::load::{Capability, Level, LoadTool};

/// The `[search]` table of a campaign.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// The load that rises, and what is demanded of a server at it.
    pub along: LoadAxis,
    /// The requests; those of the campaign where left out.
    #[serde(default)]
    pub workloads: Vec<String>,
    /// The lowest load: connections, or requests a second.
    pub from: u32,
    /// The highest load, where the machine holds as many connections.
    pub most: u32,
    /// The load that is tried first; the lowest where left out. A server that holds the highest one needs fewer trials
    /// if that is the first.
    pub begin: Option<u32>,
    /// How finely: how far a load may lie below the next one.
    pub width: Percent,
    /// How many trials of full length decide a load.
    pub confirmations: u32,
    /// The window of a trial of full length, in milliseconds; the campaign's where left out.
    pub window_ms: Option<u64>,
    /// Trials of one search at most.
    pub most_trials: u32,
}

/// The load that rises, and what is demanded of a server at it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadAxis {
    /// Connections of a closed loop, none of whose requests may fail or take longer than the campaign's timeout.
    Connections,
    /// Requests a second of an open loop, which meet a service level.
    Rate(ServiceLevel),
}

/// What is demanded at a rate, and how that is sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServiceLevel {
    /// The 99th percentile of latency, from the moment at which a request was meant to be sent, lies below this, in
    /// milliseconds.
    pub p99_ms: u64,
    /// The share of the requests that may fail; none may where it is left out.
    pub most_failed: Option<Percent>,
    /// How far the achieved rate may fall short of the requested one.
    pub shortfall: Percent,
    /// The share of the time in trials of full length that may lie in trials which missed the level; none may where it
    /// is left out.
    pub exceed_ratio: Option<Percent>,
    /// The load tool: one that sends at a rate.
    pub tool: LoadTool,
    /// Connections that it holds at most.
    pub connections: u32,
    /// The window of a trial that only decides where to look, in milliseconds.
    pub short_window_ms: u64,
}

/// The fewest requests of a window whose 99th percentile means something: a hundredth of them is one.
const LEAST_REQUESTS: u64 = 100;

impl Search {
    /// What is demanded along a rate; none along connections.
    pub const fn service_level(&self) -> Option<&ServiceLevel> {
        match &self.along {
            LoadAxis::Connections => None,
            LoadAxis::Rate(level) => Some(level),
        }
    }

    /// A load of the search.
    pub fn level(&self, at: u32) -> Level {
        match self.service_level() {
            None => Level { connections: at, ..Level::default() },
            Some(of) => {
                Level { connections: of.connections, rate: Some(at), tool: of.tool, ..Level::default() }
            }
        }
    }

    /// The window of a trial of full length, in milliseconds.
    pub fn window_ms(&self, campaign: &Campaign) -> u64 {
        self.window_ms.unwrap_or(campaign.window_ms)
    }

    /// Whether the fields make sense together.
    ///
    /// # Errors
    /// One line with the field.
    pub(super) fn check(&self, campaign: &Campaign) -> Result<()> {
        known("search.workloads", &self.workloads, "workloads", &campaign.workloads)?;
        let window_ms = self.window_ms(campaign);
        within("search.window_ms", window_ms, 500, 600_000)?;
        let ((lowest, highest), fewest) = match &self.along {
            LoadAxis::Connections => (check_closed_loop(window_ms, campaign)?, 5),
            LoadAxis::Rate(level) => (level.check(window_ms, campaign)?, 1),
        };
        within("search.from", self.from.into(), lowest, highest)?;
        within("search.most", self.most.into(), self.from.into(), highest)?;
        let begin = self.begin.unwrap_or(self.from);
        within("search.begin", begin.into(), self.from.into(), self.most.into())?;
        within("search.confirmations", self.confirmations.into(), fewest, 100)?;
        let least = 2 * u64::from(self.confirmations);
        within("search.most_trials", self.most_trials.into(), least, 10_000)
    }
}

/// The lowest and the highest connection count. With fewer than five trials a count that fails every other time may
/// well give even the clearest outcome.
fn check_closed_loop(window_ms: u64, campaign: &Campaign) -> Result<(u64, u64)> {
    let timeout_ms = campaign.timeout_ms;
    ensure!(
        window_ms > timeout_ms,
        "field search.window_ms: a window of {window_ms} ms can't show a request that takes longer than the timeout of \
         {timeout_ms} ms; give more than {timeout_ms}"
    );
    ensure!(
        campaign.closed_loop_tools() == [LoadTool::Bombardier],
        "field tool: [search] along connections is made with bombardier; leave tool out, or give the search a campaign \
         of its own"
    );
    Ok((1, 60_000))
}

impl ServiceLevel {
    /// The lowest and the highest rate, where the fields make sense together.
    fn check(&self, window_ms: u64, campaign: &Campaign) -> Result<(u64, u64)> {
        // A request that is given up earlier could not be too late.
        within("search.along.rate.p99_ms", self.p99_ms, 1, campaign.timeout_ms)?;
        self.tool.check([Capability::OpenLoop]).context("field search.along.rate.tool")?;
        within("search.along.rate.connections", self.connections.into(), 1, 60_000)?;
        within("search.along.rate.short_window_ms", self.short_window_ms, 500, window_ms)?;
        Ok(((LEAST_REQUESTS * 1_000).div_ceil(self.short_window_ms), 10_000_000))
    }
}

impl Campaign {
    /// The search, where it is along connections.
    pub fn searches_connections(&self) -> bool {
        self.search.as_ref().is_some_and(|search| search.along == LoadAxis::Connections)
    }

    /// What the search demands at a rate, where it is along one.
    pub fn searched_rate(&self) -> Option<&ServiceLevel> {
        self.search.as_ref()?.service_level()
    }
}
