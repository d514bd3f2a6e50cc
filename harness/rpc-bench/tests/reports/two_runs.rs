//! Two runs with a known truth, from their folders to ratios.

mod same_task;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use crate::observed::{self, observation, two_servers};
use crate::samples::{self, sample};
use bench_core::config::{Campaign, Environment, Placement, Tuning};
use bench_core::observation::Outcome;
use bench_core::two_runs::{Between, Both, Change, Measured, between};

use bench_core::plan::Plan;
use bench_core::results::{Conditions, RunFolder, pretty};
use bench_core::transport::Transport;
use bench_core::workload::Traffic;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

const SERVERS: [&str; 4] = ["legacy", "jsonrpsee", "actix", "control"];

/// Read once, since hundreds of runs are made of it.
static PLAN: LazyLock<Plan> = LazyLock::new(|| {
    observed::plan(Campaign {
        servers: SERVERS.map(String::from).to_vec(),
        ceiling: Some("control".to_owned()),
        max_blocks: 12,
        max_extra_blocks: Some(0),
        ..two_servers()
    })
});

fn conditions() -> Conditions {
    let mut of: serde_json::Value = serde_json::from_str(&samples::conditions("a test")).unwrap();
    for (field, value) in [("kernel", "6.1"), ("rustc", "rustc 1.95.0"), ("commit", "aaaa")] {
        of["host"][field] = value.into();
    }
    serde_json::from_value(of).unwrap()
}

/// About normal, with a deviation of 1: twelve uniform numbers less their mean.
fn normal(random: &mut Xoshiro256PlusPlus) -> f64 {
    (0..12).map(|_| random.next_u64() as f64 / u64::MAX as f64).sum::<f64>() - 6.0
}

/// A run of twelve blocks on a machine that varies by 3 % from block to block, the same for all servers of a block,
/// while each trial varies by `noise`. `speed` is how fast a server is on that machine, 1 being usual.
fn run(name: &str, seed: u64, noise: f64, speed: impl Fn(&str) -> f64) -> Measured {
    let plan = PLAN.clone();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let machine: Vec<f64> = (0..=12).map(|_| (0.03 * normal(&mut random)).exp()).collect();
    let observations = plan.trials.iter().map(|trial| {
        let of_trial = (noise * normal(&mut random)).exp() * speed(&trial.server);
        let rate = 100_000.0 * machine[trial.block as usize] * of_trial;
        observation(trial, Outcome::Completed(Box::new(sample(rate, 1e6 / rate))))
    });
    Measured { observations: observations.collect(), name: name.into(), conditions: conditions(), plan }
}

fn usual(name: &str, seed: u64) -> Measured {
    run(name, seed, 0.003, |_| 1.0)
}

fn only(server: &'static str, speed: f64) -> impl Fn(&str) -> f64 {
    move |name| if name == server { speed } else { 1.0 }
}

fn compared(before: &Measured, after: &Measured) -> Between {
    between(Both { before, after }).unwrap()
}

fn of<'a>(changes: &'a [Change], server: &str) -> &'a Change {
    changes.iter().find(|change| change.server == server).unwrap()
}

fn save(dir: &Path, run: &Measured) -> PathBuf {
    let folder = RunFolder(dir.join(&run.name));
    fs::create_dir(&folder.0).unwrap();
    observed::fill(&folder, &run.plan, &pretty(&run.conditions).unwrap(), run.observations.clone());
    folder.0
}

/// `compare` of two saved runs: exit code, standard output, standard error.
fn called(before: &Measured, after: &Measured) -> (i32, String, String) {
    let dir = tempfile::tempdir().unwrap();
    let (before, after) = (save(dir.path(), before), save(dir.path(), after));
    let output =
        Command::new(env!("CARGO_BIN_EXE_rpc-bench")).arg("compare").args([before, after]).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_server_that_is_ten_percent_slower_is_seen() {
    let (before, after) = (usual("a", 3), run("b", 4, 0.003, only("actix", 0.9)));
    let between = compared(&before, &after);
    let interval =
        |server, place: usize| of(&between.changes, server).ratios[place].unwrap().interval.unwrap();
    let holds = |(low, high): (f64, f64), truth: f64| low < truth && truth < high && high - low < 0.1;
    assert!(holds(interval("actix", 0), 0.9) && holds(interval("actix", 1), 1.0 / 0.9), "{between:?}");
    assert!(holds(interval("legacy", 0), 1.0) && holds(interval("legacy", 1), 1.0), "{between:?}");
}

#[test]
fn a_server_without_trials_is_not_measured_and_the_run_is_incomplete() {
    let before = usual("a", 11);
    let mut after = usual("b", 12);
    after.observations.retain(|observation| observation.trial.server != "actix");
    let (code, said, _) = called(&before, &after);
    assert!(code == 0 && said.contains("not measured"), "{said}");
    assert!(said.contains("b (after) is incomplete: 36 trials have run, at least 12"), "{said}");
}

#[test]
fn trials_with_steal_are_left_out_and_counted() {
    let before = usual("a", 13);
    let mut after = usual("b", 14);
    let stolen = after.observations.iter_mut().find(|o| o.trial.server == "actix").unwrap();
    let Outcome::Completed(sample) = &mut stolen.outcome else { return };
    sample.host.steal_s = Some(100.0);
    let between = compared(&before, &after);
    assert_eq!(between.invalid_trials, Both { before: 0, after: 1 });
    assert_eq!(of(&between.changes, "actix").blocks, Both { before: 12, after: 11 });
}

#[test]
fn another_environment_is_reported_before_any_figure() {
    let before = usual("a", 17);
    let mut after = usual("b", 18);
    after.conditions.host.kernel = Some("6.2".into());
    after.conditions.tool.sha256 = "11".into();
    after.conditions.host.commit = Some("bbbb+".into());
    after.plan.servers[2].args.push("--fast".into());
    let (code, said, _) = called(&before, &after);
    assert_eq!(code, 0);
    let warned = said.split("## What differs").next().unwrap();
    for part in [
        "another host.kernel: 6.1 before, 6.2 after",
        "another load tool.sha256: 00 before, 11 after",
        "another server actix, command line: ",
        "files had changed since commit bbbb+",
    ] {
        assert!(warned.contains(part), "{part:?} is missing: {warned}");
    }
    assert!(!warned.contains("rustc"), "{warned}");
}
