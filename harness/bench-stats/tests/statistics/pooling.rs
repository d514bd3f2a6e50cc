//! Pooling of runs where the truth is known: how often its intervals hold it, and whether a run's standard error is
//! read rightly from its interval.

use bench_stats::{Ranked, RunEstimate, random_effects, standard_error};

use super::Draw;

/// Five runs with a true spread of 5 % between them and standard errors of 1 to 3 %: the interval of the mean holds the
/// mean, and the prediction interval the true value of a sixth run, about as often as they say.
#[test]
fn five_runs_cover_the_mean_and_the_next_run() {
    const POOLS: u32 = 4_000;
    let mut draw = Draw::seeded(1);
    let (mut mean, mut next) = (0_u32, 0_u32);
    for _ in 0..POOLS {
        let runs: Vec<RunEstimate> = (0..5)
            .map(|_| {
                let standard_error = 0.01 + 0.02 * draw.uniform();
                let value = 0.05 * draw.normal() + standard_error * draw.normal();
                RunEstimate { value, standard_error }
            })
            .collect();
        let pooled = random_effects(&runs).unwrap();
        let holds = |(low, high): (f64, f64), value: f64| low <= value && value <= high;
        mean += u32::from(holds(pooled.mean.interval.unwrap(), 0.0));
        next += u32::from(holds(pooled.prediction.unwrap(), 0.05 * draw.normal()));
    }
    let share = |count: u32| f64::from(count) / f64::from(POOLS);
    assert!((0.94..0.98).contains(&share(mean)), "{}", share(mean));
    assert!((0.93..0.99).contains(&share(next)), "{}", share(next));
}

/// The mean square of the standard error that is read from the interval, over the variance that the estimates really
/// have.
#[test]
fn a_standard_error_is_read_rightly_from_an_interval() {
    let mut draw = Draw::seeded(2);
    for (count, level, low, high) in [
        (6, 0.05, 0.9, 1.35),
        (9, 0.006, 0.9, 1.35),
        (9, 0.02, 0.9, 1.2),
        (14, 0.007, 0.9, 1.1),
        (24, 0.0225, 0.9, 1.1),
    ] {
        let (mut squares, mut estimates) = (0.0, 0.0);
        for _ in 0..6_000 {
            let differences: Vec<f64> = (0..count).map(|_| draw.normal()).collect();
            let paired = Ranked::paired(&differences).unwrap();
            squares += standard_error(paired.interval(level).unwrap(), count, level).unwrap().powi(2);
            estimates += paired.estimate().powi(2);
        }
        let ratio: f64 = squares / estimates;
        assert!((low..high).contains(&ratio), "{count} at {level}: {ratio}");
    }
    assert_eq!(standard_error((0.0, 1.0), 5, 0.05), None);
}
