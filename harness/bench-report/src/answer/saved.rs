//! What the best server saves of the baseline's CPU time: at a rate first, then at saturation.

use minijinja::{Value, context};

use super::super::format::{distinct, joined, spanned};
use super::{bold, short_ratio};
use bench_core::answer::{Answer, AnswerRow, Topic};
use bench_core::figure::Figure;
use bench_core::grouped;

/// Each load at which CPU time was compared, with who saves how much; none where it was not.
pub(super) fn loads(answer: &Answer) -> Vec<Value> {
    let rows = || answer.rows.iter().filter(|row| row.topic == Topic::Figure(Figure::CpuUsPerRequest));
    let load = |at: &str| {
        let own = rows().filter(|row| row.at == at).map(|row| (saving(answer, row), row));
        let groups = grouped(own).into_iter().map(|(best, rows)| group(answer, &best, &rows));
        context! { at, groups => groups.collect::<Vec<Value>>() }
    };
    distinct(rows().map(|row| &*row.at)).into_iter().map(load).collect()
}

/// Requests of which the same servers need least.
fn group(answer: &Answer, best: &[usize], rows: &[&AnswerRow]) -> Value {
    let saved = |row: &&AnswerRow| {
        let ratios: Vec<_> = best.iter().filter_map(|server| Some(row.values[*server]?.estimate)).collect();
        let saved = ratios.iter().map(|ratio| (1.0 - ratio.value) * 100.0);
        let ends = saved.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), saved| {
            (saved.min(least), saved.max(most))
        });
        let share = spanned(ends, |percent| format!("{percent:.0}"));
        context! { request => &*row.request, share, ratio => ratios.first().filter(|_| best.len() == 1).map(|ratio| short_ratio(*ratio)) }
    };
    context! {
        is_equal => rows.iter().all(|row| row.is_equal_within(answer.margin)),
        is_baseline => best.contains(&answer.baseline),
        names => joined(best.iter().map(|server| &answer.servers[*server]), " or "),
        requests => joined(rows.iter().map(|row| &row.request), " and "),
        rows => rows.iter().map(saved).collect::<Vec<Value>>(),
    }
}

/// The servers that were shown to need less than the baseline, and that none was shown to beat; where there is none,
/// all that none was shown to beat.
fn saving(answer: &Answer, row: &AnswerRow) -> Vec<usize> {
    let shown = bold(answer, row);
    if shown.is_empty() { row.best() } else { shown }
}
