//! A stall, a lock that all requests take, and memory that grows, planted in a service: each is named in the first two
//! lines of the terminal and of the report, whichever verb measures it.

use std::process::Output;

use crate::bench::{Bench, stderr};
use crate::started::Started;

/// A planted fault: flags, and what is said of it.
type Fault = (&'static [&'static str], &'static str);

/// A service stalls in each of its periods. Where the stalls of one lie between the windows, those of another do not.
const STALLS: [Fault; 3] = [
    (&["--stall-ms", "1000", "--stall-every-ms", "3100"], "the service answered nothing from "),
    (&["--stall-ms", "1000", "--stall-every-ms", "2300"], "the service answered nothing from "),
    (&["--stall-ms", "1000", "--stall-every-ms", "3700"], "the service answered nothing from "),
];

/// A wait that is long beside what a busy machine takes to wake a thread. Where one request by itself meets another load
/// than the window, it is tried again, as is memory that other processes keep from growing evenly.
const LOCK: [Fault; 3] = [(&["--lock-us", "20000"], "the service answers one request at a time"); 3];

const LEAK: [Fault; 3] =
    [(&["--leak-bytes", "65536"], "the service's memory grows through the whole window"); 3];

const METHOD: [&str; 4] =
    ["--method", "getBalance", "--params", "[\"4EVAJ81v9fLjz2wp44SZmxgTbvYB8dBRZ6s1SAqP99eZ\"]"];

/// The first two lines of the terminal and of the report.
fn first_lines(bench: &Bench, output: &Output) -> [String; 2] {
    let two = |text: &str| {
        text.lines().filter(|line| !line.trim().is_empty()).take(2).collect::<Vec<_>>().join("\n")
    };
    let report = bench.report();
    let (_, screen) = report.split_once("## Headline\n").unwrap();
    [two(&String::from_utf8_lossy(&output.stdout)), two(screen)]
}

/// That one of these faults is named: of each a bench, and what the harness said.
fn is_named(faults: &[Fault], measure: impl Fn(&[&str]) -> Option<(Bench, Output)>) {
    let mut said = String::new();
    for (flags, words) in faults {
        let Some((bench, output)) = measure(flags) else { return };
        let firsts = first_lines(&bench, &output);
        if firsts.iter().all(|first| first.contains(words)) {
            return;
        }
        said += &format!("{firsts:#?} lack {words:?}\n{}\n", stderr(&output));
    }
    panic!("{said}");
}

/// Tried for some seconds, several of which a stall needs that comes seldom.
fn tried(seconds: &str, flags: &[&str]) -> Option<(Bench, Output)> {
    let bench = Bench::new(1)?;
    let fixed = ["--listen", "127.0.0.1:0", "--accounts", "50", "--slots", "50"];
    let service = Started::new(bench.link_faulty(), &[&fixed[..], flags].concat());
    let limits = ["--seconds", seconds, "--max-foreign-cpu", "100%", "--max-steal", "100%"];
    let output = bench.run(&[&["try", &service.url], &METHOD[..], &limits].concat());
    Some((bench, output))
}

/// A campaign on the faulty server, started by the harness.
fn campaign(name: &str, flags: &[&str], range: [&str; 2]) -> Option<(Bench, Output)> {
    let bench = Bench::of("planted", &[("FROM", range[0]), ("MOST", range[1])])?;
    bench.add_faulty(flags);
    let output = bench.run(&["run", name]);
    bench.nothing_is_left_running();
    assert!(bench.path("results").exists(), "{}", stderr(&output));
    Some((bench, output))
}

#[test]
fn a_stall_is_named_first_by_try() {
    is_named(&STALLS, |flags| tried("12", flags));
}

#[test]
fn a_lock_and_a_leak_are_named_first_by_try() {
    is_named(&LOCK, |flags| tried("6", flags));
    is_named(&LEAK, |flags| tried("6", flags));
}

#[test]
fn a_stall_a_lock_and_a_leak_are_named_first_by_a_campaign() {
    for faults in [&STALLS, &LOCK, &LEAK] {
        is_named(faults, |flags| campaign("sweep", flags, ["0", "0"]));
    }
}

#[test]
#[ignore = "takes minutes on a busy machine: just test-long"]
fn a_stall_a_lock_and_a_leak_are_named_first_by_a_search_for_a_rate() {
    for (faults, range) in [(&STALLS, ["400", "800"]), (&LOCK, ["50", "160"]), (&LEAK, ["200", "400"])] {
        is_named(faults, |flags| campaign("search", flags, range));
    }
}
