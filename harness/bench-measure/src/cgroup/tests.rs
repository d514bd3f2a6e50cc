//! Groups in a folder that stands in for cgroupfs, and, where this user may make them, real ones.

use std::fs;
use std::path::{Path, PathBuf};

use super::place::Mount;
use super::*;

fn size() -> Size {
    Size { cpu_quota: Some(Cpus(500)), memory_max: Some(MemoryMax(64 << 20)) }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

/// Plain files are no cgroupfs: a folder that holds any can't be removed as a group is.
fn emptied(group: &Cgroup) {
    for path in group.folders.iter().flat_map(|folder| [Some(&folder.path), folder.keeper.as_ref()]).flatten()
    {
        fs::read_dir(path).unwrap().for_each(|file| fs::remove_file(file.unwrap().path()).unwrap());
    }
}

#[test]
fn version_1_has_a_folder_for_each_hierarchy() {
    let root = tempfile::tempdir().unwrap();
    let mount = |names: &[&str]| {
        let path = root.path().join(names.join(","));
        fs::create_dir_all(path.join("own")).unwrap();
        let controllers = names.iter().map(|name| (*name).to_owned()).collect();
        Mount { version: Version::V1, path, root: "/".to_owned(), controllers }
    };
    let system = System {
        mounts: vec![mount(&["cpu", "cpuacct"]), mount(&["memory"])],
        own: vec![(vec!["memory".to_owned()], "/own".to_owned())],
    };
    let group = Cgroup::create_in(&system, &size()).unwrap();
    let [cpu, memory] = group.folders.as_slice() else { panic!("{group:?}") };
    assert_eq!(read(&cpu.path.join("cpu.cfs_quota_us")), "50000");
    assert_eq!(read(&cpu.path.join("cpu.cfs_period_us")), "100000");
    assert!(memory.path.starts_with(root.path().join("memory/own")), "below the harness' own: {memory:?}");
    assert_eq!(read(&memory.path.join("memory.limit_in_bytes")), (64 << 20).to_string());

    fs::write(cpu.path.join("cpu.stat"), "nr_periods 10\nnr_throttled 4\nthrottled_time 2500000000\n")
        .unwrap();
    fs::write(memory.path.join("memory.max_usage_in_bytes"), "4096\n").unwrap();
    fs::write(memory.path.join("memory.oom_control"), "under_oom 0\noom_kill 1\n").unwrap();
    let usage = group.usage();
    assert_eq!((usage.periods, usage.throttled_share(), usage.throttled_s), (Some(10), Some(0.4), Some(2.5)));
    assert_eq!(
        (usage.memory_peak_bytes, usage.oom_kills, usage.memory_limit_hits),
        (Some(4_096), Some(1), None)
    );
    assert!(usage.is_out_of_memory() && !usage.since(usage).is_out_of_memory());
    let paths: Vec<PathBuf> = group.folders.iter().map(|folder| folder.path.clone()).collect();
    emptied(&group);
    drop(group);
    assert!(paths.iter().all(|path| !path.exists()));
}

fn unified(root: &Path, own: &str) -> System {
    let mount =
        Mount { version: Version::V2, path: root.to_owned(), root: "/".to_owned(), controllers: Vec::new() };
    System { mounts: vec![mount], own: vec![(Vec::new(), own.to_owned())] }
}

#[test]
fn version_2_has_one_folder_below_the_group_that_shares_out_all_controllers() {
    let root = tempfile::tempdir().unwrap();
    let below = root.path().join("user/session");
    fs::create_dir_all(&below).unwrap();
    fs::write(root.path().join("cgroup.controllers"), "cpu io memory pids\n").unwrap();
    // A group that may not be changed: a folder in the file's place.
    fs::create_dir(below.join("cgroup.subtree_control")).unwrap();
    fs::write(root.path().join("user/cgroup.subtree_control"), "cpu memory\n").unwrap();
    let group = Cgroup::create_in(&unified(root.path(), "/user/session"), &size()).unwrap();
    let [folder] = group.folders.as_slice() else { panic!("{group:?}") };
    assert_eq!(folder.path.parent(), Some(root.path().join("user").as_path()));
    assert_eq!(read(&folder.path.join("cpu.max")), "50000 100000");
    assert_eq!(read(&folder.path.join("memory.max")), (64 << 20).to_string());
    fs::write(
        folder.path.join("cpu.stat"),
        "usage_usec 1\nnr_periods 4\nnr_throttled 1\nthrottled_usec 500000\n",
    )
    .unwrap();
    fs::write(folder.path.join("memory.peak"), "8192\n").unwrap();
    fs::write(folder.path.join("memory.events"), "low 0\nmax 7\noom 1\noom_kill 2\n").unwrap();
    let usage = group.usage();
    assert_eq!((usage.throttled_share(), usage.throttled_s), (Some(0.25), Some(0.5)));
    assert_eq!(
        (usage.memory_peak_bytes, usage.memory_limit_hits, usage.oom_kills),
        (Some(8_192), Some(7), Some(2))
    );
    let keeper = folder.keeper.clone().unwrap();
    assert_eq!(read(&keeper.join("cgroup.subtree_control")), "+cpu +memory");
    assert_eq!(
        keeper.parent(),
        folder.path.parent(),
        "next to the group: one with processes may request nothing"
    );
    emptied(&group);
    drop(group);
    assert!(!keeper.exists());
}

#[test]
fn version_2_makes_no_group_below_one_with_processes_except_the_root() {
    let root = tempfile::tempdir().unwrap();
    let scope = root.path().join("user/scope");
    fs::create_dir_all(&scope).unwrap();
    fs::write(root.path().join("cgroup.controllers"), "cpu\n").unwrap();
    fs::write(root.path().join("cgroup.procs"), "1\n").unwrap();
    for group in [scope.as_path(), &root.path().join("user")] {
        fs::write(group.join("cgroup.type"), "domain\n").unwrap();
        fs::write(group.join("cgroup.subtree_control"), "").unwrap();
        fs::write(group.join("cgroup.procs"), "").unwrap();
    }
    let system = unified(root.path(), "/user/scope");
    let quota = Size { cpu_quota: Some(Cpus(500)), ..Size::default() };
    let parent = || {
        let group = Cgroup::create_in(&system, &quota).unwrap();
        emptied(&group);
        group.folders[0].path.parent().unwrap().to_owned()
    };
    let left =
        ["", "user", "user/scope"].map(|place| root.path().join(place).join("rpc-bench-4194305-17-0-keeper"));
    left.iter().for_each(|group| fs::create_dir(group).unwrap());
    assert_eq!(parent(), scope);
    assert!(left.iter().all(|group| !group.exists()), "wherever a harness that is gone made them");
    fs::write(scope.join("cgroup.subtree_control"), "").unwrap();
    fs::write(scope.join("cgroup.procs"), "17\n18\n").unwrap();
    assert_eq!(parent(), root.path().join("user"));
    assert_eq!(read(&scope.join("cgroup.subtree_control")), "", "it would take no process after that");
    fs::write(root.path().join("user/cgroup.procs"), "19\n").unwrap();
    assert_eq!(parent(), root.path());
}

#[test]
fn controllers_that_nobody_shares_out_are_requested_and_a_missing_one_is_named() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("cgroup.controllers"), "cpu\n").unwrap();
    fs::write(root.path().join("cgroup.subtree_control"), "").unwrap();
    let system = unified(root.path(), "/");
    let quota = Size { cpu_quota: Some(Cpus(1_500)), ..Size::default() };
    let group = Cgroup::create_in(&system, &quota).unwrap();
    assert_eq!(read(&root.path().join("cgroup.subtree_control")), "+cpu");
    emptied(&group);
    let said = format!("{:#}", Cgroup::create_in(&system, &size()).unwrap_err());
    assert!(said.contains("memory_max") && said.lines().count() == 1, "{said}");
}

#[test]
fn a_group_that_can_not_be_made_is_refused_in_one_line() {
    let root = tempfile::tempdir().unwrap();
    let system = System {
        mounts: vec![Mount {
            version: Version::V1,
            path: root.path().join("absent"),
            root: "/".to_owned(),
            controllers: vec!["cpu".to_owned()],
        }],
        own: Vec::new(),
    };
    let quota = Size { cpu_quota: Some(Cpus(1_500)), ..Size::default() };
    let said = format!("{:#}", Cgroup::create_in(&system, &quota).unwrap_err());
    assert!(said.contains("field cpu_quota") && said.contains("root") && said.lines().count() == 1, "{said}");
    assert!(Cgroup::create(&Size::default()).unwrap().is_none(), "nothing is limited");
}
