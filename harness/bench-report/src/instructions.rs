//! Instructions of one request by function, of several servers side by side.

use std::collections::BTreeMap;

use super::columns::Columns;
use super::format::{dash, distinct, percent, thousands};

/// A function is listed where it takes this share of one server's instructions at least.
const LISTED: f64 = 0.02;

/// The last two rows.
const REST: &str = "all others";
const ALL: &str = "**all**";

/// A server by its name, and its instructions of one request by function.
pub type Counted = (String, BTreeMap<String, f64>);

/// A table with the largest functions of any server first, then the rest and the whole, and how it is read.
pub fn side_by_side(request: &str, counted: &[Counted]) -> String {
    let whole = |of: &Counted| of.1.values().sum::<f64>();
    let large = counted.iter().flat_map(|of| {
        let least = whole(of) * LISTED;
        of.1.iter().filter(move |(_, each)| **each >= least)
    });
    let mut large: Vec<(&String, &f64)> = large.collect();
    large.sort_by(|a, b| b.1.total_cmp(a.1));
    let listed = distinct(large.into_iter().map(|(function, _)| function.as_str()));
    let cell = |row: &&str, of: &&Counted| match *row {
        REST => thousands(
            of.1.iter().filter(|(name, _)| !listed.contains(&name.as_str())).map(|(_, each)| each).sum(),
        ),
        ALL => thousands(whole(of)),
        function => {
            dash(of.1.get(function), |each| format!("{} ({})", thousands(*each), percent(each / whole(of))))
        }
    };
    let table = Columns::of(1, listed.iter().copied().chain([REST, ALL]))
        .with_numbers_last()
        .column("function", |row| *row)
        .columns(counted.iter().map(|of| (of.0.as_str(), of)), cell)
        .markdown();
    format!(
        "Instructions of one {request}, in user space, by callgrind: in a function itself, without those of functions \
         that it calls. A function that the compiler put into another one counts there. Listed is what takes {} of a \
         server's instructions or more. Instructions are no time: some take longer than others.\n\n{table}",
        percent(LISTED)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_functions_come_first_and_rows_add_up() {
        let of = |name: &str, functions: &[(&str, f64)]| -> Counted {
            (name.to_owned(), functions.iter().map(|(name, each)| ((*name).to_owned(), *each)).collect())
        };
        let counted = [
            of("a", &[("parse", 600.0), ("send", 390.0), ("small", 10.0)]),
            of("b", &[("send", 1_800.0), ("own", 200.0)]),
        ];
        let text = side_by_side("getBalance", &counted);
        let rows: Vec<Vec<&str>> = text
            .lines()
            .filter(|line| line.starts_with("| "))
            .map(|line| line.split('|').map(str::trim).collect())
            .collect();
        assert_eq!(rows[0][1..4], ["function", "a", "b"]);
        let shown: Vec<[&str; 3]> = rows[2..].iter().map(|row| [row[1], row[2], row[3]]).collect();
        let wanted = [
            ["send", "390 (39 %)", "1,800 (90 %)"],
            ["parse", "600 (60 %)", "-"],
            ["own", "-", "200 (10 %)"],
            ["all others", "10", "0"],
            ["**all**", "1,000", "2,000"],
        ];
        assert_eq!(shown, wanted, "{text}");
    }
}
