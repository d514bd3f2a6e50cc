//! `report.html`: a run's report as one page that needs no other file and no network. It is made of the report in
//! Markdown and of its charts, so that it says the same; tabs and sorting come from a script of its own, and
//! without that all of it stands one below the other.

mod markdown;
mod sections;
mod trials;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, UndefinedBehavior, Value, context};
use sha2::{Digest, Sha256};

use super::Run;
use super::charts::{self, Drawn};
use bench_core::results::{RunFolder, unpack_stages};
use sections::{Part, Section, Tab};

/// The page's file in a run's folder.
pub const PAGE: &str = "report.html";

const STYLE: &str = include_str!("assets/style.css");
const SCRIPT: &str = include_str!("assets/page.js");

/// Makes the page of a run of any kind from its folder alone, and gives its path.
///
/// # Errors
/// A file of the run can't be read, or the page can't be written.
pub fn make(folder: &RunFolder) -> Result<PathBuf> {
    unpack_stages(&folder.0)?;
    let run = Run::load(folder)?;
    write(folder, &super::markdown(&run, false)?, &super::drawn(&run))?;
    Ok(folder.0.join(PAGE))
}

/// Writes the page of a report in Markdown, with its charts by the files that it names.
pub(super) fn write(folder: &RunFolder, markdown: &str, drawn: &[Drawn]) -> Result<()> {
    folder.write_derived(PAGE, &page(folder, markdown, drawn)?)
}

fn page(folder: &RunFolder, markdown: &str, drawn: &[Drawn]) -> Result<String> {
    let report = sections::report(markdown);
    let trials = trials::trials(folder)?;
    let mut tabs = Vec::new();
    for (tab, name) in Tab::ALL {
        let of_tab = report.sections.iter().filter(|section| section.tab == tab);
        let html = of_tab.map(|of| section(of, drawn)).collect::<String>();
        let has_trials = tab == Tab::Trials && trials.is_some();
        if !html.is_empty() || has_trials {
            let (id, html) = (Value::from(Serde(tab)), Value::from_safe_string(html));
            tabs.push(context! { id, name, html, has_trials });
        }
    }
    let why = Value::from_safe_string(markdown::html(&report.why, 0));
    let style = charts::palette::dark_rules(|_| true) + "\n" + STYLE;
    let (title, name) = (report.title, folder.name());
    let values = context! { title, name, why, tabs, trials };
    render(include_str!("assets/page.html"), &style, values)
}

/// What a folder holds, by name.
pub(crate) fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("can't read {}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    Ok(paths)
}

/// A section with its charts.
fn section(section: &Section, drawn: &[Drawn]) -> String {
    let heading = &section.heading;
    // Below the name of the tab itself no rank is left out.
    let deeper = usize::from(!heading.is_empty());
    let name = if deeper == 0 { String::new() } else { markdown::html(&format!("## {heading}\n"), 1) };
    let part = |part: &Part| match part {
        Part::Text(text) => markdown::html(text, deeper),
        Part::Picture { file, alt } => match drawn.iter().find(|(name, _)| name == file) {
            Some((_, chart)) => format!("<figure>\n{}</figure>\n", charts::inline(chart, alt)),
            // Of a picture that is no chart of the run its words.
            None => markdown::html(alt, 0),
        },
    };
    name + &section.parts.iter().map(part).collect::<String>()
}

/// Fills a template. The script runs by its checksum alone, so nothing that a run named can become one, and nothing is
/// loaded.
fn render(template: &str, style: &str, values: Value) -> Result<String> {
    let hash = BASE64_STANDARD.encode(Sha256::digest(SCRIPT.as_bytes()));
    let policy = format!(
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{hash}'; base-uri 'none'; form-action 'none'"
    );
    let safe = |text: &str| Value::from_safe_string(text.to_owned());
    let (script, style) = (safe(SCRIPT), safe(style));
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    let page = environment.render_str(template, context! { policy, style, script, ..values });
    page.context("can't fill a page's template")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_runs_its_own_scripts_alone() {
        let name = "<script>alert(1)</script>";
        let template = "{{ policy }}|{{ name }}|{{ script }}";
        let page = render(template, "", context! { name }).unwrap();
        let (policy, rest) = page.split_once('|').unwrap();
        assert!(
            policy.contains("default-src &#x27;none&#x27;") && !policy.contains("script-src &#x27;unsafe"),
            "{policy}"
        );
        assert_eq!(rest, format!("&lt;script&gt;alert(1)&lt;&#x2f;script&gt;|{SCRIPT}"));
        assert!(render("{{ nothing }}", "", context! {}).is_err(), "what a template lacks is an error");
    }
}
