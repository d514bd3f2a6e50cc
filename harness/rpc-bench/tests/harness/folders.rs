//! What may be done to a run's folder: by one harness at a time, with room on its disk, and to nothing but the run's
//! own files.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::bench::{Bench, refused, until};

#[test]
fn a_run_has_one_writer_until_that_is_killed() {
    let Some(bench) = Bench::new(2) else { return };
    let harness = bench.start(&["run", "tiny"]);
    until("the first trial ends", || (!bench.observations().is_empty()).then_some(()));
    let folder = bench.folder();
    let run = folder.to_str().unwrap();
    let words = format!("is being written to by another rpc-bench (process {})", harness.child.id());
    for args in [&["run", "--resume", run][..], &["report", run]] {
        assert_eq!(refused(&bench.run(args), &[&words]).lines().count(), 1);
    }
    assert!(!folder.join("report.md").exists());
    harness.signal(libc::SIGKILL);
    harness.exit_code();
    bench.nothing_is_left_running();
    bench.succeeds(&["run", "--resume", run]);
    let numbers: Vec<u64> = bench.observations().iter().map(|o| o["number"].as_u64().unwrap()).collect();
    assert_eq!(numbers.iter().collect::<BTreeSet<_>>().len(), numbers.len(), "{numbers:?}");
    assert!(!folder.join(".lock").exists());
    bench.packs();
}

/// A file system in memory of a few megabytes. Unmounted when it goes.
struct SmallDisk<'a>(&'a Path);

impl<'a> SmallDisk<'a> {
    /// `None`, which it says, where this user may mount none.
    fn mount(at: &'a Path, size: &str) -> Option<Self> {
        fs::create_dir_all(at).unwrap();
        let mut mount = Command::new("mount");
        let done = mount.args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"]).arg(at).output();
        if done.is_ok_and(|output| output.status.success()) {
            return Some(Self(at));
        }
        eprintln!("SKIPPED: a full disk: this user may mount no tmpfs");
        None
    }

    fn resize(&self, size: &str) {
        let resized =
            Command::new("mount").args(["-o", &format!("remount,size={size}")]).arg(self.0).status();
        assert!(resized.unwrap().success());
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).status();
    }
}

#[test]
fn a_disk_without_room_for_a_trial_ends_the_run_which_can_be_resumed() {
    let Some(bench) = Bench::new(1) else { return };
    let results = bench.path("results");
    let Some(disk) = SmallDisk::mount(&results, "8m") else { return };
    let said = refused(
        &bench.run(&["run", "tiny"]),
        &[": its disk has ", " MiB left, and a trial may take 32.0 MiB; make room"],
    );
    assert!(said.contains("0 trials are kept; resume the run with"), "{said}");
    assert!(bench.observations().is_empty(), "no trial was begun");
    bench.nothing_is_left_running();
    disk.resize("64m");
    bench.succeeds(&["run", "--resume", bench.folder().to_str().unwrap()]);
    assert_eq!(bench.outcomes(), ["completed", "completed"]);
}

#[test]
fn a_disk_that_fills_up_in_a_trial_is_no_failure_of_the_load_tool() {
    let Some(bench) = Bench::new(1) else { return };
    let (results, tool) = (bench.path("results"), bench.path("filler"));
    let Some(_disk) = SmallDisk::mount(&results, "48m") else { return };
    // A load tool that leaves no room, and ends because of that.
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in *http://*) cd {}/*; head -c 30000000 /dev/zero >filled; exit 1 ;; esac\n",
        results.display()
    );
    fs::write(&tool, script).unwrap();
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
    let output = bench.command(&["run", "tiny"]).env("BOMBARDIER", &tool).output().unwrap();
    refused(&output, &["a trial may take 32.0 MiB; make room", "resume the run"]);
    assert!(bench.folder().join("filled").is_file(), "the trial was begun");
    assert!(bench.observations().is_empty(), "{:?}", bench.outcomes());
    bench.nothing_is_left_running();
}
