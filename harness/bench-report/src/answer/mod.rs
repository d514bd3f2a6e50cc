//! The first thing that a reader sees: which server for whom, one table, one chart, and what was distrusted. The rest
//! of a report says how sure each of it is.

mod pooled;
mod rows;

use super::Run;
use super::charts::{self, Picture};
use super::format::{Table, bytes, capitalised, dash, list, percent, sections, spanned, thousands, time_us};
use bench_analysis::Better;
use bench_analysis::answer::{Answer, AnswerRow, Recommendation, Standing, Topic, Value};
use bench_analysis::pooled::ends;
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

/// The answer in Markdown, without its chart.
pub(super) fn markdown(answer: &Answer) -> String {
    let decided = answer.recommendations();
    let sentences = decided.iter().filter_map(|decided| Some(format!("- {}\n", sentence(answer, decided)?)));
    let mut sources = Sources::default();
    let table = table(answer, &mut sources);
    sections([
        sentences
            .chain(disagreements(answer).into_iter().map(|said| format!("- {said}\n")))
            .chain([format!("- {}\n", not_measured(&decided))])
            .collect(),
        table.markdown(),
        sources.markdown(),
        notes(answer),
    ])
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
        let said: Vec<String> = said.collect();
        if said.is_empty() { String::new() } else { said.join(" ") + "\n" }
    }
}

/// What a user should choose, why, and at what price; none where it was not measured.
fn sentence(answer: &Answer, decided: &Recommendation) -> Option<String> {
    let topic = decided.decided_by?;
    let wants = if topic == Topic::Rate { "Most requests/s" } else { decided.wants };
    let rows = || answer.rows.iter().filter(|row| row.topic == topic);
    if decided.best.is_empty() && rows().any(|row| row.differs_by_processor(answer.baseline)) {
        return Some(format!("**{wants}:** no server is best on every processor."));
    }
    if decided.best.is_empty() {
        return Some(format!("**{wants}:** no server is surely better than the others."));
    }
    let choice = |(rows, servers): &(Vec<usize>, Vec<usize>)| {
        let names: Vec<&str> = servers.iter().map(|server| answer.servers[*server].as_str()).collect();
        let names = names.join(" or ");
        match decided.best.as_slice() {
            [_] => names,
            _ => format!("{names} for {}", answer.rows[rows[0]].request),
        }
    };
    let chosen: Vec<String> = decided.best.iter().map(choice).collect();
    let because = decided.best.iter().map(|(rows, servers)| because(answer, topic, rows, servers));
    let because: Vec<String> = because.collect();
    let price = decided.price.iter().map(|row| {
        let row = &answer.rows[*row];
        let best = row.best().first().copied().unwrap_or(answer.baseline);
        format!("{}, {}", phrase(row), against(answer, row, &decided.best[0].1, best))
    });
    let price: Vec<String> = price.collect();
    let price = if price.is_empty() { String::new() } else { format!(" The price: {}.", price.join("; ")) };
    Some(format!("**{wants}: {}.** {}{price}", chosen.join("; "), because.join(" ")))
}

/// What rows show of a recommended server, next to the baseline or, where that is recommended itself, next to the
/// worst; and who else may be as good in one of them.
fn because(answer: &Answer, topic: Topic, rows: &[usize], servers: &[usize]) -> String {
    let rows = || rows.iter().map(|row| &answer.rows[*row]);
    let best = servers[0];
    let ties = rows().flat_map(|row| {
        let name = |server: usize| answer.servers[server].as_str();
        let others = row.best().into_iter().filter(|server| !servers.contains(server)).map(name);
        let others = others.collect::<Vec<_>>().join(" and ");
        let everywhere = (!others.is_empty()).then(|| format!("{others} may be as good"));
        let somewhere = row.best_somewhere().into_iter().map(|(server, on)| {
            let on = list(on.into_iter().map(short));
            format!("{} may be as good on {on}", answer.servers[server])
        });
        everywhere.into_iter().chain(somewhere).map(|who| format!(" For {}, {who}.", row.request))
    });
    let ties: String = ties.collect();
    if topic == Topic::Cpu && best != answer.baseline {
        let of: Vec<String> =
            rows().map(|row| format!("{} for {}", shown(row, servers), row.request)).collect();
        let times = rows().map(|row| {
            let times = dash(range(row, servers), |(low, high)| {
                spanned((1.0 / high, 1.0 / low), |times| format!("{times:.1}"))
            });
            format!("{} {times} times", row.request)
        });
        let times: Vec<String> = times.collect();
        return format!(
            "With {} as 1{}: {}. So the same CPU of the server answers more requests: {}.{ties}",
            answer.servers[answer.baseline],
            over_processors(rows()),
            of.join(", "),
            times.join(", ")
        );
    }
    let of = |row: &AnswerRow| {
        let other = if best == answer.baseline { worst(row) } else { answer.baseline };
        let phrase = phrase(row);
        // A name keeps its small letter.
        let phrase = if phrase.starts_with("p99") { phrase } else { capitalised(&phrase) };
        format!("{phrase}: {}{}.", against(answer, row, servers, other), from(row))
    };
    rows().map(of).collect::<Vec<_>>().join(" ") + &ties
}

/// ` (each a range over 3 processors)`, where the rows are figures of that many.
fn over_processors<'a>(rows: impl Iterator<Item = &'a AnswerRow>) -> String {
    match rows.map(|row| row.models.len()).max() {
        Some(processors) if processors > 1 => format!(" (each a range over {processors} processors)"),
        _ => String::new(),
    }
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
        let mut places: Vec<(String, Vec<&str>)> = Vec::new();
        for (server, standings) in row.standings(answer.baseline) {
            let name = &*answer.servers[server];
            let on = |wanted: Standing| {
                let on = standings.iter().filter(move |(_, standing)| *standing == wanted);
                on.map(|(processor, _)| short(processor)).collect::<Vec<_>>()
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
                let on = |processors: &[String]| {
                    processors.iter().map(|name| numbers(name)).collect::<Vec<_>>().join(" and ")
                };
                let place = match (less.as_slice(), more.as_slice()) {
                    ([], []) => String::new(),
                    (less, []) => format!("surely less on {} alone", on(less)),
                    (_, more) => format!("surely more on {} alone", on(more)),
                };
                match places.iter_mut().find(|(known, _)| *known == place) {
                    Some((_, servers)) => servers.push(name),
                    None => places.push((place, vec![name])),
                }
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
        let places = list(places.into_iter().map(words));
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
        said.push(format!("**In doubt, next to {baseline}:**{}", lines.collect::<String>()));
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
    let mut by_campaign: Vec<(&str, Vec<&str>)> = Vec::new();
    for decided in decided.iter().filter(|decided| decided.decided_by.is_none()) {
        let (what, campaign) = decided.measured_by;
        match by_campaign.iter_mut().find(|(known, _)| *known == campaign) {
            Some((_, missing)) => missing.push(what),
            None => by_campaign.push((campaign, vec![what])),
        }
    }
    if by_campaign.is_empty() {
        return NEVER_MEASURED.to_owned();
    }
    let of_campaign = |(campaign, missing): (&str, Vec<&str>)| {
        format!("{} (`just bench-all {campaign}`)", missing.join(" and "))
    };
    let missing = list(by_campaign.into_iter().map(of_campaign));
    format!("**Not measured here:** {missing}. {NEVER_MEASURED}")
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
fn table(answer: &Answer, sources: &mut Sources) -> Table {
    let mut headers = vec!["question"];
    headers.extend(answer.servers.iter().map(String::as_str));
    let mut table = Table::new(&headers, 1).with_numbers_last();
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
        table.row(std::iter::once(name).chain(row.values.iter().enumerate().map(cell)).collect());
        if !row.one_build.is_empty() {
            let cell = |(server, ends): (usize, &Option<(f64, f64)>)| match ends {
                _ if server == answer.baseline => shown(row, &[server]),
                Some(ends) => spanned(*ends, |value| write(row.topic, value)),
                None => "not measured".to_owned(),
            };
            let note = "The same of one build of each server: the lowest and the highest that was seen, without ? and \
                bold; another build may lie a little outside";
            let name = format!("{}, one build, such as yours{}", phrase(row), sources.mark(note.to_owned()));
            table.row(std::iter::once(name).chain(row.one_build.iter().enumerate().map(cell)).collect());
        }
    }
    table
}

fn cell(answer: &Answer, row: &AnswerRow, server: usize, value: Value, is_best: bool) -> String {
    // No line breaks between a value and its signs.
    let bound = if value.at_least { "≥\u{a0}" } else { "" };
    let text = format!("{bound}{}", shown(row, &[server]));
    // All of the best are bold, or one of them would stand next to a value that reads as better.
    match (is_best, is_open(answer, row, server)) {
        (true, false) => format!("**{text}**"),
        (true, true) => format!("**{text}\u{a0}?**"),
        (false, true) => format!("{text}\u{a0}?"),
        (false, false) => text,
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

/// A row's question: `p99, getBalance at 125 connections`.
fn name(answer: &Answer, row: &AnswerRow) -> String {
    let one = match row.topic {
        Topic::Cpu => format!(" ({} = 1)", answer.servers[answer.baseline]),
        _ => String::new(),
    };
    let parts = [format!("{}{one}", phrase(row)), row.at.clone()];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// What the table's signs mean, as far as it has them.
fn notes(answer: &Answer) -> String {
    let cells = || answer.rows.iter().flat_map(|row| (0..row.values.len()).map(move |server| (row, server)));
    let has_models = answer.rows.iter().any(|row| row.models.len() > 1);
    let where_measured = |several: &'static str| if has_models { several } else { "" };
    let nowhere =
        if has_models { "on no processor of its row is another server" } else { "no other server is" };
    let mut notes = vec![format!("**Bold**: may be the best: {nowhere} surely better.")];
    let cells = || cells().filter(|(row, _)| !is_bound(row));
    if cells().any(|(row, _)| row.best().is_empty()) {
        let differs = where_measured(", or the best differs from processor to processor");
        notes.push(format!("No bold in a row: any server may be{differs}."));
    }
    if cells().any(|(row, server)| is_open(answer, row, server)) {
        let baseline = &answer.servers[answer.baseline];
        let somewhere = where_measured("; in a range, on at least one of its processors");
        notes.push(format!(
            "**?**: not surely different from {baseline}: their intervals overlap{somewhere}."
        ));
    }
    if cells().any(|(row, server)| row.values[server].is_some_and(|value| value.at_least)) {
        notes
            .push("**≥**: the load generator, or the highest load that was tried, was the limit.".to_owned());
    }
    let bound = answer.rows.iter().filter(|row| is_bound(row)).map(|row| {
        let most = row.values.iter().flatten().map(|value| value.shown).fold(0.0, f64::max);
        let (name, most, from) = (name(answer, row), write(row.topic, most), from(row));
        format!("{name}: every server reached {most}, the most that was tried{from}")
    });
    let bound: Vec<String> = bound.collect();
    if !bound.is_empty() {
        notes.push(format!("Left out: {}.", bound.join("; ")));
    }
    format!("{}\n", notes.join(" "))
}
