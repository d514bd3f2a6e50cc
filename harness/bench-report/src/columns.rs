//! Tables that are written column by column: each header next to what writes its cells.

use std::fmt::Display;

use super::format::Table;

/// A row for each of several things, and the columns that the table has so far.
#[derive(Debug)]
pub struct Columns<T> {
    headers: Vec<String>,
    rows: Vec<(T, Vec<String>)>,
    text_columns: usize,
}

impl<T> Columns<T> {
    /// Without a column. The first `text_columns` and the last will hold words and are set left, the others numbers.
    pub fn of(text_columns: usize, rows: impl IntoIterator<Item = T>) -> Self {
        let rows = rows.into_iter().map(|row| (row, Vec::new())).collect();
        Self { headers: Vec::new(), rows, text_columns }
    }

    /// With one more column.
    #[must_use]
    pub fn column<D: Display>(mut self, header: impl Into<String>, cell: impl Fn(&T) -> D) -> Self {
        self.headers.push(header.into());
        self.rows.iter_mut().for_each(|(row, cells)| cells.push(cell(row).to_string()));
        self
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
    pub fn markdown(self) -> String {
        let headers: Vec<&str> = self.headers.iter().map(String::as_str).collect();
        let mut table = Table::new(&headers, self.text_columns);
        self.rows.into_iter().for_each(|(_, cells)| table.row(cells));
        table.markdown()
    }

    /// A text with the table in it; nothing where it has no row.
    pub fn within(self, text: impl FnOnce(String) -> String) -> String {
        if self.rows.is_empty() { String::new() } else { text(self.markdown()) }
    }
}
