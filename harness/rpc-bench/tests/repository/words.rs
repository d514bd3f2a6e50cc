//! Words of this project's past vocabulary that a reader would have to look up, kept out of sources and pages.

use std::fs;
use std::path::Path;
use std::process::Command;

/// What must not be written, and what to write instead. `_` counts as a space, so that names are read too.
const BANNED: &str = include_str!("words.txt");

/// The banned words of a line, each with better ones.
fn banned(line: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let line = line.to_lowercase().replace('_', " ");
    let is_letter = |c: Option<char>| c.is_some_and(char::is_alphabetic);
    BANNED.lines().filter_map(|entry| entry.split_once(" => ")).filter(move |(word, _)| {
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
        :!servers/conformance/oracle :!harness/*/tests/fixtures \
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
