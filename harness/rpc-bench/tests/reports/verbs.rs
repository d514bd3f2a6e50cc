//! Verbs that read kept runs: nobody's file is replaced, and what could not be read or written is said.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Output};

use crate::kept::newest;
use bench_core::results::REPORT;

/// A folder of runs with one packed run.
fn one_run() -> tempfile::TempDir {
    let results = tempfile::tempdir().unwrap();
    let (from, to) = (newest("quick").unwrap(), results.path().join("run"));
    fs::create_dir(&to).unwrap();
    for file in [REPORT, "run.tar.xz"] {
        fs::copy(from.join(file), to.join(file)).unwrap();
    }
    results
}

fn bench(results: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rpc-bench"));
    command.arg("--results").arg(results).args(args);
    command
}

fn refused(mut command: Command, words: &str) -> Output {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains(words), "{said}");
    output
}

#[test]
fn a_kept_run_that_cannot_be_read_is_left_out_aloud() {
    let results = one_run();
    let all = || bench(results.path(), &["compare", "--all"]).output().unwrap();
    assert!(all().status.success());
    let other = results.path().join("other");
    fs::create_dir(&other).unwrap();
    let archive = fs::read(results.path().join("run/run.tar.xz")).unwrap();
    fs::write(other.join("run.tar.xz"), &archive[..archive.len() / 2]).unwrap();
    let output = all();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("left out: other: "), "{said}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("\n- other: "), "the page says it, too");
}

#[test]
fn what_could_not_be_printed_is_no_success() {
    let results = one_run();
    let mut command = bench(results.path(), &["compare", "--all"]);
    command.stdout(File::options().write(true).open("/dev/full").unwrap());
    refused(command, "can't write to standard output");
}

#[test]
fn a_gate_writes_to_its_summary_before_it_measures() {
    let results = one_run();
    let gate = ["gate", "--base-rev", "HEAD", "--summary", "/nonexistent/summary.md"];
    refused(bench(results.path(), &gate), "--summary: can't write /nonexistent/summary.md");
}
