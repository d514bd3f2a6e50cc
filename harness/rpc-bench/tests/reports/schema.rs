//! `schemas/summary.schema.json` holds for what is written.

use std::fs;
use std::path::Path;

use bench_core::workload::schema::Schema;
use serde_json::{Value, json};

/// The schema of `summary.json`.
pub fn of_summaries() -> Schema {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/summary.schema.json");
    let content: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    serde_json::from_value(json!({ "path": path, "content": content })).unwrap()
}

/// A document's value, of JSON in which no object has a key twice: readers differ in which of the two they take.
pub fn strictly(text: &str) -> Value {
    let value: Value = serde_json::from_str(text).unwrap();
    // In a text a quote before a colon has a backslash.
    assert_eq!(
        keys(&value),
        text.matches("\":").count() - text.matches("\\\":").count(),
        "a key stands twice"
    );
    value
}

fn keys(value: &Value) -> usize {
    match value {
        Value::Object(fields) => fields.values().map(|field| 1 + keys(field)).sum(),
        Value::Array(items) => items.iter().map(keys).sum(),
        _ => 0,
    }
}

#[test]
fn what_the_schema_does_not_allow_is_found() {
    let schema = of_summaries();
    let good = json!({
        "schema_version": 9, "planned": 1, "observed": 1, "left": 0, "block_counts": [8], "comparisons": [], "bounds": [],
        "failed": [], "cells": [{
            "server": "a", "workload": "b", "connections": 1, "completed": 1, "figures": { "p99_us": { "value": 1.0, "interval": [0.5, 2] } },
            "share_of_ceiling": null, "failed_requests": {}, "listen_overflows": null, "retransmits": 0, "answer_bytes": 9, "marks": ["steal"]
        }]
    });
    assert_eq!(schema.misfit(&good), None);
    let with = |pointer: &str, value: Value| {
        let mut bad = good.clone();
        *bad.pointer_mut(pointer).unwrap() = value;
        schema.misfit(&bad)
    };
    for (pointer, value) in [
        ("/schema_version", json!(1)),
        ("/left", json!(-1)),
        ("/left", json!(0.5)),
        ("/cells/0/marks/0", json!("odd")),
        ("/cells/0/figures", json!({ "p 98": { "value": 1.0, "interval": null } })),
        ("/cells/0/figures/p99_us", json!({ "value": 1.0 })),
        ("/cells/0/figures/p99_us/interval", json!([1.0])),
        ("/cells/0/figures/p99_us/value", json!("1")),
        ("/cells/0", json!({})),
        ("/failed", json!([{ "anything": 1 }])),
    ] {
        assert_ne!(with(pointer, value), None, "{pointer}");
    }
    let mut more = good.clone();
    more["cells"][0]["figure"] = json!(1);
    assert!(schema.misfit(&more).unwrap().contains("figure"), "a field that the schema does not have");
}
