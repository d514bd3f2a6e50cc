//! A reference that the harness starts, and answers that differ from its own.

use std::fs;
use std::sync::atomic::Ordering;

use crate::bench::{Bench, stderr};
use crate::own_service::{self, AT_A_RATE, LATE, Service, TOKEN, holds_none_of};

/// Servers, a mix and a campaign of which one server has fewer slots than the other, so that each answer says another
/// slot.
fn bench(differences: &str) -> Option<Bench> {
    let bench = Bench::of("references", &[("DIFFERENCES", differences)])?;
    let servers = fs::read_to_string(bench.path("servers.toml")).unwrap();
    let entry = servers.split("[[server]]").nth(1).unwrap();
    let other = entry.replacen("\"actix\"", "\"other\"", 1).replace("{slots}", "30");
    bench.write("servers.toml", &format!("[[server]]{entry}[[server]]{other}"));
    Some(bench)
}

#[test]
fn differences_to_a_reference_are_counted_and_listed() {
    let Some(bench) = bench(", differences = \"counted\"") else { return };
    let printed = String::from_utf8(bench.succeeds(&["run", "tiny"]).stdout).unwrap();
    let found = bench.observations()[0]["outcome"]["differences"].clone();
    // One before the window, one after it, and those under load.
    assert!(found["compared"].as_u64().unwrap() > 5 && found["differing"] == found["compared"], "{found}");
    let place = &found["places"][0];
    assert_eq!(place["pointer"], "/result/context/slot", "{found}");
    assert!(place["here"] != place["there"] && place["answers"] == found["compared"], "{found}");
    assert_eq!(found["places"].as_array().unwrap().len(), 1, "{found}");
    assert!(printed.contains(&format!("{} differ, at 1 place", found["differing"])), "{printed}");
    let report = fs::read_to_string(bench.folder().join("report.md")).unwrap();
    assert!(report.contains("## Where answers differ from those of other"), "{report}");
    assert!(report.contains("`getBalance`") && report.contains("`/result/context/slot`"), "{report}");
    assert!(!report.contains("the true one"), "{report}");
}

#[test]
fn what_is_left_out_is_no_difference_and_what_is_not_counted_is_wrong() {
    let Some(bench) = bench(", differences = \"counted\", ignore = [\"/result/context\"]") else { return };
    let printed = String::from_utf8(bench.succeeds(&["run", "tiny"]).stdout).unwrap();
    assert!(printed.contains("none differs"), "{printed}");
    fs::remove_dir_all(bench.path("results")).unwrap();
    bench.set_up("references", &[("DIFFERENCES", "")]);
    let output = bench.run(&["run", "tiny"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(bench.observations()[0]["outcome"].to_string().contains("wrong_answer"));
}

#[test]
fn answers_are_compared_with_those_of_another_server() {
    const SAME: &str = include_str!("setups/workloads/same.toml");
    const FROM_A_FILE: &str = include_str!("setups/workloads/from_a_file.toml");
    const CALL: &str = r#"{"method":"price.get","params":["abc"]}"#;
    let (service, other) = (Service::start(), Service::start());
    for (traffic, is_wrong, code) in
        [(SAME, false, 0), (SAME, true, 1), (FROM_A_FILE, false, 0), (FROM_A_FILE, true, 1)]
    {
        let Some(bench) = own_service::bench(&service, traffic, AT_A_RATE) else { return };
        bench.write("workloads/calls.jsonl", CALL);
        let entry = fs::read_to_string(bench.path("servers.toml")).unwrap();
        let reference = entry.replace("\"prices\"", "\"other\"").replace(&service.url, &other.url);
        bench.write("servers.toml", &format!("{entry}\n{reference}"));
        other.lies.store(is_wrong, Ordering::SeqCst);
        other.answered.store(LATE + 1, Ordering::SeqCst);
        let output = own_service::run(&bench, &["run", "tiny"]);
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        assert!(holds_none_of(&bench.path("results"), &[TOKEN]) > 5);
    }
}

#[test]
fn requests_are_about_the_newest_number_that_the_server_has() {
    const BLOCKS: &str = include_str!("setups/workloads/blocks.toml");
    let service = Service::start();
    service.answered.store(5_000, Ordering::SeqCst);
    for (method, code) in [("height", 0), ("depth", 1)] {
        let blocks = BLOCKS.replace("METHOD", method);
        let Some(bench) = own_service::bench(&service, &blocks, AT_A_RATE) else { return };
        let output = own_service::run(&bench, &["run", "tiny"]);
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        let outcome = bench.observations()[0]["outcome"].to_string();
        assert_eq!(outcome.contains("no number at /result in the answer to depth"), code == 1, "{outcome}");
    }
}
