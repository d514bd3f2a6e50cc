//! What must hold for any numbers: scale, sides, order, nesting, and that p-values and intervals are one test.

use bench_core::stats::{Ranked, binomial_interval, least_count};

use crate::{Draw, differences};

fn log_ratios(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| (a / b).ln()).collect()
}

#[track_caller]
fn assert_close(a: f64, b: f64) {
    assert!((a - b).abs() < 1e-9, "{a} and {b}");
}

#[test]
fn a_factor_on_both_sides_changes_nothing() {
    let mut draw = Draw::seeded(1);
    for _ in 0..200 {
        let count = draw.count(6, 20);
        let a = draw.values(count, |draw| (10.0 + draw.heavy()).exp());
        let b = draw.values(count, |draw| (10.0 + draw.heavy()).exp());
        let factor = draw.normal().exp();
        let scaled = |values: &[f64]| values.iter().map(|value| value * factor).collect::<Vec<_>>();
        let plain = Ranked::paired(&log_ratios(&a, &b)).unwrap();
        let both = Ranked::paired(&log_ratios(&scaled(&a), &scaled(&b))).unwrap();
        assert_close(plain.estimate(), both.estimate());
        let ((low, high), (both_low, both_high)) =
            (plain.interval(0.05).unwrap(), both.interval(0.05).unwrap());
        assert_close(low, both_low);
        assert_close(high, both_high);
        // On one side it moves all by its own log.
        let one = Ranked::paired(&log_ratios(&scaled(&a), &b)).unwrap();
        assert_close(one.estimate(), plain.estimate() + factor.ln());
        assert_close(one.interval(0.05).unwrap().0, low + factor.ln());
    }
}

#[test]
fn swapping_the_sides_turns_the_result_round() {
    let mut draw = Draw::seeded(2);
    for _ in 0..200 {
        let (count, other) = (draw.count(6, 20), draw.count(6, 20));
        let a = draw.values(count, |draw| 0.3 + draw.heavy());
        let b = draw.values(count, Draw::heavy);
        let (there, back) =
            (Ranked::paired(&differences(&a, &b)).unwrap(), Ranked::paired(&differences(&b, &a)).unwrap());
        assert_close(there.estimate(), -back.estimate());
        assert_close(there.interval(0.05).unwrap().0, -back.interval(0.05).unwrap().1);
        assert_close(there.interval(0.05).unwrap().1, -back.interval(0.05).unwrap().0);
        assert_close(there.p_value(0.1), back.p_value(-0.1));
        let c = draw.values(other, Draw::heavy);
        let (there, back) = (Ranked::unpaired(&a, &c).unwrap(), Ranked::unpaired(&c, &a).unwrap());
        assert_close(there.estimate(), -back.estimate());
        assert_close(there.interval(0.05).unwrap().0, -back.interval(0.05).unwrap().1);
        assert_close(there.p_value(0.1), back.p_value(-0.1));
    }
}

#[test]
fn a_stricter_level_gives_an_interval_round_the_looser_one() {
    let mut draw = Draw::seeded(3);
    for _ in 0..100 {
        let count = draw.count(6, 24);
        let sample = draw.values(count, Draw::heavy);
        let other = draw.values(count, Draw::heavy);
        let (paired, unpaired) =
            (Ranked::paired(&sample).unwrap(), Ranked::unpaired(&sample, &other).unwrap());
        let of = |level: f64| [paired.interval(level), unpaired.interval(level)];
        let mut looser = of(0.9);
        assert!(looser[0].is_some_and(|(low, high)| (low..=high).contains(&paired.estimate())));
        assert!(looser[1].is_some_and(|(low, high)| (low..=high).contains(&unpaired.estimate())));
        for level in [0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.001, 1e-6] {
            let stricter = of(level);
            assert_eq!(stricter[0].is_some(), count >= least_count(level));
            for (inner, outer) in looser.iter().zip(stricter) {
                // None is the whole line.
                let (low, high) = outer.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
                assert!(inner.is_none_or(|inner| low <= inner.0 && inner.1 <= high) || outer.is_none());
                assert!(
                    inner.is_some() || outer.is_none(),
                    "a stricter level has an interval and a looser none"
                );
            }
            looser = stricter;
        }
    }
}

/// The p-value and the interval are two views of one test, also with ties, with zeros, and at the ends of the interval.
#[test]
fn p_values_and_intervals_agree() {
    let mut draw = Draw::seeded(4);
    let (mut inside, mut outside) = (0, 0);
    for round in 0..300 {
        let count = draw.count(1, 16);
        // Every other sample is rounded to quarters: full of ties, and of centres that fall on a difference.
        let value = |draw: &mut Draw| {
            let value = draw.heavy();
            if round % 2 == 0 { value } else { (value * 4.0).round() / 4.0 }
        };
        let (sample, other) = (draw.values(count, value), draw.values(8, value));
        let (paired, unpaired) =
            (Ranked::paired(&sample).unwrap(), Ranked::unpaired(&sample, &other).unwrap());
        for level in [0.1, 0.05, 0.03125, 0.0158, 0.001] {
            let mut agree = |interval: Option<(f64, f64)>, p_value: &dyn Fn(f64) -> f64| {
                let mut centres = vec![0.0, draw.normal(), (draw.normal() * 8.0).round() / 8.0];
                centres.extend(
                    interval.map(|(low, high)| [low, low.next_down(), high, high.next_up()]).iter().flatten(),
                );
                for centre in centres {
                    let out = interval.is_some_and(|(low, high)| !(low..=high).contains(&centre));
                    assert_eq!(p_value(centre) <= level, out, "{sample:?} {other:?} {level} {centre}");
                    *(if out { &mut outside } else { &mut inside }) += 1;
                }
            };
            agree(paired.interval(level), &|centre| paired.p_value(centre));
            agree(unpaired.interval(level), &|centre| unpaired.p_value(centre));
        }
    }
    assert!(inside > 3_000 && outside > 3_000, "{inside} {outside}");
}

#[test]
fn the_order_of_values_is_irrelevant() {
    let mut draw = Draw::seeded(5);
    for _ in 0..100 {
        let count = draw.count(1, 20);
        let mut sample = draw.values(count, Draw::heavy);
        let other = draw.values(7, Draw::heavy);
        let before = (Ranked::paired(&sample), Ranked::unpaired(&sample, &other));
        for last in (1..count).rev() {
            sample.swap(last, draw.count(0, last));
        }
        assert_eq!(before, (Ranked::paired(&sample), Ranked::unpaired(&sample, &other)));
    }
}

#[test]
fn binomial_intervals_mirror_and_narrow() {
    for trials in [1, 2, 7, 40, 100, 1_000] {
        for successes in (0..=trials).step_by(1 + trials as usize / 20) {
            let (low, high) = binomial_interval(successes, trials);
            let share = f64::from(successes) / f64::from(trials);
            assert!(low <= share && share <= high && low >= 0.0 && high <= 1.0);
            assert_close(low, 1.0 - binomial_interval(trials - successes, trials).1);
            let (more_low, more_high) = binomial_interval(successes * 4, trials * 4);
            assert!(more_high - more_low < high - low, "{successes}/{trials}");
        }
    }
}
