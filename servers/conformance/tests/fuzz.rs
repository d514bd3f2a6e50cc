//! A short run of the differential fuzzer, and a pin on every difference that it excuses.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::io::Write;
use std::time::Duration;

use conformance::fuzz::compare::outline;
use conformance::fuzz::rows::ROWS;
use conformance::fuzz::run::{Plan, Subjects};
use conformance::fuzz::wire::{Request, Script};
use conformance::fuzz::{Case, heads};

/// The seed of the short run; a long one takes another by itself.
const SEED: u64 = 20_261_120;

#[test]
fn no_difference_that_no_row_excuses() {
    let subjects = Subjects::start();
    let time = Duration::from_secs(12);
    let outcome = subjects.run(Plan { seed: SEED, first: 0, cases: 12_000, time });
    let (bodies, raw) = outcome.cases;
    let said = format!("fuzz: seed {SEED}, {bodies} bodies, {raw} scripts, {} unsteady", outcome.unsteady);
    // Said even where the test runner hides what tests print.
    let _nobody_reads_it = writeln!(std::io::stderr(), "{said}");
    assert!(bodies > 0 && raw > 0, "{said}");
    let findings: Vec<&str> = outcome.findings.iter().map(|finding| finding.text.as_str()).collect();
    assert!(findings.is_empty(), "{said}\n{}", findings.join("\n"));
}

/// A row that no longer holds has to go, here and in docs/CONTRACT.md.
#[test]
fn every_row_still_holds() {
    let subjects = Subjects::start();
    let mut wrong = Vec::new();
    for row in ROWS {
        let example = row.example.replace("PAD", &"a".repeat(500_000));
        let (head, body) = example.split_once("\r\n\r\n").unwrap();
        let (line, body) = (format!("{head}\r\n").into_bytes(), body.into());
        let mut requests = vec![Request { line, body, ..Request::default() }];
        if !row.half_close {
            requests.push(heads::last());
        }
        let script = Script { requests, half_close: row.half_close, ..Script::default() };
        let got = subjects.ask(&Case::Raw(script), Duration::from_millis(1_500));
        for (exchange, expected) in got.iter().zip(row.outlines) {
            let outline = outline(exchange);
            if !expected.split('|').any(|expected| expected == outline) {
                wrong.push(format!("{:?}: {outline}, not {expected}", row.oddities));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
