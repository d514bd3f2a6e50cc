//! No line of a page begins with a figure's comment: Markdown would begin an HTML block there, which ends the paragraph
//! and shows links as they are written. Such a line gets the last words of the line before.

use std::ops::Range;

use anyhow::{Context, Result};

use super::inline::{BEGIN, END};
use super::{Difference, Spliced};

/// The page without such lines.
///
/// # Errors
/// One with its number: a paragraph or an item of a list begins so, and there is no word to put before.
pub(super) fn reflow(text: &str) -> Result<Spliced> {
    let mut lines: Vec<String> = Vec::new();
    let mut differences = Vec::new();
    let mut in_code = false;
    for line in text.split('\n') {
        in_code ^= line.trim_start().starts_with("```");
        let (indent, content) = line.split_at(line.len() - line.trim_start().len());
        if in_code || !content.starts_with(BEGIN) {
            lines.push(line.to_owned());
            continue;
        }
        let number = lines.len() + 1;
        let before = lines.last_mut().filter(|before| is_prose(before));
        let before = before.with_context(|| {
            format!("line {number}: a paragraph begins with {BEGIN}, which Markdown takes for an HTML block; begin it with a word")
        })?;
        let changed = match last_words(before) {
            Some(words) => {
                let moved = before[words.clone()].to_owned();
                before.truncate(before[..words.start].trim_end().len());
                format!("{indent}{moved} {content}")
            }
            // All of it is one word: the line goes behind it.
            None => {
                let whole = format!("{before} {content}");
                lines.pop();
                whole
            }
        };
        differences.push(Difference { line: number, printed: line.to_owned(), recomputed: changed.clone() });
        lines.push(changed);
    }
    Ok(Spliced { text: lines.join("\n"), differences })
}

/// Whether a line can be one of the same paragraph.
fn is_prose(line: &str) -> bool {
    let is_definition = line.starts_with('[') && line.contains("]: ");
    let begins_other = ["#", "|", "<!--", "```"].iter().any(|mark| line.trim_start().starts_with(mark));
    !line.trim().is_empty() && !is_definition && !begins_other
}

/// The last words of a line, from one that is no comment: what may stand at the beginning of the next line. `None`
/// where nothing but a list's mark would stay.
fn last_words(line: &str) -> Option<Range<usize>> {
    let words = words(line);
    let (place, word) = words.iter().enumerate().rfind(|(_, word)| can_begin(&line[(*word).clone()]))?;
    let stays = line[..word.start].trim();
    let is_mark = stays.chars().all(|c| c.is_ascii_digit() || "-*+.>".contains(c));
    (place > 0 && !is_mark).then(|| word.start..line.trim_end().len())
}

/// Whether a line that begins with a word continues the paragraph.
fn can_begin(word: &str) -> bool {
    let begins = word.chars().next();
    begins.is_some_and(|c| c.is_alphabetic() || "(`[".contains(c))
}

/// The words of a line; a figure with its comments is one word with what touches it, and so is any other comment.
fn words(line: &str) -> Vec<Range<usize>> {
    let mut words = Vec::new();
    let mut start = None;
    let mut at = 0;
    while at < line.len() {
        let rest = &line[at..];
        let comment = match rest {
            _ if rest.starts_with(BEGIN) => rest.find(END).map(|end| end + END.len()),
            _ if rest.starts_with("<!--") => rest.find("-->").map(|end| end + "-->".len()),
            _ => None,
        };
        let length = comment.unwrap_or_else(|| rest.chars().next().map_or(1, char::len_utf8));
        match (comment, rest.starts_with(' ')) {
            (None, true) => words.extend(start.take().map(|start| start..at)),
            _ => start = start.or(Some(at)),
        }
        at += length;
    }
    words.extend(start.map(|start| start..line.len()));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reflowed(text: &str) -> String {
        let once = reflow(text).unwrap();
        assert_eq!(reflow(&once.text).unwrap().differences, [], "it is done once: {}", once.text);
        once.text
    }

    #[test]
    fn a_line_gets_the_last_words_of_the_one_before() {
        let figure = "<!--= a#/b us -->1.2 s<!--/-->";
        assert_eq!(
            reflowed(&format!("It takes up\nto\n{figure} there")),
            format!("It takes up\nto {figure} there")
        );
        assert_eq!(
            reflowed(&format!("It takes up to\n{figure} there")),
            format!("It takes up\nto {figure} there")
        );
        assert_eq!(
            reflowed(&format!("- first {figure} and {figure},\n  {figure}.")),
            format!("- first {figure}\n  and {figure}, {figure}."),
            "a figure is no word to begin with"
        );
        assert_eq!(
            reflowed(&format!("- **a:**\n  {figure}")),
            format!("- **a:** {figure}"),
            "a list's mark keeps its item"
        );
    }

    #[test]
    fn code_and_other_lines_stay() {
        let text = "```md\n<!--= a#/b us -->1<!--/-->\n```\nx\n<!-- not measured: y -->\n";
        assert_eq!(reflowed(text), text);
        assert!(reflow("x\n\n<!--= a#/b us -->1<!--/-->\n").unwrap_err().to_string().contains("line 3"));
    }
}
