//! What is to be searched, and how far: `slo.json` of a search's folder.

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use super::goal::Goal;
use super::judge::Judge;
use super::search::{Load, Rules, Search};
use super::{Asked, Schedule};
use crate::analysis::ceilings::Ceiling;
use crate::config::Slo;
use crate::observation::Observation;

/// All searches of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SloPlan {
    /// What was asked for.
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
    /// The highest rate that may be asked for, and why it is that.
    pub limit: RateLimit,
}

/// The highest rate that may be asked for.
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
    /// The campaign asks for no more.
    Campaign,
    /// The load tool reaches no more, measured against a server that answers at once.
    Tool,
}

impl RateBound {
    /// As a person says it.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Campaign => "the campaign's highest rate",
            Self::Tool => "the tool's ceiling",
        }
    }
}

impl SloPlan {
    /// How finely and how surely.
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

    /// What tells whether a trial met the service level.
    pub fn judge(&self) -> Judge {
        Judge::new(&self.slo, self.cores)
    }

    /// The searches before their first trial.
    pub fn schedule(&self) -> Schedule {
        let rules = self.rules();
        let search = |searched: &SloSearched| Search::new(self.slo.from, searched.limit.rate, rules);
        Schedule::new(self.searches.iter().map(search).collect(), self.seed)
    }

    /// The schedule after these observations.
    ///
    /// # Errors
    /// They are not what the schedule asked for.
    pub fn after(&self, observations: &[Observation]) -> Result<Schedule> {
        let (judge, mut schedule) = (self.judge(), self.schedule());
        for observation in observations {
            let trial = &observation.trial;
            let fits = schedule.next().is_some_and(|asked| {
                let Asked { search, round, number, load: Load { rate, duration_ms } } = asked;
                (round, number, Some(rate), Some(duration_ms))
                    == (trial.block, trial.number, trial.rate, trial.window_ms)
                    && self.searches[search].is_of(observation)
            });
            ensure!(fits, "trial {} is not the one that its search asks for", trial.number);
            schedule.tell(judge.shown(observation));
        }
        Ok(schedule)
    }
}

impl SloSearched {
    /// Whether an observation is one of this search.
    pub fn is_of(&self, observation: &Observation) -> bool {
        let trial = &observation.trial;
        trial.server == self.server && trial.workload == self.workload
    }
}
