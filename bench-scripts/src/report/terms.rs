//! A campaign's section "Why": each ratio of rates as its two terms. What the second term is made of takes a run of its own.

use std::fmt::Write;

use super::Run;
use super::format::{Table, at, ratio};
use crate::analysis::Terms;

/// Beyond this ratio of logarithms one term decides by itself.
const DECIDES: f64 = 3.0;

/// The section; empty where no comparison has its terms.
pub(super) fn section(run: &Run) -> String {
    let headers = [
        "request",
        "servers",
        "ratio of rates",
        "= ratio of cores used",
        "/ ratio of CPU per request",
        "what decides",
    ];
    let mut table = Table::new(&headers, 2);
    let mut first = None;
    for pair in &run.summary.comparisons {
        let Some(terms) = &pair.terms else { continue };
        first.get_or_insert(pair);
        table.row(vec![
            at(&pair.workload, pair.level),
            run.pair(pair),
            ratio(terms.rate),
            ratio(terms.cores),
            ratio(terms.cpu),
            decides(terms).to_owned(),
        ]);
    }
    let Some(first) = first else { return String::new() };
    let mut out = format!(
        "## Why\n\nRequests a second are the cores that a server uses over the CPU time that it needs for a request. So a server is \
         faster since it uses more of the machine, or since it needs less of it for a request:\n\n{}",
        table.markdown()
    );
    // Writing to a String can't fail.
    let _ = write!(
        out,
        "\nPaired by block, over all of them; each interval is right by itself with 95 %. What the CPU time is made of (the method, \
         the framework, HTTP, the kernel) takes a run of its own: `just why {} {} {} --connections {}`.\n",
        first.server, first.over, first.workload, first.level.connections
    );
    out
}

/// Which of the two terms makes the ratio of rates.
fn decides(terms: &Terms) -> &'static str {
    let told = |interval: Option<(f64, f64)>| interval.is_some_and(|(low, high)| low > 1.0 || high < 1.0);
    let (cores, cpu) = (terms.cores.value.ln().abs(), terms.cpu.value.ln().abs());
    match (told(terms.cores.interval), told(terms.cpu.interval)) {
        (false, false) => "neither is told from 1",
        (true, false) => "cores used",
        (false, true) => "CPU per request",
        (true, true) if cpu > DECIDES * cores => "CPU per request",
        (true, true) if cores > DECIDES * cpu => "cores used",
        (true, true) => "both",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Estimate;

    fn terms(cores: f64, cpu: f64) -> Terms {
        let of = |value: f64| Estimate { value, interval: Some((value * 0.99, value * 1.01)) };
        Terms { rate: of(cores / cpu), cores: of(cores), cpu: of(cpu) }
    }

    #[test]
    fn the_larger_term_decides_and_one_that_is_not_told_does_not() {
        assert_eq!(decides(&terms(1.0, 1.005)), "neither is told from 1");
        assert_eq!(decides(&terms(1.0, 0.5)), "CPU per request");
        assert_eq!(decides(&terms(0.9, 0.5)), "CPU per request");
        assert_eq!(decides(&terms(2.0, 0.95)), "cores used");
        assert_eq!(decides(&terms(1.4, 0.7)), "both");
    }
}
