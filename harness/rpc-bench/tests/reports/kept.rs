//! Every kept run renders to the report that is kept with it: what changes how reports are written shows in them, or is
//! a fault.

use std::fs;
use std::path::{Path, PathBuf};

use bench_core::results::{RunFolder, SUMMARY, kept};

use crate::{on_all_processors, schema};
use bench_core::config::ConfigDir;

/// The newest kept run of a campaign. A reader's own runs are none: what they say is not known here.
pub fn newest(campaign: &str) -> Option<PathBuf> {
    let runs = kept(&ConfigDir::of_repository().0.join("../results")).unwrap();
    runs.into_iter().rfind(|path| path.to_string_lossy().ends_with(&format!("Z-{campaign}")))
}

/// The report of a kept run, rendered from a copy of its folder. What is written next to it is as its schema says.
fn rendered(run: &Path, work: &Path) -> String {
    let copy = work.join(run.file_name().unwrap());
    fs::create_dir(&copy).unwrap();
    let files = fs::read_dir(run).unwrap().map(|entry| entry.unwrap().path());
    for file in files.filter(|path| path.is_file() && path.extension().is_none_or(|end| end != "svg")) {
        fs::copy(&file, copy.join(file.file_name().unwrap())).unwrap();
    }
    fs::remove_file(copy.join("report.md")).unwrap();
    let folder = RunFolder::open(&copy).unwrap();
    {
        bench_report::write(&folder).unwrap();
        let schema = schema::of_summaries();
        for summary in [SUMMARY, "duets/summary.json"].map(|name| copy.join(name)) {
            let Ok(text) = fs::read_to_string(&summary) else { continue };
            assert_eq!(schema.misfit(&schema::strictly(&text)), None, "{}", summary.display());
        }
    }
    let report = fs::read_to_string(copy.join("report.md")).unwrap();
    fs::remove_dir_all(&copy).unwrap();
    report
}

/// A field that a plan no longer has is among those that reading leaves out.
#[test]
fn every_kept_run_s_plan_is_read() {
    let runs = kept(&ConfigDir::of_repository().0.join("../results")).unwrap();
    let unread = |run: &PathBuf| RunFolder::open(run).and_then(|folder| folder.plan()).err();
    let wrong: Vec<String> = runs.iter().filter_map(unread).map(|error| format!("{error:#}")).collect();
    assert!(!runs.is_empty() && wrong.is_empty(), "{wrong:#?}");
}

#[test]
#[ignore = "takes minutes on a busy machine: just test-long"]
fn every_kept_run_renders_to_its_report() {
    let results = ConfigDir::of_repository().0.join("../results");
    let mut runs: Vec<PathBuf> = kept(&results).unwrap();
    runs.retain(|run| run.join("run.tar.xz").is_file());
    assert!(runs.len() > 20, "{}", runs.len());
    let dir = tempfile::tempdir().unwrap();
    let work = dir.path().join("results");
    fs::create_dir(&work).unwrap();
    let differs = |run: &PathBuf| {
        let kept = fs::read_to_string(run.join("report.md")).unwrap();
        (rendered(run, &work) != kept).then(|| run.clone())
    };
    let different: Vec<PathBuf> = on_all_processors(&runs, differs).into_iter().flatten().collect();
    assert!(different.is_empty(), "render these again and read what changed: {different:?}");
}
