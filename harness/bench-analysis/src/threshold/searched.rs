//! What is to be searched, and how far: `searches.json` of a search's folder.

use serde::{Deserialize, Serialize};

use super::judge::{complaints, judgement};
use super::search::{Doubling, Rules, Search, grid};
use crate::interleaved_searches::{NextTrial, Schedule, Searches};
use crate::search::Judgement;
use bench_model::config::{Threshold, Tuning};
use bench_model::load::Client;
use bench_model::observation::Observation;
use bench_model::plan::Trial;

/// All searches of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchPlan {
    /// What was requested.
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
    /// The server's name in its trials: the server's name, with `-shipped` behind it where it runs with its own
    /// defaults.
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

/// The highest connection count that is tried.
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
    /// The campaign's highest count.
    Campaign,
    /// Files that a process of this machine may hold.
    OpenFiles,
    /// Ports that a client of this machine may connect from.
    ClientPorts,
}

impl Bound {
    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Campaign => "the campaign goes no higher",
            Self::OpenFiles => "open files",
            Self::ClientPorts => "client ports",
        }
    }
}

impl SearchPlan {
    /// How finely, and with how many trials.
    pub fn rules(&self) -> Rules {
        let Threshold { steps_per_doubling, confirmations, most_trials, .. } = self.threshold;
        Rules { steps_per_doubling, confirmations, most_trials }
    }
}

impl Searches for SearchPlan {
    type Rule = Doubling;

    fn schedule(&self) -> Schedule<Doubling> {
        let Threshold { from, begin, steps_per_doubling, .. } = self.threshold;
        let begin = begin.unwrap_or(from);
        let counts = |searched: &Searched| {
            let mut counts = grid(from, searched.limit.connections, steps_per_doubling);
            counts.extend((from..searched.limit.connections).contains(&begin).then_some(begin));
            counts.sort_unstable();
            counts.dedup();
            counts
        };
        let search = |searched: &Searched| Search::beginning_at(begin, counts(searched), self.rules());
        Schedule::new(self.searches.iter().map(search).collect(), self.seed)
    }

    fn trial(&self, next: NextTrial<u32>) -> Trial {
        let searched = &self.searches[next.search];
        Trial {
            number: next.number,
            block: next.round,
            server: searched.server.clone(),
            workload: searched.workload.clone(),
            connections: next.load,
            client: searched.client,
            ..Trial::default()
        }
    }

    fn judgement(&self, observation: &Observation) -> Judgement {
        judgement(observation, self.timeout_ms)
    }

    fn complaints(&self, observation: &Observation) -> Vec<String> {
        complaints(observation, self.timeout_ms)
    }
}
