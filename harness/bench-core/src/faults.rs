//! What went wrong in a run, from the observations of all of its parts: one ranked list, the gravest first. A report
//! shows it above every result.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::diagnosis::CauseKind;
use super::observed::disturbed;
use crate::load::Level;
use crate::load::failure::{Failure, WRONG_ANSWER};
use crate::observation::{Observation, Outcome};

/// What went wrong, the gravest first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "kind", content = "name", rename_all = "snake_case")]
pub enum Kind {
    /// The service ended by itself.
    Ended,
    /// Answers were wrong: how, as `load::failure` calls it.
    Wrong(String),
    /// Answers were JSON-RPC errors of this code.
    RpcError(String),
    /// No trial of an arm of the headline counts.
    NoValidTrial,
    /// The service answered nothing for a time.
    Stalled,
    /// Something else that holds the service back.
    Cause(CauseKind),
    /// Answers had this status of HTTP.
    Status(String),
    /// A trial gave no figure: why.
    NoFigure(String),
    /// Requests were not answered: why, in the load tool's words.
    Unanswered(String),
}

/// Something that went wrong with a service and a workload.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fault {
    /// The server.
    pub server: String,
    /// The workload.
    pub workload: String,
    /// What went wrong.
    #[serde(flatten)]
    pub kind: Kind,
    /// How often: requests, or trials where `of` is left out.
    pub count: u64,
    /// Of how many requests, those of the trials in which it was seen.
    pub of: Option<u64>,
    /// Trials in which it was seen.
    pub trials: u64,
    /// Trials of the server and the workload in all.
    pub of_trials: u64,
    /// The lowest load at which it was seen.
    pub from: Level,
    /// One example, or how it came about.
    pub example: Option<String>,
    /// When a service ended, in seconds after its start, or after the trial's where it ran already.
    pub after_s: Option<f64>,
}

/// What trials are made for, which decides what of them is a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// To measure: whatever fails is a fault.
    Measure,
    /// To find where a service fails: that requests are not answered there is the result, and no fault.
    Search,
}

impl Kind {
    /// Whether the service has not done what it is for: answers were wrong, it ended, or a trial has no figure.
    pub const fn is_grave(&self) -> bool {
        matches!(self, Self::Ended | Self::Wrong(_) | Self::RpcError(_) | Self::NoFigure(_))
    }

    /// Whether answers came that are no right ones.
    pub const fn is_wrong(&self) -> bool {
        matches!(self, Self::Wrong(_) | Self::RpcError(_))
    }

    const fn rank(&self) -> u8 {
        match self {
            Self::Ended => 0,
            Self::Wrong(_) => 1,
            Self::RpcError(_) => 2,
            Self::NoValidTrial => 3,
            Self::Stalled => 4,
            Self::Status(_) => 5,
            Self::Cause(_) => 6,
            Self::NoFigure(_) => 7,
            Self::Unanswered(_) => 8,
        }
    }
}

/// One thing that was seen in a trial.
struct Seen {
    kind: Kind,
    count: u64,
    of: Option<u64>,
    example: Option<String>,
    after_s: Option<f64>,
}

impl Seen {
    fn trial(kind: Kind, example: Option<String>) -> Self {
        Self { kind, count: 1, of: None, example, after_s: None }
    }

    fn no_figure(why: &str, example: Option<String>) -> Self {
        Self::trial(Kind::NoFigure(why.to_owned()), example)
    }
}

/// Puts the gravest first, and of those alike what hit the largest share.
pub fn rank(faults: &mut [Fault]) {
    let share = |fault: &Fault| fault.count as f64 / fault.of.unwrap_or(fault.of_trials).max(1) as f64;
    faults.sort_by(|a, b| a.kind.rank().cmp(&b.kind.rank()).then(share(b).total_cmp(&share(a))));
}

/// The faults of observations, the gravest first, and of those alike first what hit the largest share.
pub fn faults<'a>(observations: impl IntoIterator<Item = (Purpose, &'a Observation)>) -> Vec<Fault> {
    let mut trials: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    let mut found: BTreeMap<(&str, &str, Kind), Fault> = BTreeMap::new();
    for (purpose, observation) in observations {
        let trial = &observation.trial;
        let (server, workload) = (trial.server.as_str(), trial.workload.as_str());
        *trials.entry((server, workload)).or_default() += 1;
        for seen in seen_in(purpose, &observation.outcome) {
            let level = trial.level();
            let fault = found.entry((server, workload, seen.kind.clone())).or_insert_with(|| Fault {
                server: server.to_owned(),
                workload: workload.to_owned(),
                kind: seen.kind.clone(),
                count: 0,
                of: None,
                trials: 0,
                of_trials: 0,
                from: level,
                example: None,
                after_s: None,
            });
            fault.count += seen.count;
            fault.of = seen.of.map(|of| fault.of.unwrap_or(0) + of).or(fault.of);
            fault.trials += 1;
            if level.amount() < fault.from.amount() {
                fault.from = level;
            }
            if fault.example.is_none() || (fault.after_s.is_none() && seen.after_s.is_some()) {
                fault.example = seen.example.or(fault.example.take());
            }
            fault.after_s = fault.after_s.or(seen.after_s);
        }
    }
    let mut faults: Vec<Fault> = found.into_values().collect();
    for fault in &mut faults {
        fault.of_trials = trials[&(fault.server.as_str(), fault.workload.as_str())];
    }
    rank(&mut faults);
    faults
}

/// What went wrong in a trial.
fn seen_in(purpose: Purpose, outcome: &Outcome) -> Vec<Seen> {
    let mut seen: Vec<Seen> = seen_by_tool(purpose, outcome);
    let mut no_figure = |why: &str, example: Option<String>| seen.push(Seen::no_figure(why, example));
    match outcome {
        Outcome::Completed(_) => {}
        Outcome::ServerDied { reason, after_s } => {
            seen.push(Seen { after_s: *after_s, ..Seen::trial(Kind::Ended, Some(reason.clone())) });
        }
        Outcome::OutOfMemory { reason, .. } => seen.push(Seen::trial(Kind::Ended, Some(reason.clone()))),
        Outcome::WrongAnswer { when, answer, wrong, of } => seen.push(Seen {
            kind: Kind::Wrong(WRONG_ANSWER.to_owned()),
            count: *wrong,
            of: Some(*of),
            example: Some(format!("{when}: {answer}")),
            after_s: None,
        }),
        Outcome::NoAnswer { when, reason } if when == BEFORE || purpose == Purpose::Measure => {
            no_figure(&format!("no answer {when}"), Some(reason.clone()));
        }
        _ if purpose != Purpose::Measure => {}
        Outcome::NoAnswer { .. } => {}
        Outcome::NoSuccess(_) => no_figure("no request succeeded", None),
        Outcome::Silent(sample) => {
            no_figure(
                "no answer after the window",
                Some(sample.silence.clone()).filter(|why| !why.is_empty()),
            );
        }
        Outcome::NotHeld(_) => no_figure("not all connections were established", outcome.failure()),
        Outcome::Unanswered { reason } => {
            no_figure("requests were never answered", Some(reason.clone()));
        }
        Outcome::ToolFailed { reason } => no_figure("the load tool failed", Some(reason.clone())),
        Outcome::Invalid { reason } => no_figure("no valid measurement", Some(reason.clone())),
    }
    seen
}

/// When a service is first sent a request in a trial, as an outcome says it.
pub const BEFORE: &str = "before the window";

/// What the load tool counted of a trial. Where the machine was busy with something else only answers count.
fn seen_by_tool(purpose: Purpose, outcome: &Outcome) -> Vec<Seen> {
    let Some(sample) = outcome.evidence() else { return Vec::new() };
    let load = &sample.load;
    let of = Some(load.succeeded + load.failures());
    let is_disturbed = disturbed(outcome);
    let kind = |kind: &str| match Failure::of(kind) {
        Failure::Wrong(how) => Some(Kind::Wrong(how.to_owned())),
        Failure::RpcError(code) => Some(Kind::RpcError(code.to_owned())),
        Failure::Status(status) => Some(Kind::Status(status.to_owned())),
        Failure::Unanswered(_) if is_disturbed || purpose != Purpose::Measure => None,
        Failure::Unanswered(why) => Some(Kind::Unanswered(why.to_owned())),
    };
    let seen = load.failed.iter().filter_map(|(name, count)| {
        let example = load.details.examples.get(name).cloned();
        Some(Seen { kind: kind(name)?, count: *count, of, example, after_s: None })
    });
    seen.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::tests::{healthy, observation};

    /// 100,000 answered requests, and these kinds of failed ones.
    fn failing(kinds: &[(&str, u64)]) -> Observation {
        let mut sample = healthy();
        sample.load.failed = kinds.iter().map(|(kind, count)| ((*kind).to_owned(), *count)).collect();
        let example = |(kind, _): &(&str, u64)| ((*kind).to_owned(), format!("an {kind}"));
        sample.load.details.examples = kinds.iter().map(example).collect();
        observation(Outcome::Completed(Box::new(sample)))
    }

    fn kinds(found: &[Fault]) -> Vec<Kind> {
        found.iter().map(|fault| fault.kind.clone()).collect()
    }

    #[test]
    fn the_gravest_stands_first_and_trials_are_added_up() {
        let died = Outcome::ServerDied { reason: "exit code 1".to_owned(), after_s: Some(4.1) };
        let all = [
            failing(&[("timeout", 3), ("HTTP 429", 50_000), ("JSON-RPC error -32005", 10)]),
            failing(&[("HTTP 429", 30_000), (WRONG_ANSWER, 1)]),
            observation(died),
            observation(Outcome::one_wrong_answer(BEFORE, "7 instead of 8".to_owned())),
        ];
        let found = faults(all.iter().map(|of| (Purpose::Measure, of)));
        let text = str::to_owned;
        let wanted = [
            Kind::Ended,
            Kind::Wrong(text(WRONG_ANSWER)),
            Kind::RpcError(text("-32005")),
            Kind::Status(text("429")),
            Kind::Unanswered(text("timeout")),
        ];
        assert_eq!(kinds(&found), wanted);
        assert_eq!((found[0].example.as_deref(), found[0].after_s), (Some("exit code 1"), Some(4.1)));
        assert_eq!((found[1].count, found[1].of, found[1].trials), (2, Some(130_002), 2));
        assert_eq!(found[2].example.as_deref(), Some("an JSON-RPC error -32005"));
        let refused = &found[3];
        assert_eq!((refused.count, refused.of), (80_000, Some(150_013 + 130_001)));
        assert_eq!((refused.trials, refused.of_trials), (2, 4));
        let grave: Vec<bool> = found.iter().map(|fault| fault.kind.is_grave()).collect();
        assert_eq!(grave, [true, true, true, false, false]);
    }

    #[test]
    fn what_a_search_looks_for_is_no_fault_and_a_wrong_answer_always_is() {
        let of = |purpose, observation: &Observation| kinds(&faults([(purpose, observation)]));
        let late = failing(&[("timeout", 3)]);
        assert_eq!(of(Purpose::Search, &late), []);
        assert_eq!(of(Purpose::Measure, &late).len(), 1);
        let refused = failing(&[("HTTP 503", 3), (WRONG_ANSWER, 1)]);
        assert_eq!(of(Purpose::Search, &refused), of(Purpose::Measure, &refused));
        let silent = |when: &str| {
            observation(Outcome::NoAnswer { when: when.to_owned(), reason: "refused".to_owned() })
        };
        assert_eq!(of(Purpose::Search, &silent(BEFORE)).len(), 1, "without load it has to answer");
        assert_eq!(of(Purpose::Search, &silent("after the window")), []);
        let failed = observation(Outcome::ToolFailed { reason: "no output".to_owned() });
        assert_eq!((of(Purpose::Search, &failed).len(), of(Purpose::Measure, &failed).len()), (0, 1));
    }
}
