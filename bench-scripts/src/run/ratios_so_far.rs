//! What a person sees after each block: every compared ratio so far, and what is decided of it.

use std::collections::BTreeMap;

use crate::analysis::{Comparison, Finding, Verdict};
use crate::config::Placement;

/// `requests/s over legacy: getBalance: actix 1.32 faster, axum 1.18 open; getBlocks: …`; none where nothing is compared yet.
///
/// Ratios are those of all blocks so far. A verdict stands only where an interim analysis gave it: what is not decided is open.
pub fn line(placement: Placement, comparisons: &[Comparison]) -> Option<String> {
    let over = &comparisons.first()?.over;
    let is_duet = placement == Placement::Duet;
    let mut by_workload: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for pair in comparisons {
        let finding = if is_duet { &pair.cpu } else { &pair.rate };
        let base = if pair.over == *over { String::new() } else { format!(" over {}", pair.over) };
        let part = format!("{}{base} {:.2} {}", pair.server, finding.ratio.value, decided(finding));
        by_workload.entry(&pair.workload).or_default().push(part);
    }
    let parts = by_workload.into_iter().map(|(workload, parts)| format!("{workload}: {}", parts.join(", ")));
    let figure = if is_duet { "CPU per request" } else { "requests/s" };
    Some(format!("{figure} over {over}: {}", parts.collect::<Vec<_>>().join("; ")))
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
    use crate::analysis::{Better, Demand};
    use crate::load::Level;
    use crate::stats::Paired;

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
            block_ratios: [logs.clone(), logs],
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
}
