//! Services with one planted fault each: it is named in the first two lines of the terminal and of the report, whatever
//! measures the service, and the exit code is 1 where answers were wrong or the service ended.

use std::process::Output;

use crate::bench::{ANY_LOAD, Bench, Started, ended, program, stderr};

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

/// Whether both first screens begin with what names a fault.
fn is_named(bench: &Bench, output: &Output, (fault, name, code): (&str, &str, i32), by: &str) {
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let printed: Vec<&str> = said.lines().filter(|line| !line.is_empty()).take(2).collect();
    assert!(printed.iter().any(|line| line.contains(name)), "{fault} by {by}: {said}\n{}", stderr(output));
    let report = bench.report();
    let (_, screen) = report.split_once("## Headline\n\n").unwrap();
    assert!(screen.lines().take(2).any(|line| line.contains(name)), "{fault} by {by}: {screen}");
    assert_eq!(output.status.code(), Some(code), "{fault} by {by}: {said}\n{}", stderr(output));
}

fn run(bench: &Bench, args: &[&str]) -> Output {
    ended(bench.command(args).env("RPC_LOAD", program("rpc-load")))
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
    for planted in FAULTS {
        let Some(bench) = Bench::new(1) else { return };
        let service = Started::new(program("examples/planted"), &[planted.0]);
        let right = "[\"right\", \"right\", \"right\"]";
        let fixed = ["try", &service.url, "--method", "m", "--result", right, "--connections", "4"];
        let limits = ["--seconds", "5", "--max-foreign-cpu", "100%", "--max-steal", "100%"];
        let output = run(&bench, &[&fixed[..], &limits].concat());
        is_named(&bench, &output, planted, "try");
    }
}

#[test]
fn a_planted_fault_is_named_first_by_run() {
    for planted in FAULTS {
        let Some(bench) = campaign(planted.0, "connections = [4]\nmax_blocks = 2\n") else { return };
        let output = run(&bench, &["run", "tiny"]);
        is_named(&bench, &output, planted, "run");
    }
}

#[test]
fn a_planted_fault_is_named_first_by_a_search_for_a_rate() {
    let table = "connections = []\n[slo]\np99_ms = 900\nshortfall = \"50%\"\ntool = \"rpc-load\"\nconnections = 32\n\
        from = 300\nmost = 600\nwidth = \"40%\"\ninitial_trial_ms = 1500\nfinal_trial_ms = 2000\nduration_sum_ms = 2000\n\
        most_trials = 5\nmost_failed = \"5%\"\n";
    for planted in FAULTS {
        let Some(bench) = campaign(planted.0, table) else { return };
        let output = run(&bench, &["run", "tiny"]);
        is_named(&bench, &output, planted, "slo");
    }
}
