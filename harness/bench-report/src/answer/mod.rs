//! The first thing that a reader sees: which server for whom, and one table. Its words are in `templates/saved.md.jinja`
//! and `answer.md.jinja`.

mod rows;
mod saved;

use anyhow::Result;
use minijinja::{Value as Data, context};

use super::format::{estimate, joined, thousands, writer};
use super::templates::fill;
use bench_core::answer::{Answer, AnswerRow, Topic, Value};
use bench_core::figure::Figure;
use bench_core::readable_numbers::rounded;
use bench_core::stats::Estimate;

pub(super) use rows::{Question, of, questions};

/// A run's answer in Markdown: its sentences, and its table with what the table's signs mean.
pub(super) fn words(answer: &Answer) -> Result<(String, String)> {
    let loads = saved::loads(answer);
    let winners: Vec<Data> = match loads.is_empty() {
        true => answer.rows.iter().filter_map(|row| winner(answer, row)).collect(),
        false => Vec::new(),
    };
    let baseline = &answer.servers[answer.baseline];
    let margin = format!("{:.0}", answer.margin * 100.0);
    Ok((fill("saved", context! { loads, winners, baseline, margin })?, fill("answer", table(answer))?))
}

/// Who is best in a row; none where no server is shown to be worse than another.
fn winner(answer: &Answer, row: &AnswerRow) -> Option<Data> {
    let best = row.best();
    let names = joined(best.iter().map(|server| &answer.servers[*server]), " or ");
    let shown =
        |server: usize| row.values[server].map(|value| joined(figure(answer, row, server, value), ""));
    let over = Some(answer.baseline).filter(|baseline| !best.contains(baseline)).and_then(shown);
    Some(context! { name => name(row), names, shown => shown(*best.first()?), over })
}

/// A row in a sentence: `p99 of getBalance`.
fn phrase(row: &AnswerRow) -> String {
    let topic = match row.topic {
        Topic::Figure(figure) => figure.described().0,
        Topic::Held => "highest load",
    };
    if row.request.is_empty() { topic.to_owned() } else { format!("{topic}, {}", row.request) }
}

/// A row's question: `p99, getBalance at 2,000/s`.
fn name(row: &AnswerRow) -> String {
    format!("{} {}", phrase(row), row.at).trim_end().to_owned()
}

/// A topic's value with its unit.
fn write(topic: Topic, value: f64) -> String {
    match topic {
        Topic::Figure(Figure::RequestsPerSecond) => rounded(value),
        Topic::Figure(figure) => writer(figure)(value),
        Topic::Held => thousands(value),
    }
}

/// A row for each question, a column for each server, and what the table's signs mean, as far as it has them.
fn table(answer: &Answer) -> Data {
    let rows = || answer.rows.iter().filter(|row| !is_bound(row));
    let has = |is_it: &dyn Fn(&AnswerRow, usize) -> bool| {
        rows().any(|row| (0..row.values.len()).any(|server| is_it(row, server)))
    };
    let row = |row: &AnswerRow| {
        let best = bold(answer, row);
        let cell = |(server, value): (usize, &Option<Value>)| {
            let [value, rest] = figure(answer, row, server, (*value)?);
            Some(context! { value, rest, is_bold => best.contains(&server) })
        };
        context! { name => name(row), cells => row.values.iter().enumerate().map(cell).collect::<Vec<_>>() }
    };
    // Where all reached the most that was tried.
    let left_out = answer.rows.iter().filter(|row| is_bound(row)).map(|row| {
        let most = row.values.iter().flatten().map(|value| value.estimate.value).fold(0.0, f64::max);
        context! { name => name(row), most => write(row.topic, most) }
    });
    context! {
        servers => answer.servers.clone(),
        baseline => &*answer.servers[answer.baseline],
        rows => rows().map(row).collect::<Vec<Data>>(),
        left_out => left_out.collect::<Vec<Data>>(),
        has_ratios => rows().any(|row| row.one.is_some()),
        has_open => has(&|row, server| row.one.is_none() && is_open(answer, row, server)),
        has_bounds => has(&|row, server| row.values[server].is_some_and(|value| value.at_least)),
        of_duets => joined(answer.of_duets.iter().map(|figure| figure.described().0), " and "),
    }
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

/// A ratio with its interval, in as many decimals as a first screen has room for.
fn short_ratio(ratio: Estimate) -> String {
    estimate(ratio, |value| format!("{value:.2}"))
}

/// A ratio to the baseline and, apart, its interval; of the baseline what its 1 stands for, and in a row without ratios a
/// value with its signs.
fn figure(answer: &Answer, row: &AnswerRow, server: usize, value: Value) -> [String; 2] {
    // No line breaks between a value and its signs.
    let bound = if value.at_least { "≥\u{a0}" } else { "" };
    match row.one {
        Some(one) if server == answer.baseline => {
            [format!("1 = {bound}{}", write(row.topic, one)), String::new()]
        }
        Some(_) => {
            let text = short_ratio(value.estimate);
            let (value, interval) = text.split_at(text.find(" [").unwrap_or(text.len()));
            [format!("{bound}{value}"), interval.to_owned()]
        }
        None => {
            let open = if is_open(answer, row, server) { "\u{a0}?" } else { "" };
            [format!("{bound}{}{open}", write(row.topic, value.estimate.value)), String::new()]
        }
    }
}

/// Whether it is open if a server differs from the baseline, and not only because the load ended before either did.
fn is_open(answer: &Answer, row: &AnswerRow, server: usize) -> bool {
    let bound =
        |server: usize| row.values[server].filter(|value| value.at_least).map(|value| value.estimate.value);
    row.values[server].is_some()
        && !row.is_resolved(server, answer.baseline)
        && !(bound(server).is_some() && bound(server) == bound(answer.baseline))
}

/// Whether every server reached the same, which was the most that was tried: then none differs from another.
fn is_bound(row: &AnswerRow) -> bool {
    let first = row.values.iter().flatten().next().map(|value| value.estimate.value);
    row.values.iter().flatten().all(|value| value.at_least && Some(value.estimate.value) == first)
}
