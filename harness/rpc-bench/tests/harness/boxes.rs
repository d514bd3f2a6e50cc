//! Axes `cpu_quota` and `memory_max` on real cgroups: a box that is large enough, and one in which no server starts.
//! Skipped where this user may make no cgroups.

use std::fs;
use std::path::{Path, PathBuf};

use bench_measure::cgroup::{Cgroup, Cpus, MemoryMax, Size};

use crate::bench::{Bench, stderr, until};

/// A campaign over actix with these axes of its box; `None`, reported, without cgroups or a load tool.
fn small(axes: &str) -> Option<Bench> {
    let size = Size { cpu_quota: Some(Cpus(500)), memory_max: Some(MemoryMax(64 << 20)) };
    if let Err(error) = Cgroup::create(&size) {
        eprintln!("SKIPPED: {error:#}");
        return None;
    }
    Bench::of("boxes", &[("AXES", axes)])
}

const LARGE: &str = "cpu_quota = [0.5]\nmemory_max = [\"256MiB\"]";

/// The groups of a harness, in any hierarchy.
fn groups(of: u32) -> Vec<PathBuf> {
    fn below(folder: &Path, depth: u32, wanted: &str, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(wanted) {
                found.push(entry.path());
            } else if depth > 0 && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                below(&entry.path(), depth - 1, wanted, found);
            }
        }
    }
    let mut found = Vec::new();
    below(Path::new("/sys/fs/cgroup"), 6, &format!("rpc-bench-{of}-"), &mut found);
    found
}

#[test]
fn a_box_that_is_too_small_is_a_failure_and_a_large_one_has_its_figures() {
    let Some(bench) = small("cpu_quota = [0.05]\nmemory_max = [\"256MiB\", \"1MiB\"]") else { return };
    let output = bench.run(&["run", "small"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    bench.nothing_is_left_running();
    let all = bench.observations();
    let kinds_of = |end: &str| -> Vec<&str> {
        let own = all.iter().filter(|one| one["server"].as_str().unwrap().ends_with(end));
        own.map(|one| one["outcome"]["kind"].as_str().unwrap()).collect()
    };
    assert_eq!(kinds_of("256mib"), ["completed"; 2], "{all:?}");
    assert_eq!(kinds_of("-1mib"), ["out_of_memory"; 2], "{all:?}");
    let measured = all.iter().find(|one| one["outcome"]["kind"] == "completed").unwrap();
    let limited = &measured["outcome"]["limited"];
    let peak = limited["memory_peak_bytes"].as_u64();
    assert!(peak.is_some_and(|peak| peak > 0 && peak <= 256 << 20), "{limited}");
    let report = bench.report();
    assert!(report.contains("out of memory: "), "{report}");
    let row = report.lines().find(|line| line.contains("periods without processor time left"));
    // Four connections use a twentieth of a processor up.
    assert!(row.is_some_and(|row| row.contains(" % |") && !row.contains("| 0 %")), "{report}");
}

#[test]
fn an_interrupted_run_leaves_no_group_and_resumes() {
    let Some(bench) = small(LARGE) else { return };
    let log = fs::File::create(bench.path("log")).unwrap();
    let mut command = bench.command(&["run", "small"]);
    let child = command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap();
    let running = crate::started::Running { child };
    let harness = running.child.id();
    until("a group is made", || (!groups(harness).is_empty()).then_some(()));
    until("a trial is kept", || Some(bench.observations()).filter(|kept| !kept.is_empty()));
    running.signal(libc::SIGINT);
    assert_eq!(running.exit_code(), Some(130));
    assert_eq!(groups(harness), Vec::<PathBuf>::new());
    let before = bench.observations().len();
    let folder = bench.folder();
    let mut resumed = bench.command(&["run", "--resume", folder.to_str().unwrap()]);
    let output = resumed.output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let numbers: Vec<u64> = bench.observations().iter().map(|one| one["number"].as_u64().unwrap()).collect();
    assert!(numbers.len() > before, "{numbers:?}");
    assert!(numbers.iter().zip(1..).all(|(number, wanted)| *number == wanted), "each once: {numbers:?}");
    bench.packs();
}
