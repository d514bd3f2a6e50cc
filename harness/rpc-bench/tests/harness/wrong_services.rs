//! Services with one planted fault each: it is named in the first two lines of the terminal and of the report, whatever
//! measures the service, and the exit code is 1 where answers were wrong or the service ended.

use std::process::Output;

use crate::bench::{ANY_LOAD, Bench, program, stderr};
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

const WORKLOAD: &str = "why = \"a test\"\nbody = '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}'\nexpected = { result = \
    [\"right\", \"right\", \"right\"] }\n";

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

/// A campaign over the service, which the harness starts.
fn campaign(fault: &str, table: &str) -> Option<Bench> {
    let bench = Bench::new(1)?;
    let program = program("examples/planted");
    bench.write(
        "servers.toml",
        &format!(
            "[[server]]\nname = \"planted\"\ntitle = \"a test\"\nprogram = {program:?}\nargs = [\"{fault}\", \
             \"--listen\", \"{{listen}}\"]\nready = {{ line = {{ addr = \"/addr\" }} }}\n"
        ),
    );
    bench.write("workloads/m.toml", WORKLOAD);
    let head = "why = \"a test\"\nservers = [\"planted\"]\nworkloads = [\"m\"]\nseed = 1\nwarmup_ms = 200\nwindow_ms = \
        800\ntimeout_ms = 1000\ntool = \"rpc-load\"\n";
    bench.write("campaigns/tiny.toml", &format!("{head}{table}{ANY_LOAD}"));
    Some(bench)
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

/// A campaign over the service with this table, run to its end.
fn ran(fault: &str, table: &str) -> Option<(Bench, Output)> {
    let bench = campaign(fault, table)?;
    let output = bench.run(&["run", "tiny"]);
    Some((bench, output))
}

#[test]
fn a_planted_fault_is_named_first_by_run() {
    are_named("run", |fault| ran(fault, "connections = [4]\nmax_blocks = 2\n"));
}

#[test]
fn a_planted_fault_is_named_first_by_a_search_for_a_rate() {
    let table = "connections = []\n[search]\nfrom = 300\nmost = 600\nwidth = \"40%\"\nconfirmations = 1\n\
        window_ms = 2000\nmost_trials = 5\n[search.along.rate]\np99_ms = 900\nshortfall = \"50%\"\ntool = \"rpc-load\"\n\
        connections = 32\nshort_window_ms = 1500\nmost_failed = \"5%\"\n";
    are_named("search", |fault| ran(fault, table));
}
