//! Connections in boxes, on synthetic samples with a known truth: the number that fits by the line, and whether it
//! agrees with what was tried.

use bench_analysis::boxed::{Boxed, BoxedVerdict, is_fitted};
use bench_measure::run;
use bench_model::config::ConfigDir;
use bench_model::load::sample_details::{Connects, Details};
use bench_model::observation::{Outcome, Sample};
use bench_model::plan::Trial;
use bench_report::Run;
use bench_system::cgroup::{OutOfMemory, Usage};
use tempfile::TempDir;

use crate::observed::{self, cells, completed, folder, observation};
use crate::samples::{conditions, sample};

/// What a server's group takes without connections, and for each, in bytes.
const AT_REST: u64 = 9 << 20;
const EACH: u64 = 40 << 10;

/// Kernel memory that differs from block to block, in bytes.
fn wobble(trial: &Trial) -> u64 {
    u64::from(trial.connections * 7 + trial.block * 13) % 5 * (20 << 10)
}

/// The names of a server's arms.
fn http(server: &str) -> String {
    format!("{server}-memory-max-32mib-transport-http")
}

fn websocket(server: &str) -> String {
    format!("{server}-memory-max-64mib-transport-websocket")
}

fn linear(trial: &Trial) -> u64 {
    AT_REST + EACH * u64::from(trial.connections) + wobble(trial)
}

/// A run of the shipped campaign in which a server's group takes so much memory, in bytes, unless that is above its
/// limit.
fn reported(takes: impl Fn(&Trial) -> u64) -> (Run, String, TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let (plan, _) = run::resolve(&ConfigDir::of_repository(), "connections-boxed").unwrap();
    let observed = |trial: &Trial| {
        let size = plan.environment_of(plan.server(&trial.server).unwrap()).size();
        let limit = size.memory_max.unwrap().0;
        let outcome = match takes(trial) {
            bytes if bytes > limit => Outcome::out_of_memory("under load", OutOfMemory(usage(limit, 1))),
            bytes => completed(held(bytes)),
        };
        observation(trial, outcome)
    };
    let conditions = conditions("just bench-all connections-boxed");
    let folder = folder(dir.path(), "boxed", &plan, &conditions, plan.trials.iter().map(observed));
    let (run, report) = observed::reported(&folder);
    assert!(folder.0.join("boxed-connections.svg").is_file());
    (run, report, dir)
}

fn usage(bytes: u64, kills: u64) -> Usage {
    Usage { memory_peak_bytes: Some(bytes), oom_kills: Some(kills), ..Usage::default() }
}

fn held(bytes: u64) -> Sample {
    let mut sample = sample(1.0, 1.0);
    sample.load.succeeded = 0;
    let each_us = sample.load.latency_us;
    let connects = Some(Connects { all_s: 0.05, each_us });
    sample.load.details = Details { held: true, connects, ..Details::default() };
    Sample { server_requests: Some(0), limited: Some(usage(bytes, 0)), ..sample }
}

fn of<'a>(run: &'a Run, server: &str) -> &'a Boxed {
    run.summary.boxed.iter().find(|of| of.server == server).unwrap()
}

/// The first row of a server over a transport in the section.
fn row(report: &str, server: &str, transport: &str) -> Vec<String> {
    let section = report.split("## How many connections fit in a box").nth(1).unwrap();
    section.lines().map(cells).find(|row| row.len() > 3 && row[1] == server && row[2] == transport).unwrap()
}

#[test]
fn the_number_that_fits_is_found_from_few_and_agrees_with_what_was_tried() {
    let (run, report, _dir) = reported(linear);
    assert_eq!(run.summary.boxed.len(), 8, "four servers over two transports");
    for (server, limit, most_held, least_killed) in
        [(http("axum"), 32_u64 << 20, 500, 1_000), (websocket("axum"), 64 << 20, 1_000, 1_500)]
    {
        let of = of(&run, &server);
        let truth = (limit - AT_REST) as f64 / EACH as f64;
        let predicted = of.predicted.unwrap();
        let (low, high) = predicted.interval.unwrap();
        assert!(low < truth && truth < high && high - low < 0.2 * truth, "{truth} in {predicted:?}");
        assert!((predicted.value / truth - 1.0).abs() < 0.05, "{truth} {predicted:?}");
        assert_eq!((of.most_held, of.least_killed), (Some(most_held), Some(least_killed)), "{server}");
        assert_eq!(of.verdict, BoxedVerdict::Agrees);
        let in_line = of
            .levels
            .iter()
            .filter(|level| level.memory_bytes.is_some_and(|memory| is_fitted(memory, of.memory_max_bytes)));
        assert_eq!(
            of.fitted,
            in_line.map(|level| level.held).sum::<usize>(),
            "nothing above half of the box"
        );
    }
    let headline = report.split("Each server is in").next().unwrap();
    assert_eq!(headline.matches(", which agrees.").count(), 8, "{headline}");
    assert_eq!(run.failed().count(), 0, "a kill for want of memory is an answer here");
    assert!(report.contains("that ran and whose server was not killed in its box were measured"), "{report}");
    let cells = row(&report, "axum", "HTTP");
    assert_eq!(
        [&cells[3], &cells[8], &cells[9], &cells[10]],
        ["32.0 MiB", "500", "1,000", "agrees"],
        "{cells:?}"
    );
    assert!(!report.contains("NaN") && !report.contains("inf]"), "{report}");
}

#[test]
fn a_server_that_takes_more_the_more_it_holds_makes_the_prediction_too_high() {
    // Beyond half of either box each connection takes four times as much.
    let (run, report, _dir) = reported(|trial| {
        let more = u64::from(trial.connections).saturating_sub(150);
        linear(trial) + if trial.server == http("actix") { 3 * EACH * more } else { 0 }
    });
    let actix = of(&run, &http("actix"));
    assert_eq!(actix.verdict, BoxedVerdict::TooHigh, "{actix:?}");
    assert!(row(&report, "actix", "HTTP")[10].contains("too high"));
    assert_eq!(of(&run, &http("axum")).verdict, BoxedVerdict::Agrees);
}

#[test]
fn a_server_that_is_never_killed_and_one_that_is_always_killed_test_nothing() {
    let (run, report, _dir) = reported(|trial| match &trial.server {
        server if *server == http("actix") => AT_REST + wobble(trial) + u64::from(trial.connections) * 512,
        server if *server == http("legacy") => u64::MAX,
        _ => linear(trial),
    });
    assert_eq!(of(&run, &http("actix")).verdict, BoxedVerdict::NotReached);
    let legacy = of(&run, &http("legacy"));
    assert_eq!((legacy.verdict, legacy.most_held), (BoxedVerdict::NotPredicted, None));
    assert_eq!(row(&report, "legacy", "HTTP")[8..10], ["none", "1"], "{report}");
}
