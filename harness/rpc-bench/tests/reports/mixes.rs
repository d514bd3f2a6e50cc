//! What a mix draws, compared with its definition: shares, Zipf's law, ranges, and the truth of every answer.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bench_core::config::ConfigDir;
use bench_core::workload::Workload;
use bench_core::workload::requests::DrawnRequest;
use serde_json::Value;
use validator_state::{Ledger, Pubkey, SeededSpec, State};

const LEDGER: SeededSpec = SeededSpec { accounts: 1_000, slots: 1_500, seed: 1 };

/// Draws of a test of shares.
const DRAWS: usize = 50_000;

/// Standard deviations that chance is allowed: one test in a million would fail for it, and a seed is fixed, so none
/// does.
const DEVIATIONS: f64 = 5.0;

fn shipped(name: &str) -> Workload {
    ConfigDir::of_repository().workload(name).unwrap()
}

fn mix(requests: &str) -> Workload {
    serde_json::from_str(&format!(r#"{{"name":"mix","request":{requests},"why":"a test"}}"#)).unwrap()
}

fn draw(workload: &Workload, count: usize) -> Vec<DrawnRequest> {
    workload.stream(&LEDGER, 7).unwrap().take(count).collect()
}

fn parsed(request: &DrawnRequest) -> Value {
    serde_json::from_str(&request.body).unwrap()
}

/// Pearson's statistic of counts against chances, and what it may be: it has as many degrees of freedom as chances,
/// less one.
fn chi_square(counts: &[u64], chances: &[f64]) -> (f64, f64) {
    let draws = counts.iter().sum::<u64>() as f64;
    let of = |(count, chance): (&u64, &f64)| (*count as f64 - draws * chance).powi(2) / (draws * chance);
    let freedom = counts.len() as f64 - 1.0;
    (counts.iter().zip(chances).map(of).sum(), freedom + DEVIATIONS * (2.0 * freedom).sqrt())
}

/// How often each account was requested, in the ledger's order.
fn requested_accounts(requests: &[DrawnRequest]) -> Vec<u64> {
    let ranks: HashMap<String, usize> =
        LEDGER.pubkeys().enumerate().map(|(rank, pubkey)| (pubkey.to_string(), rank)).collect();
    let mut counts = vec![0; ranks.len()];
    for request in requests {
        counts[ranks[parsed(request)["params"][0].as_str().unwrap()]] += 1;
    }
    counts
}

#[test]
fn a_seed_decides_the_questions_and_ids_count_up() {
    let workload = shipped("everything");
    let bodies = |seed| -> Vec<String> {
        workload.stream(&LEDGER, seed).unwrap().take(500).map(|request| request.body).collect()
    };
    assert_eq!(bodies(7), bodies(7));
    assert_ne!(bodies(7), bodies(8));
    for (position, request) in draw(&workload, 500).iter().enumerate() {
        assert_eq!(parsed(request)["id"], position + 1);
    }
    let mut stream = workload.stream(&LEDGER, 7).unwrap();
    for body in bodies(7) {
        let mut written = String::new();
        stream.write_next(&mut written);
        assert_eq!(written, body, "appending a body to a text draws the same");
    }
}

#[test]
fn requests_have_their_shares() {
    let workload = shipped("everything");
    let requests = draw(&workload, DRAWS);
    let state = State::new(Ledger::seeded(&LEDGER));
    let known = Arc::new(workload.requests(&LEDGER).unwrap()).known(&state, 1).unwrap();
    assert_eq!(known.len(), 11);
    let mut counts = vec![0_u64; known.len()];
    requests.iter().for_each(|request| counts[request.request] += 1);
    for (count, known) in counts.iter().zip(&known) {
        let expected = DRAWS as f64 * known.share;
        let deviation = (expected * (1.0 - known.share)).sqrt();
        assert!((*count as f64 - expected).abs() < DEVIATIONS * deviation, "{count} of {expected}");
    }
    // As the file has them.
    assert!((known[0].share - 0.30).abs() < 1e-9 && (known[10].share - 0.01).abs() < 1e-9);
    let methods = requests.iter().filter(|request| parsed(request)["method"] == "getBalance").count();
    assert!((methods as f64 / DRAWS as f64 - 0.55).abs() < 0.01, "{methods}");
}

#[test]
fn zipf_s_law_holds_for_its_exponent_and_for_no_other() {
    for exponent in [0.8, 1.0, 1.3] {
        let request = format!(r#"[{{"weight":1,"method":"getBalance","account":{{"zipf":{exponent}}}}}]"#);
        let counts = requested_accounts(&draw(&mix(&request), DRAWS));
        // The first fifty by themselves, and the rest by tens, so that every bin is expected to hold some.
        let bins = |values: &[f64]| -> Vec<f64> {
            let (head, tail) = values.split_at(50);
            head.iter().copied().chain(tail.chunks(10).map(|ten| ten.iter().sum())).collect()
        };
        let chances = |exponent: f64| {
            let weights: Vec<f64> = (1..=counts.len()).map(|rank| (rank as f64).powf(-exponent)).collect();
            let total: f64 = weights.iter().sum();
            bins(&weights.iter().map(|weight| weight / total).collect::<Vec<_>>())
        };
        let counts = bins(&counts.iter().map(|count| *count as f64).collect::<Vec<_>>());
        let counts: Vec<u64> = counts.iter().map(|count| *count as u64).collect();
        let (statistic, bound) = chi_square(&counts, &chances(exponent));
        assert!(statistic < bound, "{exponent}: {statistic} of {bound}");
        let (other, bound) = chi_square(&counts, &chances(exponent + 0.05));
        assert!(other > bound, "{exponent}: {other} of {bound}");
    }
}

#[test]
fn uniform_accounts_are_requested_alike() {
    let request = r#"[{"weight":1,"method":"getBalance","account":"uniform"}]"#;
    let counts = requested_accounts(&draw(&mix(request), DRAWS));
    let chances = vec![1.0 / counts.len() as f64; counts.len()];
    let (statistic, bound) = chi_square(&counts, &chances);
    assert!(statistic < bound, "{statistic} of {bound}");
}

/// The stream's seed is the ledger's, which is drawn with the same generator in the same steps.
#[test]
fn absent_accounts_are_absent_and_hold_nothing() {
    let workload = mix(r#"[{"weight":1,"method":"getBalance","account":"absent"}]"#);
    let state = State::new(Ledger::seeded(&LEDGER));
    let present: HashSet<Pubkey> = LEDGER.pubkeys().collect();
    let mut seen = HashSet::new();
    for request in workload.stream(&LEDGER, LEDGER.seed).unwrap().take(2_000) {
        let pubkey = Pubkey::parse(parsed(&request)["params"][0].as_str().unwrap()).unwrap();
        assert!(!present.contains(&pubkey) && seen.insert(pubkey), "{pubkey}");
        assert_eq!(request.truth(&state).unwrap().answer().unwrap()["result"]["value"], 0);
    }
}

#[test]
fn ranges_lie_where_they_should() {
    let starts = |place: &str, slots: u64| -> Vec<u64> {
        let request =
            format!(r#"[{{"weight":1,"method":"getBlocks","blocks":{{"slots":{slots},"from":"{place}"}}}}]"#);
        let requests = draw(&mix(&request), 5_000);
        let starts = requests.iter().map(parsed).map(|asked| {
            let number = |index: usize| asked["params"][index].as_u64().unwrap();
            assert_eq!(number(1) - number(0) + 1, slots);
            number(0)
        });
        starts.collect()
    };
    assert!(starts("tip", 50).iter().all(|start| *start == 1_450));
    let anywhere = starts("random", 1_490);
    let places: HashSet<u64> = anywhere.iter().copied().collect();
    assert_eq!(places, (0..=10).collect(), "each of the eleven places, and no other");
    assert!(starts("random", 1_500).iter().all(|start| *start == 0));
}

#[test]
fn a_ledger_that_is_too_short_is_named() {
    let small = SeededSpec { slots: 100, ..LEDGER };
    let line = format!("{:#}", shipped("explorer").stream(&small, 1).unwrap_err());
    let named =
        "workload explorer: [[request]] 2: field blocks: 500 slots are requested, and the ledger has 100";
    assert!(line.starts_with(named) && line.lines().count() == 1, "{line}");
    let line = format!("{:#}", shipped("getBlocks100k").truth(&LEDGER).unwrap_err());
    assert!(line.contains("workload getBlocks100k: field needs_slots") && line.contains("1500"), "{line}");
}
