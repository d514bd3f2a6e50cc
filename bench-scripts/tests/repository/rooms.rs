//! The modules of the harness build on each other in one direction: each uses only those above it in this list.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Every module of the crate, the lowest first. A module uses only modules that stand before it.
const ROOMS: &[&str] = &[
    "interrupt",
    "repository",
    "watch",
    "readable_numbers",
    "foreign_text",
    "field_checks",
    "transport",
    "target",
    "figure",
    "arithmetic",
    "stats",
    "probe",
    "cgroup",
    "workload",
    "load",
    "config",
    "owned_process",
    "client",
    "link",
    "metrics",
    "plan",
    "observation",
    "cost",
    "subject",
    "provenance",
    "results",
    "analysis",
    "report",
    "run",
    "lib",
    "commands",
    "main",
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => sources(&path, found),
            false if path.extension().is_some_and(|ending| ending == "rs") => found.push(path),
            false => {}
        }
    }
}

/// The code of a file without its tests, which may use any module.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let lines = text.lines().take_while(|line| *line != "#[cfg(test)]");
    lines.filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// The modules that a file names by `crate::` or `rpc_bench::`.
fn used(code: &str) -> BTreeSet<&str> {
    let mut used = BTreeSet::new();
    for root in ["crate::", "rpc_bench::"] {
        for (at, _) in code.match_indices(root) {
            let rest = &code[at + root.len()..];
            match rest.strip_prefix('{') {
                Some(group) => {
                    let group = group.split('}').next().unwrap_or_default();
                    used.extend(group.split(',').filter_map(|part| part.trim().split("::").next()));
                }
                None => {
                    let end = rest.find(|c: char| !c.is_ascii_lowercase() && c != '_').unwrap_or(rest.len());
                    used.insert(&rest[..end]);
                }
            }
        }
    }
    used
}

#[test]
fn no_module_uses_a_later_one() {
    let src = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&src, &mut files);
    let mut wrong = Vec::new();
    let mut arrows = 0;
    for path in files {
        let place = path.strip_prefix(&src).unwrap();
        if place.ends_with("tests.rs") {
            continue;
        }
        let room = place.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs");
        let Some(rank) = ROOMS.iter().position(|known| *known == room) else {
            wrong.push(format!("{}: {room} is not in the list", place.display()));
            continue;
        };
        let code = code(&path);
        for name in used(&code) {
            match ROOMS.iter().position(|known| *known == name) {
                Some(other) if other > rank => {
                    wrong.push(format!("{}: {room} uses {name}, which comes later", place.display()));
                }
                Some(_) => arrows += 1,
                None => {}
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(arrows > 100, "only {arrows} uses were found: this test no longer reads the sources");
}

#[test]
fn a_use_of_a_later_module_is_found() {
    let found =
        used("use crate::{config, run::trial};\nlet a = crate::report::at(1);\nuse rpc_bench::load::Level;");
    assert_eq!(found, BTreeSet::from(["config", "run", "report", "load"]));
}
