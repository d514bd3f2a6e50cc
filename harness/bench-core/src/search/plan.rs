//! What is to be searched, and how far: `searches.json` of a search's folder.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::schedule::{Judged, NextTrial, Replay, Schedule};
use super::{Bisection, Goal, Judge, Mlr, Rules, Search, grid};
use crate::config::{self, LoadAxis};
use crate::load::Level;
use crate::observation::Observation;
use crate::plan::Trial;

/// All searches of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchPlan {
    /// What was requested.
    pub search: config::Search,
    /// Decides the order of the trials.
    pub seed: u64,
    /// When the load tool gives a request up, in milliseconds.
    pub timeout_ms: u64,
    /// The window of a trial of full length, in milliseconds.
    pub window_ms: u64,
    /// Processors that server and load tool share.
    pub cores: usize,
    /// The highest load that is tried: the campaign's, or the connections that this machine holds.
    pub limit: u32,
    /// The searches.
    pub searches: Vec<Searched>,
}

/// One search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Searched {
    /// The server.
    pub server: String,
    /// The workload.
    pub workload: String,
}

impl SearchPlan {
    /// What is demanded of a trial.
    pub fn judge(&self) -> Judge<'_> {
        Judge { level: self.search.service_level(), timeout_ms: self.timeout_ms, cores: self.cores }
    }

    /// A search that has not begun.
    fn begun(&self) -> Search {
        let config::Search { from, begin, confirmations, most_trials, .. } = self.search;
        let (limit, width) = (self.limit, self.search.width.0);
        let begin = begin.unwrap_or(from).min(limit);
        let mut loads = grid(from, limit, width);
        if let Err(place) = loads.binary_search(&begin)
            && place > 0
        {
            loads.insert(place, begin);
        }
        match &self.search.along {
            LoadAxis::Connections => {
                Search::by(Bisection::new(&loads, begin, width, confirmations), most_trials)
            }
            LoadAxis::Rate(level) => {
                let goal = Goal {
                    final_trial_ms: self.window_ms,
                    duration_sum_ms: self.window_ms * u64::from(confirmations),
                    exceed_ratio: level.exceed_ratio.map_or(0.0, |share| share.0),
                };
                let rules = Rules { width, initial_trial_ms: level.short_window_ms, goal };
                Search::by(Mlr::new(loads, begin, rules), most_trials)
            }
        }
    }

    /// The searches before their first trial.
    pub fn schedule(&self) -> Schedule {
        let searches = self.searches.iter().map(|_| self.begun());
        Schedule::new(searches.collect(), self.seed)
    }

    /// The trial that a search wants.
    pub fn trial(&self, next: NextTrial) -> Trial {
        let Searched { server, workload } = &self.searches[next.search];
        let Level { connections, rate, tool, .. } = self.search.level(next.load.at);
        let short = self.search.service_level().filter(|_| next.load.is_short);
        Trial {
            number: next.number,
            block: next.round,
            server: server.clone(),
            workload: workload.clone(),
            connections,
            rate,
            tool,
            window_ms: short.map(|level| level.short_window_ms),
            ..Trial::default()
        }
    }

    /// The searches after these observations.
    ///
    /// # Errors
    /// They are not of the trials that the searches want.
    pub fn replay<'a>(&self, observations: &'a [Observation]) -> Result<Replay<'a>> {
        let mut schedule = self.schedule();
        let mut judged = vec![Vec::new(); self.searches.len()];
        for observation in observations {
            let trial = &observation.trial;
            let next = schedule.next().filter(|next| self.trial(*next) == *trial);
            let next =
                next.with_context(|| format!("trial {} is not the next one of its search", trial.number))?;
            let judgement = self.judge().judgement(observation);
            judged[next.search].push(Judged { observation, judgement });
            schedule.take(judgement);
        }
        Ok(Replay { schedule, judged })
    }
}
