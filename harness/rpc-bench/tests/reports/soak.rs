//! A soak on synthetic samples: what is soaked, and what the report says of it.

use bench_core::config::{ConfigDir, Instead};
use bench_core::load::{Bin, LoadTool};
use bench_core::machine::{ForeignCpu, ResourceSample};
use bench_core::observation::{Observation, Sample};
use bench_core::plan::{Plan, trials_at};
use bench_measure::run::resolve;

use crate::observed::{Reported, completed, observation};
use crate::samples::sample;

fn config() -> ConfigDir {
    ConfigDir::of_repository()
}

fn of(server: &str) -> Instead {
    Instead { servers: vec![server.to_owned()], ..Instead::default() }
}

/// The plan of a soak of legacy at a rate, as it stands once rates are found.
fn plan() -> Plan {
    let of = of("legacy");
    let soaked = Instead { minutes: Some(10), rate: Some(500), ..of };
    let (mut plan, _) = resolve(&config(), "soak", &soaked).unwrap();
    plan.rates = plan.campaign.open.as_ref().unwrap().levels(|_| Some(LoadTool::RpcLoad));
    plan.trials = trials_at(&plan.campaign, &plan.rates);
    plan
}

/// Ten minutes in which memory rises by this share.
fn soaked(rise: f64) -> Sample {
    let mut of = Sample { window_s: 600.0, ..sample(500.0, 20.0) };
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

fn reported(sample: Sample) -> Reported {
    let plan = plan();
    let observed = Observation { took_s: 600.0, ..observation(&plan.trials[0], completed(sample)) };
    Reported::of(&plan, [observed])
}

#[test]
fn a_leak_breaks_its_bound_and_a_level_does_not() {
    let level = reported(soaked(0.0));
    assert!(level.run.summary.bounds.iter().all(|bound| bound.holds), "{}", level.report);
    assert!(level.report.contains("Whether memory or latency grows"), "{}", level.report);
    assert_eq!(level.run.shortcomings().unwrap(), Vec::<String>::new());
    let leak = reported(soaked(0.3));
    let memory = &leak.run.summary.bounds[0];
    // 30 % of 20 MB in ten minutes.
    let kib_per_hour = memory.found.unwrap().value;
    assert!((kib_per_hour / (36e6 / 1024.0) - 1.0).abs() < 0.01 && !memory.holds, "{memory:?}");
    assert!(leak.report.contains("**broken**"), "{}", leak.report);
    let said = leak.run.shortcomings().unwrap();
    assert!(said[0].contains("not shown to be at most 1024"), "{said:?}");
}

/// What settles in the beginning is no leak, nor is a burst of an eighth of the window; a median of a half is moved by
/// more. A window that another process disturbed shows nothing.
#[test]
fn bounds_are_judged_by_the_course_of_the_window() {
    let holds = |change: &dyn Fn(&mut Sample)| -> [bool; 2] {
        let mut sample = soaked(0.0);
        change(&mut sample);
        let bounds = reported(sample).run.summary.bounds;
        [bounds[0].holds, bounds[1].holds]
    };
    let slower = |sample: &mut Sample, from: usize| {
        sample.load.series.iter_mut().skip(from).for_each(|bin| bin.p99_us *= 3.0);
    };
    let settling = |sample: &mut Sample| {
        sample.resources.iter_mut().take(20).for_each(|reading| reading.memory_bytes = Some(10_000_000));
    };
    assert_eq!(holds(&settling), [true, true]);
    assert_eq!(holds(&|sample| slower(sample, 70)), [true, true]);
    assert_eq!(holds(&|sample| slower(sample, 40)), [true, false]);
    let disturbed = Some(ForeignCpu { used_s: 500.0, of_s: 1_200.0, limit: 0.03, busiest: None });
    assert_eq!(holds(&|sample| sample.foreign_cpu = disturbed.clone()), [false, false]);
}

#[test]
fn a_wrong_soak_is_one_line() {
    let said = |name: &str, soaked| format!("{:#}", resolve(&config(), name, &soaked).unwrap_err());
    for (text, named) in [
        (said("soak", of("nobody")), "no server \"nobody\""),
        (said("soak", of("control")), "--server control"),
        (said("quick", Instead { rate: Some(5), ..of("actix") }), "--rate: the campaign sends at no rate"),
        (
            said("soak", Instead { rate: Some(20_000), minutes: Some(60), ..of("actix") }),
            "in requests: 72000000",
        ),
        (said("soak", Instead { rate: Some(0), ..of("actix") }), "open.rates"),
        (said("soak", Instead { connections: Some(0), ..of("actix") }), "open.connections"),
        (said("soak", Instead { workload: Some("getNothing".to_owned()), ..of("actix") }), "getNothing"),
        (said("soak", Instead { minutes: Some(100_000), ..of("actix") }), "window_ms"),
    ] {
        assert!(text.contains(named) && text.lines().count() == 1, "{text}");
    }
}

/// Any campaign answers its question of another server, or says in one line why it can't.
#[test]
fn a_campaign_is_resolved_for_any_server() {
    let config = config();
    let (mut campaigns, mut resolved) = (0, Vec::new());
    for (name, _) in config.files("campaigns").unwrap() {
        campaigns += 1;
        let (own, _) = config.campaign(&name).unwrap();
        let is_special = |server: &&String| [&own.ceiling, &own.baseline].contains(&&Some((*server).clone()));
        let first = own.servers.iter().find(|server| !is_special(server)).unwrap();
        let first = own.entry_of(first).to_owned();
        let (plan, _) = resolve(&config, &name, &of(&first)).unwrap_or_else(|e| panic!("{name}: {e:#}"));
        assert!(plan.servers.iter().any(|server| plan.campaign.entry_of(&server.name) == first), "{name}");
        match resolve(&config, &name, &of("axum-minimal")) {
            Ok((plan, _)) => {
                let is_there = |server: &String| plan.campaign.entry_of(server) == "axum-minimal";
                assert!(plan.campaign.servers.iter().any(is_there), "{name}");
                resolved.push(name);
            }
            Err(error) => assert_eq!(format!("{error:#}").lines().count(), 1, "{name}: {error:#}"),
        }
    }
    assert!(campaigns > 20 && resolved.len() > 10, "{resolved:?}");
    for name in ["quick", "rates", "slo", "soak", "keep-alive", "crossed"] {
        assert!(resolved.iter().any(|known| known == name), "{name}: {resolved:?}");
    }
}
