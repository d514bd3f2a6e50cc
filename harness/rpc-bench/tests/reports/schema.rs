//! `schemas/summary.schema.json` holds for what is written.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::Path;

use boon::{Compiler, Schemas};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Value, json};

/// The schema of `summary.json`.
pub fn of_summaries() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/summary.schema.json");
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// A document's value, of JSON in which no object has a key twice: readers differ in which of the two they take.
///
/// # Errors
/// The key that stands twice, and its line.
pub fn strictly(text: &str) -> serde_json::Result<Value> {
    serde_json::from_str::<NoKeyTwice>(text)?;
    serde_json::from_str(text)
}

struct NoKeyTwice;

impl<'de> Deserialize<'de> for NoKeyTwice {
    fn deserialize<D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        value.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for NoKeyTwice {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self, A::Error> {
        while items.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self, A::Error> {
        let mut seen = BTreeSet::new();
        while let Some((name, _)) = fields.next_entry::<String, Self>()? {
            if let Some(twice) = seen.replace(name) {
                return Err(A::Error::custom(format_args!("the key {twice:?} stands twice")));
            }
        }
        Ok(self)
    }
}

/// Where and how a document differs from a schema; empty where it is valid.
pub fn errors(document: &Value, schema: &Value) -> Vec<String> {
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler.add_resource("summary.json", schema.clone()).unwrap();
    let compiled = compiler.compile("summary.json", &mut schemas).unwrap();
    schemas.validate(document, compiled).err().map(|error| format!("{error:#}")).into_iter().collect()
}

#[test]
fn what_the_schema_does_not_allow_is_found() {
    let schema = of_summaries();
    let good = json!({
        "schema_version": 6, "planned": 1, "observed": 1, "left": 0, "block_counts": [8], "comparisons": [], "bounds": [],
        "failed": [], "cells": [{
            "server": "a", "workload": "b", "connections": 1, "completed": 1, "figures": { "p99_us": { "value": 1.0, "interval": [0.5, 2] } },
            "share_of_ceiling": null, "failed_requests": {}, "listen_overflows": null, "retransmits": 0, "answer_bytes": 9, "marks": ["steal"]
        }]
    });
    assert_eq!(errors(&good, &schema), [] as [&str; 0]);
    let with = |pointer: &str, value: Value| {
        let mut bad = good.clone();
        *bad.pointer_mut(pointer).unwrap() = value;
        errors(&bad, &schema)
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
        assert_ne!(with(pointer, value), [] as [&str; 0], "{pointer}");
    }
    let mut more = good.clone();
    more["cells"][0]["figure"] = json!(1);
    assert!(errors(&more, &schema)[0].contains("figure"), "a field that the schema does not have");
}

#[test]
fn a_key_that_stands_twice_is_found_wherever_it_is() {
    assert_eq!(strictly(r#"{"a": [{"b": 1}, {"b": -1.5}], "b": null}"#).unwrap()["a"][0]["b"], 1);
    let error =
        strictly("{\"a\": [true, {\"b\": \"x\",\n\"c\": {\"b\": 2}, \"b\": 3}]}").unwrap_err().to_string();
    assert!(error.contains("\"b\" stands twice") && error.contains("line 2"), "{error}");
}
