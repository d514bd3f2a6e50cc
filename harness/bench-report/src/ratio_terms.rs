//! A campaign's section "Why": each ratio of rates as its two terms. What the second term is made of takes a run of its
//! own.

use super::Run;
use super::columns::Columns;
use super::format::{at, known, ratio, shell};
use bench_analysis::Terms;
use bench_stats::Estimate;

/// Beyond this ratio of logarithms one term decides by itself.
const DECIDES: f64 = 3.0;

/// The section; empty where no comparison has its terms.
pub(super) fn section(run: &Run) -> String {
    let with_terms = || run.summary.comparisons.iter().filter_map(|pair| Some((pair, pair.terms.as_ref()?)));
    let Some((first, _)) = with_terms().next() else { return String::new() };
    let table = Columns::of(2, with_terms())
        .column("request", |(pair, _)| at(&pair.workload, pair.level))
        .column("servers", |(pair, _)| run.pair(pair))
        .column("ratio of rates", |(_, terms)| ratio(terms.rate))
        .column("= ratio of cores used", |(_, terms)| ratio(terms.cores))
        .column("/ ratio of CPU per request", |(_, terms)| ratio(terms.cpu))
        .column("what decides", |(_, terms)| decides(terms));
    format!(
        "## Why\n\nRequests a second are the cores that a server uses over the CPU time that it needs for a request. \
         So a server is faster because it uses more of the machine, or because it needs less of it for a \
         request:\n\n{}\n\
         Paired by block, over all of them; each interval is right by itself with 95 %. What the CPU time is made of \
         (the method, the framework, HTTP, the kernel) takes a run of its own: `{}`.\n",
        table.markdown(),
        why_command(&first.server, &first.over, &first.workload, Some(first.level.connections))
    )
}

/// The command of a run that says why the first server is faster than the second, as one would type it.
pub fn why_command(server: &str, over: &str, workload: &str, connections: Option<u32>) -> String {
    let names = shell(&[server, over, workload].map(str::to_owned));
    // just would lose the quotes.
    let verb = if names.contains('\'') { "cargo rpc-bench why" } else { "just why" };
    format!("{verb} {names}{}", known(connections, "", |count| format!(" --connections {count}")))
}

/// Which of the two terms makes the ratio of rates.
fn decides(terms: &Terms) -> &'static str {
    let is_resolved = |term: Estimate| term.interval.is_some_and(|(low, high)| low > 1.0 || high < 1.0);
    let (cores, cpu) = (terms.cores.value.ln().abs(), terms.cpu.value.ln().abs());
    match (is_resolved(terms.cores), is_resolved(terms.cpu)) {
        (false, false) => "neither is distinguishable from 1",
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

    fn terms(cores: f64, cpu: f64) -> Terms {
        let of = |value: f64| Estimate { value, interval: Some((value * 0.99, value * 1.01)) };
        Terms { rate: of(cores / cpu), cores: of(cores), cpu: of(cpu) }
    }

    #[test]
    fn the_larger_resolved_term_decides() {
        assert_eq!(decides(&terms(1.0, 1.005)), "neither is distinguishable from 1");
        assert_eq!(decides(&terms(1.0, 0.5)), "CPU per request");
        assert_eq!(decides(&terms(0.9, 0.5)), "CPU per request");
        assert_eq!(decides(&terms(2.0, 0.95)), "cores used");
        assert_eq!(decides(&terms(1.4, 0.7)), "both");
    }

    #[test]
    fn a_why_run_s_command_can_be_pasted() {
        let said = |workload| why_command("actix", "legacy", workload, Some(25));
        assert_eq!(said("getBlocks"), "just why actix legacy getBlocks --connections 25");
        assert_eq!(said("my call"), "cargo rpc-bench why actix legacy 'my call' --connections 25");
        assert_eq!(why_command("a", "b", "c", None), "just why a b c");
    }
}
