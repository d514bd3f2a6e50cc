//! Prose that stands by itself holds no figure of ours: this finds numbers that look measured outside of blocks,
//! figures in sentences, code, comments and link targets.
//!
//! A number looks measured where it has decimals, a unit (%, s, ms, us, ns, MiB and the like, /s), thousands set apart,
//! or is N "of" N or "times" something. [`SETTINGS`] are numbers that the pages set and nobody measures. For all else a
//! paragraph says why its numbers are no measurements of ours, in a comment: `<!-- not measured: the contract's limits
//! -->`; behind a heading it holds for all below that heading. Numbers in words are not found, nor are small whole
//! numbers without a unit.

use anyhow::{Result, ensure};

use super::{Page, blocks, enclosed, figures};
use crate::format::joined;

/// Why a paragraph's numbers are not ours to measure.
const EXEMPT: &str = "<!-- not measured: ";

/// Settings of campaigns and of the method, wherever they stand.
const SETTINGS: &str = "2 s | 100 ms | 95 % | 90 % | 2 % | 5 % | 2,000 connections | 16,000 connections | 1,000 \
    requests/s | 2,000 requests/s | 4,000 requests/s | 100,000 slots | 100,000 accounts";

/// Units of measured figures, as they stand behind a number.
const UNITS: &str = "% ns us µs ms s seconds minutes B KiB MiB GiB kB MB times cores percent requests/s";

/// What a version number stands behind.
const VERSIONED: &str = "tokio jsonrpsee actix-web actix axum hyper jsonrpc-core jsonrpc-http-server Agave Rust Go \
    Python Node HTTP bombardier vegeta oha JSON-RPC soketto framework";

/// A number that looks measured and is bound to no run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unbound {
    /// The line, from 1.
    pub line: usize,
    /// The number with what stands behind it.
    pub figure: String,
}

/// The numbers of a page that look measured, outside of all that is worked out again.
///
/// # Errors
/// A block lacks its end, an exemption its reason, or a figure is not where its file says.
pub fn unbound(page: &Page) -> Result<Vec<Unbound>> {
    let exempt = exempt_lines(&page.text)?;
    let masked = mask(page)?;
    let lines = (1..).zip(masked.lines()).zip(exempt).filter(|(_, is_exempt)| !is_exempt);
    let found = lines.flat_map(|((line, text), _)| numbers(text).map(move |figure| Unbound { line, figure }));
    Ok(found.collect())
}

/// By line, whether an exemption holds there.
fn exempt_lines(text: &str) -> Result<Vec<bool>> {
    let lines: Vec<&str> = text.lines().collect();
    let mut exempt = vec![false; lines.len()];
    // Behind a heading: up to the next one of its rank or above, so behind the title for the whole page.
    let rank = |line: &str| line.bytes().take_while(|byte| *byte == b'#').count();
    for (index, line) in lines.iter().enumerate() {
        let Some((_, reason)) = line.split_once(EXEMPT) else { continue };
        let reason = reason.split("-->").next().unwrap_or_default().trim();
        ensure!(!reason.is_empty(), "line {}: {EXEMPT}… --> lacks its reason", index + 1);
        let own = rank(line);
        let goes_on = |line: &&&str| match own {
            0 => !line.trim().is_empty(),
            _ => rank(line) == 0 || rank(line) > own,
        };
        let back = if own > 0 { 0 } else { lines[..index].iter().rev().take_while(goes_on).count() };
        let ahead = lines[index + 1..].iter().take_while(goes_on).count();
        exempt[index - back..=index + ahead].fill(true);
    }
    Ok(exempt)
}

/// The text with all that is no prose blanked out; lines keep their places.
fn mask(page: &Page) -> Result<String> {
    let text = &page.text;
    let mut bytes = text.as_bytes().to_vec();
    let mut blank = |range: std::ops::Range<usize>| {
        bytes[range].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
    };
    for block in blocks::blocks(text)? {
        blank(block.content);
    }
    figures::places(page)?.into_iter().for_each(&mut blank);
    enclosed(text, &[("<!--", "-->"), ("\n```", "\n```"), ("](", ")")])?.into_iter().for_each(blank);
    let mut text = String::from_utf8(bytes)?;
    // Code in a sentence ends on its own line or the next one; a single backtick is none.
    while let Some((start, end)) = code_span(&text) {
        let code: String = text[start..end].chars().map(|c| if c == '\n' { '\n' } else { ' ' }).collect();
        text.replace_range(start..end, &code);
    }
    let is_definition = |line: &str| line.starts_with('[') && line.contains("]: ");
    Ok(joined(text.split('\n').map(|line| if is_definition(line) { "" } else { line }), "\n"))
}

fn code_span(text: &str) -> Option<(usize, usize)> {
    let start = text.find('`')?;
    let ticks = text[start..].bytes().take_while(|byte| *byte == b'`').count();
    let inner = start + ticks;
    let fence = "`".repeat(ticks);
    let end = text[inner..].find(&fence).map_or(inner, |length| inner + length + ticks);
    Some((start, end))
}

/// The numbers of a line that look measured, each with what stands behind it.
fn numbers(line: &str) -> impl Iterator<Item = String> {
    let mut at = 0;
    std::iter::from_fn(move || {
        while let Some(offset) = line[at..].find(|c: char| c.is_ascii_digit()) {
            let start = at + offset;
            let length = number_length(&line[start..]);
            at = start + length;
            if looks_measured(line, start, at) {
                let behind: String = line[at..].chars().take(20).collect();
                let behind: String = behind.split_inclusive(' ').take(2).collect();
                return Some(format!("{}{behind}", &line[start..at]).trim().to_owned());
            }
        }
        None
    })
}

/// Digits with thousands and decimals; a full stop or a comma at the end is the sentence's.
fn number_length(text: &str) -> usize {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != ',' && c != '.').unwrap_or(text.len());
    text[..end].trim_end_matches(['.', ',']).len()
}

fn looks_measured(line: &str, start: usize, end: usize) -> bool {
    let (before, number, behind) = (&line[..start], &line[start..end], &line[end..]);
    // Part of a name, a path, a version with three parts, a negative code such as -32602, or a power.
    let joined = before.chars().next_back().is_some_and(|c| c.is_alphanumeric() || "_-–/.#:^".contains(c));
    if joined || number.matches('.').count() > 1 {
        return false;
    }
    if SETTINGS.split(" | ").any(|setting| {
        line[start..].strip_prefix(setting).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
    }) {
        return false;
    }
    let word = behind
        .trim_start()
        .split(|c: char| c.is_whitespace() || ",;:.)]|*!?".contains(c))
        .next()
        .unwrap_or_default();
    let is_unit =
        |unit: &str| word.strip_prefix(unit).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let has_unit = UNITS.split(' ').any(is_unit) || behind.starts_with("/s");
    let counted =
        behind.strip_prefix(" of ").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let thousands = number.contains(',');
    let last =
        before.trim_end().rsplit(|c: char| c.is_whitespace() || "(*[".contains(c)).next().unwrap_or_default();
    let is_version = VERSIONED.split(' ').any(|name| name == last)
        || behind.starts_with(" or newer")
        || behind.starts_with(" or later");
    has_unit || counted || thousands || (number.contains('.') && !is_version)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        unbound(&Page::from(text)).unwrap().into_iter().map(|unbound| unbound.figure).collect()
    }

    #[test]
    fn what_looks_measured_is_found() {
        for (text, figure) in [
            ("It needs 0.54 times the CPU.", "0.54 times"),
            ("a p99 of 666 us.", "666 us"),
            ("legacy 27,091/s and more", "27,091/s"),
            ("with 11,478 connections", "11,478 connections"),
            ("after 6.30 s", "6.30 s"),
            ("and 1,330 MiB", "1,330 MiB"),
            ("as 38 % of", "38 %"),
            ("[0.51, 0.56]", "0.51"),
            ("in 9 of 12 trials", "9 of"),
            ("| legacy | 42,778 |", "42,778"),
            ("5 times as fast", "5 times"),
        ] {
            assert!(
                found(text).first().is_some_and(|first| first.starts_with(figure)),
                "{text}: {:?}",
                found(text)
            );
        }
        let page = "# A\n\ntext\nand 7.35 ms\n";
        assert_eq!(unbound(&Page::from(page)).unwrap()[0].line, 4);
    }

    #[test]
    fn settings_names_and_small_counts_are_not() {
        for text in [
            "the timeout is 2 s, at 125, 500 and 2,000 connections",
            "p99 below 100 ms with 95 % confidence",
            "tokio 1.29 and Rust (1.90 or newer), vegeta 12.13.0, oha 1.16.0",
            "code -32602 and HTTP/1.0; nine blocks, 12 blocks",
            "`--rate 4,000` is 1.5 in code`0.5`".trim_end_matches("is 1.5 in code`0.5`"),
            "see [x](results/2026-11-21T171644Z-quick/0.5.md)",
            "[quick]: results/2026-11-21T171644Z-quick/report.md",
            "Node 20 and Python 3.11",
        ] {
            assert_eq!(found(text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn what_is_bound_or_code_is_not() {
        for text in [
            "<!-- table of quick: Results -->\n\n| 0.54 |\n\n<!-- end of table -->\n",
            "```sh\nsleep 0.5\n```\n",
            "text `1.5 s` and ``2.5 `s`` more",
            "<!-- 0.5 s -->",
        ] {
            assert_eq!(found(&format!("\n{text}")), Vec::<String>::new(), "{text}");
        }
        let mut page = Page::from("It needs 0.54\n[0.51, 0.56] times, and 0.55 times.");
        let [run, pointer, format] = ["quick", "/a", "ratio"].map(str::to_owned);
        let (after, figure) = ("It needs".to_owned(), "0.54 [0.51, 0.56]".to_owned());
        page.figures.push(figures::Figure { after, figure, run, file: None, pointer, format });
        let left: Vec<String> = unbound(&page).unwrap().into_iter().map(|unbound| unbound.figure).collect();
        assert_eq!(left, ["0.55 times."]);
    }

    #[test]
    fn an_exemption_holds_for_its_paragraph_or_below_its_heading() {
        let paragraph = "1.5 s\n\n1.5 s\nmore <!-- not measured: a sleep -->\n- 2.5 s\n\n3.5 s\n";
        assert_eq!(found(paragraph), ["1.5 s", "3.5 s"]);
        let heading = "# A <!-- not measured: limits -->\n\n1.5 s\n\n2.5 s\n\n## C\n\n3.5 s\n# B\n\n4.5 s\n";
        assert_eq!(found(heading), ["4.5 s"]);
        let inner = "# A\n## B <!-- not measured: limits -->\n1.5 s\n## C\n2.5 s\n";
        assert_eq!(found(inner), ["2.5 s"]);
        assert!(unbound(&Page::from("x <!-- not measured:  -->\n")).is_err());
    }
}
