//! What is to be searched, and how far: `slo.json` of a search's folder.

use serde::{Deserialize, Serialize};

use super::goal::Goal;
use super::judge::{Judge, Missed};
use super::search::{MlrSearch, RateLoad, Rules, Search};
use crate::ceilings::Ceiling;
use crate::interleaved_searches::{NextTrial, Schedule, Searches};
use crate::observed::invalid;
use crate::search::Judgement;
use bench_model::config::Slo;
use bench_model::observation::Observation;
use bench_model::plan::Trial;

/// All searches of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SloPlan {
    /// What was requested.
    pub slo: Slo,
    /// Decides the order of the trials.
    pub seed: u64,
    /// Processors that server and load tool share.
    pub cores: usize,
    /// What the load tool can send, measured on the server that answers at once.
    pub ceiling: Ceiling,
    /// The searches.
    pub searches: Vec<SloSearched>,
}

/// One search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SloSearched {
    /// The server.
    pub server: String,
    /// The workload.
    pub workload: String,
    /// The highest rate that is tried, and why it is that.
    pub limit: RateLimit,
}

/// The highest rate that is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RateLimit {
    /// Requests a second.
    pub rate: u32,
    /// What allows no more.
    pub by: RateBound,
}

/// What allows no higher rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RateBound {
    /// The campaign's highest rate.
    Campaign,
    /// The load tool reaches no more, measured against a server that answers at once.
    Tool,
}

impl RateBound {
    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Campaign => "the campaign's highest rate",
            Self::Tool => "the tool's ceiling",
        }
    }
}

impl SloPlan {
    /// How finely, and with how many trials.
    pub fn rules(&self) -> Rules {
        let slo = &self.slo;
        let goal = Goal {
            final_trial_ms: slo.final_trial_ms,
            duration_sum_ms: slo.duration_sum_ms,
            exceed_ratio: slo.exceed_ratio.map_or(0.0, |share| share.0),
        };
        Rules {
            width: slo.width.0,
            initial_trial_ms: slo.initial_trial_ms,
            goal,
            most_trials: slo.most_trials,
        }
    }

    /// What decides whether a trial met the service level.
    pub fn judge(&self) -> Judge {
        Judge::new(&self.slo, self.cores)
    }

    /// The trial of a server at a rate.
    pub fn trial_of(slo: &Slo, next: NextTrial<RateLoad>, server: &str, workload: &str) -> Trial {
        Trial {
            number: next.number,
            block: next.round,
            server: server.to_owned(),
            workload: workload.to_owned(),
            connections: slo.connections,
            rate: Some(next.load.rate),
            tool: slo.tool,
            window_ms: Some(next.load.duration_ms),
            ..Trial::default()
        }
    }
}

impl Searches for SloPlan {
    type Rule = MlrSearch;

    fn schedule(&self) -> Schedule<MlrSearch> {
        let search = |searched: &SloSearched| Search::new(self.slo.from, searched.limit.rate, self.rules());
        Schedule::new(self.searches.iter().map(search).collect(), self.seed)
    }

    fn trial(&self, next: NextTrial<RateLoad>) -> Trial {
        let SloSearched { server, workload, .. } = &self.searches[next.search];
        Self::trial_of(&self.slo, next, server, workload)
    }

    fn judgement(&self, observation: &Observation) -> Judgement {
        self.judge().judgement(observation)
    }

    fn complaints(&self, observation: &Observation) -> Vec<String> {
        if let Some(lost) = observation.outcome.evidence().and_then(invalid) {
            return vec![lost.words().to_owned()];
        }
        self.judge().missed(observation).iter().map(Missed::kind).collect()
    }
}
