//! The blocks of README.md, docs/*.md and results/README.md are what their runs give; README is short, and the files that
//! pages name are there.

use std::fs;
use std::path::PathBuf;

use bench_core::results::{RunFolder, kept};
use bench_report::pages::{self, Sources};

use crate::root;

fn sources() -> Sources {
    Sources::new(&root().join("results")).unwrap()
}

fn pages() -> Vec<(PathBuf, String)> {
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        (path, text)
    };
    pages::paths(&root()).unwrap().into_iter().map(read).collect()
}

#[test]
#[ignore = "takes minutes on a busy machine: just test-long"]
fn every_block_is_what_its_run_gives() {
    let mut sources = sources();
    let mut blocks = 0;
    for (path, text) in pages() {
        let shown = path.display();
        match pages::splice(&text, pages::to_results(&path), &mut sources) {
            Ok((_, differences)) => assert_eq!(differences, [], "{shown}: run: just splice"),
            Err(error) => std::panic::panic_any(format!("{shown}: {error:#}")),
        }
        blocks += text.matches("<!-- end of ").count();
    }
    assert!(blocks > 20, "{blocks}");
}

/// A word has a letter or a digit.
#[test]
fn the_readme_is_short_and_its_commands_come_early() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let is_word = |word: &&str| word.contains(char::is_alphanumeric);
    let words = readme.split_whitespace().filter(is_word).count();
    assert!(words <= 600, "{words} words");
    for command in ["just try ", "just bench-all"] {
        let line = readme.lines().position(|line| line.contains(command)).unwrap() + 1;
        assert!(line <= 60, "{command} stands in line {line}");
    }
}

/// Of a run that knows it: no server and nothing else but pages and results had changed since the commit.
#[test]
fn no_kept_run_is_of_a_changed_tree() {
    for path in kept(&root().join("results")).unwrap() {
        let Ok(conditions) = RunFolder(path.clone()).conditions() else { continue };
        let mut programs = conditions.programs.values().peekable();
        if programs.peek().is_some() {
            assert!(
                programs.all(|of| of.unknown.is_none() && of.changed != Some(true)),
                "{}",
                path.display()
            );
            let changed = conditions.host.changed_files.expect("it was measured in a git repository");
            let decides = |file: &&String| !file.ends_with(".md") && !file.starts_with("results/");
            assert_eq!(changed.iter().find(decides), None, "{}", path.display());
        }
    }
}

/// A path in backticks that begins with a folder of the repository and has no placeholder.
#[test]
fn every_path_on_a_page_is_there() {
    let folders = ["bench-scripts/", "harness/", "servers/", "load-generator/", "containers/", "docs/"];
    let mut named = 0;
    for (page, content) in pages() {
        for path in content.split('`').skip(1).step_by(2) {
            let is_path = folders.iter().any(|folder| path.starts_with(folder));
            // A file of a user's own is not in git.
            let is_ours = !path.contains("NAME") && !path.contains(".local.");
            if is_path && is_ours && !path.contains([' ', '*', '{', '\n']) {
                assert!(root().join(path).exists(), "{}: there is no {path}", page.display());
                named += 1;
            }
        }
    }
    assert!(named > 20, "{named}");
}

/// The check can fail: a block that was changed by hand is found with its line, and put right.
#[test]
fn a_block_that_was_changed_by_hand_is_found() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let changed = readme.replacen("| CPU per request, getBlocks", "| CPU for a request, getBlocks", 1);
    assert_ne!(changed, readme);
    let line = changed.lines().position(|line| !readme.contains(line)).unwrap() + 1;
    let (spliced, differences) = pages::splice(&changed, "results/", &mut sources()).unwrap();
    let [difference] = differences.as_slice() else { panic!("{differences:?}") };
    assert_eq!(difference.line, line);
    assert_ne!(difference.printed, difference.recomputed);
    assert_eq!(spliced, readme);
}

/// A page can't show what is not there: the complaint names the line.
#[test]
fn a_wrong_block_is_an_error_with_its_line() {
    for (text, named) in [
        ("<!-- headline of slow -->\n<!-- end of headline -->\n", "no run of slow is kept"),
        ("<!-- headline of quick -->\n", "lacks its <!-- end of headline -->"),
        ("<!-- table of quick: Nothing -->\n<!-- end of table -->\n", "no heading Nothing"),
        ("<!-- table of quick: Headline; columns: x -->\n<!-- end of table -->\n", "no column x"),
        ("<!-- chart of quick: x.svg; it -->\n<!-- end of chart -->\n", "has no x.svg"),
        ("<!-- list of runs -->\n<!-- end of list -->\n", "a list is of kept runs"),
    ] {
        let error = pages::splice(&format!("# A page\n\n{text}"), "results/", &mut sources()).unwrap_err();
        let error = format!("{error:#}");
        assert!(error.contains(named) && error.contains("line 3"), "{named}: {error}");
    }
}
