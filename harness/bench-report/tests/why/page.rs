//! A report from a folder alone, and the page that quotes it.

use bench_model::cost::{COUNTS, CountKind, CountObservation, CountOutcome, IN_PROCESS};
use bench_model::results::{LADDER, RunFolder, SLOPE, WHY, pretty};
use bench_report::pages::{self, Page, Sources};
use bench_report::why;
use serde_json::json;
use tempfile::TempDir;

use crate::known::{ACTIX, Costs, Known, LEGACY};

fn counted(server: &str, kind: CountKind) -> CountObservation {
    let outcome = match (server, kind) {
        (_, CountKind::Allocations) => {
            CountOutcome::Allocations { requests: 1_000, allocations: 7_250, bytes: 912_000 }
        }
        ("actix", CountKind::Syscalls) => CountOutcome::Syscalls {
            requests: 1_000,
            calls: [("write".to_owned(), 1_000), ("epoll_wait".to_owned(), 250), ("mmap".to_owned(), 1)]
                .into(),
            tool: "strace -f -c".into(),
        },
        ("actix", CountKind::Instructions) => CountOutcome::Instructions {
            requests: 200,
            functions: [("serde_json::to_writer".to_owned(), 1_800_000), ("memcpy".to_owned(), 180_000)]
                .into(),
        },
        (_, CountKind::Instructions) => CountOutcome::Instructions {
            requests: 200,
            functions: [
                ("jsonrpc_core::handle_call".to_owned(), 3_000_000),
                ("memcpy".to_owned(), 990_000),
                ("rare::function".to_owned(), 10_000),
            ]
            .into(),
        },
        _ => CountOutcome::Unavailable { reason: "no strace".into() },
    };
    CountObservation { server: server.into(), kind, outcome }
}

/// A results folder of known observations.
fn folder(known: &Known) -> (TempDir, RunFolder) {
    let dir = tempfile::tempdir().unwrap();
    let folder = RunFolder::create(dir.path(), "why").unwrap();
    let ladder = RunFolder::create_inside(&folder, LADDER).unwrap();
    let slope = RunFolder::create_inside(&folder, SLOPE).unwrap();
    let none = Vec::new();
    let environment = json!({
        "started_at": "2026-01-01T00:00:00Z",
        "host": { "cpu": "a processor", "cores": 2, "memory_bytes": null, "kernel": null, "governor": null,
            "open_files": 20_000, "client_ports": null, "max_backlog": null, "rustc": null, "commit": null },
        "tool": { "name": "bombardier", "version": "v1.2.6", "source": "pinned", "sha256": "00" },
        "servers": {},
        "command": "just why actix legacy getBlocks",
    });
    folder.write_new(WHY, &pretty(&known.why_plan).unwrap()).unwrap();
    for (folder, plan, observations, in_process) in [
        (&folder, &known.main, &known.main_observations, &none),
        (&ladder, &known.ladder, &known.observations, &known.in_process),
        (&slope, &known.slope, &known.slope_observations, &known.slope_in_process),
    ] {
        folder.write_new("plan.json", &pretty(plan).unwrap()).unwrap();
        folder.write_new("environment.json", &environment.to_string()).unwrap();
        observations.iter().for_each(|observation| folder.append(observation).unwrap());
        in_process.iter().for_each(|call| folder.append_to(IN_PROCESS, call).unwrap());
    }
    for count in &known.counts {
        folder.append_to(COUNTS, count).unwrap();
    }
    (dir, folder)
}

fn complete(actix: Costs, legacy: Costs) -> Known {
    let mut known = Known::new(7, actix, legacy);
    for server in ["actix", "legacy"] {
        known.counts.extend(CountKind::ALL.map(|kind| counted(server, kind)));
    }
    known
}

#[test]
fn a_report_has_what_a_reader_needs() {
    let (_dir, folder) = folder(&complete(ACTIX, Costs { hidden: 2.75, ..LEGACY }));
    let summary = why::write(&folder).unwrap();
    assert_eq!(summary.left, 0);
    let report = std::fs::read_to_string(folder.0.join("report.md")).unwrap();
    for needed in [
        "# Why actix-web + hand-written JSON-RPC and jsonrpc-core differ on getBlocks",
        "**actix-web + hand-written JSON-RPC answers getBlocks 1.000 [1.000, 1.000] times as fast as jsonrpc-core** \
         at 500 connections",
        "µs are **unexplained**",
        "The parts give **80 % [80 %, 80 %]** of the difference (of user time alone, which is where the prediction \
         can miss, 74 %",
        "| parsing, dispatch, serialising",
        "| - as for getHealth",
        "![CPU time for a request, by part](ladder.svg)",
        "![CPU time for a request against the length of its answer](slope.svg)",
        "Each slot more in the answer costs actix-web + hand-written JSON-RPC 22.4 ns and jsonrpc-core 56.0 ns (0.40 \
         [0.40, 0.40] times as much)",
        "7.25",
        "- system calls of jsonrpc-core: no strace",
        "epoll_wait",
        "## Instructions by function",
        "| jsonrpc_core::handle_call |",
        " - | 15,000 (75 %) |",
        "| memcpy ",
        " 900 (9 %) |",
        "| all others ",
        " 50 |",
        "| **all** ",
        "## What to distrust",
        "The whole run: `just why actix legacy getBlocks`",
    ] {
        assert!(report.contains(needed), "the report lacks {needed:?}:\n{report}");
    }
    assert!(!report.contains("mmap"), "a call that is next to never made is not listed");
    assert!(!report.contains("Incomplete"));
    for (chart, words) in [("ladder.svg", "unexplained"), ("slope.svg", "jsonrpc-core in process")] {
        assert!(std::fs::read_to_string(folder.0.join(chart)).unwrap().contains(words), "{chart}");
    }
    let again: bench_analysis::why::WhySummary =
        serde_json::from_str(&std::fs::read_to_string(folder.0.join("summary.json")).unwrap()).unwrap();
    assert_eq!(again.failed, summary.failed);
    assert!(again.ladder.is_ok() && again.slope.is_some());
}

/// The figure of a table's row and column.
fn figure_of<'a>(report: &'a str, row: &str, column: usize) -> &'a str {
    let line = report.lines().find(|line| line.starts_with(&format!("| {row} "))).unwrap();
    let cell = line.split('|').nth(column + 1).unwrap().trim();
    cell.split(' ').next().unwrap()
}

#[test]
fn chart_and_table_of_the_ladder_agree() {
    let mut known = complete(ACTIX, Costs { hidden: 2.75, ..LEGACY });
    // In every other block the time in the kernel is another, and in every third the user time: the median of the sum
    // is not the sum of the medians.
    for observation in &mut known.observations {
        let block = observation.trial.block;
        if let bench_model::observation::Outcome::Completed(sample) = &mut observation.outcome {
            sample.server_cpu.as_mut().unwrap().system_s *= if block % 2 == 0 { 1.6 } else { 1.0 };
            sample.server_cpu.as_mut().unwrap().user_s *= if block % 3 == 0 { 1.3 } else { 1.0 };
        }
    }
    let (_dir, folder) = folder(&known);
    let summary = why::write(&folder).unwrap();
    let ladder = summary.ladder.unwrap();
    let left_over =
        |row: fn(&bench_analysis::why::LadderRow) -> f64| row(&ladder.measured) - row(&ladder.predicted);
    assert!((left_over(|row| row.b.value) - ladder.unexplained.b.value).abs() > 0.1, "{ladder:?}");
    let report = std::fs::read_to_string(folder.0.join("report.md")).unwrap();
    let chart = std::fs::read_to_string(folder.0.join("ladder.svg")).unwrap();
    for column in [1, 2] {
        let (measured, unexplained) =
            (figure_of(&report, "**measured**", column), figure_of(&report, "**unexplained**", column));
        let said = format!("measured {measured}, unexplained {unexplained}");
        assert!(chart.contains(&said), "the chart lacks {said:?}");
    }
}

#[test]
fn without_programs_there_is_no_ladder() {
    let mut known = complete(ACTIX, LEGACY);
    known.in_process.clear();
    known.slope_in_process.clear();
    known.ladder.servers.iter_mut().for_each(|server| server.in_process = None);
    known.slope.servers.iter_mut().for_each(|server| server.in_process = None);
    let (_dir, folder) = folder(&known);
    why::write(&folder).unwrap();
    let report = std::fs::read_to_string(folder.0.join("report.md")).unwrap();
    assert!(
        report.contains("**unavailable**: servers.toml names no in-process program for actix"),
        "{report}"
    );
    assert!(!folder.0.join("ladder.svg").exists() && !report.contains("ladder.svg"));
    assert!(folder.0.join("slope.svg").exists());
}

#[test]
fn a_page_notices_a_changed_figure() {
    let (dir, folder) = folder(&complete(ACTIX, LEGACY));
    why::write(&folder).unwrap();
    let sources = Sources::new(dir.path(), dir.path());
    let page = |question: &str| {
        let name = folder.name();
        let block = format!("<!-- why of w: {question} -->\n\nold\n<!-- end of why -->");
        Page::from(format!("[w]: results/{name}/report.md\n{block}\n\nand\n").as_str())
    };
    let spliced = pages::splice(&page("actix legacy getBlocks"), &sources).unwrap();
    let text = &spliced.page.text;
    assert!(!text.contains("\nold\n") && text.contains("\n\nand\n"));
    assert_eq!(spliced.differences.len(), 1);
    assert_eq!(pages::splice(&spliced.page, &sources).unwrap().differences, []);
    let by_hand = text.replacen("µs of CPU time between them", "0 µs of CPU time between them", 1);
    assert_ne!(&by_hand, text);
    assert_eq!(&pages::splice(&Page::from(by_hand.as_str()), &sources).unwrap().page.text, text);
    let other = pages::splice(&page("a b getBalance"), &sources).unwrap_err();
    assert!(format!("{other:#}").contains("answers actix legacy getBlocks"), "{other:#}");
}
