//! The figures of README.md and docs/*.md are those of the runs that they quote, and none stands there without a run.
//! The files that they name are there.

use std::fs;
use std::path::{Path, PathBuf};

use bench_model::results::{RunFolder, kept};
use bench_report::pages::{self, Sources};
use bench_report::pooled;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn sources() -> Sources {
    Sources::new(&root().join("results"), &root())
}

fn pages() -> Vec<(PathBuf, String)> {
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        (path, text)
    };
    let pages: Vec<_> = pages::paths(&root()).unwrap().into_iter().map(read).collect();
    assert!(pages.len() >= 6);
    pages
}

#[test]
fn every_quoted_figure_is_what_its_run_gives() {
    let sources = sources();
    for (path, text) in pages() {
        let spliced = pages::splice(&text, &sources).unwrap_or_else(|error| {
            let path = path.display();
            std::panic::panic_any(format!("{path}: {error:#}"))
        });
        assert_eq!(spliced.differences, [], "{}: run: just splice", path.display());
        assert_eq!(spliced.text, text, "{}", path.display());
    }
}

#[test]
fn the_first_screen_is_of_todays_servers() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let sources = sources();
    let runs = pages::answered_by(&readme).unwrap();
    assert!(!runs.is_empty());
    let older: Vec<String> = runs
        .iter()
        .filter_map(|run| {
            let changed = sources.changed_servers(run).unwrap();
            (!changed.is_empty()).then(|| format!("{run} ({})", changed.join(", ")))
        })
        .collect();
    assert!(
        older.is_empty(),
        "README's first screen quotes runs whose servers are not built from what is here now: {}. Commit, and measure them \
         again: just reference (bench-scripts/reference.toml)",
        older.join("; ")
    );
}

/// Of a run that knows it: no server and nothing else but pages and results had changed since the commit.
#[test]
fn no_kept_run_is_of_a_changed_tree() {
    for path in kept(&root().join("results")).unwrap() {
        let Ok(conditions) = RunFolder(path.clone()).conditions() else { continue };
        if !conditions.programs.is_empty() {
            assert_eq!(conditions.uncommitted(), None, "{}", path.display());
        }
    }
}

#[test]
fn no_figure_stands_without_a_run() {
    for (path, text) in pages() {
        assert_eq!(pages::unbound(&text).unwrap(), [], "{}", path.display());
    }
}

/// A comment at the beginning of a line begins an HTML block, which would end its paragraph: with or without the
/// comments of figures a page has the same blocks, as a Markdown parser sees them.
#[test]
fn figures_split_no_paragraph() {
    for (path, text) in pages() {
        let bare: String = without_comments_of_figures(&text);
        let (marked, bare) = (markdown_blocks(&text), markdown_blocks(&bare));
        assert!(bare.len() > 5, "{}", path.display());
        let different = marked.iter().zip(&bare).find(|(a, b)| a != b);
        assert_eq!(different, None, "{}: run: just splice", path.display());
        assert_eq!(marked.len(), bare.len(), "{}", path.display());
    }
    let split = "text\n<!--= a#/b us -->1 s<!--/--> more\n";
    assert_ne!(markdown_blocks(split), markdown_blocks(&without_comments_of_figures(split)));
}

fn without_comments_of_figures(text: &str) -> String {
    let mut bare = String::new();
    let mut rest = text;
    while let Some((before, marked)) = rest.split_once("<!--= ") {
        bare.push_str(before);
        if before.ends_with('`') {
            // Code that shows how a figure is written.
            let (code, after) = marked.split_once('`').unwrap();
            bare.push_str(&format!("<!--= {code}`"));
            rest = after;
            continue;
        }
        let (_, figure) = marked.split_once("-->").unwrap();
        let (figure, after) = figure.split_once("<!--/-->").unwrap();
        bare.push_str(figure);
        rest = after;
    }
    bare + rest
}

/// The paragraphs, items, cells and the like of a page with their texts, without HTML.
fn markdown_blocks(text: &str) -> Vec<String> {
    let mut blocks = vec![String::new()];
    let mut html = 0;
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::HtmlBlock) => html += 1,
            Event::End(TagEnd::HtmlBlock) => html -= 1,
            Event::Start(Tag::Link { .. } | Tag::Strong | Tag::Emphasis | Tag::Image { .. }) => {}
            Event::Start(tag) => blocks.push(format!("{tag:?}: ")),
            Event::Text(text) | Event::Code(text) if html == 0 => blocks.last_mut().unwrap().push_str(&text),
            Event::SoftBreak => blocks.last_mut().unwrap().push(' '),
            _ => {}
        }
    }
    blocks.iter().map(|block| block.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

/// The check can fail: a figure that was changed by hand is found with its line, in a block and in a sentence, and put
/// right. A path in backticks that begins with a folder of the repository and has no placeholder.
#[test]
fn every_path_on_a_page_is_there() {
    let folders = ["bench-scripts/", "harness/", "servers/", "load-generator/", "containers/", "docs/"];
    let mut named = 0;
    for (page, text) in pages() {
        for path in text.split('`').skip(1).step_by(2) {
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

#[test]
fn a_figure_that_was_changed_by_hand_is_found() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    for (there, changed) in [
        ("CPU per request, with ", "CPU per request, 1 with "),
        ("timeouts count -->", "timeouts count -->1"),
    ] {
        let by_hand = readme.replacen(there, changed, 1);
        assert_ne!(by_hand, readme);
        let line = by_hand.lines().position(|line| !readme.contains(line)).unwrap() + 1;
        let spliced = pages::splice(&by_hand, &sources()).unwrap();
        let [difference] = spliced.differences.as_slice() else {
            assert_eq!(spliced.differences, []);
            return;
        };
        assert_eq!(difference.line, line);
        assert_ne!(difference.printed, difference.recomputed);
        assert_eq!(spliced.text, readme);
    }
}

/// A page can't quote what is not there: the complaint names the line.
#[test]
fn a_wrong_quotation_is_an_error_with_its_line() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let defined = readme.lines().find(|line| line.starts_with("[quick]: ")).unwrap();
    let quick = format!("{defined}\n[all]: results/pooled.md\n");
    for (text, named) in [
        ("<!-- headline of slow -->\n<!-- end of headline -->\n", "[slow] is not defined"),
        ("<!-- headline of quick -->\n", "lacks its <!-- end of headline -->"),
        ("<!-- table of quick: Nothing -->\n<!-- end of table -->\n", "no heading Nothing"),
        ("<!-- table of quick: Headline; columns: x -->\n<!-- end of table -->\n", "no column x"),
        ("<!-- headline of all -->\n<!-- end of headline -->\n", "is no run"),
        ("<!-- chart of quick: x.svg; it -->\n<!-- end of chart -->\n", "has no x.svg"),
        ("x <!--= quick#/cells[server=nobody]/completed count -->1<!--/-->\n", "no member of cells fits"),
        ("x <!--= quick#/cells/0/completed odd -->1<!--/-->\n", "there is no format odd"),
        ("x <!--= quick#/cells/0/completed count -->1\n", "lacks its <!--/-->"),
        ("<!--= quick#/cells/0/completed count -->1<!--/-->\n", "begin it with a word"),
        ("[quick]: results/other/report.md\n", "is defined twice"),
    ] {
        let error = pages::splice(&format!("{quick}{text}"), &sources()).unwrap_err();
        let error = format!("{error:#}");
        assert!(error.contains(named) && error.contains("line 3"), "{named}: {error}");
    }
    let unmeasured = "<!-- section of nothing yet: Headline -->\n<!-- end of section -->\n";
    assert!(pages::splice(unmeasured, &sources()).unwrap().text.contains("*Not measured yet.*"));
}

#[test]
fn what_was_pooled_is_what_the_kept_runs_give() {
    let results = root().join("results");
    for (name, text) in pooled::files(&pooled::load(&results).unwrap()).unwrap() {
        let kept = fs::read_to_string(results.join(name)).unwrap();
        assert!(kept == text, "results/{name} is old; run: just compare --all --write");
    }
}

#[test]
fn docs_and_reports_agree_on_requests_never_sent() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for page in ["docs/METHODOLOGY.md", "docs/OPEN-LOOP.md"] {
        let text = fs::read_to_string(root.join(page)).unwrap();
        let words: Vec<&str> = text.split_whitespace().collect();
        assert!(
            words.join(" ").contains(bench_report::NEVER_SENT),
            "{page} lacks: {}",
            bench_report::NEVER_SENT
        );
    }
}
