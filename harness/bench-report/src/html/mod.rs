//! `report.html`: a run's report as one page that needs no other file and no network. It is made of the report in
//! Markdown and of its charts, so that it says the same; tabs, sorting and zoom come from a script of its own, and
//! without that all of it stands one below the other.

mod index;
mod markdown;
mod sections;
mod site;
mod trials;
mod zoom;

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
use super::format::{joined, known};
use bench_model::results::{RunFolder, unpack_stages};
use sections::{Part, Section, Tab};

pub use index::{reported, write_index};
pub use site::write_site;

/// The page's file in a run's folder.
pub const PAGE: &str = "report.html";

const STYLE: &str = include_str!("assets/style.css");
const SCRIPT: &str = include_str!("assets/page.js");
/// The library that draws lines with a zoom, MIT: `assets/uPlot.LICENSE`.
const UPLOT: &str = include_str!("assets/uPlot.iife.min.js");
const UPLOT_STYLE: &str = include_str!("assets/uPlot.min.css");

/// Makes the page of a run of any kind from its folder alone, and gives its path.
///
/// # Errors
/// A file of the run can't be read, or the page can't be written.
pub fn make(folder: &RunFolder) -> Result<PathBuf> {
    folder.write_derived(PAGE, &made(folder, is_listed(folder))?)?;
    Ok(folder.0.join(PAGE))
}

/// The page of a run of any kind.
fn made(folder: &RunFolder, has_index: bool) -> Result<String> {
    unpack_stages(&folder.0)?;
    let run = Run::load(folder)?;
    page(folder, &super::markdown(&run, false)?, &super::drawn(&run), has_index)
}

/// Writes the page of a report in Markdown, with its charts by the files that it names.
pub(super) fn write(folder: &RunFolder, markdown: &str, drawn: &[Drawn]) -> Result<()> {
    folder.write_derived(PAGE, &page(folder, markdown, drawn, is_listed(folder))?)
}

/// Whether a list of all runs stands next to a run's folder.
fn is_listed(folder: &RunFolder) -> bool {
    folder.0.parent().is_some_and(|results| results.join(index::INDEX).is_file())
}

fn page(folder: &RunFolder, markdown: &str, drawn: &[Drawn], has_index: bool) -> Result<String> {
    let report = sections::report(markdown);
    let trials = trials::trials(folder)?;
    let mut drawer = Drawer { drawn, shown: 0, has_zoom: false };
    let mut tabs = Vec::new();
    for (tab, name) in Tab::ALL {
        let of_tab = report.sections.iter().filter(|section| section.tab == tab);
        let html = of_tab.map(|section| drawer.section(section)).collect::<Result<String>>()?;
        let has_trials = tab == Tab::Trials && trials.is_some();
        if !html.is_empty() || has_trials {
            let (id, html) = (Value::from(Serde(tab)), Value::from_safe_string(html));
            tabs.push(context! { id, name, html, has_trials });
        }
    }
    let why = Value::from_safe_string(markdown::html(&report.why, 0));
    let scripts: Vec<&str> = if drawer.has_zoom { vec![UPLOT, SCRIPT] } else { vec![SCRIPT] };
    let zoom_style = if drawer.has_zoom { UPLOT_STYLE } else { "" };
    let style = format!("{zoom_style}\n{}{STYLE}", charts::palette::page_style());
    let (title, name) = (report.title, folder.name());
    let values = context! { title, name, why, tabs, trials, has_index };
    render(include_str!("assets/page.html"), &style, &scripts, values)
}

/// What a folder holds, by name.
pub(crate) fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("can't read {}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    Ok(paths)
}

/// Puts charts into a page.
struct Drawer<'a> {
    drawn: &'a [Drawn],
    /// How many charts the page has so far: each needs names of its own.
    shown: usize,
    has_zoom: bool,
}

impl Drawer<'_> {
    fn section(&mut self, section: &Section) -> Result<String> {
        let heading = &section.heading;
        // Below the name of the tab itself no rank is left out.
        let deeper = usize::from(!heading.is_empty());
        let mut out = if deeper == 0 { String::new() } else { markdown::html(&format!("## {heading}\n"), 1) };
        for part in &section.parts {
            out += &match part {
                Part::Text(text) => markdown::html(text, deeper),
                Part::Picture { file, alt } => self.figure(file, alt)?,
            };
        }
        Ok(out)
    }

    /// A chart with what the script needs to zoom into it; of a picture that is no chart of the run its words.
    fn figure(&mut self, file: &str, alt: &str) -> Result<String> {
        let Some((_, chart)) = self.drawn.iter().find(|(name, _)| name == file) else {
            return Ok(markdown::html(alt, 0));
        };
        self.shown += 1;
        let svg = charts::inline::inline(chart, &format!("chart-{}", self.shown), alt);
        let zoom = zoom::zoom(chart).map(|zoom| serde_json::to_string(&zoom)).transpose()?;
        self.has_zoom |= zoom.is_some();
        let zoom = known(zoom, "", |data| {
            // Nothing in it may end the element.
            let data = data.replace('<', "\\u003c");
            format!(
                "<details class=\"zoom\" hidden><summary>Zoom into the lines</summary></details>\n\
                 <script type=\"application/json\">{data}</script>\n"
            )
        });
        Ok(format!("<figure>\n{svg}{zoom}</figure>\n"))
    }
}

/// Fills a template. Scripts run by their checksum alone, so nothing that a run named can become one, and nothing is
/// loaded.
fn render(template: &str, style: &str, scripts: &[&str], values: Value) -> Result<String> {
    let hash =
        |script: &&str| format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(script.as_bytes())));
    let hashes = joined(scripts.iter().map(hash), " ");
    let policy = format!(
        "default-src 'none'; style-src 'unsafe-inline'; script-src {hashes}; base-uri 'none'; form-action 'none'"
    );
    let safe = |text: &str| Value::from_safe_string(text.to_owned());
    let (scripts, style): (Vec<Value>, Value) =
        (scripts.iter().map(|script| safe(script)).collect(), safe(style));
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    let page = environment.render_str(template, context! { policy, style, scripts, ..values });
    page.context("can't fill a page's template")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_is_the_released_one() {
        let files = [
            ("uPlot.iife.min.js", UPLOT),
            ("uPlot.min.css", UPLOT_STYLE),
            ("uPlot.LICENSE", include_str!("assets/uPlot.LICENSE")),
        ];
        let sums = include_str!("assets/uPlot.sha256");
        assert_eq!(sums.lines().count(), files.len());
        for (name, text) in files {
            let sum: String =
                Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
            assert!(sums.contains(&format!("{sum}  {name}\n")), "{name}: {sum}");
        }
    }

    #[test]
    fn a_page_runs_its_own_scripts_alone() {
        let name = "<script>alert(1)</script>";
        let template = "{{ policy }}|{{ name }}|{% for script in scripts %}{{ script }}{% endfor %}";
        let page = render(template, "", &["let a = 1 < 2;"], context! { name }).unwrap();
        let (policy, rest) = page.split_once('|').unwrap();
        assert!(
            policy.contains("default-src &#x27;none&#x27;") && !policy.contains("script-src &#x27;unsafe"),
            "{policy}"
        );
        assert_eq!(rest, "&lt;script&gt;alert(1)&lt;&#x2f;script&gt;|let a = 1 < 2;");
        assert!(render("{{ nothing }}", "", &[], context! {}).is_err(), "what a template lacks is an error");
    }
}
