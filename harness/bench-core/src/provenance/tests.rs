//! The fingerprint of a small workspace, which is written afresh for each change.

use std::fs;

use super::*;
use crate::repository::changed_files;

/// A workspace of a server, a library below it and a tool next to it.
const FILES: &str = include_str!("../../tests/fixtures/workspace.txt");

fn written(to: &Path) {
    for (name, text) in FILES.split("== ").filter_map(|file| file.split_once('\n')) {
        let path = to.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    in_git(to, &["init", "--quiet"]);
    in_git(to, &["add", "."]);
    in_git(to, &["commit", "--quiet", "--message", "all"]);
}

fn in_git(root: &Path, args: &[&str]) {
    let identity = ["-c", "user.name=a", "-c", "user.email=a@b.invalid", "-c", "commit.gpgsign=false"];
    let output = Command::new("git").arg("-C").arg(root).args(identity).args(args).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

fn command(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

const PLAIN: &str = "cargo build --release --package one";

fn fingerprint(root: &Path, build: &str) -> String {
    sources(&command(build), root).unwrap().unwrap().fingerprint
}

/// What a change of one text in one file does to the fingerprint of a build.
fn changes(build: &str, file: &str, from: &str, to: &str) -> bool {
    let dir = tempfile::tempdir().unwrap();
    written(dir.path());
    let before = fingerprint(dir.path(), build);
    let path = dir.path().join(file);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{file}: {from}");
    fs::write(path, text.replacen(from, to, 1)).unwrap();
    fingerprint(dir.path(), build) != before
}

#[test]
fn two_clones_have_one_fingerprint() {
    let dir = tempfile::tempdir().unwrap();
    let clones = ["a", "a/much/longer/path/to/the/same/files"].map(|name| dir.path().join(name));
    clones.iter().for_each(|clone| written(clone));
    let [first, second] = clones.each_ref().map(|clone| sources(&command(PLAIN), clone).unwrap().unwrap());
    assert_eq!(first, second);
    let places = places(&command(PLAIN), &clones[0].canonicalize().unwrap()).unwrap().unwrap();
    assert_eq!(places, ["./kit", "./servers/one", "./Cargo.toml", "./Cargo.lock"]);
}

#[test]
fn what_is_in_the_program_changes_the_fingerprint() {
    for (file, from, to) in [
        ("servers/one/src/main.rs", "main", "other"),
        ("kit/src/lib.rs", "answer", "other"),
        ("kit/src/deep/table.txt", "1", "2"),
        ("Cargo.lock", "cargo", "rustc"),
        ("Cargo.toml", "lto = \"thin\"", "lto = \"fat\""),
        ("Cargo.toml", "features = [\"base\"]", "features = []"),
        ("Cargo.toml", "edition = \"2024\"", "edition = \"2021\""),
        ("servers/one/Cargo.toml", "default = [\"fast\"]", "default = []"),
    ] {
        assert!(changes(PLAIN, file, from, to), "{file}: {from}");
    }
}

#[test]
fn what_is_not_in_the_program_does_not() {
    for (file, from, to) in [("README.md", "One", "Two"), ("tool/src/lib.rs", "tool", "other")] {
        assert!(!changes(PLAIN, file, from, to), "{file}: {from}");
    }
}

#[test]
fn a_commit_of_what_differs_and_a_new_file_change_it() {
    let dir = tempfile::tempdir().unwrap();
    written(dir.path());
    let before = fingerprint(dir.path(), PLAIN);
    fs::write(dir.path().join("kit/src/new.rs"), "").unwrap();
    let with_new = fingerprint(dir.path(), PLAIN);
    assert_ne!(with_new, before);
    fs::write(dir.path().join("kit/src/new.rs"), "// changed").unwrap();
    assert_ne!(fingerprint(dir.path(), PLAIN), with_new);
    fs::remove_file(dir.path().join("kit/src/new.rs")).unwrap();
    assert_eq!(fingerprint(dir.path(), PLAIN), before);
}

#[test]
fn each_build_command_has_its_own() {
    let more = "cargo build --release --package one --features more";
    let example = "cargo build --release --package one --example minimal";
    let dir = tempfile::tempdir().unwrap();
    written(dir.path());
    let of = |build: &str| fingerprint(dir.path(), build);
    let builds = [
        PLAIN,
        more,
        example,
        "cargo build --package one",
        "cargo build --release --package one --no-default-features",
        "cargo rustc --release --package one -- -C link-arg=-Wl,--shuffle-sections=*=1",
    ];
    let mut all: Vec<String> = builds.iter().map(|build| of(build)).collect();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), builds.len());
    assert_eq!(of(PLAIN), of("cargo build --release --package one --target-dir target/elsewhere"));
    assert_eq!(sources(&command("make server"), dir.path()).unwrap(), None);
    let wrong = sources(&command("cargo build --package two"), dir.path()).unwrap_err();
    assert!(wrong.to_string().contains("has no package two"), "{wrong}");
}

/// Every server of this repository has one, and quickly; a comment in what all of them share changes all of them.
#[test]
fn every_server_here_has_a_fingerprint() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let config = crate::config::ConfigDir::of_repository();
    let root = root.canonicalize().unwrap();
    let build = |name: &str| config.server(name).unwrap().build;
    let of = |name: &str| sources(&build(name), &root).unwrap();
    let names = [
        "legacy",
        "jsonrpsee",
        "actix",
        "axum",
        "control",
        "gateway-http",
        "legacy-minimal",
        "axum-ajj",
        "jsonrpsee-1652",
    ];
    let mut found: Vec<String> = Vec::new();
    for name in names {
        let sources = of(name).unwrap();
        let places = places(&build(name), &root).unwrap().unwrap();
        let has = |folder: &str| places.iter().any(|path| path.ends_with(folder));
        assert!(has("servers/validator-state"), "{name}: {places:?}");
        assert!(!has("servers/conformance") && !has("harness/bench-core"), "{name}");
        found.push(sources.fingerprint);
    }
    found.sort();
    found.dedup();
    assert_eq!(found.len(), names.len());
    assert_eq!(of("actix"), of("actix-jsonrpc-core"), "one program that is started in two ways");
    assert!(of("test-validator").is_none() && of("anvil").is_none());
}

#[test]
fn the_program_itself_and_what_changed_are_known() {
    let dir = tempfile::tempdir().unwrap();
    written(dir.path());
    let changed = || sources(&command(PLAIN), dir.path()).unwrap().unwrap().changed;
    assert_eq!((changed(), changed_files(dir.path())), (false, Some(Vec::new())));
    fs::write(dir.path().join("README.md"), "# Two\n").unwrap();
    assert!(!changed(), "no file of the server");
    assert_eq!(changed_files(dir.path()), Some(vec!["README.md".to_owned()]));
    fs::write(dir.path().join("kit/src/lib.rs"), "// changed\n").unwrap();
    assert!(changed());
    in_git(dir.path(), &["checkout", "--quiet", "."]);
    assert!(!changed());
    fs::write(dir.path().join("kit/src/new.rs"), "").unwrap();
    assert!(changed(), "a file that is in no commit");
    fs::remove_dir_all(dir.path().join(".git")).unwrap();
    let unknown = sources(&command(PLAIN), dir.path()).unwrap_err().to_string();
    assert!(unknown.contains("git knows nothing of"), "{unknown}");
}

#[test]
fn a_build_is_known_by_sources_and_flags_or_by_the_file() {
    let text = |text: &str| Some(text.to_owned());
    let built = Program { sha256: text("1"), sources: text("s"), ..Program::default() };
    let same = Program { sha256: text("2"), changed: Some(false), ..built.clone() };
    assert_eq!(same.build(), "s", "debug information has paths");
    assert_eq!(Program { flags: vec!["RUSTFLAGS=-g".to_owned()], ..built }.build(), "s, RUSTFLAGS=-g");
    let found = Program { sha256: text("1"), ..Program::default() };
    assert_eq!(found.build(), "1 (of the program alone)");
}

#[test]
fn a_run_is_not_resumed_with_another_program() {
    let dir = tempfile::tempdir().unwrap();
    written(dir.path());
    let program = dir.path().join("one-server");
    fs::write(&program, "as it was").unwrap();
    let server: Server = serde_json::from_value(serde_json::json!({
        "name": "one", "title": "One", "build": command(PLAIN), "program": program, "args": [],
        "ready": { "connect": {} },
    }))
    .unwrap();
    let plan = Plan { servers: vec![server], ..Plan::default() };
    let began = programs(&plan, dir.path());
    assert!(began["one"].sources.is_some() && began["one"].compiler.is_some(), "{began:?}");
    check_unchanged(&began, &plan, dir.path()).unwrap();
    check_unchanged(&BTreeMap::new(), &plan, dir.path()).expect("nothing was begun yet");
    fs::write(program, "as it is").unwrap();
    let refused = check_unchanged(&began, &plan, dir.path()).unwrap_err().to_string();
    assert!(refused.starts_with("the program of server one is another one"), "{refused}");
    assert_eq!(refused.lines().count(), 1, "{refused}");
}
