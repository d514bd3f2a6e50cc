//! What the best server saves of the baseline's CPU time: at a rate in the first sentence, then at saturation.

use super::super::format::{capitalised, distinct, joined, spanned};
use super::{bold, short_ratio};
use bench_analysis::answer::{Answer, AnswerRow, Topic};
use bench_analysis::grouped;

/// A sentence for each load at which CPU time was compared; none where it was not.
pub(super) fn sentences(answer: &Answer) -> Vec<String> {
    let rows = || {
        let of = |topic: Topic| answer.rows.iter().filter(move |row| row.topic == topic);
        of(Topic::CpuAtRate).chain(of(Topic::Cpu))
    };
    let loads = distinct(rows().map(|row| &*row.at));
    let sentence = |(place, at): (usize, &str)| {
        let said = said(answer, rows().filter(|row| row.at == at), place == 0);
        let said = format!("{}, {said}.", capitalised(at));
        if place == 0 { format!("**{said}**") } else { said }
    };
    loads.into_iter().enumerate().map(sentence).collect()
}

/// Who saves how much at one load. The first time it also says of what.
fn said<'a>(answer: &Answer, rows: impl Iterator<Item = &'a AnswerRow>, is_first: bool) -> String {
    let baseline = &answer.servers[answer.baseline];
    let of_what = if is_first { format!(" of {baseline}'s CPU per request") } else { String::new() };
    let mut is_said = false;
    let part = |(best, rows): (Vec<usize>, Vec<&AnswerRow>)| {
        let requests = joined(rows.iter().map(|row| &row.request), " and ");
        if rows.iter().all(|row| row.is_equal_within(answer.margin)) {
            let margin = answer.margin * 100.0;
            return format!("no difference of {margin:.0} % or more was found for {requests}");
        } else if best.is_empty() {
            return format!("no server was shown to be best for {requests}");
        } else if best.contains(&answer.baseline) {
            return format!("no server was shown to need less than {baseline} for {requests}");
        }
        let names = joined(best.iter().map(|server| &answer.servers[*server]), " or ");
        let saves = rows.iter().map(|row| {
            let of_what = if std::mem::replace(&mut is_said, true) { "" } else { &*of_what };
            let (share, ratio) = share(row, &best);
            format!("{share}{of_what} for {}{ratio}", row.request)
        });
        let saves: Vec<String> = saves.collect();
        format!("{names} saves {}", joined(saves, " and "))
    };
    joined(grouped(rows.map(|row| (saving(answer, row), row))).into_iter().map(part), "; ")
}

/// The servers that were shown to need less than the baseline, and that none was shown to beat; where there is none,
/// all that none was shown to beat.
fn saving(answer: &Answer, row: &AnswerRow) -> Vec<usize> {
    let shown = bold(answer, row);
    if shown.is_empty() { row.best() } else { shown }
}

/// `11 %`, and where it is one server's, the ratio and its interval.
fn share(row: &AnswerRow, servers: &[usize]) -> (String, String) {
    let ratios = || servers.iter().filter_map(|server| Some(row.values[*server]?.compared));
    let saved = || ratios().map(|ratio| (1.0 - ratio.value) * 100.0);
    let ends = (saved().fold(f64::INFINITY, f64::min), saved().fold(f64::NEG_INFINITY, f64::max));
    let saved = spanned(ends, |percent| format!("{percent:.0}"));
    let ratio = match servers {
        [_] => format!(" ({})", joined(ratios().map(short_ratio), "")),
        _ => String::new(),
    };
    (format!("{saved} %"), ratio)
}
