//! `results/index.html`: all kept runs, what each found first, and how any two of them are compared.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use minijinja::{Value, context};

use super::sections::{self, Part, Tab};
use super::{PAGE, STYLE, entries, markdown, render};
use crate::format::known;
use bench_model::results::{Conditions, REPORT, RunFolder};
use bench_system::text_files;

/// The page's file in the folder of runs.
pub(super) const INDEX: &str = "index.html";

/// What is in each list, and in no other page.
const TITLE: &str = "<title>All kept runs</title>";

const SCRIPT: &str = include_str!("assets/index.js");

/// Writes the list of all runs of a folder that have a report, the newest first, and gives its path.
///
/// # Errors
/// The folder or a run's report can't be read, or the page can't be written.
pub fn write_index(results: &Path) -> Result<PathBuf> {
    let page = page(results, &|run: &RunFolder| if run.0.join(PAGE).is_file() { PAGE } else { REPORT })?;
    write_list(results, &page)
}

/// Writes the list into a folder, in place of an earlier one, and gives its path.
///
/// # Errors
/// A file of that name is no such list, or it can't be written.
pub(super) fn write_list(to: &Path, page: &str) -> Result<PathBuf> {
    check_place(to)?;
    RunFolder(to.to_owned()).write_derived(INDEX, page)?;
    Ok(to.join(INDEX))
}

/// Whether a list of runs may be written into a folder: it has none yet, or one that was written before.
///
/// # Errors
/// A file of that name is something else.
pub(super) fn check_place(folder: &Path) -> Result<()> {
    let path = folder.join(INDEX);
    let Ok(there) = fs::read(&path) else { return Ok(()) };
    ensure!(
        String::from_utf8_lossy(&there).contains(TITLE),
        "{} is no list of runs, and is left as it is: move it, or choose another folder",
        path.display()
    );
    Ok(())
}

/// The list, each run with a link to the file of its folder that is given for it.
pub(super) fn page(results: &Path, linked: &dyn Fn(&RunFolder) -> &'static str) -> Result<String> {
    let runs = reported(results)?;
    let runs = runs.iter().map(|folder| run(folder, linked(folder))).collect::<Result<Vec<Value>>>()?;
    render(include_str!("assets/index.html"), STYLE, &[SCRIPT], context! { runs })
}

/// The folders of all runs that have a report, the newest first.
///
/// # Errors
/// The folder can't be read.
pub fn reported(results: &Path) -> Result<Vec<RunFolder>> {
    let mut paths = entries(results)?;
    paths.retain(|path| path.join(REPORT).is_file());
    Ok(paths.into_iter().rev().map(RunFolder).collect())
}

/// What the list says of a kept run.
fn run(folder: &RunFolder, linked: &str) -> Result<Value> {
    let name = folder.name();
    let path = folder.0.join(REPORT);
    let text = text_files::read(&path)?;
    // `2026-11-20T120000Z-quick`; a name of another form is shown as it is.
    let (date, campaign) = match name.split_once("Z-") {
        Some((time, campaign)) => (time.split('T').next().unwrap_or(time), campaign),
        None => ("", &*name),
    };
    // Runs of other programs have no environment of a run's form.
    let machine = known(folder.conditions().ok(), "", |Conditions { host, .. }| {
        format!("{}, {} cores", host.processor_name(), host.cores)
    });
    let answer = Value::from_safe_string(markdown::html(&first_words(&text), 0));
    let link = format!("{name}/{linked}");
    // `just compare` reads these.
    let is_compared = folder.plan().is_ok();
    Ok(context! { name => &*name, date, campaign, machine, answer, link, is_compared })
}

/// The first item or sentence below the headline; empty where a table stands there.
fn first_words(report: &str) -> String {
    let report = sections::report(report);
    let below = |section: &&sections::Section| section.tab == Tab::Answer && section.heading.is_empty();
    let first = report.sections.iter().find(below).and_then(|section| section.parts.first());
    let Some(Part::Text(text)) = first else { return String::new() };
    // What disturbed the run is quoted before it.
    let is_said = |line: &&str| !line.trim().is_empty() && !line.starts_with('>');
    let line = text.lines().find(is_said).unwrap_or_default();
    let is_words = !line.starts_with(['|', '#', '`']);
    if is_words { line.trim_start_matches("- ").to_owned() } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_words_are_the_answer() {
        assert_eq!(first_words("# R\n\nwhy\n\n## Headline\n\n> x\n\n- **a** b\n- c\n"), "**a** b");
        assert_eq!(first_words("# R\n\n## Headline\n\n| a |\n| - |\n"), "");
        assert_eq!(first_words("# R\n"), "");
    }
}
