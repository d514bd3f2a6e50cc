//! An open loop from its campaign to its report, with a background load on the same server; and resumed after it was
//! cut short.

use std::fs;

use crate::bench::Bench;

/// A campaign at one rate, without and with another load.
fn with_another_load() -> Option<Bench> {
    let bench = Bench::of("open", &[])?;
    bench.add_workload("getBlocks");
    bench.link_vegeta().then_some(bench)
}

#[test]
fn a_rate_with_a_background_load_is_measured_and_resumed() {
    let Some(bench) = with_another_load() else { return };
    bench.succeeds(&["run", "tiny"]);
    let ceilings = || fs::read_to_string(bench.folder().join("ceilings/observations.ndjson")).unwrap();
    let tried = ceilings();
    assert!(!tried.is_empty() && !tried.contains("\"disturbed\""), "{tried}");
    assert_eq!(bench.outcomes(), ["completed"; 4]);
    for observation in bench.observations() {
        let is_beside = observation["outcome"]["background"].is_object();
        assert_eq!(is_beside, observation["disturbed"] == true, "{observation}");
    }
    assert_eq!(bench.observations().iter().filter(|trial| trial["disturbed"] == true).count(), 2);

    bench.resume_without_the_last_in("", |_| ());
    assert_eq!(bench.outcomes(), ["completed"; 4]);
    assert_eq!(ceilings(), tried, "what the tools can send is not measured again");
    bench.packs();
}
