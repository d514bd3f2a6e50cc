//! `rpc-bench open`: a run's report as a page for a browser.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Result, ensure};
use bench_core::machine::on_path;
use bench_core::results::{REPORT, RunFolder};
use bench_report::html;

/// The program that opens a file with what the desktop has for it.
const OPENER: &str = "xdg-open";

/// Makes the page of a run, the newest one where none is named, and opens it where there is a desktop.
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
    let page = html::make(&folder)?;
    bench_core::say!("{}", page.display());
    show(&page);
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
        bench_core::say!("{OPENER} could not open it; open the file in a browser.");
    }
}
