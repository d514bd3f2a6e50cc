//! How many comparisons claimed a difference, rightly or wrongly, where a view says how its ratios truly are.

use super::points::{axis, points, words};
use crate::Run;
use crate::columns::Columns;
use bench_core::config::Planted;
use bench_core::views::Shown;

/// Comparisons whose truth is the same.
#[derive(Default)]
struct Claims {
    all: usize,
    more: usize,
    less: usize,
}

impl Claims {
    /// Those of a value of x, by the first figure's intervals.
    fn of(shown: &Shown, value: &str) -> Self {
        let Some(figure) = shown.view.figure.first() else { return Self::default() };
        let at_value = points(shown).filter(|point| point.place == *value);
        let intervals = at_value.filter_map(|point| point.ratios.get(figure)?.interval);
        intervals.fold(Self::default(), |claims, (low, high)| Self {
            all: claims.all + 1,
            more: claims.more + usize::from(low > 1.0),
            less: claims.less + usize::from(high < 1.0),
        })
    }

    fn wrong(&self, planted: Planted) -> usize {
        match planted {
            Planted::Same => self.more + self.less,
            Planted::More => self.less,
            Planted::Less => self.more,
        }
    }

    fn right(&self, planted: Planted) -> usize {
        match planted {
            Planted::Same => 0,
            Planted::More => self.more,
            Planted::Less => self.less,
        }
    }
}

/// A row for each value of x; empty where nothing is known of the ratios.
pub(super) fn table(run: &Run, shown: &Shown) -> String {
    let Some(&figure) = shown.view.figure.first() else { return String::new() };
    let planted =
        shown.view.planted.iter().map(|(value, planted)| (value, planted, Claims::of(shown, value)));
    Columns::of(2, planted)
        .with_numbers_last()
        .column(axis(run, &shown.view.x), |(value, ..)| (*value).clone())
        .column(format!("{} in truth", words(run, figure)), |(_, planted, _)| match planted {
            Planted::Same => "the same",
            Planted::More => "more",
            Planted::Less => "less",
        })
        .column("comparisons", |(.., claims)| claims.all)
        .column("claimed more", |(.., claims)| claims.more)
        .column("claimed less", |(.., claims)| claims.less)
        .column("wrong claims", |(_, planted, claims)| claims.wrong(**planted))
        .within(|table| format!("{table}\nA claim is an interval that excludes 1.\n\n"))
}

/// The same in sentences: of comparisons without a difference, and of those with one.
pub(super) fn sentences(shown: &Shown) -> Vec<String> {
    let sum = |is_same: bool| {
        let planted =
            shown.view.planted.iter().filter(|(_, planted)| (**planted == Planted::Same) == is_same);
        planted.fold((0, 0, 0), |(all, right, wrong), (value, planted)| {
            let claims = Claims::of(shown, value);
            (all + claims.all, right + claims.right(*planted), wrong + claims.wrong(*planted))
        })
    };
    let ((same, _, claimed), (differ, seen, opposite)) = (sum(true), sum(false));
    vec![
        format!(
            "Without a difference: {claimed} of {same} comparisons claimed one. By chance about 1 in 20 does."
        ),
        format!(
            "With a difference: {seen} of {differ} comparisons showed it, and {opposite} claimed the opposite."
        ),
    ]
}
