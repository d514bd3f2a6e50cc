//! Kept runs that are pooled: which go together, and what comes out for known ratios.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rpc_bench::analysis::pooled::PooledFigure;
use rpc_bench::report::pooled::{PooledRuns, load};
use rpc_bench::results::{RunFolder, pretty};
use serde_json::Value;

/// The newest quick run of the repository, which has a sweep and duets, to make others from.
fn kept() -> PathBuf {
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../results");
    let runs = fs::read_dir(results).unwrap().map(|entry| entry.unwrap().path());
    runs.filter(|run| run.to_string_lossy().ends_with("Z-quick")).max().unwrap()
}

/// Copies the kept run under another name, with its environment or plan changed, in the sweep and in the duets.
fn copy(results: &Path, name: &str, change: impl Fn(&str, &mut Value)) {
    RunFolder::open(&kept()).unwrap();
    for inner in ["", "duets"] {
        let (from, to) = (kept().join(inner), results.join(name).join(inner));
        fs::create_dir_all(&to).unwrap();
        for file in ["plan.json", "environment.json"] {
            let mut value = RunFolder(from.clone()).read_json(file).unwrap();
            change(file, &mut value);
            fs::write(to.join(file), pretty(&value).unwrap()).unwrap();
        }
        let observations = RunFolder(from).observations().unwrap();
        observations.iter().for_each(|observation| RunFolder(to.clone()).append(observation).unwrap());
    }
}

fn same(_: &str, _: &mut Value) {}

fn counts(pooled: &PooledRuns, server: &str) -> Vec<usize> {
    let groups = pooled.groups.iter().filter(|group| group.setting.server == server);
    let mut counts: Vec<usize> = groups.map(|group| group.runs.len()).collect();
    counts.dedup();
    counts
}

#[test]
fn runs_of_the_same_servers_and_settings_are_pooled() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["a", "b", "c"] {
        copy(dir.path(), name, |file, value| {
            // Another machine and another kernel: that is what varies between runs.
            if file == "environment.json" {
                value["host"]["kernel"] = name.into();
            }
        });
    }
    let pooled = load(dir.path()).unwrap();
    assert_eq!(pooled.runs, ["a", "b", "c"]);
    assert_eq!((counts(&pooled, "actix"), counts(&pooled, "jsonrpsee")), (vec![3], vec![3]));
    for group in &pooled.groups {
        let all = group.pooled.unwrap();
        let [first, ..] = group.runs.as_slice() else { return };
        assert!((all.ratio.value / first.ratio.value - 1.0).abs() < 1e-9, "{group:?}");
        assert_eq!((all.runs, all.between, all.i_squared), (3, 0.0, 0.0));
        let (low, high) = all.ratio.interval.unwrap();
        let (new_low, new_high) = all.prediction.unwrap();
        // One degree of freedom less: a new run may lie further out than the mean.
        assert!(new_low < low && low < all.ratio.value && all.ratio.value < high && high < new_high);
    }
    // Duets have no ratio of rates, since the kernel divides their core.
    let has = |figure, duet| {
        pooled
            .groups
            .iter()
            .any(|group| group.setting.figure == figure && group.runs[0].run.ends_with("duets") == duet)
    };
    assert!(has(PooledFigure::Rate, false) && has(PooledFigure::Cpu, true) && !has(PooledFigure::Rate, true));
}

#[test]
fn another_server_setting_or_ledger_is_another_ratio() {
    type Change = fn(&str, &mut Value);
    let cases: [(&str, Change, bool); 6] = [
        (
            "the title of legacy",
            |file, value| {
                if file == "plan.json" {
                    value["servers"][0]["title"] = "another arrangement".into();
                }
            },
            false,
        ),
        (
            "an effective setting of legacy",
            |file, value| {
                if file == "environment.json" {
                    value["servers"]["legacy"]["backlog"] = 4096.into();
                }
            },
            false,
        ),
        (
            "the allocator",
            |file, value| {
                if file == "environment.json" {
                    value["servers"]["legacy"]["allocator"] = "system".into();
                }
            },
            false,
        ),
        (
            "the ledger",
            |file, value| {
                if file == "plan.json" {
                    value["campaign"]["environment"]["slots"] = 1_501.into();
                }
            },
            false,
        ),
        (
            "the address",
            |file, value| {
                if file == "environment.json" {
                    value["servers"]["legacy"]["addr"] = "127.0.0.1:1".into();
                }
            },
            true,
        ),
        (
            "the open files of this machine",
            |file, value| {
                if file == "environment.json" {
                    value["servers"]["legacy"]["open_files"] = 1.into();
                }
            },
            true,
        ),
    ];
    for (what, change, together) in cases {
        let dir = tempfile::tempdir().unwrap();
        copy(dir.path(), "a", same);
        copy(dir.path(), "b", change);
        let pooled = load(dir.path()).unwrap();
        let with_legacy = pooled.groups.iter().filter(|group| group.setting.over == "legacy");
        let pooled: Vec<bool> = with_legacy.map(|group| group.pooled.is_some()).collect();
        assert!(!pooled.is_empty() && pooled.iter().all(|pooled| *pooled == together), "{what}: {pooled:?}");
    }
}

#[test]
fn the_command_lists_unreadable_runs_and_writes_on_request() {
    let dir = tempfile::tempdir().unwrap();
    copy(dir.path(), "a", same);
    fs::create_dir(dir.path().join("broken")).unwrap();
    fs::write(dir.path().join("broken/plan.json"), "{}").unwrap();
    fs::write(dir.path().join("note.txt"), "").unwrap();
    let called = |args: &[&str]| {
        let mut call = Command::new(env!("CARGO_BIN_EXE_rpc-bench"));
        let output = call.arg("--results").arg(dir.path()).arg("compare").args(args).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    };
    let (code, said, _) = called(&["--all"]);
    assert_eq!(code, 0);
    assert!(said.contains("- broken: ") && said.contains("No ratio was measured in two runs"), "{said}");
    assert!(said.contains("actix / legacy") && !dir.path().join("pooled.json").exists());
    let (code, said, _) = called(&["--all", "--write"]);
    let written = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap();
    assert!(code == 0 && written("pooled.md") == said);
    let data: PooledRuns = serde_json::from_str(&written("pooled.json")).unwrap();
    assert_eq!(
        (data.runs.as_slice(), data.unreadable[0].run.as_str()),
        (["a".to_owned()].as_slice(), "broken")
    );
    assert_eq!(called(&["--all", "a"]).0, 2);
    assert_eq!(called(&["a"]).0, 2);
    assert!(RunFolder::newest(dir.path()).is_ok(), "what was pooled is no run");
}
