//! Pieces of JSON: numbers, texts and values, plain and hostile.

use super::random::Random;

const NUMBERS: &str = "\
    0 1 5 56 100 400 424 425 454 455 456 1000 500000 500001 1000000 -0 -1 1.0 0.0 -0.0 1.5 1e2 1E+2 \
    1e-2 0e0 1e400 -1e400 1e308 1e309 1e-400 5e-324 4294967295 4294967296 9007199254740993 \
    9223372036854775807 9223372036854775808 -9223372036854775808 -9223372036854775809 \
    18446744073709551615 18446744073709551616 99999999999999999999999999 0.1 123456789.123456789 \
    3.141592653589793238462643";

/// Written like numbers, but none.
const NO_NUMBERS: &str = "01 +1 .5 1. 0x10 NaN Infinity - 1e 1_000 --1 1e1000000";

/// The inside of a text.
const TEXTS: &[&str] = &[
    "",
    "a",
    "2.0",
    "1",
    "getHealth",
    "getSlot",
    "confirmed",
    "finalized",
    "processed",
    "commitment",
    "minContextSlot",
    "recent",
    "max",
    "id",
    "é",
    "日本",
    "😀",
    "\u{2028}",
    r"\u0000",
    r"\u00e9",
    r"\n\t\r\b\f\/\\",
    r#"\""#,
    r"\ud83d\ude00",
    r"\ud800",
    r"\udc00",
    r"\ud800\u0041",
    r"\udc00\ud800",
    r"\uD800\uD800",
    r"\u",
    r"\u12",
    r"\x41",
    r"\u0041",
    "[",
    "]",
    "{",
    "}",
    r#"\"[{"#,
    ",",
    ":",
    "null",
    "11111111111111111111111111111111",
    "4EVAJ81v9fLjz2wp44SZmxgTbvYB8dBRZ6s1SAqP99eZ",
    "294YgFBTPkr98zU1VS2YMtsfg874AyDazLXugX5LLda8",
    r"\u0034EVAJ81v9fLjz2wp44SZmxgTbvYB8dBRZ6s1SAqP99eZ",
    "4EVAJ81v9fLjz2wp44SZmxgTbvYB8dBRZ6s1SAqP99e0",
    "4EVAJ81v9fLjz2wp44SZmxgTbvYB8dBRZ6s1SAqP99",
    "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz",
    "\u{7f}",
    "\u{feff}",
];

/// A number, sometimes none.
pub fn number(random: &mut Random) -> String {
    match random.below(12) {
        0 => random.word(NO_NUMBERS).to_owned(),
        1 => random.number().to_string(),
        2 | 3 => random.below(500).to_string(),
        _ => random.word(NUMBERS).to_owned(),
    }
}

/// A text with its quotes.
pub fn text(random: &mut Random) -> String {
    let inside = match random.below(20) {
        0 => "x".repeat(random.below(300)),
        1 => format!("{}{}", random.pick(TEXTS), random.pick(TEXTS)),
        // A control character is no part of a JSON text.
        2 if random.one_in(4) => char::from(random.below(32) as u8).to_string(),
        _ => random.pick(TEXTS).to_owned(),
    };
    format!("\"{inside}\"")
}

/// White space, now and then of a kind that JSON does not have.
pub fn space(random: &mut Random) -> &'static str {
    match random.below(60) {
        0 => " ",
        1 => "\n",
        2 => "\t\r\n ",
        3 => "  ",
        4 if random.one_in(10) => {
            random.pick(&["\u{c}", "\u{b}", "\u{a0}", "\u{feff}", "\0", "/**/", "\u{85}"])
        }
        _ => "",
    }
}

/// A value, nested at most so deep.
pub fn value(random: &mut Random, depth: usize) -> String {
    match random.below(if depth == 0 { 6 } else { 10 }) {
        0 => "null".to_owned(),
        1 => random.pick(&["true", "false", "True", "nul"]).to_owned(),
        2 | 3 => number(random),
        4 | 5 => text(random),
        6 | 7 => {
            let count = random.below(4);
            list(random, '[', count, ']', |random| value(random, depth - 1))
        }
        8 => {
            let count = random.below(4);
            list(random, '{', count, '}', |random| {
                let name = text(random);
                format!("{name}{}:{}{}", space(random), space(random), value(random, depth - 1))
            })
        }
        _ => deep(random),
    }
}

/// Brackets around brackets, about where serde_json's limit is.
pub fn deep(random: &mut Random) -> String {
    let depth = match random.below(4) {
        0 => 120 + random.below(12),
        1 => 1 + random.below(300),
        _ => 1 + random.below(8),
    };
    let (open, close) = if random.one_in(3) { (r#"{"a":"#, "}") } else { ("[", "]") };
    let inside = if open == "[" { "" } else { "1" };
    format!("{}{inside}{}", open.repeat(depth), close.repeat(depth))
}

/// Items between brackets.
pub fn list(
    random: &mut Random,
    open: char,
    count: usize,
    close: char,
    mut item: impl FnMut(&mut Random) -> String,
) -> String {
    let mut out = String::from(open);
    for index in 0..count {
        if index > 0 {
            out.push(',');
        }
        out += space(random);
        out += &item(random);
        out += space(random);
    }
    out.push(close);
    out
}
