//! All runs as a static site in a folder of its own: the list, and the page of each. Its links are relative, so it may
//! be served from anywhere.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::{PAGE, index, made};
use bench_model::results::{REPORT, RunFolder};

/// The file that keeps GitHub Pages from taking a site for one that it has to build.
const AS_IT_IS: &str = ".nojekyll";

/// Writes the list of all runs of a folder that have a report, and their pages, into `to`; in place of earlier ones,
/// and without a change of the runs. A run that is of another format, and so has no page, is linked as its report in
/// Markdown. Gives how many pages there are, and how many such reports.
///
/// # Errors
/// The folder has no run with a report, or can't be read, or a file can't be written.
pub fn write_site(results: &Path, to: &Path) -> Result<(usize, usize)> {
    let runs = index::reported(results)?;
    ensure!(!runs.is_empty(), "{} holds no run with a report", results.display());
    index::check_place(to)?;
    let mut without_page = BTreeSet::new();
    for run in &runs {
        let folder = to.join(run.name());
        fs::create_dir_all(&folder).with_context(|| format!("can't create {}", folder.display()))?;
        match made(run, true) {
            Ok(page) => RunFolder(folder).write_derived(PAGE, &page)?,
            Err(_) => {
                let report = run.0.join(REPORT);
                let copied = fs::copy(&report, folder.join(REPORT));
                copied.with_context(|| format!("can't copy {}", report.display()))?;
                without_page.insert(run.name());
            }
        }
    }
    let linked = |run: &RunFolder| if without_page.contains(&run.name()) { REPORT } else { PAGE };
    let site = RunFolder(to.to_owned());
    index::write_list(to, &index::page(results, &linked)?)?;
    site.write_derived(AS_IT_IS, "")?;
    Ok((runs.len() - without_page.len(), without_page.len()))
}
