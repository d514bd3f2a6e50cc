//! A soak on synthetic samples: what is soaked, and what the report says of it.

use bench_analysis::soak::Course;
use bench_measure::run::soak::{Soaked, resolve};
use bench_model::config::ConfigDir;
use bench_model::load::{Bin, LoadTool};
use bench_model::observation::{Observation, Sample};
use bench_model::plan::{Plan, trials_at};
use bench_model::results::pretty;
use bench_system::probe::other_processes::ForeignCpu;
use bench_system::probe::resources::ResourceSample;

use crate::observed::{completed, folder, observation};
use crate::samples::{conditions, sample};

fn config() -> ConfigDir {
    ConfigDir::of_repository()
}

/// The plan of a soak of legacy at a rate, as it stands once rates are found.
fn plan() -> Plan {
    let soaked = Soaked { server: "legacy", minutes: Some(10), rate: Some(500), ..Soaked::default() };
    let (mut plan, _) = resolve(&config(), "soak", soaked).unwrap();
    plan.rates = plan.campaign.open.as_ref().unwrap().levels(|_| Some(LoadTool::RpcLoad));
    plan.trials = trials_at(&plan.campaign, &plan.rates);
    plan
}

/// Ten minutes in which memory rises by this share.
fn soaked(rise: f64) -> Sample {
    let mut of = sample(500.0, 20.0);
    let at = |t_ms: u64| ResourceSample {
        t_ms,
        memory_bytes: Some((20e6 * (1.0 + rise * t_ms as f64 / 600e3)) as u64),
        ..ResourceSample::default()
    };
    of.resources = (0..240).map(|reading| at(reading * 2_500)).collect();
    let bin = |i: u32| Bin {
        from_ms: i * 7_500,
        requests: 3_750,
        answered: Some(3_750),
        p50_us: 100.0,
        p99_us: 900.0 + f64::from(i * 31 % 17),
        max_us: 2_000.0,
    };
    of.load.series = (0..80).map(bin).collect();
    of
}

fn reported(sample: Sample) -> (bench_report::Run, String) {
    let dir = tempfile::tempdir().unwrap();
    let plan = plan();
    let observed = Observation { took_s: 600.0, ..observation(&plan.trials[0], completed(sample)) };
    let folder = folder(dir.path(), "soak", &plan, &conditions("just soak legacy"), [observed]);
    let run = bench_report::Run::load(&folder).unwrap();
    let text = bench_report::markdown(&run, false);
    (run, text)
}

#[test]
fn the_server_alone_is_soaked_and_its_plan_can_be_read_again() {
    let plan = plan();
    let planned: Vec<_> = plan.trials.iter().filter(|trial| trial.block == 1).collect();
    assert_eq!(planned.len(), 1, "the ceiling is not soaked");
    assert_eq!((planned[0].server.as_str(), planned[0].rate), ("legacy", Some(500)));
    assert_eq!(plan.campaign.window_ms, 600_000);
    let written = pretty(&plan).unwrap();
    let read: Plan = serde_json::from_str(&written).unwrap();
    assert_eq!(pretty(&read).unwrap(), written);
}

#[test]
fn a_leak_is_named_and_a_level_is_flat() {
    let (run, text) = reported(soaked(0.0));
    let soak = &run.summary.soaks[0];
    assert_eq!([soak.memory, soak.p99].map(|drift| drift.unwrap().course), [Course::Flat; 2]);
    assert!(text.contains("getBalance at 500/s for 10.0 minutes: memory flat, p99 flat"), "{text}");
    assert!(text.contains("](resources.svg)") && !text.contains("](p99.svg)"), "{text}");
    let (run, text) = reported(soaked(0.3));
    let memory = run.summary.soaks[0].memory.unwrap();
    assert_eq!(memory.course, Course::Growing);
    // 30 % of 20 MB in ten minutes.
    assert!((memory.per_hour.value / 36e6 - 1.0).abs() < 0.01, "{memory:?}");
    assert!(text.contains("memory **growing**") && text.contains("## Soak"), "{text}");
}

#[test]
fn a_window_that_another_process_disturbed_says_nothing() {
    let mut disturbed = soaked(0.3);
    disturbed.foreign_cpu = Some(ForeignCpu { used_s: 500.0, of_s: 1_200.0, limit: 0.03, busiest: None });
    let (run, text) = reported(disturbed);
    assert!(run.summary.soaks.is_empty() && text.contains("1 trial invalid"), "{text}");
}

#[test]
fn a_wrong_soak_is_one_line() {
    let said = |name: &str, soaked| format!("{:#}", resolve(&config(), name, soaked).unwrap_err());
    let of = |server| Soaked { server, ..Soaked::default() };
    for (text, named) in [
        (said("soak", of("nobody")), "no server \"nobody\""),
        (said("soak", of("control")), "--server control"),
        (said("quick", of("actix")), "is no soak"),
        (
            said("soak", Soaked { rate: Some(20_000), minutes: Some(60), ..of("actix") }),
            "in requests: 72000000",
        ),
        (said("soak", Soaked { rate: Some(0), ..of("actix") }), "open.rates"),
        (said("soak", Soaked { connections: Some(0), ..of("actix") }), "open.connections"),
        (said("soak", Soaked { workload: Some("getNothing"), ..of("actix") }), "getNothing"),
        (said("soak", Soaked { minutes: Some(100_000), ..of("actix") }), "window_ms"),
    ] {
        assert!(text.contains(named) && text.lines().count() == 1, "{text}");
    }
}
