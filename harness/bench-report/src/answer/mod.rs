//! The first thing that a reader sees: which server for whom, one table, one chart, and what was distrusted. The rest
//! of a report says how sure each of it is.

mod pooled;
mod rows;

use super::Run;
use super::charts::{self, Picture};
use super::columns::Columns;
use super::format::{
    bullets, bytes, capitalised, dash, joined, known, list, percent, sections, spanned, thousands, time_us,
};
use bench_analysis::answer::{Answer, AnswerRow, Recommendation, Standing, Topic, Value};
use bench_analysis::pooled::ends;
use bench_analysis::{Better, grouped};
use bench_system::readable_numbers::rounded;

pub(super) use pooled::of_runs;
pub(super) use rows::of;

/// A test reads the campaigns.
const NEVER_MEASURED: &str = "No campaign measures subscriptions. Campaigns of their own measure other methods \
    (`mixes`), TLS (`tls`), and a network (`distance`, `distance-batches`, `distance-rates`).";
/// The chart of a run that has an answer.
pub(super) fn chart(run: &Run) -> Option<Picture> {
    of(run).and_then(|_| charts::ratios(run))
}

/// The answer in Markdown, without its chart. Before a run's sweep has begun nothing is said to be missing.
pub(super) fn markdown(answer: &Answer, has_begun: bool) -> String {
    let decided = answer.recommendations();
    let mut sources = Sources::default();
    let table = table(answer, &mut sources);
    let mut prices = Vec::new();
    let said = decided.iter().filter_map(|decided| sentence(answer, decided, &mut prices));
    let said = said.chain(disagreements(answer)).chain(has_begun.then(|| not_measured(&decided)));
    sections([bullets(said), table, sources.markdown(), notes(answer)])
}

/// Where the rows of a page's table are from: notes below it, each said once.
#[derive(Default)]
struct Sources(Vec<String>);

impl Sources {
    /// The mark of a row of which this is true: ` (a)`.
    fn mark(&mut self, note: String) -> String {
        let place = self.0.iter().position(|known| *known == note).unwrap_or_else(|| {
            self.0.push(note);
            self.0.len() - 1
        });
        format!(" ({})", char::from(b'a' + place as u8))
    }

    fn markdown(&self) -> String {
        let said = (b'a'..).zip(&self.0).map(|(mark, note)| format!("({}) {note}.", char::from(mark)));
        if self.0.is_empty() { String::new() } else { joined(said, " ") + "\n" }
    }
}

/// What a user should choose, why, and at what price, unless `prices` has that of the same servers already; none where
/// it was not measured.
fn sentence(answer: &Answer, decided: &Recommendation, prices: &mut Vec<String>) -> Option<String> {
    let topic = decided.decided_by?;
    let wants = if topic == Topic::Rate { "Most requests/s" } else { decided.wants };
    if decided.best.is_empty() {
        let mut rows = answer.rows.iter().filter(|row| row.topic == topic);
        let none = match rows.any(|row| row.differs_by_processor(answer.baseline)) {
            true => "best on every processor",
            false => "surely better than the others",
        };
        return Some(format!("**{wants}:** no server is {none}."));
    }
    let choice = |(rows, servers): &(Vec<usize>, Vec<usize>)| {
        let names = joined(servers.iter().map(|server| &answer.servers[*server]), " or ");
        match decided.best.as_slice() {
            [_] => names,
            _ => format!("{names} for {}", answer.rows[rows[0]].request),
        }
    };
    let chosen = joined(decided.best.iter().map(choice), "; ");
    let because = decided.best.iter().map(|(rows, servers)| because(answer, topic, rows, servers));
    let because = joined(because, " ");
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
    Some(format!("**{wants}: {chosen}.** {because}{price}"))
}

/// What rows show of a recommended server, next to the baseline or, where that is recommended itself, next to the
/// worst; and who else may be as good in one of them.
fn because(answer: &Answer, topic: Topic, rows: &[usize], servers: &[usize]) -> String {
    let rows = || rows.iter().map(|row| &answer.rows[*row]);
    let best = servers[0];
    let ties = rows().flat_map(|row| {
        let name = |server: usize| answer.servers[server].as_str();
        let others = row.best().into_iter().filter(|server| !servers.contains(server)).map(name);
        let others = joined(others, " and ");
        let everywhere = (!others.is_empty()).then(|| format!("{others} may be as good"));
        let somewhere = row.best_somewhere().into_iter().map(|(server, on)| {
            let on = list(on.into_iter().map(short));
            format!("{} may be as good on {on}", answer.servers[server])
        });
        everywhere.into_iter().chain(somewhere).map(|who| format!(" For {}, {who}.", row.request))
    });
    let ties: String = ties.collect();
    if topic == Topic::Cpu && best != answer.baseline {
        let of = list(rows().map(|row| format!("{} for {}", shown(row, servers), row.request)));
        let times = |row: &AnswerRow| {
            let times = dash(range(row, servers), |(low, high)| {
                spanned((1.0 / high, 1.0 / low), |times| format!("{times:.1}"))
            });
            format!("{} {times} times", row.request)
        };
        let processors = rows().map(|row| row.models.len()).max().filter(|processors| *processors > 1);
        let over = known(processors, "", |of| format!(" (each a range over {of} processors)"));
        return format!(
            "With {} as 1{over}: {of}. So the same CPU of the server answers more requests: {}.{ties}",
            answer.servers[answer.baseline],
            list(rows().map(times))
        );
    }
    let of = |row: &AnswerRow| {
        let other = if best == answer.baseline { worst(row) } else { answer.baseline };
        let phrase = phrase(row);
        // A name keeps its small letter.
        let phrase = if phrase.starts_with("p99") { phrase } else { capitalised(&phrase) };
        format!("{phrase}: {}{}.", against(answer, row, servers, other), from(row))
    };
    joined(rows().map(of), " ") + &ties
}

/// `2.10 ms (jsonrpc-core: 4.30 ms)`.
fn against(answer: &Answer, row: &AnswerRow, own: &[usize], other: usize) -> String {
    format!("{} ({}: {})", shown(row, own), answer.servers[other], shown(row, &[other]))
}

/// From the least to the most of these servers, and of the processors.
fn shown(row: &AnswerRow, servers: &[usize]) -> String {
    dash(range(row, servers), |ends| spanned(ends, |value| write(row.topic, value)))
}

fn range(row: &AnswerRow, servers: &[usize]) -> Option<(f64, f64)> {
    ends(servers.iter().filter_map(|server| row.range(*server)))
}

/// Where processors decide how a server stands to the baseline: a sentence for each that is better on one and worse on
/// another, and one for all whose difference is not resolved on some or on any.
fn disagreements(answer: &Answer) -> Vec<String> {
    let baseline = &answer.servers[answer.baseline];
    if answer.rows.iter().all(|row| row.models.is_empty()) {
        return Vec::new();
    }
    let (mut said, mut open) = (Vec::new(), Vec::<(Topic, String, String)>::new());
    for row in answer.rows.iter().filter(|row| !is_bound(row)) {
        // Servers by where their difference is open.
        let mut places: Vec<(String, &str)> = Vec::new();
        for (server, standings) in row.standings(answer.baseline) {
            let name = &*answer.servers[server];
            let on = |wanted: Standing| {
                let on = standings.iter().filter(move |(_, standing)| *standing == wanted);
                on.map(|(processor, _)| short(processor)).collect::<Vec<String>>()
            };
            let (less, more, unresolved) = (on(Standing::Less), on(Standing::More), on(Standing::Open));
            if !less.is_empty() && !more.is_empty() {
                said.push(format!(
                    "**Processors disagree** about {} of {name} next to {baseline}'s: less on {}, more on {}.",
                    phrase(row),
                    list(less),
                    list(more)
                ));
            } else if !unresolved.is_empty() {
                let on = |processors: &[String]| joined(processors.iter().map(|name| numbers(name)), " and ");
                let place = match (less.as_slice(), more.as_slice()) {
                    ([], []) => String::new(),
                    (less, []) => format!("surely less only on {}", on(less)),
                    (_, more) => format!("surely more only on {}", on(more)),
                };
                places.push((place, name));
            }
        }
        let others = row.values.iter().flatten().count().saturating_sub(1);
        let anywhere = match row.models.len() {
            0 | 1 => String::new(),
            models => format!(", on any of the {models} processors"),
        };
        let words = |(place, servers): (String, Vec<&str>)| match (place.is_empty(), servers.join(" and ")) {
            (true, _) if servers.len() == others && others > 1 => {
                format!("no server surely differs{anywhere}")
            }
            (true, names) => format!("{names} not surely{anywhere}"),
            (false, names) => format!("{names} {place}"),
        };
        let places = list(grouped(places).into_iter().map(words));
        if !places.is_empty() {
            // The figures and the doubt of a row without models are of one run; that of the others is of all.
            let from = if row.models.is_empty() { from(row) } else { String::new() };
            let rest = format!("{from}: {places}");
            match open.last_mut().filter(|(topic, _, known)| (*topic, known) == (row.topic, &rest)) {
                Some((_, what, _)) => what.extend([" and ", &row.request]),
                None => open.push((row.topic, phrase(row), rest)),
            }
        }
    }
    if !open.is_empty() {
        let lines = open.into_iter().map(|(_, what, rest)| format!("\n  - {what}{rest}"));
        said.push(format!(
            "**In doubt, next to {baseline}, at the table's loads:**{}",
            lines.collect::<String>()
        ));
    }
    said
}

/// `AMD EPYC 25/17` for `AMD EPYC (family 25, model 17)`.
pub(super) fn short(processor: &str) -> String {
    let numbers = processor.split_once(" (family ").and_then(|(name, rest)| {
        let (family, model) = rest.trim_end_matches(')').split_once(", model ")?;
        Some(format!("{name} {family}/{model}"))
    });
    numbers.unwrap_or_else(|| processor.to_owned())
}

/// `25/17` for `AMD EPYC 25/17`.
fn numbers(short: &str) -> &str {
    short.rsplit(' ').next().unwrap_or(short)
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

/// Where a row is from, behind what is said of it; empty in a run's own report.
fn from(row: &AnswerRow) -> String {
    if row.from.is_empty() { String::new() } else { format!(" ({})", row.from) }
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
fn table(answer: &Answer, sources: &mut Sources) -> String {
    let mut rows: Vec<Vec<String>> = Vec::new();
    for row in answer.rows.iter().filter(|row| !is_bound(row)) {
        let best = row.best();
        let cell = |(server, value): (usize, &Option<_>)| {
            let Some(value) = value else { return "not measured".to_owned() };
            cell(answer, row, server, *value, best.contains(&server))
        };
        let name = match row.topic {
            _ if row.from.is_empty() => name(answer, row),
            Topic::Cpu => {
                let note = format!("{} = 1, {}: {}", answer.servers[answer.baseline], row.at, row.from);
                phrase(row) + &sources.mark(note)
            }
            _ => name(answer, row) + &sources.mark(row.from.clone()),
        };
        rows.push(std::iter::once(name).chain(row.values.iter().enumerate().map(cell)).collect());
        if !row.one_build.is_empty() {
            let cell = |(server, ends): (usize, &Option<(f64, f64)>)| match ends {
                _ if server == answer.baseline => shown(row, &[server]),
                Some(ends) => spanned(*ends, |value| write(row.topic, value)),
                None => "not measured".to_owned(),
            };
            let note = "The same of one build of each server, on any of them, in one window of a run over many \
                builds or in one run of a single one: the lowest and the highest that was seen, without ? and bold; another \
                build may lie a little outside";
            let name = format!("{}, one build, such as yours{}", phrase(row), sources.mark(note.to_owned()));
            rows.push(std::iter::once(name).chain(row.one_build.iter().enumerate().map(cell)).collect());
        }
    }
    let headers: Vec<&str> =
        std::iter::once("question").chain(answer.servers.iter().map(String::as_str)).collect();
    Columns::written(&headers, 1, rows).with_numbers_last().markdown()
}

fn cell(answer: &Answer, row: &AnswerRow, server: usize, value: Value, is_best: bool) -> String {
    // No line breaks between a value and its signs.
    let bound = if value.at_least { "≥\u{a0}" } else { "" };
    let open = if is_open(answer, row, server) { "\u{a0}?" } else { "" };
    let text = format!("{bound}{}{open}", shown(row, &[server]));
    // All of the best are bold, or one of them would stand next to a value that reads as better.
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
    let has_models = answer.rows.iter().any(|row| row.models.len() > 1);
    let where_measured = |several: &'static str| if has_models { several } else { "" };
    let nowhere =
        if has_models { "on no processor of its row is another server" } else { "no other server is" };
    let cells = || cells().filter(|(row, _)| !is_bound(row));
    let bound = answer.rows.iter().filter(|row| is_bound(row)).map(|row| {
        let most = row.values.iter().flatten().map(|value| value.shown).fold(0.0, f64::max);
        let (name, most, from) = (name(answer, row), write(row.topic, most), from(row));
        format!("{name}: every server reached {most}, the most that the run tries{from}")
    });
    let bound = joined(bound, "; ");
    let notes = [
        Some(format!("**Bold**: may be the best: {nowhere} surely better.")),
        cells().any(|(row, _)| row.best().is_empty()).then(|| {
            let differs = where_measured(", or the best differs from processor to processor");
            format!("No bold in a row: any server may be{differs}.")
        }),
        cells().any(|(row, server)| is_open(answer, row, server)).then(|| {
            let baseline = &answer.servers[answer.baseline];
            let somewhere = where_measured("; in a range, on at least one of its processors");
            format!(
                "**?**: not surely different from {baseline}: the interval of their ratio includes 1, or where none is \
                 measured, as of memory, their own intervals overlap{somewhere}."
            )
        }),
        cells().any(|(row, server)| row.values[server].is_some_and(|value| value.at_least)).then(|| {
            let limit = "the load generator, or the highest load that was tried, was the limit";
            format!("**≥**: a lower bound, since {limit}.")
        }),
        (!bound.is_empty()).then(|| format!("Left out: {bound}.")),
    ];
    joined(notes.into_iter().flatten(), " ") + "\n"
}
