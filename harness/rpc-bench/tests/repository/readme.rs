//! The figures of README.md and docs/*.md are those of the runs that they quote, and none stands there without a run.
//! The files that they name are there.

use std::fs;
use std::path::{Path, PathBuf};

use bench_model::results::{RunFolder, kept};
use bench_report::pages::{self, Aliases, Figure, Page, Sources};
use bench_report::pooled;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::root;

fn sources() -> Sources {
    Sources::new(&root().join("results"), &root())
}

fn pages() -> Vec<(PathBuf, Page)> {
    let read = |path: PathBuf| {
        let page = Page::read(&path).unwrap();
        (path, page)
    };
    let pages: Vec<_> = pages::paths(&root()).unwrap().into_iter().map(read).collect();
    assert!(pages.len() >= 6);
    pages
}

#[test]
#[ignore = "takes minutes on a busy machine: just test-long"]
fn every_quoted_figure_is_what_its_run_gives() {
    let sources = sources();
    let mut bound = 0;
    for (path, page) in pages() {
        let spliced = pages::splice(&page, &sources).unwrap_or_else(|error| {
            let path = path.display();
            std::panic::panic_any(format!("{path}: {error:#}"))
        });
        assert_eq!(spliced.differences, [], "{}: run: just splice", path.display());
        assert_eq!(spliced.page, page, "{}", path.display());
        bound += page.figures.len();
    }
    assert!(bound > 50, "{bound}");
}

#[test]
fn the_first_screen_is_of_todays_servers() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let sources = sources();
    let aliases = Aliases::of(&readme).unwrap();
    let answers = readme.lines().filter_map(|line| line.strip_prefix("<!-- answer of ")?.split_once(": "));
    let behind = answers.flat_map(|(_, runs)| runs.trim_end_matches(" -->").split_whitespace());
    let mut runs = behind.map(|alias| aliases.run(alias).unwrap()).peekable();
    assert!(runs.peek().is_some());
    let older: Vec<String> = runs
        .filter_map(|run| {
            let changed = sources.changed_servers(run).unwrap();
            (!changed.is_empty()).then(|| format!("{run} ({})", changed.join(", ")))
        })
        .collect();
    assert!(
        older.is_empty(),
        "README's first screen quotes runs whose servers are not built from what is here now: {}. Commit, and measure \
         them again: just reference (bench-scripts/reference.toml)",
        older.join("; ")
    );
    let rest = "<!-- servers of this page -->\n<!-- end of servers -->";
    assert!(
        readme.contains(rest),
        "README's sentences use runs of older servers; its servers block names them"
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
    for (path, page) in pages() {
        assert_eq!(pages::unbound(&page).unwrap(), [], "{}", path.display());
    }
}

/// A comment at the beginning of a line begins an HTML block, which would end its paragraph: with or without its
/// comments a page has the same blocks, as a Markdown parser sees them.
#[test]
fn comments_split_no_paragraph() {
    for (path, page) in pages() {
        let (marked, bare) = (markdown_blocks(&page.text), markdown_blocks(&without_comments(&page.text)));
        assert!(bare.len() > 5, "{}", path.display());
        let different = marked.iter().zip(&bare).find(|(a, b)| a != b);
        assert_eq!(different, None, "{}", path.display());
        assert_eq!(marked.len(), bare.len(), "{}", path.display());
    }
    let split = "text\n<!-- not measured: a setting --> more\n";
    assert_ne!(markdown_blocks(split), markdown_blocks(&without_comments(split)));
}

/// A page without what its comments say of numbers. Those of blocks stay: they stand between paragraphs.
fn without_comments(text: &str) -> String {
    let bare = |line: &str| {
        let mut line = line.to_owned();
        while let Some((before, rest)) = line.split_once("<!-- not measured")
            && let Some((_, after)) = rest.split_once("-->")
            // Code shows how such a comment is written.
            && !before.ends_with('`')
        {
            line = format!("{before}{after}");
        }
        line
    };
    text.lines().map(bare).collect::<Vec<_>>().join("\n")
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

/// A path in backticks that begins with a folder of the repository and has no placeholder.
#[test]
fn every_path_on_a_page_is_there() {
    let folders = ["bench-scripts/", "harness/", "servers/", "load-generator/", "containers/", "docs/"];
    let mut named = 0;
    for (page, content) in pages() {
        for path in content.text.split('`').skip(1).step_by(2) {
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

/// The check can fail: a figure that was changed by hand is found with its line, in a block, where it is put right, and
/// in a sentence.
#[test]
#[ignore = "takes minutes on a busy machine: just test-long"]
fn a_figure_that_was_changed_by_hand_is_found() {
    let readme = Page::read(&root().join("README.md")).unwrap();
    let by_hand = |there: &str, changed: &str| {
        let text = readme.text.replacen(there, changed, 1);
        assert_ne!(text, readme.text);
        let line = text.lines().position(|line| !readme.text.contains(line)).unwrap() + 1;
        (Page { text, figures: readme.figures.clone() }, line)
    };
    let (page, line) = by_hand("**Least CPU per request: ", "**Least CPU for a request: ");
    let spliced = pages::splice(&page, &sources()).unwrap();
    let [difference] = spliced.differences.as_slice() else { panic!("{:?}", spliced.differences) };
    assert_eq!(difference.line, line);
    assert_ne!(difference.printed, difference.recomputed);
    assert_eq!(spliced.page, readme);
    let Figure { after, figure, .. } = &readme.figures[0];
    let (page, line) = by_hand(&format!("{after} {figure}"), &format!("{after} 1{figure}"));
    let error = format!("{:#}", pages::splice(&page, &sources()).unwrap_err());
    assert!(error.contains(&format!("line {line}: behind ")), "{error}");
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
        ("[quick]: results/other/report.md\n", "is defined twice"),
    ] {
        let error = pages::splice(&Page::from(format!("{quick}{text}").as_str()), &sources()).unwrap_err();
        let error = format!("{error:#}");
        assert!(error.contains(named) && error.contains("line 3"), "{named}: {error}");
    }
    for (run, pointer, format, named) in [
        ("quick", "/cells[server=nobody]/completed", "count", "no member of cells fits"),
        ("quick", "/cells/0/completed", "odd", "there is no format odd"),
        ("slow", "/cells/0/completed", "count", "[slow] is not defined"),
    ] {
        let [after, figure, run, pointer, format] = ["x", "1", run, pointer, format].map(str::to_owned);
        let figures = vec![Figure { after, figure, run, file: None, pointer, format }];
        let error = pages::splice(&Page { text: format!("{quick}x 1\n"), figures }, &sources()).unwrap_err();
        let error = format!("{error:#}");
        assert!(error.contains(named) && error.contains("line 3"), "{named}: {error}");
    }
    let unmeasured = Page::from("<!-- section of nothing yet: Headline -->\n<!-- end of section -->\n");
    assert!(pages::splice(&unmeasured, &sources()).unwrap().page.text.contains("*Not measured yet.*"));
}

#[test]
#[ignore = "takes minutes on a busy machine: just test-long"]
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
