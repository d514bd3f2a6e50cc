//! Parts of a page that are written whole, between `<!-- KIND of ALIAS: WHAT -->` and `<!-- end of KIND -->`:
//!
//! - `answer`: of all kept runs, pooled; WHAT are the aliases of the runs behind it, the one with the servers first;
//! - `headline`: a campaign's headline and where it is from;
//! - `why`: a why run's sentences, ladder and chart; WHAT is its question, such as `actix legacy getBlocks`;
//! - `table`: the first table below a heading of the run's report; WHAT is the heading, or headings from the outer to
//!   the inner one with ` / ` between, and may end in `; columns: a | b`;
//! - `section`: all that stands below a heading of the run's report;
//! - `chart`: a picture of the run; WHAT is its file, `; ` and what it shows;
//! - `servers`: of `this page`, which figures in sentences and charts are of other servers than today's.
//!
//! A block of `nothing yet` says that it was not measured yet.

use anyhow::{Context, Result, bail, ensure};

use super::{Aliases, Difference, Page, Sources, Spliced, change, line_of, older, outside_of_code};
use crate::answer::{self, Links};
use crate::format::{distinct, known, list};
use crate::{Run, headline, pooled};
use bench_model::results::Conditions;

const KINDS: [&str; 7] = ["answer", "headline", "why", "table", "section", "chart", "servers"];

/// What begins and ends a part of a report that a reader opens.
const FOLDS: [&str; 3] = ["<details>", "<summary>", "</details>"];

/// What stands in place of a run that is still to be made.
const NOTHING_YET: &str = "nothing yet";

/// One block of a page.
#[derive(Debug)]
pub(super) struct Block<'a> {
    kind: &'static str,
    alias: &'a str,
    what: &'a str,
    /// Where its content begins and ends, in bytes.
    pub(super) content: std::ops::Range<usize>,
}

/// The blocks of a page, in order.
pub(super) fn blocks(text: &str) -> Result<Vec<Block<'_>>> {
    let mut blocks = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let Some((kind, rest)) = begun(line) else { continue };
        let number = || format!("line {}", line_of(text, start));
        let (alias, what) = rest.split_once(": ").unwrap_or((rest, ""));
        let end = format!("<!-- end of {kind} -->");
        let length =
            text[at..].find(&end).with_context(|| format!("{}: the block lacks its {end}", number()))?;
        ensure!(
            !text[at..at + length].lines().any(|line| begun(line).is_some()),
            "{}: the block lacks its {end} before the next block",
            number()
        );
        blocks.push(Block { kind, alias, what, content: at..at + length });
    }
    Ok(blocks)
}

/// The aliases whose charts a page has, of runs that were made.
pub(super) fn charts(text: &str) -> Result<Vec<String>> {
    let blocks = blocks(text)?.into_iter();
    let charts = blocks.filter(|block| block.kind == "chart" && block.alias != NOTHING_YET);
    Ok(charts.map(|block| block.alias.to_owned()).collect())
}

/// The kind and the rest of a line that begins a block.
fn begun(line: &str) -> Option<(&'static str, &str)> {
    let inner = line.trim().strip_prefix("<!-- ")?.strip_suffix(" -->")?;
    KINDS.iter().find_map(|kind| Some((*kind, inner.strip_prefix(kind)?.strip_prefix(" of ")?)))
}

/// Writes each block of a text again.
pub(super) fn splice(page: &Page, aliases: &Aliases, sources: &Sources) -> Result<Spliced> {
    let text = &page.text;
    let (mut changes, mut differences) = (Vec::new(), Vec::new());
    for block in blocks(text)? {
        let line = line_of(text, block.content.start);
        let content = match block.kind {
            // One line or none, as a paragraph of its own either way.
            "servers" => older::content(page, aliases, sources),
            _ => content(&block, aliases, sources).map(|content| format!("\n{}\n\n", content.trim_end())),
        };
        let content = content.with_context(|| format!("line {}", line - 1))?;
        let printed = &text[block.content.clone()];
        if printed != content {
            differences.push(first_difference(printed, &content, line));
            changes.push((block.content, content));
        }
    }
    let mut page = page.clone();
    change(&mut page.text, changes);
    Ok(Spliced { page, differences })
}

/// The first line of a block that is not as it should be; empty ones say nothing.
fn first_difference(printed: &str, recomputed: &str, line: usize) -> Difference {
    let says_something = |(_, line): &(usize, &str)| !line.trim().is_empty();
    let mut old = printed.lines().enumerate().filter(says_something);
    let mut new = recomputed.lines().enumerate().filter(says_something);
    loop {
        match (old.next(), new.next()) {
            (Some((_, a)), Some((_, b))) if a == b => {}
            (a, b) => {
                let offset = a.or(b).map_or(0, |(offset, _)| offset);
                let text = |side: Option<(usize, &str)>| known(side, "", |(_, line)| line.to_owned());
                return Difference { line: line + offset, printed: text(a), recomputed: text(b) };
            }
        }
    }
}

fn content(block: &Block<'_>, aliases: &Aliases, sources: &Sources) -> Result<String> {
    let Block { kind, alias, what, .. } = *block;
    if alias == NOTHING_YET {
        return Ok("*Not measured yet.*".to_owned());
    }
    if kind == "answer" {
        return answer_of(alias, what, aliases, sources);
    }
    let run = aliases.run(alias)?;
    let folder = format!("{}{run}", aliases.to_results);
    let content = match kind {
        "headline" => headline(&sources.run(run)?),
        "table" => {
            let (headings, columns) = what.split_once("; columns: ").unwrap_or((what, ""));
            let table = first_table(below(&sources.report(run)?, headings)?)
                .with_context(|| format!("there is no table below {headings} in the report of {run}"))?;
            if columns.is_empty() { table } else { choose(&table, columns)? }
        }
        "section" => {
            let is_text = |line: &&str| !FOLDS.iter().any(|fold| line.starts_with(fold));
            let report = sources.report(run)?;
            let text: Vec<&str> = below(&report, what)?.lines().filter(is_text).collect();
            text.join("\n").trim().replace("](", &format!("]({folder}/"))
        }
        "chart" => {
            let (file, shown) = what.split_once("; ").context("a chart is FILE; WHAT IT SHOWS")?;
            ensure!(sources.folder(run)?.0.join(file).is_file(), "{run} has no {file}");
            return Ok(format!("![{shown}]({folder}/{file})"));
        }
        other => bail!("there is no block {other}"),
    };
    let conditions = sources.folder(run)?.conditions()?;
    // Nothing where its servers are today's.
    let mark = known(sources.older(run)?, "", |day| format!(" **Servers of {day}**, not today's."));
    let (content, command, machine) = (content.trim_end(), &conditions.command, machine(&conditions));
    Ok(format!(
        "{content}\n\nFrom [results/{run}]({folder}/report.md), made by `{command}` on {machine}.{mark}\n"
    ))
}

/// The answer of several runs, the chart of the first, and where all of it is from.
fn answer_of(alias: &str, what: &str, aliases: &Aliases, sources: &Sources) -> Result<String> {
    ensure!(*aliases.get(alias)? == super::Quoted::Pooled, "[{alias}] is no link to {}", pooled::PAGE);
    let links: Vec<&str> = what.split_whitespace().collect();
    let names = links.iter().map(|alias| aliases.run(alias)).collect::<Result<Vec<&str>>>()?;
    let runs = names.iter().map(|name| sources.run(name)).collect::<Result<Vec<Run>>>()?;
    let answer = answer::of_runs(&sources.pooled()?, &runs, &links)?;
    let days = names.iter().map(|name| sources.older(name)).collect::<Result<Vec<_>>>()?;
    let days = list(distinct(days.into_iter().flatten()));
    let mark = match days.is_empty() {
        true => days,
        false => format!("\n**Some are of servers of {days}**, not today's.\n"),
    };
    let first = runs.first().context("an answer names its runs")?;
    let own = first.conditions.host.processor_name();
    let labels: Vec<String> = first.plan.compared().map(|server| server.label().to_owned()).collect();
    let is_shared = first.plan.hosts.is_none();
    let links = Links { pooled: alias, run: links[0], labels: &labels, is_shared };
    Ok(format!(
        "{}{mark}\n![Each server's ratios to {}, run by run]({}{})",
        answer::by_processor(&answer, &own, links),
        answer.servers[answer.baseline],
        aliases.to_results,
        pooled::CHART,
    ))
}

fn machine(Conditions { host, .. }: &Conditions) -> String {
    format!("{} cores of {}", host.cores, host.processor_name())
}

/// What stands below a heading, up to the next one of its rank or above. Several headings, with ` / ` between, go from
/// the outer to the inner one.
fn below<'a>(report: &'a str, headings: &str) -> Result<&'a str> {
    let mut within = report;
    for heading in headings.split(" / ") {
        let rank = |line: &str| line.bytes().take_while(|byte| *byte == b'#').count();
        let ranked = outside_of_code(within).map(|(at, line)| (at, line, rank(line)));
        let mut headings = ranked.filter(|(.., rank)| *rank > 0);
        let found = headings.find(|(_, line, rank)| line[*rank..].trim() == heading);
        let (at, line, own) = found.with_context(|| format!("the report has no heading {heading}"))?;
        let end = headings.find(|(.., rank)| *rank <= own).map_or(within.len(), |(end, ..)| end);
        within = &within[at + line.len()..end];
    }
    Ok(within)
}

fn first_table(text: &str) -> Option<String> {
    let rows: Vec<&str> = text
        .lines()
        .skip_while(|line| !line.starts_with('|'))
        .take_while(|line| line.starts_with('|'))
        .collect();
    (!rows.is_empty()).then(|| rows.join("\n") + "\n")
}

/// Some of a table's columns, by their headers; of several with one header, as many from the first on as it is named.
fn choose(table: &str, columns: &str) -> Result<String> {
    let cells = |line: &str| -> Vec<String> {
        let inner = line.trim().trim_start_matches('|').trim_end_matches('|').replace("\\|", "\u{0}");
        inner.split('|').map(|cell| cell.replace('\u{0}', "\\|")).collect()
    };
    let headers = cells(table.lines().next().unwrap_or_default());
    let mut chosen: Vec<usize> = Vec::new();
    for column in columns.split(" | ") {
        let mut places = (0..headers.len()).filter(|place| headers[*place].trim() == column);
        let place = places.find(|place| !chosen.contains(place));
        chosen.push(place.with_context(|| format!("the table has no column {column}"))?);
    }
    let row = |line: &str| {
        let cells = cells(line);
        let cell = |place: &usize| cells.get(*place).map(String::as_str);
        let cells: Option<Vec<&str>> = chosen.iter().map(cell).collect();
        let cells = cells.with_context(|| format!("a row of the table lacks a column: {line}"))?;
        Ok(format!("|{}|\n", cells.join("|")))
    };
    table.lines().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "# R\n\n## A\n\ntext\n\n### T\n\n| a | b |\n| - | -: |\n| x\\|y | 1 |\n\nmore\n\n## \
        B\n\n```sh\n# no heading\n```\n\
                          ### T\n\n| c |\n| - |\n| 2 |\n";

    #[test]
    fn a_table_is_found_below_its_headings() {
        let table = |headings| first_table(below(REPORT, headings).unwrap()).unwrap();
        assert_eq!(table("A"), "| a | b |\n| - | -: |\n| x\\|y | 1 |\n");
        assert_eq!(table("B / T"), "| c |\n| - |\n| 2 |\n");
        assert!(below(REPORT, "A").unwrap().ends_with("more\n\n"));
        assert!(below(REPORT, "no heading").is_err() && below(REPORT, "B / A").is_err());
        assert_eq!(choose(&table("A"), "b | a").unwrap(), "| b | a |\n| -: | - |\n| 1 | x\\|y |\n");
        assert!(choose(&table("A"), "c").is_err());
        let twice = "| a | b | a |\n| - | - | - |\n| 1 | 2 | 3 |\n";
        assert_eq!(choose(twice, "a | a").unwrap(), "| a | a |\n| - | - |\n| 1 | 3 |\n");
        assert!(choose(twice, "a | a | a").is_err());
        let short = choose("| a | b |\n| - | - |\n| 1 |\n", "b").unwrap_err().to_string();
        assert!(short.contains("lacks a column: | 1 |"), "{short}");
    }

    #[test]
    fn blocks_are_found_and_must_end() {
        let page = "x\n<!-- table of slo: A / T; columns: a -->\nold\n<!-- end of table -->\n<!-- headline of quick \
            -->\n<!-- end of headline -->\n";
        let found = blocks(page).unwrap();
        assert_eq!((found[0].kind, found[0].alias, found[0].what), ("table", "slo", "A / T; columns: a"));
        assert_eq!(&page[found[0].content.clone()], "old\n");
        assert_eq!((found[1].kind, found[1].alias, found[1].what), ("headline", "quick", ""));
        assert!(blocks("<!-- table of slo: A -->\n").unwrap_err().to_string().contains("line 1"));
        let nested = "<!-- table of a: A -->\n<!-- table of b: B -->\n<!-- end of table -->\n";
        assert!(blocks(nested).is_err());
    }
}
