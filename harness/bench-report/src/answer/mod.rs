//! The first thing that a reader sees: which server for whom, one table, one chart, and what was distrusted. The rest
//! of a report says how sure each of it is.

mod processors;
mod rows;

use super::Run;
use super::charts::{self, Picture};
use super::columns::Columns;
use super::format::{
    bullets, bytes, capitalised, dash, joined, known, list, percent, sections, spanned, thousands, time_us,
};
use bench_analysis::answer::{Answer, AnswerRow, Recommendation, Topic, Value};
use bench_analysis::{Better, grouped};
use bench_system::readable_numbers::rounded;

pub(super) use processors::short;
pub(super) use rows::of;

/// A test reads the campaigns.
const NEVER_MEASURED: &str = "Measured by campaigns of their own: other methods (`mixes`), TLS (`tls`), and a network \
    (`distance`, `distance-batches`, `distance-rates`). No campaign measures subscriptions.";
/// The chart of a run that has an answer.
pub(super) fn chart(run: &Run) -> Option<Picture> {
    of(run).and_then(|_| charts::ratios(run))
}

/// A run's answer in Markdown, without its chart. Before its sweep has begun nothing is said to be missing.
pub(super) fn markdown(answer: &Answer, has_begun: bool) -> String {
    let decided = answer.recommendations();
    let mut prices = Vec::new();
    let said = decided.iter().filter_map(|decided| sentence(answer, decided, &mut prices));
    let said = said.chain(has_begun.then(|| not_measured(&decided)));
    sections([bullets(said), table(answer), notes(answer)])
}

/// What a user should choose, why, and at what price, unless `prices` has that of the same servers already; none where
/// it was not measured.
fn sentence(answer: &Answer, decided: &Recommendation, prices: &mut Vec<String>) -> Option<String> {
    let topic = decided.decided_by?;
    let because = decided.best.iter().map(|(rows, servers)| because(answer, topic, rows, servers));
    let because: String = because.map(|because| format!(" {because}")).collect();
    let price = decided.price.iter().map(|row| {
        let row = &answer.rows[*row];
        let best = row.best().first().copied().unwrap_or(answer.baseline);
        format!("{}, {}", phrase(row), against(answer, row, &decided.best[0].1, best))
    });
    let price = match joined(price, "; ") {
        price if price.is_empty() || prices.contains(&price) => String::new(),
        price => {
            prices.push(price.clone());
            format!(" The price: {price}.")
        }
    };
    Some(format!("{}{because}{price}", choice(answer, decided, topic)))
}

/// `**Least CPU per request: actix-web; for getBlocks, axum may be as good.**`
fn choice(answer: &Answer, decided: &Recommendation, topic: Topic) -> String {
    let wants = if topic == Topic::Rate { "Most requests/s" } else { decided.wants };
    if decided.best.is_empty() {
        return format!("**{wants}:** no server is surely better than the others.");
    }
    let chosen = |(rows, servers): &(Vec<usize>, Vec<usize>)| {
        let names = joined(servers.iter().map(|server| &answer.servers[*server]), " or ");
        let names = match decided.best.as_slice() {
            [_] => names,
            _ => format!("{names} for {}", answer.rows[rows[0]].request),
        };
        names + &as_good(answer, rows, servers)
    };
    format!("**{wants}: {}.**", joined(decided.best.iter().map(chosen), "; "))
}

/// Who else may be as good as the recommended servers in one of these rows: `; for getBlocks, axum may be as good`, or,
/// where its own value is better, `; for getBlocks, axum is ahead, though not surely`.
fn as_good(answer: &Answer, rows: &[usize], servers: &[usize]) -> String {
    let of_row = |row: &AnswerRow| {
        let name = |server: usize| answer.servers[server].as_str();
        let others = row.best().into_iter().filter(|server| !servers.contains(server));
        let (ahead, others): (Vec<usize>, Vec<usize>) =
            others.partition(|other| servers.iter().all(|server| is_ahead(row, *other, *server)));
        let everywhere = [(ahead, "is ahead, though not surely"), (others, "may be as good")];
        let everywhere = everywhere.into_iter().filter(|(others, _)| !others.is_empty());
        let everywhere = everywhere
            .map(|(others, words)| format!("{} {words}", joined(others.into_iter().map(name), " and ")));
        everywhere.map(|who| format!("; for {}, {who}", row.request)).collect::<String>()
    };
    rows.iter().map(|row| of_row(&answer.rows[*row])).collect()
}

/// Whether a server's value is the better one as it is printed.
fn is_ahead(row: &AnswerRow, server: usize, other: usize) -> bool {
    let values = row.values[server].zip(row.values[other]);
    values.is_some_and(|(own, other)| match row.topic.better() {
        Better::More => own.shown > other.shown,
        Better::Less => own.shown < other.shown,
    })
}

/// What rows show of a recommended server, next to the baseline or, where that is recommended itself, next to the
/// worst.
fn because(answer: &Answer, topic: Topic, rows: &[usize], servers: &[usize]) -> String {
    let rows = || rows.iter().map(|row| &answer.rows[*row]);
    let best = servers[0];
    if topic == Topic::Cpu && best != answer.baseline {
        let of = list(rows().map(|row| format!("{} for {}", shown(row, servers), row.request)));
        let times = |row: &AnswerRow| format!("{} {} times", row.request, times(row, servers));
        return format!(
            "With {} as 1: {of}. So the same CPU of the server answers more requests: {}.",
            answer.servers[answer.baseline],
            list(rows().map(times))
        );
    }
    let of = |row: &AnswerRow| {
        let other = if best == answer.baseline { worst(row) } else { answer.baseline };
        let phrase = phrase(row);
        // A name keeps its small letter.
        let phrase = if phrase.starts_with("p99") { phrase } else { capitalised(&phrase) };
        format!("{phrase}: {}.", against(answer, row, servers, other))
    };
    joined(rows().map(of), " ")
}

/// `2.10 ms (jsonrpc-core: 4.30 ms)`.
fn against(answer: &Answer, row: &AnswerRow, own: &[usize], other: usize) -> String {
    format!("{} ({}: {})", shown(row, own), answer.servers[other], shown(row, &[other]))
}

/// How many times as many requests the same CPU answers: `1.7 to 1.8`.
fn times(row: &AnswerRow, servers: &[usize]) -> String {
    dash(range(row, servers), |(low, high)| spanned((1.0 / high, 1.0 / low), |times| format!("{times:.1}")))
}

/// From the least to the most of these servers.
fn shown(row: &AnswerRow, servers: &[usize]) -> String {
    dash(range(row, servers), |ends| spanned(ends, |value| write(row.topic, value)))
}

fn range(row: &AnswerRow, servers: &[usize]) -> Option<(f64, f64)> {
    let values = || servers.iter().filter_map(|server| Some(row.values[*server]?.shown));
    values().reduce(f64::min).zip(values().reduce(f64::max))
}

/// The server that is furthest behind the best.
fn worst(row: &AnswerRow) -> usize {
    let measured = row.values.iter().enumerate().filter_map(|(server, value)| Some((server, (*value)?)));
    let order = |a: f64, b: f64| match row.topic.better() {
        Better::More => b.total_cmp(&a),
        Better::Less => a.total_cmp(&b),
    };
    let worst = measured.max_by(|(_, a), (_, b)| order(a.compared.value, b.compared.value));
    worst.map_or(0, |(server, _)| server)
}

/// What has no row here, by the campaign that measures it; and what none does.
fn not_measured(decided: &[Recommendation]) -> String {
    let missing = decided.iter().filter(|decided| decided.decided_by.is_none());
    let missing = missing.map(|Recommendation { measured_by: (what, campaign), .. }| (*campaign, *what));
    let of_campaign = |(campaign, missing): (&str, Vec<&str>)| {
        format!("{} (`just bench-all {campaign}`)", missing.join(" and "))
    };
    let missing = list(grouped(missing).into_iter().map(of_campaign));
    match missing.is_empty() {
        true => NEVER_MEASURED.to_owned(),
        false => format!("**Not measured here:** {missing}. {NEVER_MEASURED}"),
    }
}

/// A row in a sentence: `p99 of getBalance`.
fn phrase(row: &AnswerRow) -> String {
    let topic = match row.topic {
        Topic::Rate => "requests/s",
        Topic::Cpu => "CPU per request",
        Topic::P99 => "p99",
        Topic::P99NextToHeavy => "p99 next to heavy requests",
        Topic::AnsweredUnderLoad => "answered in time",
        Topic::Recovery => "time until p99 is back",
        Topic::Sustained => "highest rate",
        Topic::ConnectionMemory => "memory for a connection",
        Topic::Connections => "connections without a failed or late request",
    };
    if row.request.is_empty() { topic.to_owned() } else { format!("{topic}, {}", row.request) }
}

/// A topic's value with its unit.
fn write(topic: Topic, value: f64) -> String {
    match topic {
        Topic::Rate | Topic::Sustained => rounded(value),
        Topic::Cpu => format!("{value:.2}"),
        Topic::P99 | Topic::P99NextToHeavy => time_us(value),
        Topic::AnsweredUnderLoad => percent(value),
        Topic::Recovery => time_us(value * 1e3),
        Topic::ConnectionMemory => bytes(value),
        Topic::Connections => thousands(value),
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
        std::iter::once(name(answer, row)).chain(cells).collect::<Vec<String>>()
    };
    let rows = answer.rows.iter().filter(|row| !is_bound(row)).map(row);
    let headers: Vec<&str> =
        std::iter::once("question").chain(answer.servers.iter().map(String::as_str)).collect();
    Columns::written(&headers, 1, rows).with_numbers_last().markdown()
}

fn bold_words(baseline: &str) -> String {
    format!(
        "surely better than {baseline} ({baseline} itself: than all others), and no other is surely better."
    )
}

/// The servers that are surely better than the baseline, and that no other is surely better than; the baseline where
/// all others are surely worse.
fn bold(answer: &Answer, row: &AnswerRow) -> Vec<usize> {
    let is_better = |server: usize| row.is_surely_better(server, answer.baseline);
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
    // No line breaks between a value and its signs.
    let bound = if value.at_least { "≥\u{a0}" } else { "" };
    let open = if is_open(answer, row, server) { "\u{a0}?" } else { "" };
    let text = format!("{bound}{}{open}", shown(row, &[server]));
    if is_best { format!("**{text}**") } else { text }
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

/// A row's question: `p99, getBalance at 125 connections`.
fn name(answer: &Answer, row: &AnswerRow) -> String {
    let one = match row.topic {
        Topic::Cpu => format!(" ({} = 1)", answer.servers[answer.baseline]),
        _ => String::new(),
    };
    format!("{}{one} {}", phrase(row), row.at).trim_end().to_owned()
}

/// What the table's signs mean, as far as it has them.
fn notes(answer: &Answer) -> String {
    let cells = || answer.rows.iter().flat_map(|row| (0..row.values.len()).map(move |server| (row, server)));
    let cells = || cells().filter(|(row, _)| !is_bound(row));
    let baseline = &answer.servers[answer.baseline];
    let notes = [
        Some(format!("**Bold**: {}", bold_words(baseline))),
        cells().any(|(row, server)| is_open(answer, row, server)).then(|| {
            format!(
                "**?**: not surely different from {baseline}: the interval of their ratio includes 1, or where none is \
                 measured, as of memory, their own intervals overlap."
            )
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
        let (name, most) = (name(answer, row), write(row.topic, most));
        format!("No row for {name}: every server reached {most}, the most that the run tries.")
    });
    let bound = joined(bound, " ");
    (!bound.is_empty()).then_some(bound)
}
