//! Bursts of connections on real servers: the first slow one comes where the listen queue's arithmetic says.

use std::fs;

use crate::bench::{Bench, listen_queues_in_turn, stderr};

#[test]
fn a_stopped_server_accepts_its_queue_and_one_more() {
    let Some(bench) = Bench::new(1) else { return };
    let _turn = listen_queues_in_turn();
    let args = ["bursts", "--server", "actix", "--backlog", "5", "--backlog", "100", "--most", "150"];
    let output = bench.run(&args);
    bench.nothing_is_left_running();
    let report = bench.report();
    // A queue of b holds b + 1; three bursts at each end.
    for (backlog, clean, slow) in [("5", "6 (0/3)", "7 (3/3)"), ("100", "101 (0/3)", "102 (3/3)")] {
        let held = report.split("## Running").next().unwrap();
        let cells = |line: &str| line.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
        let row = held.lines().map(cells).find(|cells| cells.get(2).is_some_and(|cell| cell == backlog));
        let row = row.unwrap_or_else(|| panic!("{report}\n{}", stderr(&output)));
        assert_eq!((row[4].as_str(), row[5].as_str(), row[7].as_str()), (clean, slow, "true"), "{report}");
    }
    let folder = bench.folder();
    let again = bench.run(&["report", folder.to_str().unwrap()]);
    assert!(again.status.success(), "{}", stderr(&again));
    assert_eq!(fs::read_to_string(folder.join("report.md")).unwrap(), report);

    let refused = bench.run(&["bursts", "--server", "actix", "--backlog", "1000000"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("net.core.somaxconn"), "{}", stderr(&refused));
    bench.packs();
}
