//! What the program writes of databases of the real oha 1.16.0 is what the harness reads in its own tests.
#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn run(args: &[&Path]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_oha-records")).args(args).output().unwrap()
}

#[test]
fn databases_are_written_as_the_lines_that_the_harness_reads() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    for name in ["oha-1.16.0-clean", "oha-1.16.0-refused"] {
        let output = run(&[&here.join(format!("tests/fixtures/{name}.db"))]);
        assert!(output.status.success() && output.stderr.is_empty(), "{name}: {output:?}");
        let lines = here.join(format!("../../harness/bench-model/tests/fixtures/{name}.csv"));
        assert_eq!(String::from_utf8(output.stdout).unwrap(), fs::read_to_string(lines).unwrap(), "{name}");
    }
}

#[test]
fn what_is_no_database_of_oha_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let (missing, other) = (folder.path().join("missing.db"), folder.path().join("other.db"));
    fs::write(&other, "no database").unwrap();
    for (args, code, reason) in [
        (vec![missing.as_path()], 1, "missing.db"),
        (vec![other.as_path()], 1, "not a database"),
        (vec![], 2, "oha-records DATABASE"),
    ] {
        let output = run(&args);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(code) && said.contains(reason), "{said}");
        assert!(said.lines().count() == 1 && output.stdout.is_empty(), "{said}");
    }
}
