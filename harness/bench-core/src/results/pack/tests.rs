//! That a packed run is read as before, and that packing removes nothing but the run's own.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::symlink;

use super::*;
use crate::config::ConfigDir;
use crate::plan::Plan;
use crate::results::pretty;

/// A run with a run inside it, each of two lines.
fn finished(results: &Path) -> RunFolder {
    let run = RunFolder::create(results, "test").unwrap();
    let inner = RunFolder::create_inside(&run, "duets").unwrap();
    let config = ConfigDir::of_repository();
    let plan = Plan { campaign: config.campaign("smoke").unwrap().0, ..Plan::default() };
    for folder in [&run, &inner] {
        folder.write_new(PLAN, &pretty(&plan).unwrap()).unwrap();
        folder.write_new(SUMMARY, "{}").unwrap();
        folder.write_new("tool-output/0001-b1-actix-getBalance-c3.json", "{}").unwrap();
        (1..=2).for_each(|line| folder.append_to("observations.ndjson", &line).unwrap());
    }
    inner.write_new("campaign.toml", "").unwrap();
    run.write_new(REPORT, "# A run\n").unwrap();
    run.write_new(ENVIRONMENT, "{ \"a\": 1 }").unwrap();
    run
}

fn packed() -> (tempfile::TempDir, RunFolder) {
    let dir = tempfile::tempdir().unwrap();
    let run = finished(dir.path());
    run.pack().unwrap();
    (dir, run)
}

#[test]
fn a_packed_run_is_read_as_before_and_always_the_same_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = [0, 1_000].map(|seconds| {
        let run = finished(dir.path());
        let file = File::options().append(true).open(run.0.join("duets/observations.ndjson")).unwrap();
        file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds)).unwrap();
        run.pack().unwrap();
        run.pack().unwrap();
        fs::remove_dir_all(run.0.join("duets")).unwrap();
        let archive = fs::read(run.0.join(ARCHIVE)).unwrap();
        let run = RunFolder::open(&run.0).unwrap();
        let inner = run.inside("duets").unwrap();
        for folder in [&run, &inner] {
            assert_eq!(folder.lines::<u32>("observations.ndjson").unwrap(), [1, 2]);
            assert_eq!(run.plan().unwrap().campaign.name, "smoke");
            assert!(!run.0.join(PLAN).exists() && run.has_plan() && inner.0.join(PLAN).is_file());
            assert_eq!(RunFolder::newest(dir.path()).unwrap().0, run.0);
            let gone = ["campaign.toml", SUMMARY, TOOL_OUTPUT].map(|name| folder.0.join(name));
            assert!(gone.iter().all(|path| !path.exists()), "{gone:?}");
        }
        assert!(!run.0.join("observations.ndjson").exists());
        assert!(!run.0.join(ENVIRONMENT).exists() && run.has_conditions());
        assert_eq!(run.read_json::<serde_json::Value>(ENVIRONMENT).unwrap()["a"], 1);
        run.pack().unwrap();
        assert_eq!(fs::read(run.0.join(ARCHIVE)).unwrap(), archive, "packed once more after it was read");
        archive
    });
    assert_eq!(bytes[0], bytes[1]);
}

#[test]
fn charts_are_removed_by_their_names_and_nothing_else_is() {
    let dir = tempfile::tempdir().unwrap();
    let run = finished(dir.path());
    for name in ["p99.svg", "mine.svg"] {
        run.write_new(name, "<svg/>").unwrap();
    }
    fs::write(dir.path().join("other.svg"), "<svg/>").unwrap();
    for bad in ["../other.svg", REPORT] {
        assert!(run.remove_charts([bad].into_iter()).is_err(), "{bad}");
    }
    run.remove_charts(["p99.svg", "memory.svg"].into_iter()).unwrap();
    assert!(!run.0.join("p99.svg").exists() && run.0.join("mine.svg").is_file());
    assert!(dir.path().join("other.svg").is_file() && run.0.join(REPORT).is_file());
}

#[test]
fn a_stage_of_a_packed_run_is_opened_by_its_own_path_and_by_readers_at_the_same_time() {
    let (_dir, run) = packed();
    fs::remove_dir_all(run.0.join("duets")).unwrap();
    std::thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| assert!(RunFolder::open(&run.0).unwrap().inside("duets").is_some()));
        }
    });
    let left: Vec<_> = fs::read_dir(&run.0).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().starts_with('.')), "{left:?}");
    fs::remove_dir_all(run.0.join("duets")).unwrap();
    let inner = RunFolder::open(&run.0.join("duets")).unwrap();
    assert_eq!(inner.lines::<u32>("observations.ndjson").unwrap(), [1, 2]);
}

#[test]
fn what_is_missing_of_a_packed_run_is_an_error() {
    let (_dir, run) = packed();
    let said = || format!("{:#}", RunFolder::open(&run.0).unwrap_err());
    fs::remove_file(run.0.join("duets/observations.ndjson")).unwrap();
    let error = said();
    assert!(error.contains("duets/observations.ndjson") && error.contains("remove its folder"), "{error}");
    // An archive that was cut off.
    let path = run.0.join(ARCHIVE);
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 6]).unwrap();
    assert!(said().contains(ARCHIVE), "{}", said());
}

#[test]
fn a_packed_run_is_not_added_to() {
    let dir = tempfile::tempdir().unwrap();
    let run = finished(dir.path());
    assert!(RunFolder::open_to_resume(&run.0).is_ok());
    run.pack().unwrap();
    let refused = RunFolder::open_to_resume(&run.0).unwrap_err().to_string();
    assert!(refused.contains("is packed") && !refused.contains('\n'), "{refused}");
    assert!(run.append_to("observations.ndjson", &3).is_err());
    let inner = RunFolder::open_to_resume(&run.0.join("duets")).unwrap_err().to_string();
    assert!(inner.contains("is packed"), "{inner}");
}

/// Every file below a folder with what it holds; of a link, where it leads, and of a folder, nothing.
fn all_below(folder: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut found = BTreeMap::new();
    for path in sorted(folder).unwrap() {
        let kind = kind_of(&path).unwrap();
        let held = match kind.is_symlink() {
            true => Some(fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()),
            false => kind.is_file().then(|| fs::read(&path).unwrap()),
        };
        found.insert(path.clone(), held);
        if kind.is_dir() {
            found.extend(all_below(&path));
        }
    }
    found
}

fn refused_unchanged(folder: &Path, why: &str) {
    let before = all_below(folder);
    let said = format!("{:#}", RunFolder(folder.to_owned()).pack().unwrap_err());
    assert!(said.contains(why) && !said.contains('\n'), "{said}");
    assert_eq!(all_below(folder), before, "{said}");
}

#[test]
fn a_folder_that_is_no_run_is_left_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("s");
    fs::create_dir_all(folder.join("work/tool-output")).unwrap();
    for (name, text) in [
        (REPORT, "r"),
        ("work/__init__.py", ""),
        ("work/summary.json", "k"),
        ("campaign.toml", "c"),
        ("tool-output", ""),
    ] {
        fs::write(folder.join(name), text).unwrap();
    }
    refused_unchanged(&folder, "plan.json");
    for plan in ["{}", "[1]", r#"{"format": "1"}"#] {
        fs::write(folder.join(PLAN), plan).unwrap();
        refused_unchanged(&folder, "plan.json");
    }
}

#[test]
fn what_others_put_into_a_run_stays_there() {
    let dir = tempfile::tempdir().unwrap();
    let run = finished(dir.path());
    fs::create_dir_all(run.0.join("work/tool-output")).unwrap();
    let foreign = [
        "notes.txt",
        "work/__init__.py",
        "work/summary.json",
        "work/tool-output/0001-b1-mine.json",
        "duets/empty",
    ];
    for name in foreign {
        fs::write(run.0.join(name), if name.ends_with("json") { "k" } else { "" }).unwrap();
    }
    run.pack().unwrap();
    for name in foreign {
        assert!(run.0.join(name).is_file(), "{name}");
    }
    for name in [PLAN, "observations.ndjson", SUMMARY, "duets/summary.json", "duets/campaign.toml"] {
        assert!(!run.0.join(name).exists(), "{name}");
    }
    assert!(!run.0.join("tool-output/0001-b1-actix-getBalance-c3.json").exists());
    let mut held = Vec::new();
    super::super::archive::in_archive(&run.0.join(ARCHIVE), |path, _| {
        held.push(path.display().to_string());
        Ok(())
    })
    .unwrap();
    let own = [
        "plan.json",
        ENVIRONMENT,
        "observations.ndjson",
        "duets/empty",
        "duets/observations.ndjson",
        "duets/plan.json",
    ];
    assert_eq!(held, own);
}

#[test]
fn no_link_is_followed() {
    let dir = tempfile::tempdir().unwrap();
    let elsewhere = dir.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join("0001-b1-mine"), "kept").unwrap();
    for name in ["tool-output", "duets/tool-output", "observations.ndjson", "duets", "summary.json", "any"] {
        let run = finished(&dir.path().join("results"));
        let place = run.0.join(name);
        match place.symlink_metadata() {
            Ok(found) if found.is_dir() => fs::remove_dir_all(&place).unwrap(),
            Ok(_) => fs::remove_file(&place).unwrap(),
            Err(_) => {}
        }
        symlink(&elsewhere, &place).unwrap();
        refused_unchanged(&run.0, "is a symbolic link");
        fs::remove_dir_all(&run.0).unwrap();
    }
    let run = finished(dir.path());
    let link = dir.path().join("link");
    symlink(&run.0, &link).unwrap();
    refused_unchanged(&link, "is a symbolic link");
    assert_eq!(all_below(&elsewhere).len(), 1);
}

#[test]
fn files_that_the_archive_does_not_hold_stay() {
    let dir = tempfile::tempdir().unwrap();
    let run = finished(dir.path());
    let own =
        [PLAN, "observations.ndjson"].map(|name| (run.0.join(name), fs::read(run.0.join(name)).unwrap()));
    run.pack().unwrap();
    // As if it had been stopped after the archive was written.
    own.iter().for_each(|(path, bytes)| fs::write(path, bytes).unwrap());
    run.pack().unwrap();
    assert!(own.iter().all(|(path, _)| !path.exists()), "the removal is completed");
    let [_, (observations, bytes)] = &own;
    fs::write(observations, [bytes.as_slice(), b"3\n"].concat()).unwrap();
    refused_unchanged(&run.0, "does not hold");
    fs::remove_file(observations).unwrap();
    fs::write(run.0.join("other.ndjson"), "1\n").unwrap();
    refused_unchanged(&run.0, "other.ndjson as it is");
}

#[test]
fn a_run_that_is_unfinished_or_written_to_or_lacks_a_stages_plan_is_not_packed() {
    let dir = tempfile::tempdir().unwrap();
    let run = finished(dir.path());
    let lock = run.lock().unwrap();
    refused_unchanged(&run.0, "is being written to by another rpc-bench");
    drop(lock);
    let report = run.0.join(REPORT);
    fs::rename(&report, dir.path().join("aside")).unwrap();
    refused_unchanged(&run.0, "report.md");
    fs::rename(dir.path().join("aside"), report).unwrap();
    fs::write(run.0.join("duets/plan.json"), "{}").unwrap();
    refused_unchanged(&run.0, "plan.json");
}

#[test]
fn an_archive_that_is_not_found_to_hold_its_files_gets_no_name() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(ARCHIVE);
    let other = |_: &Path| Err(std::io::Error::other("not as it is"));
    let write = |writer: &mut _| std::io::Write::write_all(writer, b"x");
    assert!(super::super::archive::write_xz(&path, write, other).is_err());
    assert_eq!(all_below(dir.path()).len(), 0);
}

#[test]
fn a_remedy_that_is_a_link_is_not_followed() {
    let dir = tempfile::tempdir().unwrap();
    let (run, other) = (finished(&dir.path().join("results")), finished(&dir.path().join("others")));
    fs::create_dir(run.0.join(REMEDIES)).unwrap();
    symlink(&other.0, run.0.join(REMEDIES).join("link")).unwrap();
    let before = all_below(&other.0);
    run.pack().unwrap();
    assert_eq!(all_below(&other.0), before);
}
