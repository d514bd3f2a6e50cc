//! What each load tool can send: judged by what it sent to a server that answers at once.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::observed::grouped;
use crate::load::{LoadSample, LoadTool};
use crate::observation::Observation;

/// The least part of the requests that were due that a tool must send, and see answered.
const LEAST_SENT: f64 = 0.99;

/// How late one request in a hundred may be sent, in microseconds.
const MOST_LAG_US: f64 = 10_000.0;

/// What a tool can send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ceiling {
    /// The tool.
    pub tool: LoadTool,
    /// The highest rate that it held below the lowest that it did not, in requests a second.
    pub held: Option<u32>,
    /// The lowest rate that it did not hold.
    pub not_held: Option<u32>,
}

/// Whether a tool held its rate: it sent nearly all requests, nearly all of them in time.
pub fn holds(sample: &LoadSample) -> bool {
    let Some(open) = &sample.open else { return false };
    let answered = sample.succeeded as f64 / open.intended.max(1) as f64;
    let in_time = open.send_lag_us.is_some_and(|lag| lag.p99 <= MOST_LAG_US);
    in_time && answered >= LEAST_SENT && open.achieved_rate >= LEAST_SENT * open.requested_rate
}

/// Each tool's ceiling, from what it sent to the server that answers at once; in the order of their first trials.
pub fn ceilings(observations: &[Observation]) -> Vec<Ceiling> {
    let window = |observation: &Observation| {
        let held = observation.outcome.sample().is_some_and(|sample| holds(&sample.load));
        (observation.trial.tool, (observation.trial.rate, held))
    };
    let of_tool = |(tool, windows): (LoadTool, Vec<(Option<u32>, bool)>)| {
        ceiling(tool, windows.into_iter().filter_map(|(rate, held)| Some((rate?, held))))
    };
    grouped(observations.iter().map(window)).into_iter().map(of_tool).collect()
}

/// One tool's ceiling, from the rate of each window and whether the tool held it there. It holds a rate that it held in
/// any window.
fn ceiling(tool: LoadTool, windows: impl Iterator<Item = (u32, bool)>) -> Ceiling {
    let mut rates: BTreeMap<u32, bool> = BTreeMap::new();
    for (rate, held) in windows {
        *rates.entry(rate).or_default() |= held;
    }
    Ceiling {
        tool,
        held: rates.iter().map_while(|(rate, held)| held.then_some(*rate)).last(),
        not_held: rates.iter().find(|(_, held)| !**held).map(|(rate, _)| *rate),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{Latency, OpenWindow};
    use crate::observation::Outcome;
    use crate::plan::Trial;

    fn sample(achieved: f64, lag_us: f64, failed: u64) -> LoadSample {
        let all = |us: f64| Latency { mean: us, p50: us, p90: us, p99: us, p999: Some(us), max: us };
        LoadSample {
            succeeded: 1_000 - failed,
            failed: [("timeout".to_owned(), failed)].into(),
            time_taken_s: 1.0,
            latency_us: all(100.0),
            open: Some(OpenWindow {
                requested_rate: 1_000.0,
                achieved_rate: achieved,
                intended: 1_000,
                sent: 1_000,
                send_lag_us: Some(all(lag_us)),
                own_lag_us: None,
                from_send_us: all(100.0),
            }),
            ..LoadSample::default()
        }
    }

    #[test]
    fn a_rate_is_held_where_nearly_all_was_sent_in_time_and_answered() {
        assert!(holds(&sample(1_000.0, 50.0, 0)));
        assert!(!holds(&sample(980.0, 50.0, 0)), "too few");
        assert!(!holds(&sample(1_000.0, 20_000.0, 0)), "too late");
        assert!(!holds(&sample(1_000.0, 50.0, 20)), "not answered");
        assert!(
            !holds(&LoadSample { open: None, ..sample(1_000.0, 50.0, 0) }),
            "a closed loop holds no rate"
        );
    }

    #[test]
    fn the_ceiling_lies_below_the_first_rate_that_was_not_held() {
        let observation = |number: u32, tool, rate: u32| Observation {
            trial: Trial { number, tool, rate: Some(rate), ..Trial::default() },
            started_at: String::new(),
            took_s: 1.0,
            outcome: Outcome::ToolFailed { reason: format!("{rate}") },
        };
        let found = ceilings(&[observation(1, LoadTool::Vegeta, 100), observation(2, LoadTool::RpcLoad, 50)]);
        let none = |tool, rate| Ceiling { tool, held: None, not_held: Some(rate) };
        assert_eq!(found, [none(LoadTool::Vegeta, 100), none(LoadTool::RpcLoad, 50)]);
    }

    #[test]
    fn a_rate_is_held_where_one_of_its_windows_was() {
        let of = |windows: &[(u32, bool)]| {
            let Ceiling { held, not_held, .. } = ceiling(LoadTool::RpcLoad, windows.iter().copied());
            (held, not_held)
        };
        assert_eq!(of(&[(50, true), (100, false), (100, true), (200, true)]), (Some(200), None));
        assert_eq!(of(&[(50, true), (100, false), (100, false)]), (Some(50), Some(100)));
        assert_eq!(of(&[(50, false), (50, false)]), (None, Some(50)));
        assert_eq!(of(&[(200, true), (100, false), (50, true)]), (Some(50), Some(100)), "in any order");
        assert_eq!(of(&[]), (None, None));
    }
}
