//! That a run's folder is added to and never overwritten.

use super::*;
use crate::observation::Outcome;

fn observation(number: u32) -> Observation {
    let trial = Trial {
        number,
        block: 1,
        server: "a".into(),
        workload: "w".into(),
        connections: 1,
        ..Trial::default()
    };
    let outcome = Outcome::ToolFailed { reason: "x".into() };
    Observation { trial, started_at: "2026-01-01T00:00:00Z".into(), took_s: 1.0, outcome }
}

#[test]
fn a_line_that_a_crash_cut_off_is_left_out_and_repaired() {
    let dir = tempfile::tempdir().unwrap();
    let run = RunFolder::create(dir.path(), "test").unwrap();
    run.append(&observation(1)).unwrap();
    let path = run.0.join("observations.ndjson");
    let mut text = fs::read_to_string(&path).unwrap();
    text.push_str(r#"{"number":2,"blo"#);
    fs::write(&path, text).unwrap();
    assert_eq!(run.observations().unwrap(), [observation(1)]);
    run.repair().unwrap();
    run.append(&observation(2)).unwrap();
    assert_eq!(run.observations().unwrap(), [observation(1), observation(2)]);
}

#[test]
fn a_run_of_another_format_is_refused_in_one_line() {
    for (text, format) in [("{}", "unknown"), (r#"{"format": "0"}"#, "0")] {
        let dir = tempfile::tempdir().unwrap();
        let run = RunFolder::create(dir.path(), "test").unwrap();
        run.write_new("plan.json", text).unwrap();
        let refused = run.plan().unwrap_err().to_string();
        assert!(refused.contains(&format!("plan.json: the run's format is {format}, ")), "{refused}");
        assert!(!refused.contains('\n'), "{refused}");
    }
}

#[test]
fn what_tools_printed_in_a_trial_is_forgotten_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let run = RunFolder::create(dir.path(), "test").unwrap();
    let trial = observation(1).trial;
    let place = |what: &str| run.tool_output(&trial, what);
    let other = run.tool_output(&observation(2).trial, "json");
    let forget = || run.forget_tool_output(&trial);
    for path in [&place("json"), &other] {
        fs::write(path, "").unwrap();
    }
    fs::create_dir(place("warmup.hosts")).unwrap();
    fs::write(place("warmup.hosts").join("rank-0.json"), "").unwrap();
    forget().unwrap();
    assert!(!place("json").exists() && !place("warmup.hosts").exists() && other.exists());
    fs::create_dir(place("mine")).unwrap();
    std::os::unix::fs::symlink(&other, place("json")).unwrap();
    forget().unwrap();
    assert!(place("mine").is_dir() && !place("json").is_symlink() && other.exists(), "a link goes by itself");
}

/// A method that is tried names its workload.
#[test]
fn what_tools_printed_for_a_method_with_a_slash_is_in_the_folder_of_all() {
    let dir = tempfile::tempdir().unwrap();
    let run = RunFolder::create(dir.path(), "test").unwrap();
    let trial = Trial { workload: "../eth/x".into(), ..observation(1).trial };
    let place = run.tool_output(&trial, "json");
    assert_eq!(place.parent(), Some(&*run.0.join(TOOL_OUTPUT)));
    fs::write(&place, "").unwrap();
    run.forget_tool_output(&trial).unwrap();
    assert!(!place.exists());
}

#[test]
fn no_run_is_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let runs: Vec<_> = (0..3).map(|_| RunFolder::create(dir.path(), "test").unwrap().0).collect();
    assert!(runs[0] != runs[1] && runs[1] != runs[2] && runs[0] != runs[2]);
    let run = RunFolder(runs[0].clone());
    run.write_new("plan.json", "a").unwrap();
    assert!(run.write_new("plan.json", "b").is_err());
}

#[test]
fn a_part_without_its_plan_goes_unless_something_was_measured_in_it() {
    let dir = tempfile::tempdir().unwrap();
    let outer = RunFolder(dir.path().to_owned());
    let part = dir.path().join(DUETS);
    fs::create_dir(&part).unwrap();
    fs::write(part.join(OBSERVATIONS), "{}\n").unwrap();
    let said = RunFolder::open_inside(&outer, DUETS).unwrap_err().to_string();
    assert!(said.contains("has observations and no plan.json"), "{said}");
    assert!(part.join(OBSERVATIONS).is_file());
    fs::remove_file(part.join(OBSERVATIONS)).unwrap();
    assert!(RunFolder::open_inside(&outer, DUETS).unwrap().is_none() && !part.exists());
}

/// A field that is retired from what campaigns may say still stands in plans of kept runs.
#[test]
fn every_kept_run_has_a_plan_that_is_read() {
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results");
    for run in kept(&results).unwrap() {
        let plan = RunFolder(run.clone()).plan();
        assert!(plan.is_ok(), "{}: {:#}", run.display(), plan.unwrap_err());
    }
}
