//! `rpc-bench gate` with a commit, up to its builds: which servers it finds changed, and that it leaves nothing behind.
//! In a clone of this repository, with a `cargo` that reads packages and builds nothing.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::git;

/// A clone of the repository as this working tree has it, in a commit of its own.
struct Clone {
    dir: tempfile::TempDir,
}

impl Clone {
    /// `None`, which it says, where this is no repository of git.
    fn new() -> Option<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let dir = tempfile::tempdir().unwrap();
        let mut clone = Command::new("git");
        clone
            .args(["clone", "--quiet", "--shared", "--no-checkout"])
            .arg(&root)
            .arg(dir.path().join("clone"));
        if !clone.output().is_ok_and(|output| output.status.success()) {
            let _nobody_reads_it =
                writeln!(std::io::stderr(), "SKIPPED: the gate with a commit: this is no repository of git");
            return None;
        }
        let clone = Self { dir };
        clone.git(&["sparse-checkout", "set", "--no-cone", "/*", "!/results/"]);
        clone.git(&["checkout", "--quiet", "--detach", "HEAD"]);
        // What is not committed yet is tested, too.
        let mut files = Command::new("git");
        // The clone has no results, and a user's runs are there untracked.
        let except = ["--", ".", ":!results"];
        files
            .args(["ls-files", "-z", "--modified", "--others", "--exclude-standard"])
            .args(except)
            .current_dir(&root);
        let changed = files.output().unwrap();
        for file in String::from_utf8(changed.stdout).unwrap().split('\0').filter(|file| !file.is_empty()) {
            let (from, to) = (root.join(file), clone.path(file));
            match from.is_file() {
                true => {
                    fs::create_dir_all(to.parent().unwrap()).unwrap();
                    fs::copy(from, to).unwrap();
                }
                false => fs::remove_file(to).unwrap_or_default(),
            }
        }
        let cargo = clone.dir.path().join("bin/cargo");
        fs::create_dir_all(cargo.parent().unwrap()).unwrap();
        let real = env!("CARGO");
        fs::write(&cargo, format!("#!/bin/sh\n[ \"$1\" = metadata ] && exec {real} \"$@\"\nexit 1\n"))
            .unwrap();
        fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755)).unwrap();
        clone.commit();
        Some(clone)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join("clone").join(name)
    }

    fn git(&self, args: &[&str]) -> String {
        git::git(&self.path(""), args)
    }

    /// Commits all that changed, and gives the commit before.
    fn commit(&self) -> String {
        let before = self.git(&["rev-parse", "HEAD"]);
        git::commit(&self.path(""));
        before
    }

    fn append(&self, file: &str, text: &str) {
        let path = self.path(file);
        fs::write(&path, fs::read_to_string(&path).unwrap() + text).unwrap();
    }

    fn gate(&self, args: &[&str]) -> (i32, String) {
        self.gate_with(args, &[])
    }

    /// With variables of the environment, too.
    fn gate_with(&self, args: &[&str], variables: &[(&str, &str)]) -> (i32, String) {
        let path = format!("{}:{}", self.dir.path().join("bin").display(), std::env::var("PATH").unwrap());
        let mut gate = Command::new(env!("CARGO_BIN_EXE_rpc-bench"));
        let Output { status, stdout, stderr } = gate
            .arg("gate")
            .args(args)
            .current_dir(self.path(""))
            .env("PATH", path)
            .envs(variables.to_vec())
            .output()
            .unwrap();
        let said = String::from_utf8(stdout).unwrap() + &String::from_utf8(stderr).unwrap();
        (status.code().unwrap(), said)
    }

    /// No checkout is left, neither in the folder nor in git's list.
    fn assert_clean(&self) {
        let entries = fs::read_dir(self.path("target/gate")).into_iter().flatten();
        let left = entries.filter(|entry| entry.as_ref().unwrap().file_name() != "lock").count();
        assert_eq!((left, self.git(&["worktree", "list"]).lines().count()), (0, 1));
    }
}

#[test]
#[ignore = "takes minutes on a busy machine: just test-long"]
fn a_change_that_touches_no_server_is_silent_and_one_that_does_is_named() {
    let Some(clone) = Clone::new() else { return };
    for (file, text) in
        [("README.md", "\nA sentence.\n"), ("harness/bench-core/src/plan.rs", "\n// Of the harness.\n")]
    {
        clone.append(file, text);
        let before = clone.commit();
        let (code, said) = clone.gate(&["--base-rev", &before]);
        assert!(
            code == 0 && said.contains("SKIPPED: gate: no server changed since"),
            "{file}: {code} {said}"
        );
        clone.assert_clean();
    }
    let (code, said) = clone.gate(&["--base-rev", "HEAD", "--json"]);
    let (document, _) = said.split_once("\n}\n").unwrap();
    let document: serde_json::Value = serde_json::from_str(&format!("{document}}}")).unwrap();
    assert_eq!((code, &document["exit_code"]), (0, &0.into()));
    assert_eq!(document["same"].as_array().unwrap().len(), 4, "{document}");
    assert!(document["skipped"].as_str().unwrap().contains("no server changed"), "{document}");
    clone.append("servers/axum/src/main.rs", "\n// Of a server.\n");
    let before = clone.commit();
    let (code, said) = clone.gate(&["--base-rev", &before]);
    assert!(said.contains(&format!("built from other sources than at {}: axum\n", &before[..12])), "{said}");
    assert!(
        code == 2 && said.contains("server axum: its build failed"),
        "the cargo of this test fails: {said}"
    );
    clone.assert_clean();
    clone.append("servers/validator-state/src/lib.rs", "\n// Below every server.\n");
    let (_, said) = clone.gate(&["--base-rev", "HEAD"]);
    assert!(said.contains(": legacy, jsonrpsee, actix, axum\n"), "what is not committed counts: {said}");
    clone.assert_clean();
}

#[test]
fn a_folder_that_the_gate_did_not_make_stays_and_so_does_what_git_lists_of_others() {
    let Some(clone) = Clone::new() else { return };
    let head = clone.git(&["rev-parse", "HEAD"]);
    let place = format!("target/gate/{}", &head[..12]);
    fs::create_dir_all(clone.path(&place)).unwrap();
    fs::write(clone.path(&place).join("mine"), "kept").unwrap();
    let refused = |what: &str| {
        let (code, said) = clone.gate(&["--base-rev", "HEAD"]);
        assert!(
            code == 2 && said.contains("is left over; remove it") && said.contains(what),
            "{code} {said}"
        );
        assert_eq!(said.lines().count(), 1, "{said}");
    };
    refused("it is not a checkout of");
    assert!(clone.path(&place).join("mine").is_file());
    fs::remove_dir_all(clone.path(&place)).unwrap();
    // A checkout at the same place, in which somebody works.
    clone.git(&["worktree", "add", "--quiet", "--detach", &place, "HEAD"]);
    let readme = clone.path(&place).join("README.md");
    fs::write(&readme, "mine").unwrap();
    refused("files of it have changed");
    assert_eq!(fs::read_to_string(&readme).unwrap(), "mine");
    clone.git(&["-C", &place, "checkout", "--quiet", "."]);
    // One that is not reachable now, as on a disk that is not mounted.
    let away = clone.dir.path().join("away");
    clone.git(&["worktree", "add", "--quiet", "--detach", away.to_str().unwrap(), "HEAD"]);
    fs::rename(&away, clone.dir.path().join("unmounted")).unwrap();
    // What the gate itself left of a call that was killed is removed: its checkout, and one whose folder alone is gone.
    for is_there in [true, false] {
        if !is_there {
            clone.git(&["worktree", "add", "--quiet", "--detach", &place, "HEAD"]);
            fs::remove_dir_all(clone.path(&place)).unwrap();
        }
        let (code, said) = clone.gate(&["--base-rev", "HEAD"]);
        assert!(code == 0 && said.contains("no server changed since"), "{code} {said}");
    }
    let listed = clone.git(&["worktree", "list"]);
    assert!(listed.lines().count() == 2 && listed.contains("/away "), "{listed}");
}

#[test]
fn a_base_that_is_not_there_is_named_or_skipped() {
    let Some(clone) = Clone::new() else { return };
    let (code, said) = clone.gate(&["--base-rev", "nobody"]);
    assert!(code == 2 && said.contains("nobody") && said.lines().count() == 1, "{code} {said}");
    let absent = "0123456789012345678901234567890123456789";
    fs::write(clone.path("servers/accepted-moves.toml"), format!("base = \"{absent}\"\n")).unwrap();
    let (code, said) = clone.gate(&["--since-accepted"]);
    assert!(code == 0 && said.starts_with("SKIPPED: gate: this clone lacks commit"), "{code} {said}");
    assert_eq!(said.lines().count(), 1);
    let (_, said) = clone.gate(&["--since-accepted", "--json"]);
    assert!(said.contains(&format!("\"base\": \"{absent}\"")), "{said}");
    fs::write(clone.path("servers/accepted-moves.toml"), "base = 7\n").unwrap();
    let (code, said) = clone.gate(&["--since-accepted"]);
    assert!(code == 2 && said.contains("accepted-moves.toml") && said.lines().count() == 1, "{code} {said}");
}

/// Without a comparison a gate is green only where git reads the clone.
#[test]
fn a_clone_that_git_does_not_read_is_named_in_gits_words() {
    let Some(clone) = Clone::new() else { return };
    let nowhere = clone.dir.path().join("nowhere");
    let cases = [
        ("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1", "dubious ownership"),
        ("GIT_DIR", nowhere.to_str().unwrap(), "not a git repository"),
    ];
    for (name, value, words) in cases {
        for args in [&["--since-accepted"][..], &["--base-rev", "HEAD"]] {
            // Whoever trusts every folder does so in a file of git's.
            let no_files = [("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1")];
            let (code, said) = clone.gate_with(args, &[&no_files[..], &[(name, value)]].concat());
            assert!(code == 2 && said.contains(words) && !said.contains("SKIPPED"), "{code} {said}");
        }
    }
    // An archive of the sources has no clone, though it may lie in another one.
    let git = clone.path(".git");
    fs::rename(&git, clone.dir.path().join("git")).unwrap();
    let above = clone.dir.path().to_str().unwrap();
    let (code, said) = clone.gate_with(&["--since-accepted"], &[("GIT_CEILING_DIRECTORIES", above)]);
    assert!(code == 2 && said.contains("not a git repository"), "{code} {said}");
    git::git(clone.dir.path(), &["init", "--quiet"]);
    let (code, said) = clone.gate(&["--since-accepted"]);
    assert!(code == 2 && said.contains("start a gate in the repository's root"), "{code} {said}");
}
