//! Numbers as a person reads them, units beside them, and tables that line up in a terminal and in Markdown alike.

use std::fmt::Write;

use crate::load::Level;
use crate::stats::Estimate;

/// A load as a sentence has it: `500 connections`, `2,000 requests/s`.
pub fn load(level: Level) -> String {
    let amount = thousands(f64::from(level.amount()));
    match level.rate {
        None => format!("{amount} connections"),
        Some(_) => format!("{amount} requests/s"),
    }
}

/// A request at a load, for a table's cell: `getBalance at 125`, `getBalance at 2,000/s`.
pub fn at(workload: &str, level: Level) -> String {
    let amount = thousands(f64::from(level.amount()));
    let unit = if level.rate.is_some() { "/s" } else { "" };
    format!("{workload} at {amount}{unit}")
}

/// A whole number with thousands set apart: 65,326.
pub fn thousands(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if value < 0.0 && digits != "0" { format!("-{out}") } else { out }
}

/// Three significant digits, without an exponent.
pub fn significant(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 => thousands(value),
        v if v >= 10.0 => format!("{value:.1}"),
        v if v >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// A time in microseconds, with the unit that fits.
pub fn time_us(value: f64) -> String {
    match value {
        v if v >= 1e6 => format!("{} s", significant(v / 1e6)),
        v if v >= 1e3 => format!("{} ms", significant(v / 1e3)),
        v => format!("{} us", significant(v)),
    }
}

/// Bytes, with the unit that fits.
pub fn bytes(value: f64) -> String {
    match value {
        v if v >= 1024.0 * 1024.0 => format!("{} MiB", significant(v / 1024.0 / 1024.0)),
        v if v >= 1024.0 => format!("{} KiB", significant(v / 1024.0)),
        v => format!("{v:.0} B"),
    }
}

/// An estimate and its interval, each number by `format`.
pub fn estimate(estimate: Estimate, format: impl Fn(f64) -> String) -> String {
    match estimate.interval {
        Some((low, high)) => format!("{} [{}, {}]", format(estimate.value), format(low), format(high)),
        None => format!("{} [no interval]", format(estimate.value)),
    }
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

/// Why a ratio is not the quotient of the figures that stand beside it.
pub const PAIRED_RATIOS: &str = "Ratios are medians of per-block ratios (Hodges-Lehmann), so they differ from the quotient of the two servers' figures.";

/// Whose failure a request is that was never sent. `docs/METHODOLOGY.md` and `docs/OPEN-LOOP.md` say the same.
pub const NEVER_SENT: &str = "A request that was due and never sent is a failure where the server held all connections; where the load \
     tool was late by itself, the window was not at the requested rate.";

/// A table in Markdown whose columns also line up as plain text.
#[derive(Debug, Default)]
pub struct Table {
    headers: Vec<String>,
    rows: Vec<Vec<String>>,
    text_columns: usize,
}

impl Table {
    /// With these headers. The first `text_columns` and the last column hold words and are set left, the others numbers.
    pub fn new(headers: &[&str], text_columns: usize) -> Self {
        let headers = headers.iter().map(|header| (*header).to_owned()).collect();
        Self { headers, rows: Vec::new(), text_columns }
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

    /// The table as Markdown.
    pub fn markdown(&self) -> String {
        let width = |column: usize| {
            let cells =
                std::iter::once(&self.headers).chain(&self.rows).map(|row| row[column].chars().count());
            cells.max().unwrap_or(0).max(3)
        };
        let widths: Vec<usize> = (0..self.headers.len()).map(width).collect();
        let is_text = |column: usize| column < self.text_columns || column + 1 == widths.len();
        let mut out = String::new();
        let mut line = |row: &Vec<String>| {
            for (column, cell) in row.iter().enumerate() {
                let pad = " ".repeat(widths[column] - cell.chars().count());
                let (before, after) = if is_text(column) { ("", pad.as_str()) } else { (pad.as_str(), "") };
                // Writing to a String can't fail.
                let _ = write!(out, "| {before}{cell}{after} ");
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
    args.iter().map(quote).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(thousands(65_326.4), "65,326");
        assert_eq!(thousands(999.6), "1,000");
        assert_eq!(thousands(-1_234.0), "-1,234");
        assert_eq!(significant(7.346), "7.35");
        assert_eq!(time_us(950.0), "950 us");
        assert_eq!(time_us(1_230_257.0), "1.23 s");
        assert_eq!(bytes(3.5 * 1024.0 * 1024.0), "3.50 MiB");
        let bare = Estimate { value: 1.0, interval: None };
        assert_eq!(ratio(bare), "1.000 [no interval]");
        assert_eq!(ratio(Estimate { value: 1.5, interval: Some((1.25, 2.0)) }), "1.50 [1.25, 2.00]");
    }

    #[test]
    fn a_table_lines_up() {
        let mut table = Table::new(&["server", "req/s", "verdict"], 1);
        table.row(vec!["a|b".into(), "1,000".into(), "faster".into()]);
        let text = table.markdown();
        let widths: Vec<usize> = text.lines().map(str::len).collect();
        assert!(widths.iter().all(|width| *width == widths[0]), "{text}");
        assert!(text.contains("| a\\|b   | 1,000 |") || text.contains("a\\|b"), "{text}");
        assert!(text.lines().nth(1).unwrap().contains("----:"), "{text}");
    }

    #[test]
    fn a_command_can_be_pasted() {
        let args = ["-b", r#"{"a": "it's"}"#, ""].map(str::to_owned);
        assert_eq!(shell(&args), r#"-b '{"a": "it'\''s"}' ''"#);
    }
}
