//! What is to be searched, and how far: `searches.json` of a search's folder.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::schedule::{Judged, NextTrial, Replay, Schedule};
use super::{Bisection, Goal, Judge, Mlr, Rules, Search, grid};
use crate::ceilings::Ceiling;
use bench_model::config::{self, LoadAxis};
use bench_model::load::Level;
use bench_model::observation::Observation;
use bench_model::plan::Trial;

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
    /// What the load tool can send, measured on the server that answers at once; none where it was not measured.
    pub ceiling: Option<Ceiling>,
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
    /// The highest load that is tried, and why it is that.
    pub limit: Limit,
}

/// The highest load that is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limit {
    /// Connections, or requests a second.
    pub at: u32,
    /// What allows no more.
    pub by: Bound,
}

/// What allows no more load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// The campaign's highest load.
    Campaign,
    /// Files that a process of this machine may hold.
    OpenFiles,
    /// Ports that a client of this machine may connect from.
    ClientPorts,
    /// The load tool sends no more, measured against a server that answers at once.
    Tool,
}

impl Bound {
    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Campaign => "the campaign goes no higher",
            Self::OpenFiles => "open files",
            Self::ClientPorts => "client ports",
            Self::Tool => "the tool's ceiling",
        }
    }
}

impl SearchPlan {
    /// What is demanded of a trial.
    pub fn judge(&self) -> Judge<'_> {
        Judge { level: self.search.service_level(), timeout_ms: self.timeout_ms, cores: self.cores }
    }

    /// A search that has not begun, up to this load.
    fn begun(&self, limit: u32) -> Search {
        let config::Search { from, begin, confirmations, most_trials, .. } = self.search;
        let width = self.search.width.0;
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
        let searches = self.searches.iter().map(|searched| self.begun(searched.limit.at));
        Schedule::new(searches.collect(), self.seed)
    }

    /// The trial that a search wants.
    pub fn trial(&self, next: NextTrial) -> Trial {
        let Searched { server, workload, .. } = &self.searches[next.search];
        trial_of(&self.search, next, server, workload)
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

/// The trial of a server at a load of a search.
pub fn trial_of(search: &config::Search, next: NextTrial, server: &str, workload: &str) -> Trial {
    let Level { connections, rate, tool, .. } = search.level(next.load.at);
    let short = search.service_level().filter(|_| next.load.is_short);
    Trial {
        number: next.number,
        block: next.round,
        server: server.to_owned(),
        workload: workload.to_owned(),
        connections,
        rate,
        tool,
        window_ms: short.map(|level| level.short_window_ms),
        ..Trial::default()
    }
}
