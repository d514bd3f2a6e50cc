//! Real groups, where this user may make them; elsewhere each test says that it was skipped.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use bench_measure::owned_process::{Limits, Output, Owned};
use bench_model::config::Placement;
use bench_system::cgroup::{Cgroup, Cpus, Size};

/// The group, unless this machine or this user has none.
fn group(size: Size) -> Option<Cgroup> {
    match Cgroup::create(&size) {
        Ok(made) => made,
        Err(error) => {
            let said = format!("{error:#}");
            assert_eq!(said.lines().count(), 1, "{said}");
            println!("SKIPPED: {said}");
            None
        }
    }
}

/// Where groups of this size are made on this machine, and those of harnesses that are there now.
fn groups_of(parent: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(parent).unwrap().flatten().map(|entry| entry.path());
    entries.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("rpc-bench-")).collect()
}

/// The folder of a group whose process is `pid`, of the hierarchy with `controller`.
fn folder(pid: u32, controller: &str) -> PathBuf {
    let text = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap();
    let place = text.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        (parts.next()? == controller).then(|| parts.next()).flatten()
    });
    let v1 = place.map(|place| PathBuf::from(format!("/sys/fs/cgroup/{controller}{place}")));
    v1.unwrap_or_else(|| {
        let place = text.lines().find_map(|line| line.strip_prefix("0::")).unwrap();
        PathBuf::from(format!("/sys/fs/cgroup{place}"))
    })
}

#[test]
fn a_group_goes_with_its_owner_and_one_that_was_left_behind_with_the_next() {
    let size = Size { cpu_quota: Some(Cpus(500)), ..Size::default() };
    let Some(group) = group(size) else { return };
    let dir = tempfile::tempdir().unwrap();
    let output = Output { stdout: None, stderr: &dir.path().join("stderr") };
    let limits = Limits { group: Some(&group), ..Limits::default() };
    let args = ["60".to_owned()];
    let child = Owned::spawn_with(Path::new("/bin/sleep"), &args, &output, Placement::Free, limits).unwrap();
    let own = folder(child.pid(), "cpu");
    assert!(own.file_name().unwrap().to_string_lossy().contains(&std::process::id().to_string()), "{own:?}");
    // A harness that was killed: its process is gone, its group is not.
    let mut gone = Command::new("/bin/true").stdout(Stdio::null()).spawn().unwrap();
    gone.wait().unwrap();
    let stale = own.with_file_name(format!("rpc-bench-{}-1-0", gone.id()));
    fs::create_dir(&stale).unwrap();
    drop(Cgroup::create(&size).unwrap());
    assert!(!stale.exists() && own.exists(), "{:?}", groups_of(own.parent().unwrap()));
    drop(child);
    drop(group);
    assert!(!own.exists());
}
