//! Known parts come out as they went in; what they leave over is called unexplained; what is missing is said to be.

use bench_analysis::why::Part;
use bench_model::cost::{InProcessOutcome, Rung};

use crate::known::{ACTIX, Costs, Known, LEGACY, near};

/// The middle block of 13 makes this of every cost; differences in blocks around it even out.
const MIDDLE: f64 = 1.0 + 0.03 * 7.0;

#[test]
fn the_parts_come_out_as_they_went_in() {
    let summary = Known::new(13, ACTIX, LEGACY).explain();
    let ladder = summary.ladder.as_ref().unwrap();
    let part = |part: Part| *ladder.part(part).unwrap();
    for (of, actix, legacy) in [
        (Part::State, 0.5, 0.5),
        (Part::Framework, 3.0, 9.0),
        (Part::HttpUser, 2.0, 4.0),
        (Part::System, 6.0, 9.0),
    ] {
        let row = part(of);
        assert!(near(row.a.value, actix * MIDDLE) && near(row.b.value, legacy * MIDDLE), "{of:?} {row:?}");
        assert!(near(row.difference.value, (actix - legacy) * MIDDLE), "{of:?} {row:?}");
    }
    assert!(near(ladder.system_base.a.value, 4.0 * MIDDLE) && near(ladder.system_rest.b.value, 4.0 * MIDDLE));
    assert!(near(ladder.measured.difference.value, -11.0 * MIDDLE), "{:?}", ladder.measured);
    assert!(near(ladder.unexplained.difference.value, 0.0), "{:?}", ladder.unexplained);
    assert!(near(ladder.explained.unwrap().value, 1.0) && near(ladder.explained_user.unwrap().value, 1.0));
    let (low, high) = ladder.measured.difference.interval.unwrap();
    assert!(low < -11.0 * MIDDLE && high > -11.0 * MIDDLE && high < 0.0);
}

#[test]
fn what_the_parts_leave_over_is_unexplained() {
    let summary = Known::new(13, ACTIX, Costs { hidden: 2.75, ..LEGACY }).explain();
    let ladder = summary.ladder.unwrap();
    assert!(near(ladder.unexplained.difference.value, -2.75 * MIDDLE), "{:?}", ladder.unexplained);
    assert!(near(ladder.unexplained.b.value, 2.75 * MIDDLE) && near(ladder.unexplained.a.value, 0.0));
    // 8 of 10.75 us of user time, 11 of 13.75 us of all.
    assert!(near(ladder.explained.unwrap().value, 0.8), "{:?}", ladder.explained);
    assert!(near(ladder.explained_user.unwrap().value, 8.0 / 10.75), "{:?}", ladder.explained_user);
}

#[test]
fn parts_that_say_too_much_overshoot() {
    let summary = Known::new(13, ACTIX, Costs { hidden: -2.2, ..LEGACY }).explain();
    let share = summary.ladder.unwrap().explained.unwrap();
    assert!(near(share.value, 11.0 / 8.8), "{share:?}");
}

#[test]
fn servers_that_are_not_resolved_leave_nothing_to_explain() {
    let mut known = Known::new(12, LEGACY, LEGACY);
    for observation in &mut known.observations {
        if let bench_model::observation::Outcome::Completed(sample) = &mut observation.outcome {
            let sign = if observation.trial.block % 2 == 0 { 1.0 } else { -1.0 };
            let moved = if observation.trial.server == "actix" { 1.0 + 0.01 * sign } else { 1.0 };
            sample.server_cpu.as_mut().unwrap().user_s *= moved;
            sample.server_cpu.as_mut().unwrap().system_s *= moved;
        }
    }
    let ladder = known.explain().ladder.unwrap();
    assert_eq!((ladder.explained, ladder.explained_user), (None, None));
}

#[test]
fn a_server_without_a_program_is_not_explained() {
    let mut known = Known::new(7, ACTIX, LEGACY);
    known.ladder.servers[1].in_process = None;
    known.in_process.retain(|call| call.server == "actix");
    let summary = known.explain();
    let reason = summary.ladder.unwrap_err();
    assert!(reason.contains("legacy") && reason.contains("servers.toml"), "{reason}");
    let [all, user, system] = summary.measured.unwrap();
    assert!(all.difference.value < 0.0 && user.difference.value < 0.0 && system.difference.value < 0.0);
}

#[test]
fn a_program_that_fails_is_named_with_its_reason() {
    let mut known = Known::new(7, ACTIX, LEGACY);
    for call in known.in_process.iter_mut().filter(|call| call.server == "legacy") {
        call.outcome = InProcessOutcome::Failed { reason: "there is no target/release/in-process".into() };
    }
    let reason = known.explain().ladder.unwrap_err();
    assert_eq!(reason, "legacy in process: there is no target/release/in-process");
}

#[test]
fn a_stopped_run_uses_the_blocks_that_it_has() {
    let mut known = Known::new(13, ACTIX, LEGACY);
    let whole = known.explain();
    // Counts were not made: two of each server, and one of its instructions.
    assert_eq!(whole.left, 6);
    known.in_process.retain(|call| call.block <= 9 || call.rung == Rung::State);
    known.observations.retain(|observation| observation.trial.block <= 11);
    let summary = known.explain();
    assert_eq!(summary.ladder.unwrap().blocks, 9);
    assert!(summary.left > whole.left);
}

#[test]
fn the_terms_give_the_ratio_of_rates() {
    let terms = Known::new(13, ACTIX, LEGACY).explain().terms.unwrap();
    assert!(near(terms.rate.value, terms.cores.value / terms.cpu.value), "{terms:?}");
    assert!(near(terms.cpu.value, 11.5 / 22.5), "{terms:?}");
}
