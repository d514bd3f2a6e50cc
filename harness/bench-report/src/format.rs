//! Estimates, loads and lists as reports print them.

pub use bench_core::load::at;

use bench_core::figure::{Figure, Unit};
use bench_core::load::Level;
use bench_core::stats::Estimate;

pub use bench_core::readable_numbers::{
    bytes, count, counted, percent, significant, thousands, time as time_us,
};

/// Milliseconds, with the unit that fits.
pub fn time_ms(ms: u64) -> String {
    time_us(ms as f64 * 1e3)
}

/// A load as a sentence has it: `500 connections`, `2,000 requests/s`.
pub fn load(level: Level) -> String {
    format!("{} {}", thousands(level.amount().into()), level.unit_of(level.amount()))
}

/// How a figure is written.
pub fn writer(figure: Figure) -> fn(f64) -> String {
    match (figure, figure.described().1) {
        (Figure::RequestsPerSecond | Figure::AchievedRate, _) => thousands,
        (Figure::Requests | Figure::LeftRequests, _) => thousands,
        (_, Unit::Us) => time_us,
        (_, Unit::Bytes) => bytes,
        (_, Unit::Share) => percent,
        (_, Unit::Number) => significant,
    }
}

/// A value, or what stands in place of one that is not known.
pub fn known<T>(value: Option<T>, missing: &str, write: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| missing.to_owned(), write)
}

/// A value, or a dash.
pub fn dash<T>(value: Option<T>, write: impl FnOnce(T) -> String) -> String {
    known(value, "-", write)
}

/// A text that a machine may not give.
pub fn available(text: Option<&String>) -> String {
    known(text, "unavailable", String::clone)
}

/// Several with commas between.
pub fn list(items: impl IntoIterator<Item: ToString>) -> String {
    joined(items, ", ")
}

/// Several with other words between.
pub fn joined(items: impl IntoIterator<Item: ToString>, between: &str) -> String {
    items.into_iter().map(|item| item.to_string()).collect::<Vec<_>>().join(between)
}

/// Each once, in their order.
pub fn distinct<T: PartialEq>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut distinct = Vec::new();
    for item in items {
        if !distinct.contains(&item) {
            distinct.push(item);
        }
    }
    distinct
}

/// A text with its first letter as a sentence begins.
pub fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// A line of a Markdown list for each.
pub fn bullets(items: impl IntoIterator<Item = String>) -> String {
    items.into_iter().map(|item| format!("- {item}\n")).collect()
}

/// The parts of a report that say something, with an empty line between.
pub fn sections(parts: impl IntoIterator<Item = String>) -> String {
    joined(parts.into_iter().filter(|part| !part.is_empty()), "\n")
}

/// An estimate and its interval, each number by `format`.
pub fn estimate(estimate: Estimate, format: impl Fn(f64) -> String) -> String {
    match estimate.interval {
        Some((low, high)) => format!("{} [{}, {}]", format(estimate.value), format(low), format(high)),
        None => format!("{} [no interval]", format(estimate.value)),
    }
}

/// `0.72 to 0.82`; one value where both read the same.
pub fn spanned<T>((low, high): (T, T), write: impl Fn(T) -> String) -> String {
    let (low, high) = (write(low), write(high));
    if low == high { low } else { format!("{low} to {high}") }
}

/// A ratio and its interval; with three decimals where it is so close to 1 that the third one matters.
pub fn ratio(ratio: Estimate) -> String {
    let decimals = match ratio.value {
        value if value >= 100.0 => 0,
        value if (0.8..1.25).contains(&value) => 3,
        _ => 2,
    };
    estimate(ratio, |value| format!("{value:.decimals$}"))
}

/// Whose failure a request is that was never sent. `docs/METHODOLOGY.md` says the same.
pub const NEVER_SENT: &str = "A request that was due and never sent is a failure where the server held all \
    connections; where the load tool was late by itself, the window was not at the requested rate.";

/// An argument vector as one would type it.
pub fn shell(args: &[String]) -> String {
    let quote = |arg: &String| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
        if !arg.is_empty() && arg.chars().all(plain) {
            arg.clone()
        } else {
            format!("'{}'", arg.replace('\'', r"'\''"))
        }
    };
    joined(args.iter().map(quote), " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_have_the_decimals_that_matter() {
        let bare = Estimate { value: 1.0, interval: None };
        assert_eq!(ratio(bare), "1.000 [no interval]");
        assert_eq!(ratio(Estimate { value: 1.5, interval: Some((1.25, 2.0)) }), "1.50 [1.25, 2.00]");
    }

    #[test]
    fn a_command_can_be_pasted() {
        let args = ["-b", r#"{"a": "it's"}"#, ""].map(str::to_owned);
        assert_eq!(shell(&args), r#"-b '{"a": "it'\''s"}' ''"#);
    }
}
