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
        let lines = || std::iter::once(&self.headers).chain(self.rows.iter().map(|(_, cells)| cells));
        let width = |column: usize| {
            let cells = lines().map(|cells| cells[column].chars().count());
            cells.max().unwrap_or(0).clamp(3, WIDEST)
        };
        let widths: Vec<usize> = (0..self.headers.len()).map(width).collect();
        let is_last = |column: usize| column + 1 == widths.len() && !self.numbers_last;
        let is_text = |column: usize| column < self.text_columns || is_last(column);
        let rule = |(column, width): (usize, &usize)| {
            if is_text(column) { "-".repeat(*width) } else { format!("{}:", "-".repeat(width - 1)) }
        };
        let rule = widths.iter().enumerate().map(rule).collect();
        let mut out = String::new();
        for line in lines().take(1).chain([&rule]).chain(lines().skip(1)) {
            for ((column, cell), width) in line.iter().enumerate().zip(&widths) {
                // Not by a format's width, which panics above 65,535.
                let blanks = " ".repeat(width.saturating_sub(cell.chars().count()));
                let parts = if is_text(column) { [cell, blanks.as_str()] } else { [blanks.as_str(), cell] };
                out.push_str("| ");
                out.extend(parts);
                out.push(' ');
            }
            out.push_str("|\n");
        }
        out
    }

    /// A text with the table in it; nothing where it has no row.
    pub fn within(self, text: impl FnOnce(String) -> String) -> String {
        if self.rows.is_empty() { String::new() } else { text(self.markdown()) }
    }
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
