//! Boxes in small, on real processes and real cgroups: one that is large enough, and one in which no server starts.
//! Skipped where this user may make no cgroups.

use std::fs;
use std::path::{Path, PathBuf};

use bench_system::cgroup::{Cgroup, Cpus, MemoryMax, Size};

use crate::bench::{Bench, program, stderr, until};

/// A campaign over actix, with rpc-load; `None`, reported, without cgroups or a load tool.
fn small(boxes: &str) -> Option<Bench> {
    let size = Size { cpu_quota: Some(Cpus(500)), memory_max: Some(MemoryMax(64 << 20)), ..Size::default() };
    if let Err(error) = Cgroup::create(&size) {
        eprintln!("SKIPPED: {error:#}");
        return None;
    }
    let bench = Bench::new(1)?;
    bench.write(
        "campaigns/small.toml",
        &format!(
            "why = \"a test\"\nservers = [\"actix\"]\nworkloads = [\"getBalance\"]\nconnections = []\ntool \
             = \"rpc-load\"\nmax_blocks = 1\n\
             seed = 1\nwarmup_ms = 500\nwindow_ms = 1000\ntimeout_ms = 2000\n\
             [environment]\ntuning = \"equal\"\naccounts = 5\nslots = 50\nledger_seed = 1\nmax_foreign_cpu \
             = \"100%\"\nmax_steal = \"100%\"\n\
             [sizes]\np99_ms = 2000\nshortfall = \"20%\"\nrates = [100, 200]\nalways = [100]\nto_hold = \
             [100]\nconnections = 4\nclosed_connections = 4\n\
             boxes = [{boxes}]\n\
             [sizes.prices]\ncurrency = \"USD\"\noffers = [{{ name = \"example\", cpu_hour = 0.04, gib_hour = 0.004 \
             }}]\n"
        ),
    );
    Some(bench)
}

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
fn a_box_that_is_too_small_is_an_outcome_and_a_large_one_holds_its_rates() {
    let boxes = "{ cpu_quota = 0.5, memory_max = \"256MiB\" }, { cpu_quota = 0.5, memory_max = \"1MiB\" }";
    let Some(bench) = small(boxes) else { return };
    let output = bench.command(&["run", "small"]).env("RPC_LOAD", program("rpc-load")).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    bench.nothing_is_left_running();
    let all = bench.observations_in("sizes");
    let kinds_of = |end: &str| -> Vec<&str> {
        let own = all.iter().filter(|one| one["server"].as_str().unwrap().ends_with(end));
        own.map(|one| one["outcome"]["kind"].as_str().unwrap()).collect()
    };
    assert!(kinds_of("256MiB").iter().all(|kind| *kind == "completed"), "{all:?}");
    assert!(kinds_of("-1MiB").iter().all(|kind| *kind == "out_of_memory"), "{all:?}");
    let measured = all.iter().find(|one| one["outcome"]["kind"] == "completed").unwrap();
    let limited = &measured["outcome"]["limited"];
    assert!(limited["periods"].as_u64() > Some(0), "{limited}");
    assert!(
        limited["memory_peak_bytes"].as_u64().is_some_and(|peak| peak > 0 && peak <= 256 << 20),
        "{limited}"
    );
    let report = bench.report();
    assert!(report.contains("200/s") && report.contains("**out of memory**"), "{report}");
    assert!(bench.folder().join("sizes-getBalance.svg").is_file());
    let again = bench.run(&["check"]);
    assert!(again.status.success(), "{}", String::from_utf8_lossy(&again.stdout));
}

#[test]
fn an_interrupted_run_leaves_no_group_and_resumes() {
    let Some(bench) = small("{ cpu_quota = 0.5, memory_max = \"256MiB\" }") else { return };
    let log = fs::File::create(bench.path("log")).unwrap();
    let mut command = bench.command(&["run", "small"]);
    let child = command
        .env("RPC_LOAD", program("rpc-load"))
        .stdout(log.try_clone().unwrap())
        .stderr(log)
        .spawn()
        .unwrap();
    let running = crate::bench::Running { child };
    let harness = running.child.id();
    until("a group is made", || (!groups(harness).is_empty()).then_some(()));
    until("a trial is kept", || Some(bench.observations_in("sizes")).filter(|kept| !kept.is_empty()));
    running.signal(libc::SIGINT);
    assert_eq!(running.exit_code(), Some(130));
    assert_eq!(groups(harness), Vec::<PathBuf>::new());
    let before = bench.observations_in("sizes").len();
    let folder = bench.folder();
    let mut resumed = bench.command(&["run", "--resume", folder.to_str().unwrap()]);
    let output = resumed.env("RPC_LOAD", program("rpc-load")).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let numbers: Vec<u64> =
        bench.observations_in("sizes").iter().map(|one| one["number"].as_u64().unwrap()).collect();
    assert!(numbers.len() > before, "{numbers:?}");
    assert!(numbers.iter().zip(1..).all(|(number, wanted)| *number == wanted), "each once: {numbers:?}");
    bench.packs();
}

#[test]
fn a_box_that_can_not_be_made_is_refused_before_anything_runs() {
    let Some(bench) = small("{ cpu_quota = 0.5, memory_max = \"256MiB\" }, { cpuset = \"63\" }") else {
        return;
    };
    if Path::new("/sys/devices/system/cpu/cpu63").exists() {
        eprintln!("SKIPPED: this machine has every processor that a box can name");
        return;
    }
    let output = bench.command(&["run", "small"]).env("RPC_LOAD", program("rpc-load")).output().unwrap();
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("server actix-set63: field cpuset") && said.lines().count() == 1, "{said}");
    bench.nothing_is_left_running();
}
