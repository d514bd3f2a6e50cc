//! The simulation of many load hosts: what docs/SCALE.md shows is what it gives, and what it shows follows from what is drawn.

use std::fs;
use std::path::PathBuf;

use rpc_bench::simulation::latencies::Merged;
use rpc_bench::simulation::starts::Clocks;
use rpc_bench::simulation::{Simulated, page, simulate};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn kept() -> Simulated {
    let path = root().join("bench-scripts/simulations/hosts.json");
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn the_kept_result_is_what_the_simulation_gives() {
    let kept = kept();
    assert_eq!(simulate(kept.seed).unwrap(), kept, "run: just simulate-hosts --write, --page");
}

#[test]
fn the_page_shows_the_kept_result() {
    let text = fs::read_to_string(root().join("docs/SCALE.md")).unwrap();
    assert_eq!(
        page::renewed(&text, &page::tables(&kept())).unwrap(),
        text,
        "run: just simulate-hosts --page"
    );
    assert!(page::renewed("no place", "tables").is_err());
}

#[test]
fn added_histograms_are_all_records_up_to_their_precision_and_other_ways_are_not() {
    let kept = kept();
    let of = |hosts: u32| -> &Merged { kept.merged.iter().find(|merged| merged.hosts == hosts).unwrap() };
    // Three significant digits.
    assert!(kept.merged.iter().all(|merged| merged.added <= 1e-3), "{:?}", kept.merged);
    assert!(of(1).average.abs() < 1e-3 && of(1).maximum.abs() < 1e-3, "one host is all there is");
    assert!(of(1_000).average < -0.05, "an average hides the stragglers: {:?}", of(1_000));
    assert!(of(1_000).maximum > 1.0, "the largest is the worst straggler's: {:?}", of(1_000));
}

#[test]
fn more_hosts_void_more_blocks_and_a_check_of_clocks_fewer() {
    let kept = kept();
    for clocks in Clocks::ALL {
        let starts: Vec<_> = kept.starts.iter().filter(|starts| starts.clocks == clocks).collect();
        assert!(starts.is_sorted_by(|few, many| few.hosts < many.hosts && few.voided <= many.voided));
        let most = starts.last().unwrap();
        assert!(most.voided_after_check < most.voided && most.voided <= most.skewed + most.late + most.lost);
        assert!(starts[0].skewed == 0.0, "one host starts together with itself");
    }
    let far = page::often_void(&kept, Clocks::ALL[1], |starts| starts.voided).unwrap();
    let near = page::often_void(&kept, Clocks::ALL[0], |starts| starts.voided).unwrap();
    assert!(far < near, "{far} {near}");
}
