//! Estimates, loads and lists as reports print them, and tables that line up in a terminal and in Markdown alike.

pub use bench_model::load::at;

use bench_model::load::Level;
use bench_stats::Estimate;

pub use bench_system::readable_numbers::{
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
pub fn spanned((low, high): (f64, f64), write: impl Fn(f64) -> String) -> String {
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

/// Why a ratio is not the quotient of the figures that stand next to it.
pub const PAIRED_RATIOS: &str = "Ratios are medians of per-block ratios (Hodges-Lehmann), so they differ from the \
    quotient of the two servers' figures.";

/// Whose failure a request is that was never sent. `docs/METHODOLOGY.md` and `docs/OPEN-LOOP.md` say the same.
pub const NEVER_SENT: &str = "A request that was due and never sent is a failure where the server held all \
    connections; where the load tool was late by itself, the window was not at the requested rate.";

/// Characters to which a column's cells are filled up: a longer one stands out, and fills no other row with blanks.
const WIDEST: usize = 1_000;

/// A table in Markdown whose columns also line up as plain text.
#[derive(Debug, Default)]
pub struct Table {
    headers: Vec<String>,
    rows: Vec<Vec<String>>,
    text_columns: usize,
    numbers_last: bool,
}

impl Table {
    /// With these headers. The first `text_columns` and the last column hold words and are set left, the others
    /// numbers.
    pub fn new(headers: impl IntoIterator<Item: ToString>, text_columns: usize) -> Self {
        let headers = headers.into_iter().map(|header| header.to_string()).collect();
        Self { headers, rows: Vec::new(), text_columns, numbers_last: false }
    }

    /// The same with numbers in the last column, too.
    #[must_use]
    pub fn with_numbers_last(self) -> Self {
        Self { numbers_last: true, ..self }
    }

    /// The same with the headers as they stand in a page, `|` between them, and with rows.
    pub fn of(headers: &str, text_columns: usize, rows: impl IntoIterator<Item = Vec<String>>) -> Self {
        let mut table = Self::new(headers.split(" | "), text_columns);
        rows.into_iter().for_each(|row| table.row(row));
        table
    }

    /// Adds a row.
    ///
    /// # Panics
    /// In a debug build, where it has not one cell for each header: figures would stand under the wrong name.
    pub fn row(&mut self, mut cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.headers.len(), "{:?} under {:?}", cells, self.headers);
        cells.resize(self.headers.len(), String::new());
        // A bar would end the cell early.
        self.rows.push(cells.into_iter().map(|cell| cell.replace('|', "\\|")).collect());
    }

    /// Whether it has no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table as Markdown.
    pub fn markdown(&self) -> String {
        let width = |column: usize| {
            let cells =
                std::iter::once(&self.headers).chain(&self.rows).map(|row| row[column].chars().count());
            cells.max().unwrap_or(0).clamp(3, WIDEST)
        };
        let widths: Vec<usize> = (0..self.headers.len()).map(width).collect();
        let is_last = |column: usize| column + 1 == widths.len() && !self.numbers_last;
        let is_text = |column: usize| column < self.text_columns || is_last(column);
        let mut out = String::new();
        let mut line = |row: &Vec<String>| {
            for ((column, cell), width) in row.iter().enumerate().zip(widths.iter().copied()) {
                // Not by a format's width, which panics above 65,535.
                let blanks = " ".repeat(width.saturating_sub(cell.chars().count()));
                let parts = if is_text(column) { [cell, blanks.as_str()] } else { [blanks.as_str(), cell] };
                out.push_str("| ");
                out.extend(parts);
                out.push(' ');
            }
            out.push_str("|\n");
        };
        line(&self.headers);
        let rule = |(column, width): (usize, &usize)| {
            if is_text(column) { "-".repeat(*width) } else { format!("{}:", "-".repeat(width - 1)) }
        };
        line(&widths.iter().enumerate().map(rule).collect());
        self.rows.iter().for_each(line);
        out
    }
}

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
    fn a_table_lines_up() {
        let row = vec!["a|b".into(), "1,000".into(), "faster, 3 µs".into()];
        let text = Table::of("server | req/s | verdict", 1, [row]).markdown();
        let widths: Vec<usize> = text.lines().map(|line| line.chars().count()).collect();
        assert!(widths.iter().all(|width| *width == widths[0]), "{text}");
        assert!(text.contains("| a\\|b   | 1,000 |"), "{text}");
        assert!(text.lines().nth(1).unwrap().contains("----:"), "{text}");
    }

    #[test]
    fn a_cell_of_any_length_is_a_cell() {
        let long = "x".repeat(100_000);
        let rows = [vec!["a".into(), long.clone()], vec![long.clone(), "1".into()]];
        let text = Table::of("server | reason", 1, rows).markdown();
        assert_eq!(text.lines().count(), 4);
        assert!(text.lines().nth(2).is_some_and(|line| line.ends_with(&format!("| {long} |"))));
        assert!(text.len() < 210_000, "{} bytes: blanks in other rows", text.len());
    }

    #[test]
    fn a_command_can_be_pasted() {
        let args = ["-b", r#"{"a": "it's"}"#, ""].map(str::to_owned);
        assert_eq!(shell(&args), r#"-b '{"a": "it'\''s"}' ''"#);
    }
}
