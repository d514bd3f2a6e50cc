//! Words of this project's past vocabulary that a reader would have to look up, kept out of sources and pages.

use std::fs;
use std::path::Path;
use std::process::Command;

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

/// The banned words of a line.
fn banned(line: &str) -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    let line = line.to_lowercase().replace('_', " ");
    let is_letter = |c: Option<char>| c.is_some_and(char::is_alphabetic);
    BANNED.iter().filter(move |(word, _)| {
        line.match_indices(word).any(|(at, _)| {
            !is_letter(line[..at].chars().next_back()) && !is_letter(line[at + word.len()..].chars().next())
        })
    })
}

#[test]
fn sources_and_pages_are_in_plain_english() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    // Not what others wrote, and not this list.
    let places = "servers bench-scripts harness examples load-generator docs README.md justfile \
        :!servers/conformance/oracle :!harness/*/tests/fixtures :!harness/rpc-bench/tests/repository/words.rs \
        :!bench-scripts/tools";
    let listed =
        Command::new("git").arg("-C").arg(&root).arg("ls-files").args(places.split_whitespace()).output();
    let listed = String::from_utf8(listed.unwrap().stdout).unwrap();
    let is_read =
        |path: &&str| ["rs", "md", "toml", "py", "mjs", "justfile"].iter().any(|end| path.ends_with(end));
    let paths: Vec<&str> = listed.lines().filter(is_read).collect();
    assert!(paths.len() > 100, "only {} files were found", paths.len());
    let mut found = Vec::new();
    for path in paths {
        // One that was removed is still listed until that is committed.
        let text = fs::read_to_string(root.join(path)).unwrap_or_default();
        for (number, line) in (1..).zip(text.lines()) {
            found.extend(
                banned(line).map(|(word, better)| format!("{path}:{number}: {word:?}; write {better}")),
            );
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}
