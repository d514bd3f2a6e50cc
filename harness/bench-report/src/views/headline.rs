//! What the views of a run answer, in sentences.

use std::collections::BTreeSet;

use super::claims;
use super::points::{self, NO_INTERVAL, OVER, at, axis, in_words, line, points, signed, term, words};
use crate::Run;
use crate::format::{bullets, capitalised, count, estimate, known, percent, ratio, sections, writer};
use bench_core::figure::Figure;
use bench_core::readable_numbers::counted;
use bench_core::stats::Estimate;
use bench_core::views::{Panel, Point, Series, Shown, shares};

/// Lines of a headline that one view has at most: what is more stands in its table.
const MOST_LINES: usize = 8;

/// A line that misses a point by more than this share of it does not say what its points are.
const MOST_MISFIT: f64 = 0.15;

/// What the views answer; empty where the campaign has none.
pub(crate) fn headline(run: &Run) -> String {
    // What failed in a cell is said once, though several views show it.
    let mut said = BTreeSet::new();
    sections(run.summary.views.iter().map(|shown| headline_of(run, shown, &mut said)))
}

fn headline_of<'a>(run: &Run, shown: &'a Shown, said: &mut BTreeSet<(&'a str, &'a str, u32)>) -> String {
    let view = &shown.view;
    let Some(&figure) = view.figure.first() else { return String::new() };
    if !view.planted.is_empty() {
        return format!("**{}.**\n\n{}", view.title, bullets(claims::sentences(shown)));
    }
    let words_of = match (view.over.is_empty(), view.minus.is_empty()) {
        (false, _) => extremes,
        (true, false) => differences_above,
        (true, true) => trend,
    };
    let line = |(panel, series): (&Panel, &Series)| {
        Some(format!("{}: {}", place(panel, series), words_of(run, shown, figure, series)?))
    };
    let mut lines: Vec<String> = points::series(shown).filter_map(line).collect();
    let more = lines.len().saturating_sub(MOST_LINES);
    lines.truncate(MOST_LINES);
    if more > 0 {
        lines.push(format!("{} more in the table of \"{}\".", count(more as u64), view.title));
    }
    if let (Some((least, most)), Some(bound)) = (shares(shown), &view.bound) {
        lines.push(format!(
            "{} reach {} to {} of what {bound} allows.",
            capitalised(words(run, figure)),
            percent(least),
            percent(most)
        ));
    }
    let place = |point: &'a Point| (point.server.as_str(), point.workload.as_str(), point.amount);
    let failed = points(shown).filter(|point| point.failed_requests > 0);
    let failed = failed.filter(|point| said.insert(place(point))).map(|point| point.failed_requests).sum();
    if failed > 0 {
        let what = if run.plan.campaign.hold { "connection" } else { "request" };
        lines.push(format!("**{} failed**: the table says where.", counted(failed, what)));
    }
    let stated = known(view.headline.as_ref(), "", |text| format!(" {text}"));
    if lines.is_empty() && stated.is_empty() {
        return String::new();
    }
    format!("**{}.**{stated}\n\n{}", view.title, bullets(lines))
}

/// A series of a panel, in words.
fn place(panel: &Panel, series: &Series) -> String {
    let panel = if panel.name.is_empty() { String::new() } else { format!(", {}", panel.name) };
    format!("**{}**{panel}", series.label)
}

/// Where a point stands on x, with its preposition: how a server is reached has one in its words.
fn there(shown: &Shown, point: &Point) -> String {
    let place = at(shown, point);
    if place.starts_with(OVER) { place } else { format!("at {place}") }
}

/// From the first to the last point; the line through them where it says what they are.
fn trend(run: &Run, shown: &Shown, figure: Figure, series: &Series) -> Option<String> {
    let measured = || series.points.iter().filter(|point| point.figures.contains_key(&figure));
    let (first, last) = (measured().next()?, measured().next_back()?);
    let value = |point: &Point| point.figures.get(&figure).map_or(0.0, |estimate| estimate.value);
    let write = writer(figure);
    let misfit = series.line.as_ref().and_then(|line| line.misfit);
    if let Some(((at_0, slope), misfit)) = line(series).zip(misfit).filter(|(_, most)| *most <= MOST_MISFIT) {
        return Some(format!(
            "{} = {} {} × {}; the line misses its points by at most {}.",
            words(run, figure),
            write(at_0.value),
            term(figure, slope.value),
            axis(run, &shown.view.x),
            percent(misfit)
        ));
    }
    let at = |point: &Point| format!("{} {}", write(value(point)), there(shown, point));
    Some(format!("{} {}.", words(run, figure), between(at, first, last, std::ptr::eq(first, last))))
}

/// The differences along the axis.
fn differences_above(run: &Run, shown: &Shown, figure: Figure, series: &Series) -> Option<String> {
    let found = series.points.iter().filter_map(|point| Some((point, *point.differences.get(&figure)?)));
    let write = |(point, value): (&Point, Estimate)| {
        let value = estimate(value, |value| signed(figure, value)).replace(NO_INTERVAL, "");
        format!("{value} {}", there(shown, point))
    };
    let along = along(write, &found.collect::<Vec<_>>())?;
    Some(format!("{} above {}: {along}.", words(run, figure), in_words(run, &shown.view.minus)))
}

/// From the first to the last place of the axis, and the least and the most between them.
fn along<P: Copy>(write: impl Fn((P, Estimate)) -> String, found: &[(P, Estimate)]) -> Option<String> {
    let (first, last) = (found.first()?, found.last()?);
    let by_value = |a: &&(P, Estimate), b: &&(P, Estimate)| a.1.value.total_cmp(&b.1.value);
    let between = between(|at: &(P, Estimate)| write(*at), first, last, found.len() == 1);
    let extremes = [("least", found.iter().min_by(by_value)?), ("most", found.iter().max_by(by_value)?)];
    let is_end = |value: f64| value == first.1.value || value == last.1.value;
    let inside = extremes.into_iter().filter(|(_, at)| !is_end(at.1.value));
    let inside = inside.map(|(which, at)| format!("; {which} {}", write(*at))).collect::<String>();
    Some(between + &inside)
}

/// One place, or from one to another.
fn between<T>(write: impl Fn(T) -> String, first: T, last: T, is_one: bool) -> String {
    if is_one { write(first) } else { format!("from {} to {}", write(first), write(last)) }
}

/// The ratios along the axis; whether a difference is shown at all.
fn extremes(run: &Run, shown: &Shown, figure: Figure, series: &Series) -> Option<String> {
    let ratios: Vec<(&Point, Estimate)> =
        series.points.iter().filter_map(|point| Some((point, *point.ratios.get(&figure)?))).collect();
    let is_shown = |ratio: &Estimate| ratio.interval.is_some_and(|(low, high)| low > 1.0 || high < 1.0);
    let difference = match ratios.iter().filter(|(_, ratio)| is_shown(ratio)).count() {
        0 if ratios.iter().all(|(_, ratio)| ratio.interval.is_none()) => "; too few blocks for an interval",
        0 => "; no difference is shown",
        all if all == ratios.len() => "",
        _ => "; not everywhere is a difference shown",
    };
    let at = |(point, value): (&Point, Estimate)| {
        format!("{} {}", ratio(value).replace(NO_INTERVAL, ""), there(shown, point))
    };
    let along = along(at, &ratios)?;
    Some(format!("{} over {}: {along}{difference}.", words(run, figure), in_words(run, &shown.view.over)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_goes_along_the_axis_and_names_what_lies_beyond_its_ends() {
        let said = |values: &[f64]| {
            let estimates = values.iter().map(|value| Estimate { value: *value, interval: None });
            let found: Vec<((), Estimate)> = estimates.map(|estimate| ((), estimate)).collect();
            along(|((), estimate)| format!("{:.1}", estimate.value), &found)
        };
        assert_eq!(said(&[]), None);
        assert_eq!(said(&[0.5]).unwrap(), "0.5");
        assert_eq!(said(&[0.9, 0.7, 0.5]).unwrap(), "from 0.9 to 0.5");
        assert_eq!(said(&[0.5, 0.9]).unwrap(), "from 0.5 to 0.9");
        assert_eq!(said(&[0.9, 0.5, 0.8]).unwrap(), "from 0.9 to 0.8; least 0.5");
        assert_eq!(said(&[0.9, 0.5, 1.2, 0.8]).unwrap(), "from 0.9 to 0.8; least 0.5; most 1.2");
    }
}
