//! Lines with a known slope and intercept come out as they went in, by part too.

use crate::known::{ACTIX, Known, LEGACY, near};

/// The middle block of 7 makes this of every cost.
const MIDDLE: f64 = 1.0 + 0.03 * 4.0;

#[test]
fn slope_and_parts_come_out_as_they_went_in() {
    let slope = Known::new(7, ACTIX, LEGACY).explain().slope.unwrap();
    for (line, ns, us, parts) in [
        (&slope.lines[0], 20.0, 10.0, [1.0, 12.0, 3.0, 4.0]),
        (&slope.lines[1], 50.0, 15.0, [1.0, 40.0, 3.0, 6.0]),
    ] {
        assert!(near(line.slope_ns.unwrap().value, ns * MIDDLE), "{line:?}");
        assert!(near(line.intercept_us.unwrap().value, us * MIDDLE), "{line:?}");
        let found = line.parts_ns.unwrap();
        for (found, wanted) in
            [found.state, found.serialising, found.http_user, found.system].iter().zip(parts)
        {
            assert!(near(found.value, wanted * MIDDLE), "{line:?}");
        }
        assert!(line.misfit.unwrap() < 1e-6, "{line:?}");
        assert_eq!(line.points.len(), 6);
    }
    assert!(near(slope.slope_ratio.unwrap().value, 0.4));
    assert!(near(slope.intercept_ratio.unwrap().value, 10.0 / 15.0));
}

#[test]
fn without_runs_in_process_the_slope_has_no_parts() {
    let mut known = Known::new(7, ACTIX, LEGACY);
    known.slope_in_process.clear();
    let slope = known.explain().slope.unwrap();
    assert!(slope.lines.iter().all(|line| line.parts_ns.is_none() && line.slope_ns.is_some()));
}

#[test]
fn what_is_no_straight_line_says_so() {
    let mut known = Known::new(7, ACTIX, LEGACY);
    for observation in known.slope_observations.iter_mut() {
        let longest = observation.trial.workload == "getBlocks-500000";
        if let bench_model::observation::Outcome::Completed(sample) = &mut observation.outcome
            && longest
        {
            sample.server_cpu.as_mut().unwrap().user_s *= 2.0;
        }
    }
    let slope = known.explain().slope.unwrap();
    assert!(slope.lines.iter().all(|line| line.misfit.unwrap() > 0.15), "{slope:?}");
}
