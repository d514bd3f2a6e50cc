//! The first thing that a reader sees: which server for whom, one table, one chart, and what was distrusted. The rest
//! of a report says how sure each of it is.

mod processors;
mod rows;
mod saved;

use super::Run;
use super::charts::{self, Picture};
use super::columns::Columns;
use super::format::{bullets, estimate, joined, known, sections, thousands, time_us};
use bench_analysis::answer::{Answer, AnswerRow, Topic, Value};
use bench_stats::Estimate;
use bench_system::readable_numbers::rounded;

pub(super) use processors::short;
pub(super) use rows::of;

/// The chart of a run that has an answer.
pub(super) fn chart(run: &Run) -> Option<Picture> {
    of(run).and_then(|_| charts::ratios(run))
}

/// A run's answer in Markdown, without its chart.
pub(super) fn markdown(answer: &Answer) -> String {
    let saved = saved::sentences(answer);
    let said = match saved.is_empty() {
        true => answer.rows.iter().filter_map(|row| winner(answer, row)).collect(),
        false => saved,
    };
    sections([bullets(said), table(answer), notes(answer)])
}

/// Who is best in a row: `**p99, getBalance at 2,000/s: actix-web.** 0.52 ms (jsonrpc-core: 0.61 ms).`; none where no
/// server is shown to be worse than another.
fn winner(answer: &Answer, row: &AnswerRow) -> Option<String> {
    let best = row.best();
    let names = joined(best.iter().map(|server| &answer.servers[*server]), " or ");
    let shown = |server: usize| known(row.values[server], "", |value| figure(answer, row, server, value));
    let over = match best.contains(&answer.baseline) {
        true => String::new(),
        false => format!(" ({}: {})", answer.servers[answer.baseline], shown(answer.baseline)),
    };
    let first = best.first()?;
    Some(format!("**{}: {names}.** {}{over}.", name(row), shown(*first)))
}

/// A row in a sentence: `p99 of getBalance`.
fn phrase(row: &AnswerRow) -> String {
    let topic = match row.topic {
        Topic::Rate => "requests/s",
        Topic::CpuAtRate | Topic::Cpu => "CPU per request",
        Topic::P99 => "p99",
        Topic::Held => "highest load",
    };
    if row.request.is_empty() { topic.to_owned() } else { format!("{topic}, {}", row.request) }
}

/// A topic's value with its unit.
fn write(topic: Topic, value: f64) -> String {
    match topic {
        Topic::Rate => rounded(value),
        Topic::CpuAtRate | Topic::Cpu | Topic::P99 => time_us(value),
        Topic::Held => thousands(value),
    }
}

/// A row for each question, a column for each server.
fn table(answer: &Answer) -> String {
    let row = |row: &AnswerRow| {
        let best = bold(answer, row);
        let cell = |(server, value): (usize, &Option<_>)| {
            known(*value, "not measured", |value| cell(answer, row, server, value, best.contains(&server)))
        };
        let cells = row.values.iter().enumerate().map(cell);
        std::iter::once(name(row)).chain(cells).collect::<Vec<String>>()
    };
    let rows = answer.rows.iter().filter(|row| !is_bound(row)).map(row);
    let headers: Vec<&str> =
        std::iter::once("question").chain(answer.servers.iter().map(String::as_str)).collect();
    Columns::written(&headers, 1, rows).with_numbers_last().markdown()
}

fn bold_words(baseline: &str) -> String {
    format!(
        "shown to be better than {baseline} (or {baseline}, where all others are worse), and beaten by none."
    )
}

/// The servers that are shown to be better than the baseline, and that no other is shown to beat; the baseline where
/// all others are shown to be worse.
fn bold(answer: &Answer, row: &AnswerRow) -> Vec<usize> {
    let is_better = |server: usize| row.is_shown_better(server, answer.baseline);
    let mut others =
        (0..row.values.len()).filter(|server| *server != answer.baseline && row.values[*server].is_some());
    let baseline_wins = others.all(|server| is_better(server) == Some(false));
    let is_bold = |server: &usize| match *server == answer.baseline {
        true => baseline_wins,
        false => is_better(*server) == Some(true),
    };
    row.best().into_iter().filter(is_bold).collect()
}

fn cell(answer: &Answer, row: &AnswerRow, server: usize, value: Value, is_best: bool) -> String {
    let text = figure(answer, row, server, value);
    match text.split_once(" [").filter(|_| is_best) {
        Some((value, interval)) => format!("**{value}** [{interval}"),
        None if is_best => format!("**{text}**"),
        None => text,
    }
}

/// A ratio with its interval, in as many decimals as a first screen has room for.
fn short_ratio(ratio: Estimate) -> String {
    estimate(ratio, |value| format!("{value:.2}"))
}

/// A ratio to the baseline with its interval, of the baseline what its 1 stands for, and in a row without ratios a value
/// with its signs.
fn figure(answer: &Answer, row: &AnswerRow, server: usize, value: Value) -> String {
    // No line breaks between a value and its signs.
    let bound = if value.at_least { "≥\u{a0}" } else { "" };
    match row.one {
        Some(one) if server == answer.baseline => format!("1 = {bound}{}", write(row.topic, one)),
        Some(_) => format!("{bound}{}", short_ratio(value.compared)),
        None => {
            let open = if is_open(answer, row, server) { "\u{a0}?" } else { "" };
            format!("{bound}{}{open}", write(row.topic, value.shown))
        }
    }
}

/// Whether it is open if a server differs from the baseline, and not only because the load ended before either did.
fn is_open(answer: &Answer, row: &AnswerRow, server: usize) -> bool {
    let bound = |server: usize| row.values[server].filter(|value| value.at_least).map(|value| value.shown);
    row.values[server].is_some()
        && !row.is_resolved(server, answer.baseline)
        && !(bound(server).is_some() && bound(server) == bound(answer.baseline))
}

/// Whether every server reached the same, which was the most that was tried: then none differs from another.
fn is_bound(row: &AnswerRow) -> bool {
    let first = row.values.iter().flatten().next().map(|value| value.shown);
    row.values.iter().flatten().all(|value| value.at_least && Some(value.shown) == first)
}

/// A row's question: `p99, getBalance at 2,000/s`.
fn name(row: &AnswerRow) -> String {
    format!("{} {}", phrase(row), row.at).trim_end().to_owned()
}

/// What the table's signs mean, as far as it has them.
fn notes(answer: &Answer) -> String {
    let rows = || answer.rows.iter().filter(|row| !is_bound(row));
    let mut cells = rows().flat_map(|row| (0..row.values.len()).map(move |server| (row, server)));
    let baseline = &answer.servers[answer.baseline];
    let has_ratios = rows().any(|row| row.one.is_some());
    let at_rate = rows().any(|row| row.topic == Topic::CpuAtRate);
    let notes = [
        has_ratios.then(|| {
            format!(
                "1 is {baseline}, with its own figure. Less is better, except for requests/s. Brackets: \
                 95 % intervals."
            )
        }),
        Some(format!("**Bold**: {}", bold_words(baseline))),
        cells.any(|(row, server)| row.one.is_none() && is_open(answer, row, server)).then(|| {
            format!("**?**: no difference from {baseline} was shown, since their intervals overlap.")
        }),
        answer.is_of_duets.then(|| {
            let p99 = if at_rate { ", and p99 at a rate," } else { "" };
            let each = if p99.is_empty() { "is" } else { "are" };
            format!("CPU per request{p99} {each} of two servers at the same time on one core.")
        }),
        at_least(answer),
        left_out(answer),
    ];
    joined(notes.into_iter().flatten(), " ") + "\n"
}

fn at_least(answer: &Answer) -> Option<String> {
    let mut values = answer.rows.iter().filter(|row| !is_bound(row)).flat_map(|row| &row.values).flatten();
    let limit = "the load generator, or the highest load that was tried, was the limit";
    values.any(|value| value.at_least).then(|| format!("**≥**: a lower bound, since {limit}."))
}

/// The rows that the table does not have, since no server differs in them.
fn left_out(answer: &Answer) -> Option<String> {
    let bound = answer.rows.iter().filter(|row| is_bound(row)).map(|row| {
        let most = row.values.iter().flatten().map(|value| value.shown).fold(0.0, f64::max);
        let (name, most) = (name(row), write(row.topic, most));
        format!("No row for {name}: every server reached {most}, the most that the run tries.")
    });
    let bound = joined(bound, " ");
    (!bound.is_empty()).then_some(bound)
}
