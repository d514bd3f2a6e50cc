//! The sentences of the searches for thresholds.

use std::collections::BTreeMap;

use super::*;
use bench_analysis::threshold::{Bound, FoundThreshold, Limit};
use bench_model::load::Client;

fn counted_at(connections: u32, bad: u32) -> Counted {
    Counted { connections, bad, trials: 5 }
}

fn searched(last_passing: Option<Counted>, between: Vec<Counted>, ending: Ending) -> SearchSummary {
    let searched = Searched {
        server: "actix".into(),
        base: "actix".into(),
        tuning: Some(Tuning::Equal),
        workload: "getBalance".into(),
        client: Client::Http1,
        limit: Limit { connections: 14_016, by: Bound::ClientPorts },
    };
    let contradictions = Vec::new();
    let (first_failing, trials, unmeasured) = (None, 24, 0);
    let not_held = Vec::new();
    let found = FoundThreshold {
        last_passing,
        first_failing,
        between,
        contradictions,
        not_held,
        ending,
        trials,
        unmeasured,
    };
    SearchSummary { searched, found, complaints: BTreeMap::new(), slowest_ms: None, connecting: Vec::new() }
}

#[test]
fn a_server_that_fails_at_times_does_not_hold() {
    let passing = Some(counted_at(14_016, 0));
    let holds = short("actix", &searched(passing, Vec::new(), Ending::HoldsToHighest));
    assert_eq!(holds, "**actix** not up to 14,016 (0/5 fail): client ports");
    let between = vec![counted_at(8_000, 1)];
    let at_times = short("actix", &searched(Some(counted_at(4_000, 0)), between, Ending::HoldsToHighest));
    assert!(
        at_times.contains("passes to 4,000") && at_times.contains("first at 8,000 (1/5 fail)"),
        "{at_times}"
    );
    assert!(at_times.contains("and no count is shown to fail up to 14,016"), "{at_times}");
}

fn summary_of(searches: Vec<SearchSummary>) -> ThresholdSummary {
    ThresholdSummary {
        timeout_ms: 2_000,
        confirmations: 5,
        bad_to_fail: 5,
        left: 0,
        trials: 10,
        searches,
        causes: Vec::new(),
        remedies: Vec::new(),
        remedied: None,
    }
}

#[test]
fn a_count_at_which_the_ceiling_fails_is_not_the_servers_limit() {
    let failing = |server: &str, at: u32| {
        let mut search = searched(None, Vec::new(), Ending::Interval);
        search.searched.base = server.into();
        search.found.first_failing = Some(counted_at(at, 5));
        search
    };
    let ceiling = "control".to_owned();
    let whose = |server: u32, control: u32| {
        let summary = summary_of(vec![failing("actix", server), failing("control", control)]);
        let of = |at: usize| not_the_servers(Some(&ceiling), &summary, &summary.searches[at]);
        assert_eq!(of(1), None, "the ceiling is compared with no other");
        of(0)
    };
    assert!(whose(16_000, 16_000).unwrap().starts_with("control fails there too"));
    assert!(whose(16_000, 11_314).is_some());
    assert_eq!(whose(8_000, 16_000), None);
}
