//! `rpc-bench open` and `pages`: a run's report as a page for a browser, and the list of all kept runs.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Result, ensure};
use bench_model::results::{REPORT, RunFolder};
use bench_report::html;
use bench_system::probe::host::on_path;

/// The program that opens a file with what the desktop has for it.
const OPENER: &str = "xdg-open";

/// Makes the page of a run, the newest one where none is named, and opens it where there is a desktop. The pages that
/// the list of all runs links to are made too, where they are missing.
pub fn open(results: &Path, run: Option<&Path>) -> Result<bool> {
    let folder = match run {
        None => RunFolder::newest(results)?,
        Some(path) => {
            let folder = RunFolder(path.to_owned());
            ensure!(
                folder.has_plan() || path.join(REPORT).is_file(),
                "{} is no results folder; give one, such as results/2026-11-20T120000Z-quick",
                path.display()
            );
            folder
        }
    };
    let results = folder.0.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(results);
    let mut left_out = 0;
    for other in html::reported(results)? {
        if !other.0.join(html::PAGE).is_file() && html::make(&other).is_err() {
            // A run of another format: its report is linked as it is.
            left_out += 1;
        }
    }
    let index = html::write_index(results)?;
    // After the list, so that the page links to it.
    let page = html::make(&folder)?;
    bench_system::say!("{}\nAll kept runs: {}", page.display(), index.display());
    if left_out > 0 {
        bench_system::say!("{left_out} runs are of another format; the list links to their report.md.");
    }
    show(&page);
    Ok(true)
}

/// Writes all runs as a static site.
pub fn pages(results: &Path, to: &Path) -> Result<bool> {
    let (pages, others) = html::write_site(results, to)?;
    bench_system::say!("{}: the list, and pages of {pages} runs", to.join("index.html").display());
    if others > 0 {
        bench_system::say!("{others} runs are of another format; the list links to their report.md.");
    }
    Ok(true)
}

/// Opens a page in a browser where there is a desktop; else the printed path is all that a reader needs.
fn show(page: &Path) {
    let has_desktop = ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some());
    let Some(opener) = on_path(OPENER).filter(|_| has_desktop) else { return };
    let opened = Command::new(opener)
        .arg(page)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if !opened.is_ok_and(|status| status.success()) {
        bench_system::say!("{OPENER} could not open it; open the file in a browser.");
    }
}
