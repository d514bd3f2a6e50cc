//! Tables in Markdown that line up as plain text, too, written column by column: each header next to what writes its
//! cells.

use std::fmt::Display;

/// Characters to which a column's cells are filled up: a longer one stands out, and fills no other row with blanks.
const WIDEST: usize = 1_000;

/// A row for each of several things, and the columns that the table has so far.
#[derive(Debug)]
pub struct Columns<T> {
    headers: Vec<String>,
    rows: Vec<(T, Vec<String>)>,
    text_columns: usize,
    numbers_last: bool,
}

impl<T> Columns<T> {
    /// Without a column. The first `text_columns` and the last will hold words and are set left, the others numbers.
    pub fn of(text_columns: usize, rows: impl IntoIterator<Item = T>) -> Self {
        let rows = rows.into_iter().map(|row| (row, Vec::new())).collect();
        Self { headers: Vec::new(), rows, text_columns, numbers_last: false }
    }

    /// The same with numbers in the last column, too.
    #[must_use]
    pub fn with_numbers_last(self) -> Self {
        Self { numbers_last: true, ..self }
    }

    /// With one more column.
    #[must_use]
    pub fn column<D: Display>(mut self, header: impl Into<String>, cell: impl Fn(&T) -> D) -> Self {
        self.headers.push(header.into());
        // A bar would end the cell early.
        let cell = |row: &T| cell(row).to_string().replace('|', "\\|");
        self.rows.iter_mut().for_each(|(row, cells)| cells.push(cell(row)));
        self
    }

    /// With one more column where that is so.
    #[must_use]
    pub fn column_if<D: Display>(
        self,
        is_there: bool,
        header: impl Into<String>,
        cell: impl Fn(&T) -> D,
    ) -> Self {
        if is_there { self.column(header, cell) } else { self }
    }

    /// With a column for each of several things, which have a header each.
    #[must_use]
    pub fn columns<U, H: Into<String>, D: Display>(
        self,
        of: impl IntoIterator<Item = (H, U)>,
        cell: impl Fn(&T, &U) -> D,
    ) -> Self {
        of.into_iter().fold(self, |table, (header, of)| table.column(header, |row| cell(row, &of)))
    }

    /// As it stands in a page.
    pub fn markdown(&self) -> String {
        let is_last = |column: usize| column + 1 == self.headers.len() && !self.numbers_last;
        let is_text = |column: usize| column < self.text_columns || is_last(column);
        let rule = (0..self.headers.len()).map(|column| if is_text(column) { "-" } else { "-:" }.to_owned());
        let rows = self.rows.iter().map(|(_, cells)| cells.clone());
        let lines: Vec<Vec<String>> =
            [self.headers.clone(), rule.collect()].into_iter().chain(rows).collect();
        lined_up(&lines)
    }

    /// A text with the table in it; nothing where it has no row.
    pub fn within(self, text: impl FnOnce(String) -> String) -> String {
        if self.rows.is_empty() { String::new() } else { text(self.markdown()) }
    }
}

/// A table in Markdown whose cells are filled up; nothing where it has no row.
pub fn aligned(table: &str) -> String {
    let lines: Vec<Vec<String>> = table.lines().filter(|line| line.starts_with('|')).map(cells).collect();
    if lines.len() > 2 { lined_up(&lines) } else { String::new() }
}

/// The cells of a table's line, between its bars.
fn cells(line: &str) -> Vec<String> {
    let inner = line.trim().trim_start_matches('|').trim_end_matches('|').replace("\\|", "\0");
    inner.split('|').map(|cell| cell.trim().replace('\0', "\\|")).collect()
}

/// The lines of a table, filled up: a header, a rule that says what is set right (`-:`), and rows.
fn lined_up(lines: &[Vec<String>]) -> String {
    let is_right: Vec<bool> = lines[1].iter().map(|rule| rule.ends_with(':')).collect();
    let cell = |line: &Vec<String>, column: usize| line.get(column).cloned().unwrap_or_default();
    let width = |column: usize| {
        let widths = lines.iter().map(|line| cell(line, column).chars().count());
        widths.max().unwrap_or(0).clamp(3, WIDEST)
    };
    let widths: Vec<usize> = (0..is_right.len()).map(width).collect();
    let mut out = String::new();
    for (number, line) in lines.iter().enumerate() {
        for (column, (width, is_right)) in widths.iter().zip(&is_right).enumerate() {
            let cell = match (number, is_right) {
                (1, true) => format!("{}:", "-".repeat(width - 1)),
                (1, false) => "-".repeat(*width),
                _ => cell(line, column),
            };
            // Not by a format's width, which panics above 65,535.
            let blanks = " ".repeat(width.saturating_sub(cell.chars().count()));
            out += "| ";
            out.extend(if *is_right { [blanks, cell] } else { [cell, blanks] });
            out.push(' ');
        }
        out.push_str("|\n");
    }
    out
}

impl Columns<Vec<String>> {
    /// Of cells that are written already, each row with one for each header.
    pub fn written(
        headers: &[&str],
        text_columns: usize,
        rows: impl IntoIterator<Item = Vec<String>>,
    ) -> Self {
        Self::of(text_columns, rows)
            .columns(headers.iter().copied().zip(0..), |row, at: &usize| row[*at].clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_lines_up() {
        let row = vec!["a|b".into(), "1,000".into(), "faster, 3 µs".into()];
        let text = Columns::written(&["server", "req/s", "verdict"], 1, [row]).markdown();
        let widths: Vec<usize> = text.lines().map(|line| line.chars().count()).collect();
        assert!(widths.iter().all(|width| *width == widths[0]), "{text}");
        assert!(text.contains("| a\\|b   | 1,000 |"), "{text}");
        assert!(text.lines().nth(1).unwrap().contains("----:"), "{text}");
    }

    #[test]
    fn a_cell_of_any_length_is_a_cell() {
        let long = "x".repeat(100_000);
        let rows = [vec!["a".into(), long.clone()], vec![long.clone(), "1".into()]];
        let text = Columns::written(&["server", "reason"], 1, rows).markdown();
        assert_eq!(text.lines().count(), 4);
        assert!(text.lines().nth(2).is_some_and(|line| line.ends_with(&format!("| {long} |"))));
        assert!(text.len() < 210_000, "{} bytes: blanks in other rows", text.len());
    }
}
