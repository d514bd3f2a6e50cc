//! Text that servers, load tools and other programs wrote: how much of one is kept, and how its end is read. All that a
//! run keeps or prints of them goes through here, so that no program can fill a run's files or break a report.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::RangeInclusive;
use std::path::Path;

use serde::{Serialize, Serializer};

use crate::readable_numbers::count;

/// Characters of one text that are kept, with the words on what was cut.
pub const MOST: usize = 1_000;

/// Characters left for these words.
const WORDS: usize = 60;

/// Bytes that are read of a file's end or beginning, and the most that one line of a server's output may have.
pub const MOST_READ: u64 = 64 << 10;

/// Signs that nothing shows of, and that [`char::escape_debug`] takes for letters or marks.
const INVISIBLE: [RangeInclusive<char>; 10] = [
    '\u{34f}'..='\u{34f}',
    '\u{115f}'..='\u{1160}',
    '\u{17b4}'..='\u{17b5}',
    '\u{180b}'..='\u{180f}',
    '\u{2800}'..='\u{2800}',
    '\u{3164}'..='\u{3164}',
    '\u{fe00}'..='\u{fe0f}',
    '\u{ffa0}'..='\u{ffa0}',
    '\u{1d159}'..='\u{1d159}',
    '\u{e0100}'..='\u{e01ef}',
];

/// Whether a terminal or a browser would obey a sign, or show nothing of it: control signs, those that turn the
/// direction of a text or join letters, byte order marks, blanks that are no space.
fn is_hidden(c: char) -> bool {
    // A mark belongs to the letter before it, so that it is escaped at a text's beginning alone.
    let escaped = |c: char| !matches!(c, '"' | '\'' | '\\') && format!("a{c}").escape_debug().count() > 2;
    !c.is_ascii_graphic() && c != ' ' && (escaped(c) || INVISIBLE.iter().any(|range| range.contains(&c)))
}

/// A text with each sign that a terminal obeys or does not show as `\u{…}`, `\0`, `\n`. Written once, it stays.
pub fn escaped(text: &str) -> Cow<'_, str> {
    escaped_but(text, &[])
}

/// The same of a text with several lines, in which blanks keep numbers and units on one.
pub fn escaped_lines(text: &str) -> Cow<'_, str> {
    escaped_but(text, &['\n', '\t', '\u{a0}'])
}

fn escaped_but<'a>(text: &'a str, kept: &[char]) -> Cow<'a, str> {
    let is_escaped = |c: char| is_hidden(c) && !kept.contains(&c);
    if !text.contains(is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match (is_escaped(c), c) {
            (false, _) => out.push(c),
            (true, '\0' | '\n' | '\r' | '\t') => out.extend(c.escape_debug()),
            (true, _) => out.extend(c.escape_unicode()),
        }
    }
    Cow::Owned(out)
}

/// A text on one line, or its first `most` characters and how many of them were cut, for a reader: see [`escaped`].
pub fn shown(text: &str, most: usize) -> String {
    let text = text.trim();
    let start: String = text.chars().take(most).collect();
    // White space means nothing in what services answer.
    let start = start.replace(['\n', '\r', '\t'], " ");
    match text.chars().count().saturating_sub(most) as u64 {
        0 => escaped(&start).into_owned(),
        cut => format!("{}… [{} more characters cut]", escaped(start.trim()), count(cut)),
    }
}

/// A text, or its beginning and how much of it was cut, in signs that are seen: see [`escaped`]. What was cut once is
/// not cut again.
pub fn bounded(text: &str) -> String {
    let text = escaped_lines(text);
    if text.char_indices().nth(MOST).is_none() {
        return text.into_owned();
    }
    let kept: String = text.chars().take(MOST - WORDS).collect();
    let cut = text.chars().count() - (MOST - WORDS);
    format!("{kept}… [{} more characters cut]", count(cut as u64))
}

/// The last line of a file that says something, if there is one. Of a long file only the end is read.
pub fn last_line(path: &Path) -> Option<String> {
    let (text, before) = end_of(path).ok()?;
    let line = text.lines().rev().find(|line| !line.trim().is_empty())?;
    // Its beginning may stand before what was read.
    let is_cut = before > 0 && text.lines().next() == Some(line);
    Some(if is_cut {
        bounded(&format!("[up to {} bytes cut] …{line}", count(before)))
    } else {
        bounded(line)
    })
}

/// The beginning of a file, as much as is read of one.
///
/// # Errors
/// The file can't be read.
pub fn beginning_of(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MOST_READ).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The end of a file, and how many bytes stand before it.
fn end_of(path: &Path) -> io::Result<(String, u64)> {
    let mut file = File::open(path)?;
    let before = file.metadata()?.len().saturating_sub(MOST_READ);
    file.seek(SeekFrom::Start(before))?;
    let mut bytes = Vec::new();
    file.take(MOST_READ).read_to_end(&mut bytes)?;
    Ok((String::from_utf8_lossy(&bytes).into_owned(), before))
}

/// For serde's `serialize_with`: a text that is kept bounded.
///
/// # Errors
/// Those of the serializer.
pub fn kept<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&bounded(text))
}

/// The same for a text that may be missing.
///
/// # Errors
/// Those of the serializer.
pub fn kept_maybe<S: Serializer>(text: &Option<String>, serializer: S) -> Result<S::Ok, S::Error> {
    text.as_deref().map(bounded).serialize(serializer)
}

/// The same for counts by what a load tool calls them; those whose names are the same after the cut are added.
///
/// # Errors
/// Those of the serializer.
pub fn kept_kinds<S: Serializer>(kinds: &BTreeMap<String, u64>, serializer: S) -> Result<S::Ok, S::Error> {
    let mut bounded_kinds = BTreeMap::new();
    for (kind, count) in kinds {
        *bounded_kinds.entry(bounded(kind)).or_insert(0) += count;
    }
    bounded_kinds.serialize(serializer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_once_and_says_how_much() {
        assert_eq!(bounded("a server's words"), "a server's words");
        let whole = "ü".repeat(MOST);
        assert_eq!(bounded(&whole), whole);
        let cut = bounded(&"ü".repeat(10_000_000));
        assert!(cut.chars().count() <= MOST && cut.ends_with("… [9,999,060 more characters cut]"), "{cut}");
        assert_eq!(bounded(&cut), cut);
    }

    #[test]
    fn what_a_terminal_obeys_or_does_not_show_is_written_out() {
        for (text, shown) in [
            ("\u{feff}{}", "\\u{feff}{}"),
            ("{}\0", "{}\\0"),
            ("\u{1b}[2J\u{7}\u{9b}1m", "\\u{1b}[2J\\u{7}\\u{9b}1m"),
            ("a\u{202e}b\u{2066}c\u{200f}", "a\\u{202e}b\\u{2066}c\\u{200f}"),
            (
                "a\u{200b}\u{ad}\u{2060}\u{3164}\u{2800}\u{fe0f}\u{e0041}",
                "a\\u{200b}\\u{ad}\\u{2060}\\u{3164}\\u{2800}\\u{fe0f}\\u{e0041}",
            ),
            ("a\u{a0}b\u{2028}c\u{85}d\r\te\u{7f}", "a\\u{a0}b\\u{2028}c\\u{85}d\\r\\te\\u{7f}"),
        ] {
            assert_eq!(escaped(text), shown);
            assert_eq!(escaped(shown), shown, "once");
            assert_eq!(bounded(text), escaped_lines(text));
        }
        for plain in ["\"it's\" a \\u{1b} µ × – … † ₂ ü e\u{301} 漢字 हिन्दी ไทยที่ 🦀", ""]
        {
            assert_eq!(escaped(plain), plain);
        }
        assert_eq!(escaped_lines("a\nb\r\n\u{a0}\t\u{1b}"), "a\nb\\r\n\u{a0}\t\\u{1b}");
        assert_eq!(shown(" {\r\n\t\"a\": 1}\u{feff}\n", 99), "{   \"a\": 1}\\u{feff}");
        assert_eq!(shown("\0\0\0", 2), "\\0\\0… [1 more characters cut]");
    }

    #[test]
    fn the_last_line_of_a_long_file_is_found_in_its_end() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("stderr");
        let said = |text: &str| {
            std::fs::write(&path, text).unwrap();
            last_line(&path)
        };
        assert_eq!(said("one\ntwo\n\n"), Some("two".to_owned()));
        assert_eq!(said("\n \n"), None);
        let noise = "noise\n".repeat(200_000);
        assert_eq!(said(&format!("{noise}the reason\n")), Some("the reason".to_owned()));
        let long = said(&"x".repeat(10_000_000)).unwrap();
        assert!(long.starts_with("[up to 9,934,464 bytes cut] …xxx"), "{long}");
        assert!(long.chars().count() <= MOST && long.ends_with("more characters cut]"), "{long}");
        assert_eq!(beginning_of(&path).unwrap().len() as u64, MOST_READ);
        assert_eq!(last_line(&dir.path().join("none")), None);
    }

    #[derive(Serialize)]
    struct Kept {
        #[serde(serialize_with = "super::kept")]
        text: String,
        #[serde(serialize_with = "super::kept_maybe")]
        maybe: Option<String>,
        #[serde(serialize_with = "super::kept_kinds")]
        kinds: BTreeMap<String, u64>,
    }

    #[test]
    fn what_is_written_is_bounded() {
        let long = || "x".repeat(70_000);
        let kept = Kept { text: long(), maybe: Some(long()), kinds: BTreeMap::from([(long(), 1)]) };
        let written = serde_json::to_value(&kept).unwrap();
        let kind = written["kinds"].as_object().unwrap().keys().next().unwrap();
        for text in [written["text"].as_str().unwrap(), written["maybe"].as_str().unwrap(), kind] {
            assert!(text.chars().count() <= MOST, "{text}");
        }
    }
}
