//! The README's figures are those of the run that it quotes.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::path::Path;

use rpc_bench::report::{self, Run};
use rpc_bench::results::RunFolder;

#[test]
fn the_headline_is_that_of_the_quoted_run() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let name = report::quoted(&readme).unwrap();
    let run = Run::load(&RunFolder::open(&root.join("results").join(name)).unwrap()).unwrap();
    let spliced = report::splice(&readme, &run).unwrap();
    assert!(!spliced.changed, "run: just splice results/{name}");

    // And the check can fail: a figure that was changed by hand is found.
    let changed = readme.replacen(" times its rate", "0 times its rate", 1);
    assert_ne!(changed, readme);
    assert!(report::splice(&changed, &run).unwrap().changed);
}

#[test]
fn the_docs_and_the_reports_say_the_same_of_a_request_that_was_never_sent() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for page in ["docs/METHODOLOGY.md", "docs/OPEN-LOOP.md"] {
        let text = std::fs::read_to_string(root.join(page)).unwrap();
        let words: Vec<&str> = text.split_whitespace().collect();
        assert!(words.join(" ").contains(report::NEVER_SENT), "{page} lacks: {}", report::NEVER_SENT);
    }
}
