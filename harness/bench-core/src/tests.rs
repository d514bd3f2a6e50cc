//! Reads `tests/fixtures/refused.txt`: mistakes of a user, and what is said of each.

use std::fmt::Display;

const TABLES: &str = include_str!("../tests/fixtures/refused.txt");

/// The names of the tables that begin so.
pub(crate) fn tables(begin: &str) -> impl Iterator<Item = &'static str> {
    let names = TABLES.lines().filter_map(|line| line.strip_prefix("# "));
    names.filter(move |name| name.starts_with(begin))
}

/// The cases of a table: two or three columns each.
pub(crate) fn cases(table: &str) -> impl Iterator<Item = Vec<String>> {
    let (_, rest) =
        TABLES.split_once(&format!("\n# {table}\n")).unwrap_or_else(|| panic!("no table {table}"));
    let lines = rest.lines().take_while(|line| !line.starts_with("# ")).filter(|line| !line.is_empty());
    lines.map(|line| line.split(" => ").map(|column| column.replace("\\n", "\n")).collect())
}

/// That each case of a table is refused in one line that names what it should. `good` is what is changed, or a frame.
pub(crate) fn each_is_refused<T, E: Display>(table: &str, good: &str, read: impl Fn(&str) -> Result<T, E>) {
    for case in cases(table) {
        let (bad, named) = match case.as_slice() {
            [text, named] => (good.replacen("{}", text, 1), named),
            [from, to, named] => {
                assert!(good.contains(from), "{table}: {from:?} is not in the good text");
                (good.replacen(from, to, 1), named)
            }
            other => panic!("{table}: two or three columns: {other:?}"),
        };
        let Err(error) = read(&bad) else { panic!("{table}: {case:?} is not refused") };
        let said = format!("{error:#}");
        assert!(said.contains(named) && said.lines().count() == 1, "{table}: {case:?} gave {said}");
    }
}
