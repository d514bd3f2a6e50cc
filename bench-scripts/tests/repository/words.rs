//! Words of this project's past vocabulary that a reader would have to look up, kept out of sources and pages.

use std::fs;
use std::path::{Path, PathBuf};

/// What is read, from the repository's root: folders with all that is in them, and files.
const PLACES: &[&str] =
    &["servers", "bench-scripts", "examples", "load-generator", "docs", "README.md", "justfile"];

/// What is no prose of this project, and this list.
const EXCEPT: &[&str] = &[
    "servers/conformance/oracle",
    "bench-scripts/tests/fixtures",
    "bench-scripts/tests/repository/words.rs",
    "bench-scripts/tools",
];

/// Endings of the files that are read.
const ENDINGS: &[&str] = &["rs", "md", "toml", "py", "mjs"];

/// What must not be written, and what to write instead. `_` counts as a space, so that names are read too.
const BANNED: &[(&str, &str)] = &[
    ("mend", "repair or normalise"),
    ("mends", "repairs or normalises"),
    ("mended", "repaired or normalised"),
    ("told apart", "distinguishable or resolved"),
    ("tell apart", "distinguish"),
    ("tells apart", "distinguishes"),
    ("can't tell", "inconclusive"),
    ("held against", "compared with"),
    ("hold against", "compare with"),
    ("holds against", "compares with"),
    ("gone on with", "resumed"),
    ("go on with", "resume"),
    ("goes on with", "resumes"),
    ("runs of before", "older runs"),
    ("run of before", "older run"),
    ("so many", "N"),
    ("not for:", "out of scope"),
    ("not here:", "out of scope"),
    ("asked for", "requested"),
    ("asks for", "requests"),
    ("asked of", "demanded of"),
    ("is asked", "is called, or gets a request"),
    ("are asked", "are called, or get requests"),
    ("is told", "is recorded or reported"),
    ("are told", "are recorded or reported"),
    ("told of", "given"),
    ("the system said", "the system's error"),
    ("stands still", "does not change, or does not advance"),
    ("stand still", "not change, or not advance"),
    ("made anew", "made again"),
    ("beside the", "next to, paired with or in the background of"),
    ("beside a", "next to, paired with or in the background of"),
    ("beside another", "next to, paired with or in the background of"),
    ("beside it", "next to it or with it"),
    ("beside them", "next to them or with them"),
    ("is clean", "passes, or is valid"),
    ("last clean", "the last that passed"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The files at a place, without the exceptions and what is built.
fn files(place: &str, found: &mut Vec<String>) {
    let path = root().join(place);
    if EXCEPT.contains(&place) || path.ends_with("target") || path.ends_with("node_modules") {
        return;
    }
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            files(&format!("{place}/{}", entry.unwrap().file_name().to_string_lossy()), found);
        }
    } else if place == "justfile"
        || path.extension().is_some_and(|ending| ENDINGS.iter().any(|known| ending == *known))
    {
        found.push(place.to_owned());
    }
}

/// The banned words of a line.
fn banned(line: &str) -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    let line = line.to_lowercase().replace('_', " ");
    BANNED.iter().filter(move |(word, _)| {
        line.match_indices(word).any(|(at, _)| {
            let is_letter = |c: Option<char>| c.is_some_and(char::is_alphabetic);
            !is_letter(line[..at].chars().next_back()) && !is_letter(line[at + word.len()..].chars().next())
        })
    })
}

#[test]
fn sources_and_pages_are_in_plain_english() {
    let mut paths = Vec::new();
    PLACES.iter().for_each(|place| files(place, &mut paths));
    assert!(paths.len() > 100, "only {} files were found", paths.len());
    let mut found = Vec::new();
    for path in paths {
        let text = fs::read_to_string(root().join(&path)).unwrap();
        for (number, line) in (1..).zip(text.lines()) {
            found.extend(
                banned(line).map(|(word, better)| format!("{path}:{number}: {word:?}; write {better}")),
            );
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn banned_words_are_found_in_prose_and_in_names() {
    let words = |line: &str| banned(line).map(|(word, _)| *word).collect::<Vec<_>>();
    assert_eq!(words("/// Mends the answers that are held against it."), ["mends", "held against"]);
    assert_eq!(words("fn the_counts_are_told() {"), ["are told"]);
    assert!(words("let recommended = amended;").is_empty());
}
