//! What is to be searched, and how far: `searches.json` of a search's folder.

use serde::{Deserialize, Serialize};

use super::Schedule;
use super::search::{Rules, Search, grid};
use crate::config::{Threshold, Tuning};
use crate::load::Client;

/// All searches of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchPlan {
    /// What was asked for.
    pub threshold: Threshold,
    /// Decides the order of the trials.
    pub seed: u64,
    /// When the load tool gave a request up, in milliseconds.
    pub timeout_ms: u64,
    /// The searches.
    pub searches: Vec<Searched>,
}

/// One search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Searched {
    /// What its trials are called: the server's name, with `-shipped` behind it where it runs with its own defaults.
    pub server: String,
    /// The server's name.
    pub base: String,
    /// Whose settings; none where the server has only its own.
    pub tuning: Option<Tuning>,
    /// The workload.
    pub workload: String,
    /// The load tool's client.
    pub client: Client,
    /// The highest connection count, and why it is that.
    pub limit: Limit,
}

/// The highest connection count that is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limit {
    /// Connections.
    pub connections: u32,
    /// What allows no more.
    pub by: Bound,
}

/// What allows no more connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// The campaign asks for no more.
    Campaign,
    /// Files that a process of this machine may hold.
    OpenFiles,
    /// Ports that a client of this machine may connect from.
    ClientPorts,
}

impl Bound {
    /// As a person says it.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Campaign => "the campaign asks for no more",
            Self::OpenFiles => "open files",
            Self::ClientPorts => "client ports",
        }
    }
}

impl SearchPlan {
    /// How finely and how surely.
    pub fn rules(&self) -> Rules {
        let Threshold { steps_per_doubling, confirmations, most_trials, .. } = self.threshold;
        Rules { steps_per_doubling, confirmations, most_trials }
    }

    /// The searches before their first trial.
    pub fn schedule(&self) -> Schedule {
        let search = |searched: &Searched| {
            let Threshold { from, steps_per_doubling, .. } = self.threshold;
            Search::new(grid(from, searched.limit.connections, steps_per_doubling), self.rules())
        };
        Schedule::new(self.searches.iter().map(search).collect(), self.seed)
    }
}
