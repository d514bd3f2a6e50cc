//! Counting a program's instructions by function, with valgrind's callgrind: how it is called, what it writes, and the
//! names of functions as readers know them.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, ensure};

/// What to do where it is missing.
pub const INSTALL: &str = "valgrind is not on the PATH; install it, such as with: apt install valgrind";

/// Valgrind's arguments, before the program and its own: costs go to `output`, of functions and not of their lines, and
/// no name or position is abbreviated.
pub fn arguments(output: &Path) -> Vec<String> {
    let output = format!("--callgrind-out-file={}", output.display());
    let fixed =
        ["--tool=callgrind", "--quiet", "--dump-line=no", "--compress-strings=no", "--compress-pos=no"];
    fixed.into_iter().map(str::to_owned).chain([output]).collect()
}

/// Instructions by function, without those of the functions that it calls; compared with the total that the file ends
/// with.
///
/// # Errors
/// It is no such file, or its lines do not make its total.
pub fn parse(text: &str) -> Result<BTreeMap<String, u64>> {
    ensure!(text.starts_with("# callgrind format"), "callgrind's output does not begin with its format");
    let mut functions: BTreeMap<String, u64> = BTreeMap::new();
    let mut function = None;
    let mut total = None;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(name) = line.strip_prefix("fn=") {
            function = Some(name);
        } else if line.starts_with("calls=") {
            // The next line is what the called function took.
            lines.next();
        } else if let Some(sum) = line.strip_prefix("totals: ") {
            total = sum.trim().parse().ok();
        } else if line.starts_with(|c: char| c.is_ascii_digit()) {
            let cost = line.split_whitespace().nth(1).and_then(|cost| cost.parse::<u64>().ok());
            let cost = cost.with_context(|| format!("callgrind's line has no count: {line:?}"))?;
            let function = function.with_context(|| format!("callgrind's line has no function: {line:?}"))?;
            *functions.entry(function.to_owned()).or_insert(0) += cost;
        }
    }
    let total: u64 = total.context("callgrind's output has no total; did the program end early?")?;
    let sum: u64 = functions.values().sum();
    ensure!(sum == total, "callgrind's functions sum to {sum} instructions, its total says {total}");
    Ok(functions)
}

/// A function as readers know it: its crate, its type where it has one, and its name. Those of jemalloc and of the C
/// library lose what their builds put around the name.
pub fn short(name: &str) -> String {
    // A call of itself has its depth behind the name.
    let name = name.split('\'').next().unwrap_or(name);
    let mut path = path(name);
    let Some(last) = path.pop() else { return name.to_owned() };
    let Some(of_crate) = path.first() else { return of_c(&last) };
    let is_type = |segment: &&String| path.len() > 1 && segment.starts_with(char::is_uppercase);
    let of_type = path.last().filter(is_type).map(|of_type| format!("{of_type}::"));
    format!("{of_crate}::{}{last}", of_type.unwrap_or_default())
}

/// The segments of a path, of its type's where it begins with one, without closures, generic arguments and
/// implementations.
fn path(name: &str) -> Vec<String> {
    let mut segments = Vec::new();
    for (place, segment) in split(name, "::").into_iter().enumerate() {
        match segment.strip_prefix('<').and_then(|inner| inner.strip_suffix('>')) {
            Some(inner) if place == 0 => {
                let parts = split(inner, " as ");
                let of_type = parts[0].trim_start_matches(['&', '*']).trim_start_matches("mut ");
                // A primitive, or a parameter: of those the trait says more.
                let known = if of_type.contains("::") { of_type } else { parts.last().unwrap_or(&of_type) };
                segments.extend(path(known));
            }
            Some(inner) => segments.extend(split(inner, " for ").get(1).and_then(|own| path(own).pop())),
            None if segment.starts_with('{') => {}
            None => segments.push(segment.split('<').next().unwrap_or(segment).to_owned()),
        }
    }
    segments
}

/// The parts of a text between separators that no bracket encloses.
fn split<'a>(text: &'a str, separator: &str) -> Vec<&'a str> {
    let (mut parts, mut from, mut depth) = (Vec::new(), 0, 0_i32);
    for (place, c) in text.char_indices() {
        match c {
            '<' | '(' | '[' | '{' => depth += 1,
            // Not the arrow of a function's type.
            '>' if !text[..place].ends_with('-') => depth -= 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 && place >= from && text[place..].starts_with(separator) {
            parts.push(&text[from..place]);
            from = place + separator.len();
        }
    }
    parts.push(&text[from..]);
    parts
}

fn of_c(name: &str) -> String {
    if let Some(own) = name.strip_prefix("_rjem_") {
        return format!("jemalloc::{}", own.trim_start_matches("je_"));
    }
    let own = name.trim_start_matches('_');
    let of_processor = ["_avx", "_sse", "_evex", "_erms"].iter().filter_map(|kind| own.find(kind)).min();
    own[..of_processor.unwrap_or(own.len())].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of callgrind 3.19: jsonrpsee's in-process program, cut to a few functions; its total is theirs.
    const OUTPUT: &str = include_str!("callgrind.fixture");

    #[test]
    fn a_function_has_its_own_instructions_alone() {
        let functions = parse(OUTPUT).unwrap();
        assert_eq!(functions.len(), 8);
        assert_eq!(functions["serde_json::raw::RawValue::from_string"], 483 + 391 + 437);
        assert_eq!(functions["serde_json::read::SliceRead::skip_to_escape"], 35_934);
    }

    #[test]
    fn what_is_cut_short_or_something_else_is_an_error() {
        let without_total = OUTPUT.replace("totals: ", "");
        let other_total = OUTPUT.replace("totals: ", "totals: 1");
        let no_count = OUTPUT.replace("\n0 35934\n", "\n0 many\n");
        for text in ["", "events: Ir\n", &without_total, &other_total, &no_count] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn names_are_those_that_readers_know() {
        for (name, known) in [
            ("serde_json::raw::RawValue::from_string", "serde_json::RawValue::from_string"),
            (
                "<&serde_json::raw::RawValue as serde_core::de::Deserialize>::deserialize",
                "serde_json::RawValue::deserialize",
            ),
            (
                "<&mut serde_json::de::Deserializer<R> as serde_core::de::Deserializer>::deserialize_any::{{closure}}",
                "serde_json::Deserializer::deserialize_any",
            ),
            (
                "serde_json::raw::<impl serde_core::de::Deserialize for \
                 alloc::boxed::Box<serde_json::raw::RawValue>>::deserialize",
                "serde_json::Box::deserialize",
            ),
            ("<<&a::B as c::D>::e::Visitor as c::Visitor>::visit_map", "a::Visitor::visit_map"),
            ("core::ptr::drop_in_place<jsonrpsee_core::http_helpers::Body>'2", "core::drop_in_place"),
            ("__memcpy_avx_unaligned_erms", "memcpy"),
            ("_rjem_je_malloc_default", "jemalloc::malloc_default"),
            ("do_rallocx", "do_rallocx"),
        ] {
            assert_eq!(short(name), known);
        }
    }
}
