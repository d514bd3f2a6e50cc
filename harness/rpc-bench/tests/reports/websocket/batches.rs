//! Several calls in a message.

use super::*;

/// CPU for a call: 20 µs alone, in batches of 10 a fifth of that, and in batches of 100 as much as in those of 10 over
/// HTTP and a tenth less over WebSocket. A call of getBlocks takes 10 µs and 2 µs for each KiB.
fn batched(plan: &Plan, trial: &Trial) -> Sample {
    let batch = plan.environment_of(plan.server(&trial.server).unwrap()).batch();
    let bytes = match trial.workload.as_str() {
        "getBlocks10" => 100,
        "getBlocks1400" => 6 << 10,
        "getBlocks14k" => 80 << 10,
        "getBlocks180k" => 1 << 20,
        _ => 140,
    };
    let cpu_us = match (batch, is_websocket(plan, trial)) {
        _ if trial.workload != "getBalance" => 10.0 + 2.0 * bytes as f64 / 1_024.0,
        (1, _) => 20.0,
        (100, true) => 3.6,
        _ => 4.0,
    };
    // A tenth of a percent up and down.
    let noise = 1.0 + 0.001 * (f64::from(trial.number % 7) - 3.0);
    let mut sample = sample(100_000.0, cpu_us * noise * wobble(trial));
    sample.answer_bytes = bytes;
    if batch > 1 {
        sample.load.succeeded = 100_000 / u64::from(batch);
        sample.load.details = Details { batch: Some(batch), ..Details::default() };
    }
    sample
}

#[test]
fn a_batch_counts_its_calls_and_each_length_has_its_ratio() {
    let (run, report, dir) = reported("batches", batched);
    let text = section(&report, "Calls in batches");
    let (names, hundred) = (header(text), row(text, &["over WebSocket", "axum", "batches of 100"]));
    let at = |name: &str| hundred[names.iter().position(|known| known == name).unwrap()].as_str();
    assert!(at("over one call in a message").starts_with("0.18 ["), "{hundred:?}");
    assert!(at("calls/s").starts_with("100,000 ["), "1,000 messages of 100 calls: {hundred:?}");
    let more = section(&report, "What longer batches still save");
    assert!(row(more, &["over WebSocket", "axum", "batches of 100"])[4].starts_with("0.900 ["), "{more}");
    assert!(row(more, &["over HTTP", "axum", "batches of 100"])[4].starts_with("1.000 ["), "{more}");
    assert!(!report.contains("not compared"), "cells that get one workload alone: {report}");
    assert!(
        section(&report, "getBalance").contains("successful calls/s") && report.contains("failed messages")
    );
    assert!(dir.path().join(&run.name).join("view-1.svg").is_file());
}

#[test]
fn the_cost_of_a_call_and_of_a_kib_come_from_a_line() {
    let (run, report, _dir) = reported("batches", batched);
    let shown = run.summary.views.iter().find(|shown| shown.view.x == "answer_bytes").unwrap();
    let lines: Vec<_> = shown.panels.iter().flat_map(|panel| &panel.series).collect();
    assert_eq!(lines.len(), 8, "four servers over two transports");
    for of in lines {
        let line = of.line.as_ref().unwrap();
        let (fixed, slope) = (line.intercept.unwrap(), line.slope.unwrap());
        assert!((fixed.value - 10.0).abs() < 0.2, "{of:?}");
        assert!((slope.value * 1_024.0 - 2.0).abs() < 0.04, "{of:?}");
        let (low, high) = fixed.interval.unwrap();
        assert!(low <= fixed.value && fixed.value <= high && low < high, "{of:?}");
        assert!(line.misfit.unwrap() < 0.02 && line.points.len() == 4, "{of:?}");
    }
    let text = section(&report, "Length of the answer");
    assert_eq!(row(text, &["over HTTP", "axum", "getBlocks14k"])[3], "80.0 KiB");
}
