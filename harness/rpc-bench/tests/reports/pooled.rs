//! Kept runs that are pooled: which go together, and what comes out for known ratios.

mod p99;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use bench_analysis::pooled::{Group, PooledFigure};
use bench_model::results::{RunFolder, pretty};
use bench_report::pooled::{PooledRuns, load};
use serde_json::Value;

use crate::kept::newest;

/// The newest quick run of the repository, which has a sweep and duets, to make others from.
fn kept() -> PathBuf {
    newest("quick").unwrap()
}

/// Copies the kept run under another name, with its environment, plan or observations changed, in the sweep and in the duets.
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
        for observation in RunFolder(from).observations().unwrap() {
            let mut value = serde_json::to_value(observation).unwrap();
            change("an observation", &mut value);
            RunFolder(to.clone()).append(&serde_json::from_value(value).unwrap()).unwrap();
        }
    }
}

fn same(_: &str, _: &mut Value) {}

fn counts(pooled: &PooledRuns, server: &str) -> Vec<usize> {
    let groups = pooled.groups.iter().filter(|group| group.setting.server == server);
    let mut counts: Vec<usize> = groups.map(|group| group.runs().count()).collect();
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
        let [model] = group.models.as_slice() else { std::panic::panic_any("one processor") };
        let (all, first) = (model.pooled.unwrap(), &model.runs[0]);
        assert!((all.ratio.value / first.ratio.value - 1.0).abs() < 1e-9, "{group:?}");
        assert_eq!((all.runs, all.between, all.i_squared), (3, 0.0, 0.0));
        let (low, high) = all.ratio.interval.unwrap();
        let (new_low, new_high) = all.prediction.unwrap();
        // One degree of freedom less: a new run may lie further out than the mean.
        assert!(new_low < low && low < all.ratio.value && all.ratio.value < high && high < new_high);
    }
    // Duets have no ratio of rates or latencies, since the kernel divides their core.
    let has = |figure, duet| {
        pooled.groups.iter().any(|group| {
            group.setting.figure == figure && group.models[0].runs[0].run.ends_with("duets") == duet
        })
    };
    assert!(has(PooledFigure::Cpu, true) && has(PooledFigure::Cpu, false));
    for figure in [PooledFigure::Rate, PooledFigure::P99] {
        assert!(has(figure, false) && !has(figure, true), "{figure:?}");
    }
}

#[test]
fn one_build_lies_anywhere_among_the_blocks_of_a_run_that_draws_builds() {
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (RunFolder(newest("crossed").unwrap()), RunFolder(dir.path().join("crossed")));
    fs::create_dir_all(&to.0).unwrap();
    for file in ["plan.json", "environment.json"] {
        fs::write(to.0.join(file), pretty(&from.read_json::<Value>(file).unwrap()).unwrap()).unwrap();
    }
    from.observations().unwrap().iter().for_each(|observation| to.append(observation).unwrap());
    copy(dir.path(), "quick", same);
    let pooled = load(dir.path()).unwrap();
    let (mut drawn, mut single) = (0, 0);
    for group in &pooled.groups {
        let run = group.runs().next().unwrap();
        let ((low, high), (least, most)) = (run.ratio.interval.unwrap(), run.one_build.unwrap());
        if group.setting.many_builds {
            // A mean is known better than one build is.
            assert!(least < low && high < most, "{run:?}");
            drawn += 1;
        } else {
            assert_eq!((least, most), (run.ratio.value, run.ratio.value), "{run:?}");
            single += 1;
        }
    }
    assert!(drawn > 10 && single > 10, "{drawn} and {single}");
}

#[test]
#[ignore = "takes minutes on a busy machine: just test-long"]
fn another_server_setting_or_ledger_is_another_ratio() {
    type Change = fn(&str, &mut Value);
    let cases: [(&str, Change, bool); 10] = [
        (
            "the commit, where no fingerprint is known",
            |file, value| {
                if file == "environment.json" {
                    value.as_object_mut().unwrap().remove("programs");
                    value["host"]["commit"] = "another".into();
                }
            },
            false,
        ),
        (
            "the sources of legacy",
            |file, value| {
                if file == "environment.json" {
                    value["programs"]["legacy"] = serde_json::json!({ "sha256": "1", "sources": "another" });
                }
            },
            false,
        ),
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
            "the load tool",
            |file, value| match file {
                "plan.json" => {
                    value["campaign"]["tool"] = "rpc-load".into();
                    let trials = value["trials"].as_array_mut().unwrap().iter_mut();
                    trials.for_each(|trial| trial["tool"] = "rpc-load".into());
                }
                "an observation" => value["tool"] = "rpc-load".into(),
                _ => {}
            },
            false,
        ),
        (
            "the load hosts",
            |file, value| {
                if file == "plan.json" {
                    value["hosts"] = serde_json::json!({ "name": "two", "hosts": 2, "launcher": ["true"] });
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
        let runs: BTreeSet<&str> = pooled.groups.iter().flat_map(Group::runs).map(|run| &*run.run).collect();
        assert!(["a", "b"].iter().all(|name| runs.contains(name)), "{what}: {runs:?}");
        let with_legacy = pooled.groups.iter().filter(|group| group.setting.over == "legacy");
        let pooled: Vec<bool> = with_legacy.map(|group| group.models[0].pooled.is_some()).collect();
        assert!(!pooled.is_empty() && pooled.iter().all(|pooled| *pooled == together), "{what}: {pooled:?}");
    }
}

/// The servers of a run as built from these sources, at a commit of its own, on a processor of this family.
fn built(sources: &'static str, commit: &'static str, family: &'static str) -> impl Fn(&str, &mut Value) {
    move |file, value| {
        if file != "environment.json" {
            return;
        }
        let names: Vec<String> = value["servers"].as_object().unwrap().keys().cloned().collect();
        for name in names {
            value["programs"][name] =
                serde_json::json!({ "sha256": commit, "sources": sources, "compiler": "rustc" });
        }
        value["host"]["commit"] = commit.into();
        value["host"]["cpu"] = "AMD EPYC".into();
        value["host"]["processor"] =
            serde_json::json!({ "vendor": "AuthenticAMD", "family": family, "model": "17" });
    }
}

#[test]
fn runs_are_pooled_by_build_and_by_model_of_processor() {
    let dir = tempfile::tempdir().unwrap();
    for (name, sources, commit, family) in [
        ("a", "first", "1", "25"),
        ("b", "first", "2", "25"),
        ("c", "first", "2", "26"),
        ("d", "second", "3", "25"),
    ] {
        let change = built(sources, commit, family);
        copy(dir.path(), name, |file, value| {
            change(file, value);
            if file == "environment.json" {
                value["started_at"] = format!("2026-12-01T00:00:0{}Z", commit).into();
            }
        });
    }
    let pooled = load(dir.path()).unwrap();
    let of_actix: Vec<_> = pooled
        .groups
        .iter()
        .filter(|group| (&*group.setting.server, &*group.setting.over) == ("actix", "legacy"))
        .filter(|group| group.setting.placement == bench_model::config::Placement::Duet)
        .filter(|group| group.setting.workload == "getBlocks")
        .collect();
    let [second, first] = of_actix.as_slice() else { std::panic::panic_any(format!("{of_actix:?}")) };
    assert!(second.newest && !first.newest, "the newest builds come first");
    assert!(second.across.is_none() && second.models[0].pooled.is_none());
    let [old, new] = first.models.as_slice() else { std::panic::panic_any(format!("{first:?}")) };
    assert_eq!((old.processor.as_str(), old.runs.len()), ("AMD EPYC (family 25, model 17)", 2));
    assert_eq!((new.processor.as_str(), new.runs.len()), ("AMD EPYC (family 26, model 17)", 1));
    assert!(old.pooled.is_some() && new.pooled.is_none());
    let across = first.across.unwrap();
    assert_eq!((across.models, across.ratio), (2, None), "no interval below three models");
    assert!((across.range.0 / across.range.1 - 1.0).abs() < 1e-9, "the same figures on both");
    let page = bench_report::pooled::markdown(&pooled);
    assert!(
        page.contains("| AMD EPYC (family 25, model 17) | AMD EPYC (family 26, model 17) | all models"),
        "{page}"
    );
    assert!(page.contains("## Pooled: AMD EPYC (family 25, model 17)"), "{page}");
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

/// What the terminal says of a run next to the kept ones.
fn said_of(results: &Path, run: &str) -> String {
    let mut call = Command::new(env!("CARGO_BIN_EXE_rpc-bench"));
    let call = call.arg("--results").arg(results).arg("report").arg(results.join(run));
    let output = call.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text.lines().position(|line| line.starts_with("This run ")).unwrap();
    text.lines().skip(line).collect::<Vec<_>>().join("\n")
}

/// Makes every request of actix half as dear again in a run.
fn make_actix_dearer(run: &Path) {
    for inner in ["", "duets"] {
        let path = run.join(inner).join("observations.ndjson");
        let text = fs::read_to_string(&path).unwrap();
        let line = |line: &str| {
            let mut value: Value = serde_json::from_str(line).unwrap();
            if value["server"] == "actix" {
                for field in ["user_s", "system_s"] {
                    if let Some(used) = value["outcome"]["server_cpu"][field].as_f64() {
                        value["outcome"]["server_cpu"][field] = (used * 1.5).into();
                    }
                }
            }
            value.to_string() + "\n"
        };
        fs::write(&path, text.lines().map(line).collect::<String>()).unwrap();
    }
}

#[test]
#[ignore = "takes minutes on a busy machine: just test-long"]
fn a_run_is_compared_with_the_nearest_kept_ones() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["a", "b", "c"] {
        copy(dir.path(), name, built("first", "1", "25"));
    }
    let output = Command::new(env!("CARGO_BIN_EXE_rpc-bench"))
        .arg("--results")
        .arg(dir.path())
        .args(["compare", "--all", "--write"])
        .output();
    assert!(output.unwrap().status.success());
    copy(dir.path(), "same", built("first", "2", "25"));
    let said = said_of(dir.path(), "same");
    assert!(
        said.starts_with("This run agrees with 3 kept runs on this processor, of the same servers: all "),
        "{said}"
    );
    let own = said_of(dir.path(), "a");
    assert!(own.contains("agrees with 2 kept runs"), "a kept run is not compared with itself: {own}");

    copy(dir.path(), "dearer", |file, value| {
        built("second", "2", "25")(file, value);
        if file == "environment.json" {
            value["host"]["kernel"] = "another".into();
        }
    });
    make_actix_dearer(&dir.path().join("dearer"));
    let said = said_of(dir.path(), "dearer");
    assert!(
        said.starts_with(
            "This run differs from 3 kept runs on this processor, of other builds of the servers in "
        ),
        "{said}"
    );
    assert!(said.contains("What else differs: kernel, build.\n"), "{said}");
    assert!(said.contains("\n- getBlocks at 25, actix / legacy: "), "{said}");
    assert!(!said.contains("axum / legacy"), "{said}");

    copy(dir.path(), "elsewhere", built("first", "2", "26"));
    make_actix_dearer(&dir.path().join("elsewhere"));
    let said = said_of(dir.path(), "elsewhere");
    assert!(said.contains("3 kept runs on other processors in "), "{said}");
    assert!(said.contains("What else differs: processor.\n"), "{said}");
}
