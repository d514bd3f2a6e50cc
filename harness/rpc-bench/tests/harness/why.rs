//! `why` on real servers under callgrind. Skipped where there is no valgrind.

use crate::bench::{Bench, stderr};
use bench_measure::run::instructions;

#[test]
fn instructions_of_two_servers_stand_side_by_side() {
    let Some(bench) = Bench::new(1) else { return };
    if !instructions::is_possible() {
        eprintln!("SKIPPED: valgrind is not on the PATH");
        return;
    }
    let output = bench.run(&["why", "actix", "control", "getBalance"]);
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}", stderr(&output));
    bench.nothing_is_left_running();
    let all = table.lines().find(|line| line.contains("**all**")).unwrap_or_else(|| panic!("{table}"));
    let counts: Vec<f64> =
        all.split('|').skip(2).filter_map(|cell| cell.trim().replace(',', "").parse().ok()).collect();
    assert_eq!(counts.len(), 2, "{table}");
    // A server that dispatches nothing takes less than one that does.
    assert!(counts[1] > 1_000.0 && counts[0] > counts[1], "{table}");
    assert!(table.contains("| all others "), "{table}");
}
