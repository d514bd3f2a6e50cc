//! Pages that show runs: README.md, docs/*.md and results/README.md. What they show stands in blocks, which are written
//! whole, from `<!-- KIND of CAMPAIGN: WHAT -->` to `<!-- end of KIND -->`, of the newest kept run of the campaign:
//!
//! - `headline`: what the run found first;
//! - `table`: the first table below a heading of its report; WHAT is the heading, or headings from the outer to the
//!   inner one with ` / ` between, and may end in `; columns: a | b`;
//! - `chart`: a picture of the run; WHAT is its file, `; ` and what it shows;
//! - `list`: of `kept runs`, a row for each.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use crate::columns::Columns;
use crate::format::{available, known};
use crate::html::entries;
use crate::{Run, headline};
use bench_core::results::{Conditions, RunFolder, kept};

const KINDS: [&str; 4] = ["headline", "table", "chart", "list"];

/// A place where a page does not say what its runs say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The line, from 1.
    pub line: usize,
    /// What is printed.
    pub printed: String,
    /// What the runs give.
    pub recomputed: String,
}

/// The kept runs behind the pages, each worked out once from its observations.
#[derive(Debug)]
pub struct Sources {
    /// In the order of their names, which begin with the time.
    folders: Vec<RunFolder>,
    read: BTreeMap<String, Shown>,
}

/// A run as pages show it.
#[derive(Debug, Clone)]
struct Shown {
    folder: RunFolder,
    headline: String,
    report: String,
    from: String,
}

impl Sources {
    /// The kept runs of a folder of runs.
    ///
    /// # Errors
    /// The folder can't be read.
    pub fn new(results: &Path) -> Result<Self> {
        let folders = kept(results)?.into_iter().map(RunFolder).filter(RunFolder::is_run).collect();
        Ok(Self { folders, read: BTreeMap::new() })
    }

    /// The newest kept run of a campaign.
    fn newest(&mut self, campaign: &str) -> Result<&Shown> {
        if !self.read.contains_key(campaign) {
            let ending = format!("Z-{campaign}");
            let newest = self.folders.iter().rfind(|folder| folder.name().ends_with(&ending));
            let newest = newest.with_context(|| format!("no run of {campaign} is kept"))?;
            let folder = RunFolder::open(&newest.0)?;
            let run = Run::load(&folder)?;
            let Conditions { command, host, .. } = &run.conditions;
            let from = format!("`{command}` on {} cores of {}", host.cores, host.processor_name());
            // A block ends with where it is from, so that the line on it would say that twice.
            let headline = headline(&run)?.replace(&crate::conditions::line(&run)?, "");
            let shown = Shown { headline, report: crate::markdown(&run, false)?, from, folder };
            self.read.insert(campaign.to_owned(), shown);
        }
        self.read.get(campaign).context("it was read")
    }

    /// A row for each kept run.
    fn list(&self) -> Result<String> {
        let rows = self.folders.iter().rev().map(|folder| Ok((folder.name(), folder.conditions()?)));
        let rows = rows.collect::<Result<Vec<(String, Conditions)>>>()?;
        Ok(Columns::of(4, rows)
            .column("run", |(name, _)| format!("[{name}]({name}/report.md)"))
            .column("made by", |(_, of)| format!("`{}`", of.command.replace('|', "\\|")))
            .column("machine", |(_, Conditions { host, .. })| {
                format!("{} cores of {}", host.cores, host.processor_name())
            })
            .column("commit", |(_, of)| available(of.host.commit.as_ref()))
            .markdown())
    }
}

/// The pages of a repository: README.md, docs/*.md and results/README.md.
///
/// # Errors
/// The folder `docs` can't be read.
pub fn paths(root: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = entries(&root.join("docs"))?;
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "md"));
    paths.extend(["README.md", "results/README.md"].map(|page| root.join(page)));
    paths.sort();
    Ok(paths)
}

/// The way from a page to the folder of runs.
pub fn to_results(page: &Path) -> &'static str {
    let folder = page.parent().and_then(Path::file_name);
    match folder.and_then(|name| name.to_str()) {
        Some("docs") => "../results/",
        Some("results") => "",
        _ => "results/",
    }
}

/// Writes each block of a page again. `to_results` is the way from the page to the folder of runs: `results/`.
///
/// # Errors
/// One line with the page's line number: a marker is wrong, or a run can't be read.
pub fn splice(text: &str, to_results: &str, sources: &mut Sources) -> Result<(String, Vec<Difference>)> {
    let (mut page, mut differences) = (text.to_owned(), Vec::new());
    // From the last on, so that places stay what they are.
    for block in blocks(text)?.into_iter().rev() {
        let line = line_of(text, block.content.start);
        let content = content(&block, to_results, sources).with_context(|| format!("line {}", line - 1))?;
        let content = format!("\n{}\n\n", content.trim());
        let printed = &text[block.content.clone()];
        if printed != content {
            differences.insert(0, first_difference(printed, &content, line));
            page.replace_range(block.content, &content);
        }
    }
    Ok((page, differences))
}

/// One block of a page.
#[derive(Debug)]
struct Block<'a> {
    kind: &'static str,
    campaign: &'a str,
    what: &'a str,
    /// Where its content begins and ends, in bytes.
    content: Range<usize>,
}

/// The blocks of a page, in order.
fn blocks(text: &str) -> Result<Vec<Block<'_>>> {
    let mut blocks = Vec::new();
    for (start, line) in outside_of_code(text) {
        let at = start + line.len();
        let Some((kind, rest)) = begun(line) else { continue };
        let (campaign, what) = rest.split_once(": ").unwrap_or((rest, ""));
        let end = format!("<!-- end of {kind} -->");
        let length = text[at..].find(&end).filter(|length| {
            let mut within = text[at..at + length].lines();
            !within.any(|line| begun(line).is_some())
        });
        let length =
            length.with_context(|| format!("line {}: the block lacks its {end}", line_of(text, start)))?;
        blocks.push(Block { kind, campaign, what, content: at..at + length });
    }
    Ok(blocks)
}

/// The kind and the rest of a line that begins a block.
fn begun(line: &str) -> Option<(&'static str, &str)> {
    let inner = line.trim().strip_prefix("<!-- ")?.strip_suffix(" -->")?;
    KINDS.iter().find_map(|kind| Some((*kind, inner.strip_prefix(kind)?.strip_prefix(" of ")?)))
}

fn content(block: &Block<'_>, to_results: &str, sources: &mut Sources) -> Result<String> {
    let Block { kind, campaign, what, .. } = *block;
    if kind == "list" {
        ensure!(campaign == "kept runs", "a list is of kept runs");
        return sources.list();
    }
    let Shown { folder, headline, report, from } = sources.newest(campaign)?;
    let name = folder.name();
    let place = format!("{to_results}{name}");
    let content = match kind {
        "headline" => headline.clone(),
        "chart" => {
            let (file, shown) = what.split_once("; ").context("a chart is FILE; what it shows")?;
            ensure!(folder.0.join(file).is_file(), "{name} has no {file}");
            format!("![{shown}]({place}/{file})")
        }
        _ => {
            let (headings, columns) = what.split_once("; columns: ").unwrap_or((what, ""));
            let table = first_table(below(report, headings)?)
                .with_context(|| format!("there is no table below {headings} in the report of {name}"))?;
            if columns.is_empty() { table } else { choose(&table, columns)? }
        }
    };
    Ok(format!("{}\n\nFrom [{name}]({place}/report.md): {from}.", content.trim_end()))
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
    let rows = text.lines().skip_while(|line| !line.starts_with('|'));
    let rows: Vec<&str> = rows.take_while(|line| line.starts_with('|')).collect();
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
        let Some(cells) = chosen.iter().map(cell).collect::<Option<Vec<&str>>>() else {
            bail!("a row of the table lacks a column: {line}")
        };
        Ok(format!("|{}|\n", cells.join("|")))
    };
    table.lines().map(row).collect()
}

/// The lines of a text that are no code, each with where it begins, in bytes.
fn outside_of_code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let (mut next, mut in_code) = (0, false);
    text.split_inclusive('\n').filter_map(move |line| {
        let at = next;
        next += line.len();
        in_code ^= line.starts_with("```");
        (!in_code).then_some((at, line))
    })
}

/// The line of a text in which a byte stands, from 1.
fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
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
}
