//! Whether a run's observations are such as a run writes: what somebody has changed by hand, or two programs at the
//! same time, is named by its file, line and field.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::own::{kind_of, sorted};
use super::{RunFolder, TOOL_OUTPUT};
use crate::load::LoadSample;
use crate::observation::Observation;

impl RunFolder {
    /// Refuses observations that no run writes, in the folders of all its stages too, whether or not a report reads
    /// them: two of one trial, a trial or a block without a number, and a time that is below 0.
    ///
    /// # Errors
    /// One line with the file, the line and the field.
    pub fn check_observations(&self) -> Result<()> {
        self.observations()?;
        for inside in sorted(&self.0)? {
            // Stages, and folders of stages.
            if kind_of(&inside)?.is_dir() && !inside.ends_with(TOOL_OUTPUT) {
                Self(inside).check_observations()?;
            }
        }
        Ok(())
    }
}

/// Refuses observations of a file that no run writes.
///
/// # Errors
/// One line with the file, the line and the field.
pub(super) fn check_all(path: &Path, observations: &[Observation]) -> Result<()> {
    let mut lines: HashMap<u32, usize> = HashMap::new();
    for (line, observation) in (1..).zip(observations) {
        let place = || format!("{}:{line}", path.display());
        check(observation).with_context(place)?;
        let number = observation.trial.number;
        let before = lines.insert(number, line).unwrap_or(0);
        ensure!(before == 0, "{}: field number: trial {number} stands on line {before} as well", place());
    }
    Ok(())
}

fn check(observation: &Observation) -> Result<()> {
    let Observation { trial, took_s, outcome, .. } = observation;
    for (field, number) in [("number", trial.number), ("block", trial.block)] {
        ensure!(number > 0, "field {field}: is 0, and counts from 1");
    }
    check_time("took_s", *took_s)?;
    let Some(sample) = outcome.evidence() else { return Ok(()) };
    check_time("outcome.window_s", sample.window_s)?;
    check_load("outcome.load", &sample.load)?;
    sample.background.iter().try_for_each(|load| check_load("outcome.background", load))
}

fn check_load(field: &str, load: &LoadSample) -> Result<()> {
    let of = &load.latency_us;
    let latency = [("mean", of.mean), ("p50", of.p50), ("p90", of.p90), ("p99", of.p99), ("max", of.max)];
    for (name, us) in latency.into_iter().chain(of.p999.map(|us| ("p999", us))) {
        check_time(&format!("{field}.latency_us.{name}"), us)?;
    }
    check_time(&format!("{field}.time_taken_s"), load.time_taken_s)
}

fn check_time(field: &str, time: f64) -> Result<()> {
    ensure!(time >= 0.0, "field {field}: is {time}, and no time is below 0");
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use bench_system::probe::host::HostActivity;
    use bench_system::probe::network::NetworkCounters;

    use crate::results::OBSERVATIONS;

    use super::*;

    /// What is said of two observations, the second of which is changed.
    fn said(name: &str, change: impl Fn(&mut Value)) -> String {
        let dir = tempfile::tempdir().unwrap();
        let run = RunFolder::create(dir.path(), "test").unwrap();
        let inner = RunFolder::create_inside(&run, name).unwrap();
        for number in 1..3 {
            let mut line = json!({
                "number": number, "block": 1, "server": "a", "workload": "w", "connections": 1,
                "started_at": "2026-01-01T00:00:00Z", "took_s": 1.0,
                "outcome": { "kind": "tool_failed", "reason": "x" },
            });
            if number == 2 {
                change(&mut line);
            }
            inner.append_to(OBSERVATIONS, &line).unwrap();
        }
        let checked = run.check_observations();
        checked.map_or_else(|error| format!("{error:#}"), |()| "sound".to_owned())
    }

    #[test]
    fn an_observation_that_no_run_writes_is_named() {
        assert_eq!(said("duets", |_| ()), "sound");
        assert_eq!(said("tool-output", |line| line["block"] = 0.into()), "sound", "none of the run's own");
        type Change = fn(&mut Value);
        let cases: [(Change, &str); 4] = [
            (|line| line["block"] = 0.into(), ":2: field block: is 0, and counts from 1"),
            (|line| line["number"] = 0.into(), ":2: field number: is 0, and counts from 1"),
            (|line| line["number"] = 1.into(), ":2: field number: trial 1 stands on line 1 as well"),
            (|line| line["took_s"] = json!(-0.5), ":2: field took_s: is -0.5, and no time is below 0"),
        ];
        for (change, words) in cases {
            for name in ["duets", "remedies/a"] {
                let said = said(name, change);
                assert!(said.ends_with(&format!("{name}/observations.ndjson{words}")), "{said}");
            }
        }
    }

    #[test]
    fn no_time_of_a_load_is_below_0() {
        let said = |load: &LoadSample| check_load("load", load).map_err(|error| error.to_string()).err();
        let sound = LoadSample::default();
        assert_eq!(said(&sound), None);
        let late = LoadSample { time_taken_s: -1.0, ..sound };
        assert_eq!(said(&late).unwrap(), "field load.time_taken_s: is -1, and no time is below 0");
    }

    #[test]
    fn the_background_load_of_a_trial_is_checked_as_its_own_load_is() {
        let cpu = json!({ "user_s": 0.0, "system_s": 0.0 });
        let load = serde_json::to_value(LoadSample::default()).unwrap();
        let outcome = json!({
            "kind": "completed", "load": load, "background": load, "client_cpu": cpu, "window_s": 1.0,
            "network": NetworkCounters::default(), "host": HostActivity::default(), "answer_bytes": 1,
            "resources": [],
        });
        let said = |taken_s: f64| {
            said("duets", |line| {
                line["outcome"] = outcome.clone();
                line["outcome"]["background"]["time_taken_s"] = taken_s.into();
            })
        };
        assert_eq!(said(0.5), "sound");
        let below = said(-0.5);
        assert!(
            below.ends_with(":2: field outcome.background.time_taken_s: is -0.5, and no time is below 0")
        );
    }
}
