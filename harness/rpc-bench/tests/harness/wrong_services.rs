//! Services with one planted fault each: it is named in the first two lines of the terminal and of the report, whatever
//! measures the service, and the exit code is 1 where answers were wrong or the service ended.

use std::process::Output;

use crate::bench::{Bench, program, stderr};
use crate::started::Started;

/// Each fault, what names it, and the exit code.
const FAULTS: [(&str, &str, i32); 8] = [
    ("errors", "**JSON-RPC error -32005 from", 1),
    ("wrong", "**Wrong answers from", 1),
    ("item", "**Wrong answers from", 1),
    ("slow", "of the requests take 2", 0),
    ("other", "**Answers to another call from", 1),
    ("html", "**Answers that are no JSON-RPC from", 1),
    ("limit", "**HTTP 429 from", 0),
    ("death", "ended by itself", 1),
];

/// Whether both first screens begin with what names a fault; else what they are.
fn is_named(bench: &Bench, output: &Output, (_, name, code): (&str, &str, i32)) -> Result<(), String> {
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let report = bench.report();
    let (_, screen) = report.split_once("## Headline\n\n").unwrap();
    let begins =
        |text: &str| text.lines().filter(|line| !line.is_empty()).take(2).any(|line| line.contains(name));
    let is_right = begins(&said) && begins(screen) && output.status.code() == Some(code);
    is_right.then_some(()).ok_or_else(|| format!("{:?}\n{said}\n{screen}\n{}", output.status, stderr(output)))
}

/// That each fault is named. Where other processes slow most requests, a slow share is none: it has three tries.
fn are_named(by: &str, measure: impl Fn(&str) -> Option<(Bench, Output)>) {
    for planted in FAULTS {
        let mut tries = if planted.0 == "slow" { 3 } else { 1 };
        loop {
            let Some((bench, output)) = measure(planted.0) else { return };
            tries -= 1;
            match is_named(&bench, &output, planted) {
                Ok(()) => break,
                Err(said) => assert!(tries > 0, "{} by {by}: {said}", planted.0),
            }
        }
    }
}

#[test]
fn a_planted_fault_is_named_first_by_try() {
    are_named("try", |fault| {
        let bench = Bench::new(1)?;
        let service = Started::new(program("examples/planted"), &[fault]);
        let right = "[\"right\", \"right\", \"right\"]";
        let fixed = ["try", &service.url, "--method", "m", "--result", right, "--connections", "4"];
        let limits = ["--seconds", "5", "--max-foreign-cpu", "100%", "--max-steal", "100%"];
        let output = bench.run(&[&fixed[..], &limits].concat());
        Some((bench, output))
    });
}

/// A campaign over the service, which the harness starts, run to its end.
fn ran(fault: &str, campaign: &str) -> Option<(Bench, Output)> {
    let program = program("examples/planted");
    let bench = Bench::of("wrong", &[("PROGRAM", program.to_str().unwrap()), ("FAULT", fault)])?;
    let output = bench.run(&["run", campaign]);
    Some((bench, output))
}

#[test]
fn a_planted_fault_is_named_first_by_run() {
    are_named("run", |fault| ran(fault, "sweep"));
}

#[test]
fn a_planted_fault_is_named_first_by_a_search_for_a_rate() {
    are_named("search", |fault| ran(fault, "search"));
}
