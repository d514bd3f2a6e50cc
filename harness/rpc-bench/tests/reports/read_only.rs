//! A packed run in a folder that nothing can be written to is read all the same.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};

use crate::kept::newest;

/// Somebody who owns nothing here.
const NOBODY: u32 = 65_534;

/// A copy of a file or of a folder's files, for everybody to read and for nobody to write to. Stages that were unpacked
/// there before are left out.
fn copy(from: &Path, to: &Path) {
    if from.is_dir() {
        fs::create_dir(to).unwrap();
        let files = fs::read_dir(from).unwrap().map(|entry| entry.unwrap().path());
        for file in files.filter(|path| path.is_file()) {
            copy(&file, &to.join(file.file_name().unwrap()));
        }
    } else {
        fs::copy(from, to).unwrap();
    }
    fs::set_permissions(to, Permissions::from_mode(0o555)).unwrap();
}

#[test]
fn a_packed_run_is_exported_and_compared_where_nothing_can_be_written() {
    let Some(run) = newest("quick") else { return };
    let dir = tempfile::tempdir().unwrap();
    let (program, own) = (dir.path().join("rpc-bench"), dir.path().join("tmp"));
    copy(Path::new(env!("CARGO_BIN_EXE_rpc-bench")), &program);
    fs::create_dir(&own).unwrap();
    fs::set_permissions(&own, Permissions::from_mode(0o777)).unwrap();
    for name in ["before", "after"] {
        copy(&run, &dir.path().join(name));
    }
    fs::set_permissions(dir.path(), Permissions::from_mode(0o555)).unwrap();
    let called = |args: &[&str]| -> Output {
        let mut call = Command::new(&program);
        call.args(args).current_dir(dir.path()).env("TMPDIR", &own);
        // Permissions are no hindrance to root.
        if rustix::process::geteuid().is_root() {
            call.uid(NOBODY).gid(NOBODY);
        }
        call.output().unwrap()
    };
    for args in [&["report", "--format", "bmf", "before"][..], &["compare", "before", "after"]] {
        let output = called(args);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && output.stdout.len() > 500, "{args:?}: {said}");
    }
    let output = called(&["compare", "before", "before"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("is given twice"), "{output:?}");
    assert_eq!(fs::read_dir(&own).unwrap().count(), 0, "the temporary folders are gone");
    assert!(!dir.path().join("before/duets").exists());
    fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).unwrap();
    for name in ["before", "after"] {
        fs::set_permissions(dir.path().join(name), Permissions::from_mode(0o755)).unwrap();
    }
}
