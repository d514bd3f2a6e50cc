//! The answer of all kept runs: CPU per request on each processor, and what else was measured on one of them.

use std::collections::BTreeSet;

use super::{
    Topic, bold, bold_words, choice, directions, is_bound, not_measured, phrase, short, shown, times, write,
};
use crate::columns::Columns;
use crate::format::{bullets, estimate, joined, known, list, sections, spanned};
use bench_analysis::answer::{Answer, AnswerRow, OnModel, OneBuild, Standing, Value};
use bench_analysis::grouped;
use bench_analysis::pooled::ends;
use bench_stats::Estimate;

/// What a page calls the runs behind an answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Links<'a> {
    /// All kept runs.
    pub(crate) pooled: &'a str,
    /// The run that has the servers.
    pub(crate) run: &'a str,
    /// The servers' whole labels.
    pub(crate) labels: &'a [String],
    /// Whether its servers and load generators had the same cores.
    pub(crate) is_shared: bool,
}

/// The answer in Markdown, without its chart. `own` is the processor of the run that has the servers.
pub(crate) fn markdown(answer: &Answer, own: &str, links: Links<'_>) -> String {
    let decided = answer.recommendations();
    let said = decided.iter().filter_map(|decided| {
        let topic = decided.decided_by?;
        let behind: String = decided.best.iter().map(|best| behind(answer, topic, best, links)).collect();
        Some(choice(answer, decided, topic) + &behind)
    });
    let compared = [Topic::Rate, Topic::P99].into_iter().filter_map(|topic| compared(answer, topic));
    let said = said.chain(compared).chain([not_measured(&decided)]);
    sections([bullets(said), table(answer, own, links), notes(answer, links)])
}

/// What a choice rests on: of CPU how much less, of the rest where it was measured.
fn behind(
    answer: &Answer,
    topic: Topic,
    (rows, servers): &(Vec<usize>, Vec<usize>),
    links: Links<'_>,
) -> String {
    let rows = || rows.iter().map(|row| &answer.rows[*row]);
    if topic != Topic::Cpu || servers[0] == answer.baseline {
        let from: BTreeSet<&str> = rows().map(|row| &*row.from).collect();
        return format!(" At the table's loads, from {}.", joined(from, " and "));
    }
    let of = |row: &AnswerRow| format!("{} for {}", shown(row, servers), row.request);
    let more = |row: &AnswerRow| format!("{} times as many {}", times(row, servers), row.request);
    let several = rows().map(|row| row.models.len()).max().filter(|processors| *processors > 1);
    let over = known(several, "", |of| format!(" (from the lowest to the highest mean of {of} processors)"));
    let lagging = rows().filter_map(|row| lagging_rate(answer, row, servers[0], links));
    format!(
        " Of {}'s CPU, {} needs {}{over}. So the same CPU of the server answers {}.{}",
        answer.servers[answer.baseline],
        answer.servers[servers[0]],
        and(rows().map(of)),
        and(rows().map(more)),
        lagging.collect::<String>()
    )
}

/// Where a server's rate is less ahead on every processor than its CPU would allow.
fn lagging_rate(answer: &Answer, cpu: &AnswerRow, server: usize, links: Links<'_>) -> Option<String> {
    let rate = answer.rows.iter().find(|row| row.topic == Topic::Rate && row.request == cpu.request)?;
    let rates = rate.models.iter().filter_map(|model| Some(model.values[server]?.compared.value));
    let (low, high) = ends(rates.map(|rate| (rate, rate)))?;
    let (_, most_cpu) = cpu.range(server)?;
    let rates = spanned((low, high), |rate| format!("{rate:.1}"));
    let why = if links.is_shared { ", since server and load generator share the cores" } else { "" };
    let said = format!(" The rate of {} rises less, {rates} times{why}.", cpu.request);
    (high < 1.0 / most_cpu).then_some(said)
}

/// How servers stand to the baseline in the rows of a topic, on each processor; none where no row is of all kept runs.
fn compared(answer: &Answer, topic: Topic) -> Option<String> {
    let rows = answer.rows.iter().filter(|row| row.topic == topic && !row.models.is_empty());
    let said = rows.map(|row| format!("{}: {}.", row.request, standings(answer, row)));
    let said = joined(said, " ");
    let name = if topic == Topic::P99 { "p99" } else { "requests/s" };
    let name =
        format!("**{name}, compared with {}, at the table's loads:**", answer.servers[answer.baseline]);
    (!said.is_empty()).then(|| format!("{name} {said}"))
}

/// `actix-web surely better; axum surely better on Zen 4; else undecided`
fn standings(answer: &Answer, row: &AnswerRow) -> String {
    let (better, worse) = directions(row);
    let mut is_open = false;
    let mut of_server = |(server, standings): (usize, Vec<(&str, Standing)>)| {
        let on = |wanted: Standing| -> Vec<String> {
            let on = standings.iter().filter(move |(_, standing)| *standing == wanted);
            on.map(|(processor, _)| short(processor)).collect()
        };
        is_open |= !on(Standing::Open).is_empty();
        let parts = [(on(better), "surely better"), (on(worse), "surely worse")];
        let parts = parts.into_iter().filter(|(on, _)| !on.is_empty());
        let words = parts.map(|(on, words)| match on.len() == standings.len() {
            true => words.to_owned(),
            false => format!("{words} on {}", and(on)),
        });
        (joined(words, " and "), server)
    };
    let all = row.standings(answer.baseline).into_iter().map(&mut of_server).collect::<Vec<_>>();
    let said = grouped(all).into_iter().filter(|(words, _)| !words.is_empty());
    let said = said.map(|(words, servers)| {
        format!("{} {words}", and(servers.into_iter().map(|server| &answer.servers[server])))
    });
    let said: Vec<String> = said.collect();
    match (said.is_empty(), is_open) {
        (true, _) => "undecided".to_owned(),
        (false, true) => joined(said, "; ") + "; else undecided",
        (false, false) => joined(said, "; "),
    }
}

/// `a, b and c`.
fn and(names: impl IntoIterator<Item: ToString>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| name.to_string()).collect();
    match names.split_last() {
        Some((last, before)) if !before.is_empty() => format!("{} and {last}", list(before)),
        _ => names.concat(),
    }
}

/// A value with its interval, whose ends have no unit where it is the value's: `18.4 KiB [17.4, 20.5]`.
fn with_unit(topic: Topic, value: Estimate) -> String {
    let text = estimate(value, |value| write(topic, value));
    let parts = text.split_once(" [").and_then(|(value, ends)| Some((value.split_once(' ')?.1, ends)));
    let is_shared = |unit: &str, ends: &str| ends.matches(unit).count() == 2;
    match parts {
        Some((unit, ends)) if is_shared(unit, ends) => {
            text.replace(ends, &ends.replace(&format!(" {unit}"), ""))
        }
        _ => text,
    }
}

/// Ratios by processor, of p99 on `own` alone. Then the values that only one run has.
fn table(answer: &Answer, own: &str, links: Links<'_>) -> String {
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut shown: Vec<&AnswerRow> = answer.rows.iter().filter(|row| !is_bound(row)).collect();
    shown.sort_by_key(|row| row.topic != Topic::Cpu);
    for row in shown {
        let name = format!("{} {}", phrase(row), row.at);
        let mut add = |on: String, cells: Vec<String>| {
            rows.push([name.trim_end().to_owned(), on].into_iter().chain(cells).collect());
        };
        let is_shown = |model: &&OnModel| row.topic != Topic::P99 || model.processor == own;
        let mut models = row.models.iter().filter(is_shown).peekable();
        if models.peek().is_none() {
            let best = bold(answer, row, None);
            let cell = |(server, value): (usize, &Option<Value>)| {
                known(*value, "not measured", |value| {
                    // What is compared may be a ratio to the baseline, which has no unit.
                    let text = match value.compared.value == value.shown {
                        true => with_unit(row.topic, value.compared),
                        false => write(row.topic, value.shown),
                    };
                    marked(text, best.contains(&server))
                })
            };
            add(row.from.clone(), row.values.iter().enumerate().map(cell).collect());
        }
        for model in models {
            let best = bold(answer, row, Some(model));
            let counts = model.run_counts().unwrap_or_default();
            let cell = |(server, value): (usize, &Option<Value>)| match value {
                None => "not measured".to_owned(),
                Some(value) if server == answer.baseline => match row.topic {
                    Topic::Rate | Topic::P99 if model.processor == own => {
                        format!("1 = {}", write(row.topic, value.shown))
                    }
                    _ => "1".to_owned(),
                },
                Some(value) => {
                    let limited = if value.at_least && model.processor == own { "\u{a0}†" } else { "" };
                    let ratio = estimate(value.compared, |ratio| format!("{ratio:.2}"));
                    let of = if counts.0 == counts.1 {
                        String::new()
                    } else {
                        format!(" ({})", model.runs[server])
                    };
                    marked(format!("{ratio}{of}{limited}"), best.contains(&server))
                }
            };
            let runs = spanned(counts, |runs| runs.to_string());
            let runs = if runs == "1" { "1 run".to_owned() } else { format!("{runs} runs") };
            let on = format!("[{}, {runs}][{}]", short(&model.processor), links.pooled);
            add(on, model.values.iter().enumerate().map(cell).collect());
        }
        if !row.one_build.is_empty() {
            let cell = |(server, builds): (usize, &Option<OneBuild>)| match builds {
                _ if server == answer.baseline => "1".to_owned(),
                Some(builds) => spanned(builds.range, |value| write(row.topic, value)),
                None => "not measured".to_owned(),
            };
            add(
                format!("one build, any of these {}", row.models.len()),
                row.one_build.iter().enumerate().map(cell).collect(),
            );
        }
    }
    let headers = ["figure", "processor"].into_iter().chain(links.labels.iter().map(String::as_str));
    Columns::written(&headers.collect::<Vec<_>>(), 2, rows).with_numbers_last().markdown()
}

fn marked(text: String, is_best: bool) -> String {
    if is_best { format!("**{text}**") } else { text }
}

/// How to read the table.
fn notes(answer: &Answer, links: Links<'_>) -> String {
    let baseline = &answer.servers[answer.baseline];
    let models = || answer.rows.iter().flat_map(|row| &row.models);
    let processors: BTreeSet<&str> = models().map(|model| &*model.processor).collect();
    let called = processors.iter().map(|processor| (short(processor), *processor));
    let called = called.filter(|(short, processor)| short != processor);
    let called = joined(called.map(|(short, processor)| format!("{short} is {processor}")), ", ");
    let rows = || answer.rows.iter().filter(|row| !is_bound(row));
    let is_limited =
        rows().any(|row| !row.models.is_empty() && row.values.iter().flatten().any(|value| value.at_least));
    let notes = [
        models().next().map(|_| {
            format!("**1** is {baseline}; what stands behind `1 =` is of [one run][{}].", links.run)
        }),
        Some("Less is better, but of requests/s more.".to_owned()),
        Some(
            "**Brackets** (95 %): of three or more runs, where the next run on that processor will lie; of one or two, \
             they are about these runs alone, and the next may lie outside. Few runs make them wide, even where all \
             agree. A number in parentheses is how many runs a cell comes from, where the row's cells differ."
                .to_owned(),
        ),
        rows().any(|row| !row.one_build.is_empty()).then(|| {
            let builds = rows().flat_map(|row| &row.one_build).flatten();
            let outside = builds.filter_map(|builds| builds.outside).max_by(f64::total_cmp);
            let outside = known(outside, "yours may lie outside", |share| {
                format!(
                    "yours may lie a little outside: each run's builds lay at most {:.0} % outside those of all \
                     other runs",
                    (share * 100.0).ceil()
                )
            });
            format!(
                "**One build**: the lowest and the highest ratio that any single build of each server gave, on any of \
                 these processors; {outside}. The other CPU rows are over many builds."
            )
        }),
        Some(format!(
            "**Surely**: the brackets exclude 1, and with one or two runs that is sure of these runs only; of memory, \
             those of {baseline} and of the other do not overlap. **Bold**: {} Two servers were also compared \
             directly, which decides where their brackets overlap.",
            bold_words(baseline)
        )),
        is_limited.then(|| {
            format!(
                "**†**: in [that run][{}] the load generator, or the highest load that was tried, was the limit; the \
                 server may do more.",
                links.run
            )
        }),
        (!called.is_empty()).then(|| format!("{called}.")),
    ];
    joined(notes.into_iter().flatten(), " ") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two servers and a baseline, whose ratios on two processors are these.
    fn row(topic: Topic, ratios: [[f64; 2]; 2], runs: usize) -> AnswerRow {
        let value = |ratio: f64| Estimate { value: ratio, interval: Some((ratio - 0.05, ratio + 0.05)) };
        let on = |(place, processor): (usize, &str)| {
            let of = [1.0, ratios[place][0], ratios[place][1]];
            let runs = vec![0, runs, runs];
            let values = of
                .map(|ratio| {
                    Some(Value {
                        shown: if topic == Topic::Cpu { ratio } else { 60.0 },
                        compared: value(ratio),
                        at_least: false,
                    })
                })
                .into();
            OnModel { processor: processor.to_owned(), values, direct: Vec::new(), runs }
        };
        let models: Vec<OnModel> = ["here", "there"].into_iter().enumerate().map(on).collect();
        let (values, from) = (models[0].values.clone(), "[here, 1 run][one]".to_owned());
        let (request, at, direct) = ("getX".to_owned(), String::new(), Vec::new());
        AnswerRow { topic, request, at, from, values, direct, models, one_build: Vec::new() }
    }

    fn answer(row: AnswerRow) -> Answer {
        Answer { servers: ["base", "a", "b"].map(str::to_owned).into(), baseline: 0, rows: vec![row] }
    }

    #[test]
    fn what_is_sure_is_said_by_processor() {
        let said = |topic, ratios| compared(&answer(row(topic, ratios, 2)), topic).unwrap();
        let sure = said(Topic::Rate, [[1.4, 1.4], [1.4, 1.02]]);
        assert!(sure.ends_with("getX: a surely better; b surely better on here; else undecided."), "{sure}");
        let opposed = said(Topic::P99, [[1.4, 0.6], [0.6, 0.6]]);
        let words = "getX: a surely better on there and surely worse on here; b surely better.";
        assert!(opposed.ends_with(words), "{opposed}");
        let open = said(Topic::Rate, [[1.02, 0.98], [1.03, 1.02]]);
        assert!(open.ends_with("getX: undecided."), "{open}");
        assert!(compared(&answer(row(Topic::Rate, [[1.4, 1.4]; 2], 2)), Topic::P99).is_none());
    }

    #[test]
    fn a_rate_that_rises_less_than_the_cpu_allows_is_named() {
        let of = |rates| {
            let mut known = answer(row(Topic::Cpu, [[0.6, 0.9], [0.7, 0.9]], 1));
            known.rows.push(row(Topic::Rate, rates, 1));
            let links = Links { pooled: "all", run: "one", labels: &[], is_shared: true };
            lagging_rate(&known, &known.rows[0], 1, links)
        };
        let said = of([[1.3, 1.0], [1.2, 1.0]]).unwrap();
        assert!(said.starts_with(" The rate of getX rises less, 1.2 to 1.3 times"), "{said}");
        assert_eq!(of([[1.3, 1.0], [1.5, 1.0]]), None, "1 / 0.7 is 1.43");
    }

    #[test]
    fn ratios_are_shown_on_each_processor_and_p99_on_one() {
        let links = Links {
            pooled: "all",
            run: "one",
            labels: &["base", "a", "b"].map(str::to_owned),
            is_shared: true,
        };
        let of = |topic| table(&answer(row(topic, [[0.6, 0.9], [0.7, 0.95]], 3)), "here", links);
        let cpu = of(Topic::Cpu);
        for words in
            ["[here, 3 runs][all]", "[there, 3 runs][all]", "**0.60 [0.55, 0.65]**", "0.95 [0.90, 1.00]"]
        {
            assert!(cpu.contains(words), "{words}: {cpu}");
        }
        let rates = of(Topic::Rate);
        assert!(rates.contains("1 = 60 ") && rates.contains("[there, 3 runs]"), "{rates}");
        assert!(!rates.contains("**"), "none is surely better than the baseline: {rates}");
        let p99 = of(Topic::P99);
        assert!(p99.contains("**0.60 [0.55, 0.65]**") && !p99.contains("there"), "{p99}");
        // Of one run alone: what it measured, and never its ratio as if that were a rate.
        let mut alone = row(Topic::Rate, [[0.6, 0.9]; 2], 1);
        alone.models.clear();
        let alone = table(&answer(alone), "here", links);
        assert!(alone.contains("[here, 1 run][one]") && alone.contains(" 60 "), "{alone}");
        assert!(!alone.contains("0.6"), "{alone}");
    }

    #[test]
    fn ends_have_no_unit_where_it_is_the_value_s() {
        let of = |value, low, high| Estimate { value, interval: Some((low, high)) };
        let memory = |estimate| with_unit(Topic::ConnectionMemory, estimate);
        assert_eq!(memory(of(18_842.0, 17_818.0, 20_992.0)), "18.4 KiB [17.4, 20.5]");
        assert_eq!(memory(of(1_100_000.0, 900_000.0, 1_200_000.0)), "1.05 MiB [879 KiB, 1.14 MiB]");
        assert_eq!(with_unit(Topic::Rate, of(78_100.0, 70_000.0, 80_000.0)), "78,100 [70,000, 80,000]");
    }

    #[test]
    fn the_last_of_several_names_follows_an_and() {
        assert_eq!((and(["a"]), and(["a", "b", "c"])), ("a".to_owned(), "a, b and c".to_owned()));
        assert_eq!((and(["a, as shipped"]), and([""; 0])), ("a, as shipped".to_owned(), String::new()));
    }
}
