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
fn a_batch_counts_its_calls_and_the_report_says_where_it_stops_paying() {
    let (run, report, dir) = reported("batches", batched);
    let text = section(&report, "Calls in batches");
    assert!(text.contains("CPU and rates count **calls**") && text.contains("at 16 connections"), "{text}");
    assert!(text.contains("- **legacy**, HTTP: no distinguishable gain from 10 to 100, "), "{text}");
    assert!(text.contains("- **legacy**, WebSocket: each step saves CPU, up to 100 calls."), "{text}");
    let (names, hundred) = (header(text), row(text, &["axum", "WebSocket", "getBalance", "100"]));
    let at = |name: &str| hundred[names.iter().position(|known| known == name).unwrap()].as_str();
    assert!(at("over single calls").starts_with("**0.18 ["), "{hundred:?}");
    assert!(at("over the length before").starts_with("**0.900 ["), "{hundred:?}");
    assert!(at("calls/s").starts_with("100,000 ["), "1,000 messages of 100 calls: {hundred:?}");
    assert!(section(&report, "Headline").contains("ratio of calls/s"), "{report}");
    assert!(!report.contains("not compared"), "arms that get one workload alone: {report}");
    let single = row(text, &["axum", "HTTP", "getBalance", "1"]);
    assert_eq!(single[5..7], ["-", "-"], "{single:?}");
    assert!(
        section(&report, "getBalance").contains("successful calls/s") && report.contains("failed messages")
    );
    assert!(dir.path().join(&run.name).join("batches.svg").is_file());
}

#[test]
fn the_cost_of_a_call_and_of_a_kib_come_from_a_line() {
    let (run, report, dir) = reported("batches", batched);
    let lines = &run.summary.answer_sizes;
    assert_eq!(lines.len(), 8, "four servers over two transports");
    for of in lines {
        let (fixed, slope) = (of.line.intercept.unwrap(), of.line.slope.unwrap());
        assert!((fixed.value - 10.0).abs() < 0.2, "{of:?}");
        assert!((slope.value * 1_024.0 - 2.0).abs() < 0.04, "{of:?}");
        let (low, high) = fixed.interval.unwrap();
        assert!(low <= fixed.value && fixed.value <= high && low < high, "{of:?}");
        assert!(
            of.line.misfit.unwrap() < 0.02 && of.line.blocks == run.plan.campaign.max_blocks as usize,
            "{of:?}"
        );
        assert_eq!(of.line.points.len(), 4);
    }
    let text = section(&report, "Size of the answer");
    let actix = row(text, &["actix", "WebSocket"]);
    assert!(actix[2].starts_with("10.") && actix[3].starts_with("2.0"), "{actix:?}");
    assert!(text.contains("getBlocks with answers of 100 B, 6.00 KiB, 80.0 KiB, 1.00 MiB"), "{text}");
    assert!(dir.path().join(&run.name).join("answer-sizes.svg").is_file());
}
