//! What a person sees after each block: every compared ratio so far, and what is decided of it. In a line, or in rows
//! of a terminal's view.

use std::collections::BTreeMap;

use bench_analysis::{Comparison, Finding, Verdict};
use bench_model::config::Placement;
use bench_model::load::at;

/// `requests/s over legacy: getBalance: actix 1.32 faster, axum 1.18 open; getBlocks: …`; none where nothing is
/// compared yet.
///
/// Ratios are those of all blocks so far. A verdict stands only where an interim analysis gave it: what is not decided
/// is open.
pub fn line(placement: Placement, comparisons: &[Comparison]) -> Option<String> {
    let over = &comparisons.first()?.over;
    let figure = figure(placement);
    let mut by_workload: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for pair in comparisons {
        let (finding, _) = found(placement, pair);
        let base = if pair.over == *over { String::new() } else { format!(" over {}", pair.over) };
        let part = format!("{}{base} {:.2} {}", pair.server, finding.ratio.value, decided(finding));
        by_workload.entry(&pair.workload).or_default().push(part);
    }
    let parts = by_workload.into_iter().map(|(workload, parts)| format!("{workload}: {}", parts.join(", ")));
    Some(format!("{figure} over {over}: {}", parts.collect::<Vec<_>>().join("; ")))
}

/// A heading for each request, load and server that others are compared with, and below it a row for each of the
/// others: its ratio, and the interval and verdict of the last interim analysis, or before the first one the range over
/// blocks.
pub fn rows(placement: Placement, comparisons: &[Comparison]) -> Vec<String> {
    let width = comparisons.iter().map(|pair| pair.server.len()).max().unwrap_or(0);
    let mut rows = Vec::new();
    let mut last_heading = String::new();
    for pair in comparisons {
        let (finding, blocks) = found(placement, pair);
        let heading = format!("{}: {} over {}", at(&pair.workload, pair.level), figure(placement), pair.over);
        if heading != last_heading {
            rows.push(heading.clone());
            last_heading = heading;
        }
        let (ratio, verdict, count) = (finding.ratio.value, decided(finding), finding.blocks);
        let so_far = match (finding.ratio.interval, count) {
            (Some((low, high)), _) => {
                format!("{ratio:.2} [{low:.2}, {high:.2}] {verdict} after {count} blocks")
            }
            (None, ..2) => format!("{ratio:.2} {verdict} after {count} block"),
            (None, _) => {
                let low = blocks.iter().copied().fold(ratio, f64::min);
                let high = blocks.iter().copied().fold(ratio, f64::max);
                format!("{ratio:.2} {verdict}, {low:.2} to {high:.2} in {count} blocks")
            }
        };
        rows.push(format!("  {:<width$} {so_far}", pair.server));
    }
    rows
}

/// What a run's ratios are of.
fn figure(placement: Placement) -> &'static str {
    if placement == Placement::Duet { "CPU per request" } else { "requests/s" }
}

/// What is known of a pair's ratio of that, and the ratio of each block.
fn found(placement: Placement, pair: &Comparison) -> (&Finding, &[f64]) {
    let [rates, cpu] = &pair.block_ratios;
    if placement == Placement::Duet { (&pair.cpu, cpu) } else { (&pair.rate, rates) }
}

fn decided(finding: &Finding) -> &'static str {
    match finding.verdict {
        _ if finding.confidence.is_none() => "open",
        Verdict::Faster => "better",
        Verdict::Slower => "worse",
        Verdict::DifferentButSmall => "different",
        Verdict::Equivalent => "equivalent",
        Verdict::Inconclusive => "open",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bench_analysis::{Better, Demand};
    use bench_model::load::Level;
    use bench_stats::Paired;

    fn pair(server: &str, workload: &str, ratio: f64, decided: bool) -> Comparison {
        let logs: Vec<f64> = (0..12).map(|block| ratio.ln() + 0.001 * f64::from(block % 5)).collect();
        let paired = Paired::new(&logs).unwrap();
        let demand = Demand { margin: 0.02, precision: None };
        let finding = match decided {
            true => Finding::of(&paired, 0.05, Better::More, demand),
            false => Finding::unseen(&paired, 24),
        };
        Comparison {
            server: server.to_owned(),
            over: "legacy".to_owned(),
            workload: workload.to_owned(),
            level: Level::from(125),
            rate: finding,
            cpu: finding,
            p99_ratio: None,
            p99_from_send_ratio: None,
            invalid_blocks: 0,
            lost: BTreeMap::new(),
            run_again: 0,
            with_invalid: None,
            settled_at: None,
            terms: None,
            block_ratios: [(); 2].map(|()| logs.iter().map(|log| log.exp()).collect()),
        }
    }

    #[test]
    fn a_verdict_stands_only_where_an_analysis_gave_it() {
        let all = [pair("actix", "getBalance", 1.3, true), pair("axum", "getBalance", 1.2, false)];
        let said = line(Placement::Free, &all).unwrap();
        assert_eq!(said, "requests/s over legacy: getBalance: actix 1.30 better, axum 1.20 open");
        assert!(line(Placement::Duet, &all).unwrap().starts_with("CPU per request over legacy"));
        assert_eq!(line(Placement::Free, &[]), None);
    }

    #[test]
    fn a_row_has_an_interval_once_an_analysis_gave_one() {
        let all = [pair("actix", "getBalance", 1.3, true), pair("jsonrpsee", "getBalance", 1.2, false)];
        let rows = rows(Placement::Free, &all);
        assert_eq!(
            rows,
            [
                "getBalance at 125: requests/s over legacy",
                "  actix     1.30 [1.30, 1.30] better after 12 blocks",
                "  jsonrpsee 1.20 open, 1.20 to 1.20 in 12 blocks",
            ]
        );
        let duets = super::rows(Placement::Duet, &[pair("actix", "getBlocks", 1.3, true)]);
        assert_eq!(duets[0], "getBlocks at 125: CPU per request over legacy");
        assert!(duets[1].contains(" better after 12 blocks"), "{duets:?}");
    }
}
