//! Pages that quote runs: README.md and docs/*.md. What they quote is worked out again from the runs, so that a page
//! can be renewed, or checked, as a whole.
//!
//! A page names its runs once, by Markdown's own link definitions, which render to nothing: `[quick]:
//! results/2026-…-quick/report.md`. To quote a newer run is to edit that line. Figures stand in blocks ([`blocks`]) or
//! in a sentence ([`figures`]); what stands outside of both may hold no figure ([`prose`]).

mod blocks;
mod figures;
mod older;
mod pointer;
mod prose;
mod sources;

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

pub use figures::Figure;
pub use prose::{Unbound, unbound};
pub use sources::Sources;

use super::format::list;
use super::html::entries;
use super::pooled;
use bench_system::text_files;

/// What an alias of a page stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Quoted {
    /// A run, by the name of its folder.
    Run(String),
    /// All kept runs, pooled.
    Pooled,
}

/// A page's aliases, and the way from it to the folder of runs.
#[derive(Debug)]
pub struct Aliases {
    by_name: BTreeMap<String, Quoted>,
    /// `results/` or `../results/`.
    to_results: &'static str,
}

impl Aliases {
    /// The aliases that a page defines.
    ///
    /// # Errors
    /// An alias is defined twice.
    pub fn of(text: &str) -> Result<Self> {
        let mut aliases = Self { by_name: BTreeMap::new(), to_results: "results/" };
        for (at, line) in outside_of_code(text) {
            let definition = line.trim_end_matches(['\r', '\n']).strip_prefix('[');
            let Some((name, target)) = definition.and_then(|rest| rest.split_once("]: ")) else { continue };
            let from = |to_results: &'static str| Some((to_results, target.strip_prefix(to_results)?));
            let Some((to_results, path)) = from("results/").or_else(|| from("../results/")) else { continue };
            let quoted = match path.strip_suffix("/report.md") {
                Some(run) => Quoted::Run(run.to_owned()),
                None if path == pooled::PAGE => Quoted::Pooled,
                None => continue,
            };
            aliases.to_results = to_results;
            let earlier = aliases.by_name.insert(name.to_owned(), quoted);
            ensure!(earlier.is_none(), "line {}: [{name}] is defined twice", line_of(text, at));
        }
        Ok(aliases)
    }

    /// The aliases of runs that a text uses outside of their definitions.
    pub(super) fn linked<'a>(&'a self, text: &'a str) -> impl Iterator<Item = &'a str> {
        let is_run = |quoted: &Quoted| matches!(quoted, Quoted::Run(_));
        let names = self.by_name.iter().filter(move |(_, quoted)| is_run(quoted)).map(|(name, _)| &**name);
        names.filter(|name| {
            let link = format!("[{name}]");
            text.match_indices(&link).any(|(at, _)| !text[at + link.len()..].starts_with(": "))
        })
    }

    /// What an alias stands for.
    ///
    /// # Errors
    /// The page does not define it.
    pub fn get(&self, name: &str) -> Result<&Quoted> {
        self.by_name.get(name).with_context(|| {
            format!("[{name}] is not defined; the page defines: {}", list(self.by_name.keys()))
        })
    }

    /// The run that an alias stands for.
    ///
    /// # Errors
    /// The page does not define it, or it is no run.
    pub fn run(&self, name: &str) -> Result<&str> {
        match self.get(name)? {
            Quoted::Run(run) => Ok(run),
            Quoted::Pooled => bail!("[{name}] is no run but all of them"),
        }
    }
}

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

/// A page, and the figures in its sentences.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    /// The whole text.
    pub text: String,
    /// In the order in which they stand there.
    pub figures: Vec<Figure>,
}

impl From<&str> for Page {
    fn from(text: &str) -> Self {
        Self { text: text.to_owned(), figures: Vec::new() }
    }
}

impl Page {
    /// Reads a page, and the file of its figures where it has one.
    ///
    /// # Errors
    /// One of them can't be read, or the second is not right.
    pub fn read(path: &Path) -> Result<Self> {
        let text = text_files::read(path)?;
        let file = figures_of(path);
        let figures = match fs::read_to_string(&file) {
            Ok(figures) => figures::parse(&figures).with_context(|| file.display().to_string())?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error).with_context(|| format!("can't read {}", file.display())),
        };
        Ok(Self { text, figures })
    }

    /// Writes both files; that of the figures only where there are any.
    ///
    /// # Errors
    /// One of them can't be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        if !self.figures.is_empty() {
            text_files::write(figures_of(path), &figures::print(&self.figures)?)?;
        }
        text_files::write(path, &self.text)
    }
}

/// `README.figures.toml` for README.md.
fn figures_of(page: &Path) -> PathBuf {
    page.with_extension("figures.toml")
}

/// A page with all that it quotes renewed.
#[derive(Debug, PartialEq, Eq)]
pub struct Spliced {
    /// The page.
    pub page: Page,
    /// What was not as the runs have it.
    pub differences: Vec<Difference>,
}

/// Works out again all that a page quotes.
///
/// # Errors
/// One line with the page's line number: an alias, a marker or a pointer is wrong, or a run can't be read.
pub fn splice(page: &Page, sources: &Sources) -> Result<Spliced> {
    let aliases = Aliases::of(&page.text)?;
    let marked = older::with_block(page, &aliases, sources)?;
    let blocks = blocks::splice(&marked.page, &aliases, sources)?;
    // Blocks may have grown or shrunk, so the line of a figure in a sentence is that of the new text.
    let figures = figures::splice(&blocks.page, &aliases, sources)?;
    let differences = [marked.differences, blocks.differences, figures.differences].concat();
    Ok(Spliced { page: figures.page, differences })
}

/// The pages of a repository that may quote runs: README.md and docs/*.md.
///
/// # Errors
/// The folder `docs` can't be read.
pub fn paths(root: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = entries(&root.join("docs"))?;
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "md"));
    paths.push(root.join("README.md"));
    paths.sort();
    Ok(paths)
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

/// Where the parts of a text stand that begin and end so, in bytes.
fn enclosed(text: &str, marks: &[(&str, &str)]) -> Result<Vec<Range<usize>>> {
    let mut found = Vec::new();
    for (begin, end) in marks {
        let mut at = 0;
        while let Some(start) = text[at..].find(begin).map(|offset| at + offset) {
            let inner = start + begin.len();
            let length = text[inner..].find(end);
            let length = length
                .with_context(|| format!("line {}: {} has no end", line_of(text, start), begin.trim()))?;
            at = inner + length + end.len();
            found.push(start..at);
        }
    }
    Ok(found)
}

/// Puts other words into parts of a text, which are in its order.
fn change(text: &mut String, changes: Vec<(Range<usize>, String)>) {
    for (place, words) in changes.into_iter().rev() {
        text.replace_range(place, &words);
    }
}

/// The line of a text in which a byte stands, from 1.
fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}
