//! The figures in a page's sentences. A page's own file, `README.figures.toml` for README.md, has each of them in the
//! page's order: the words before it, the figure as it stands there, and where in which run it is found. So the page
//! reads as a person wrote it. A figure of a cell whose trials are all invalid is `invalid`.

use std::ops::Range;

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::format::joined;

use super::{Aliases, Difference, Page, Sources, Spliced, blocks, change, enclosed, line_of, pointer};

/// What begins a figure's file.
pub(super) const HEADER: &str = "# The figures in the sentences of the page of the same name, in its order. `just \
    splice` renews them in both files.\n";

/// One figure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// The words just before it on the page; how they are spaced and wrapped there is of no concern.
    pub after: String,
    /// As it is printed.
    pub figure: String,
    /// An alias of the page.
    pub run: String,
    /// A JSON file of the run: `summary.json`, and what was pooled, where none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Where in that file: see [`super::pointer`].
    pub pointer: String,
    /// How it is printed: see [`super::pointer`].
    pub format: String,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default, rename = "figure", skip_serializing_if = "Vec::is_empty")]
    figures: Vec<Figure>,
}

/// The figures of a figure's file.
///
/// # Errors
/// It is not TOML, or a field is missing or unknown.
pub(super) fn parse(text: &str) -> Result<Vec<Figure>> {
    Ok(toml::from_str::<File>(text)?.figures)
}

/// The text of a figure's file.
///
/// # Errors
/// There are none.
pub(super) fn print(figures: &[Figure]) -> Result<String> {
    Ok(format!("{HEADER}\n{}", toml::to_string(&File { figures: figures.to_vec() })?))
}

/// Works out again each figure in a page's sentences.
///
/// # Errors
/// One with its line or its words: a figure is not where its file says, or can't be worked out.
pub(super) fn splice(page: &Page, aliases: &Aliases, sources: &Sources) -> Result<Spliced> {
    let places = places(page)?;
    let mut page = page.clone();
    let (mut changes, mut differences) = (Vec::new(), Vec::new());
    for (figure, place) in page.figures.iter_mut().zip(places) {
        let line = line_of(&page.text, place.start);
        let recomputed = value(figure, aliases, sources).with_context(|| format!("line {line}"))?;
        // One that is right stays, with the line's end that may stand in it.
        if figure.figure != recomputed {
            let printed = std::mem::replace(&mut figure.figure, recomputed.clone());
            changes.push((place, recomputed.clone()));
            differences.push(Difference { line, printed, recomputed });
        }
    }
    change(&mut page.text, changes);
    Ok(Spliced { page, differences })
}

/// Where on its page each figure stands, in bytes.
///
/// # Errors
/// A figure does not stand behind its words, or they are not on the page.
pub(super) fn places(page: &Page) -> Result<Vec<Range<usize>>> {
    if let Some((before, _)) = page.text.split_once("<!--=") {
        bail!(
            "line {}: a comment binds no figure; name it in the page's file of figures",
            line_of(&page.text, before.len())
        );
    }
    let prose = Prose::of(&page.text)?;
    let mut from = 0;
    let mut places = Vec::with_capacity(page.figures.len());
    for figure in &page.figures {
        let (after, printed) = (collapse(&figure.after), collapse(&figure.figure));
        ensure!(
            !after.is_empty() && !printed.is_empty(),
            "a figure's `after` and `figure` can't be empty: {figure:?}"
        );
        let whole = [format!("{after} {printed}"), format!("{after}{printed}")];
        let found = whole.iter().filter_map(|words| prose.find(words, from)).min_by_key(|range| range.start);
        let Some(found) = found else { bail!(misplaced(&prose, figure, &after, from, &page.text)) };
        from = found.end;
        places.push(prose.at[from - printed.len()]..prose.at[from - 1] + 1);
    }
    Ok(places)
}

fn misplaced(prose: &Prose, figure: &Figure, after: &str, from: usize, text: &str) -> String {
    let Figure { after: words, figure: printed, .. } = figure;
    let Some(behind) = prose.find(after, from).map(|range| range.end) else {
        let line = prose.at.get(from.saturating_sub(1)).map_or(1, |at| line_of(text, *at));
        return format!(
            "line {line}: behind it the page lacks the words {words:?}; figures stand in the page's order"
        );
    };
    let stands: String = prose.text[behind..].trim_start().chars().take(20).collect();
    format!(
        "line {}: behind {words:?} stands {stands:?} and not {printed:?}",
        line_of(text, prose.at[behind - 1])
    )
}

/// A page's sentences: without blocks, code and comments, and with one space wherever there is any.
struct Prose {
    text: String,
    /// Where on the page each byte of the text stands.
    at: Vec<usize>,
}

impl Prose {
    fn of(page: &str) -> Result<Self> {
        let mut left_out: Vec<Range<usize>> =
            blocks::blocks(page)?.into_iter().map(|block| block.content).collect();
        left_out.extend(enclosed(page, &[("<!--", "-->"), ("\n```", "\n```")])?);
        left_out.sort_by_key(|range| range.start);
        let mut prose = Self { text: String::new(), at: Vec::new() };
        let mut next = left_out.iter().peekable();
        for (at, c) in page.char_indices() {
            while next.next_if(|range| range.end <= at).is_some() {}
            let is_left_out = next.peek().is_some_and(|range| range.contains(&at));
            if is_left_out || c.is_whitespace() {
                if !prose.text.ends_with(' ') {
                    prose.push(' ', at);
                }
            } else {
                prose.push(c, at);
            }
        }
        Ok(prose)
    }

    fn push(&mut self, c: char, at: usize) {
        self.text.push(c);
        self.at.extend(at..at + c.len_utf8());
    }

    /// Where whole words stand: 12 is neither in 120 nor in 12.5 or 12,000, and `and 12` not in `band 12`.
    fn find(&self, words: &str, from: usize) -> Option<Range<usize>> {
        let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let begins =
            |at: usize| !(is_word(words.chars().next()) && is_word(self.text[..at].chars().next_back()));
        let ends = |at: usize| {
            let mut behind = self.text[at..].chars();
            let next = behind.next();
            let goes_on = is_word(next)
                || (matches!(next, Some('.' | ',')) && behind.next().is_some_and(|c| c.is_ascii_digit()));
            !(is_word(words.chars().next_back()) && goes_on)
        };
        let found = self.text[from..].match_indices(words);
        let mut found = found.map(|(offset, _)| from + offset..from + offset + words.len());
        found.find(|range| begins(range.start) && ends(range.end))
    }
}

fn collapse(text: &str) -> String {
    joined(text.split_whitespace(), " ")
}

fn value(figure: &Figure, aliases: &Aliases, sources: &Sources) -> Result<String> {
    let json = sources.json(aliases.get(&figure.run)?, figure.file.as_deref())?;
    if figure.pointer.split_once("/figures/").is_some_and(|(cell, _)| is_invalid(&json, cell)) {
        return Ok("invalid".to_owned());
    }
    pointer::print(pointer::find(&json, &figure.pointer)?, &figure.format)
}

/// Whether a pointer's cell was measured and each of its trials is invalid.
fn is_invalid(json: &Value, cell: &str) -> bool {
    let cell = pointer::find(json, cell).ok();
    cell.is_some_and(|cell| cell.get("completed") == Some(&Value::from(0)) && cell.get("invalid").is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(after: &str, figure: &str) -> Figure {
        let [run, pointer, format] = ["a", "/b", "count"].map(str::to_owned);
        Figure { after: after.to_owned(), figure: figure.to_owned(), run, file: None, pointer, format }
    }

    fn found(text: &str, figures: &[Figure]) -> Result<Vec<String>> {
        let page = Page { text: text.to_owned(), figures: figures.to_vec() };
        Ok(places(&page)?.into_iter().map(|place| page.text[place].to_owned()).collect())
    }

    #[test]
    fn a_figure_is_found_behind_its_words_however_they_are_wrapped() {
        let text = "It takes up\n   to 1.2\ns (12 of 120), <!-- not measured: x --> and 12\n";
        let figures = [figure("up to", "1.2 s"), figure("(", "12"), figure("and", "12")];
        assert_eq!(found(text, &figures).unwrap(), ["1.2\ns", "12", "12"]);
        for other in ["of 120", "of 12.5", "of 12,000", "roof 12", "of 12s"] {
            let text = format!("{other}; of 12.");
            let page = Page { text: text.clone(), figures: vec![figure("of", "12")] };
            let found = places(&page).unwrap();
            assert_eq!(found.len(), 1, "{text}");
            assert_eq!(found[0], text.len() - 3..text.len() - 1, "{text}");
        }
    }

    #[test]
    fn a_figure_that_is_not_there_is_named_with_its_line() {
        let error = |text: &str| found(text, &[figure("takes", "5")]).unwrap_err().to_string();
        assert!(
            error("x\nIt takes 6 s").starts_with("line 2: behind \"takes\" stands \"6 s\" and not \"5\"")
        );
        assert!(error("It needs 5").contains("lacks the words \"takes\""));
        assert!(error("x\n<!--= a#/b count -->5").starts_with("line 2: a comment binds no figure"));
        assert!(error("x\n```\ntakes 5\n```\n<!-- takes 5 -->").contains("lacks the words"));
    }

    #[test]
    fn a_file_of_figures_is_read_as_it_was_written() {
        let figures = vec![figure("takes \"up\" to", "5"), figure("and", "6 [5, 7]")];
        let text = print(&figures).unwrap();
        assert_eq!(parse(&text).unwrap(), figures);
        assert!(parse("[[figure]]\nafter = 'x'\n").is_err());
    }
}
