//! Where a figure stands in a JSON file, and how it is printed: `/comparisons[server=actix,over=legacy]/cpu/ratio
//! ratio`.
//!
//! A pointer's steps are fields, places in a list (from 0), or `[field=value,…]` behind a list's name, which must fit
//! exactly one of its members: a run with one more server does not shift it. `box.cpu_quota=0.5` is a field in a field.
//! `field=null` fits a member that lacks the field, `field!=null` one that has it.

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use serde_json::Value;

use crate::format::{bytes, estimate, ratio, significant, thousands, time_us};
use bench_stats::Estimate;

/// The value that a pointer names.
pub(super) fn find<'a>(value: &'a Value, pointer: &str) -> Result<&'a Value> {
    let mut at = value;
    for step in pointer.strip_prefix('/').context("a pointer begins with /")?.split('/') {
        let (name, chosen) = match step.split_once('[') {
            Some((name, rest)) => {
                (name, Some(rest.strip_suffix(']').with_context(|| format!("{step} lacks its ]"))?))
            }
            None => (step, None),
        };
        let within = || format!("there is no {name} in {pointer}");
        at = match at {
            Value::Array(members) => {
                members.get(name.parse::<usize>().with_context(within)?).with_context(within)?
            }
            other => other.get(name).with_context(within)?,
        };
        if let Some(chosen) = chosen {
            let members = at.as_array().with_context(|| format!("{name} in {pointer} is no list"))?;
            let mut fitting = members.iter().filter(|member| fits(member, chosen));
            let first = fitting.next().with_context(|| format!("no member of {name} fits [{chosen}]"))?;
            let more = fitting.count();
            ensure!(more == 0, "{} members of {name} fit [{chosen}]; name more of their fields", more + 1);
            at = first;
        }
    }
    Ok(at)
}

/// Whether a member of a list has all of the chosen fields.
fn fits(member: &Value, chosen: &str) -> bool {
    chosen.split(',').all(|pair| {
        let Some((field, wanted)) = pair.split_once('=') else { return false };
        let (field, negated) = field.strip_suffix('!').map_or((field, false), |field| (field, true));
        let inner = field.trim().split('.').try_fold(member, |member, field| member.get(field));
        let is_it = match inner {
            None | Some(Value::Null) => wanted == "null",
            Some(Value::String(text)) => text == wanted,
            Some(other) => serde_json::from_str::<Value>(wanted).is_ok_and(|wanted| wanted == *other),
        };
        is_it != negated
    })
}

/// A value as a page prints it. Shapes: a number, `{"value", "interval"}`, and an interval `[low, high]`; with `text`,
/// a text.
pub(super) fn print(value: &Value, format: &str) -> Result<String> {
    if format == "text" {
        return value.as_str().map(str::to_owned).with_context(|| format!("{value} is no text"));
    }
    let number: Box<dyn Fn(f64) -> String> = match format {
        "ratio" => Box::new(in_ratio),
        "count" => Box::new(thousands),
        "significant" => Box::new(significant),
        "us" => Box::new(time_us),
        "ms" => Box::new(|value| time_us(value * 1e3)),
        "bytes" => Box::new(bytes),
        "percent" => Box::new(|share| format!("{:.0} %", share * 100.0)),
        "percent.1" => Box::new(|share| format!("{:.1} %", share * 100.0)),
        other => match other.strip_prefix('.').and_then(|decimals| decimals.parse::<usize>().ok()) {
            Some(decimals) => Box::new(move |value| format!("{value:.decimals$}")),
            None => bail!(
                "there is no format {other}; there are ratio, count, significant, us, ms, bytes, percent, percent.1, \
                 .N and text"
            ),
        },
    };
    Ok(match shape(value)? {
        Shape::Number(value) => number(value),
        Shape::Interval(low, high) => format!("[{}, {}]", number(low), number(high)),
        // Its interval has as many decimals as the ratio itself.
        Shape::Estimate(value) if format == "ratio" => ratio(value),
        Shape::Estimate(value) => estimate(value, number),
    })
}

/// A ratio has decimals by how near to 1 it is.
fn in_ratio(value: f64) -> String {
    ratio(Estimate { value, interval: None }).split(' ').take(1).collect()
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Shape {
    Number(f64),
    Interval(f64, f64),
    Estimate(Estimate),
}

fn shape(value: &Value) -> Result<Shape> {
    let shape = Shape::deserialize(value).ok();
    shape.with_context(|| format!("{value} is no number, no interval and no estimate"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn summary() -> Value {
        json!({ "cells": [
            { "server": "a", "connections": 125, "rate": { "value": 0.5432, "interval": [0.51, 0.56] } },
            { "server": "b", "connections": 125, "tool": "vegeta", "p99": 1230.0 },
            { "server": "b", "connections": 125, "share": 0.503, "name": "x" },
        ], "left": 12345 })
    }

    fn said(expression: &str) -> String {
        let (pointer, format) = expression.split_once(' ').unwrap();
        print(find(&summary(), pointer).unwrap(), format).unwrap()
    }

    #[test]
    fn figures_are_found_and_printed() {
        assert_eq!(said("/cells[server=a,connections=125]/rate ratio"), "0.54 [0.51, 0.56]");
        assert_eq!(said("/cells[server=a]/rate/value ratio"), "0.54");
        assert_eq!(said("/cells/0/rate/interval .1"), "[0.5, 0.6]");
        assert_eq!(said("/cells[server=b,tool=vegeta]/p99 us"), "1.23 ms");
        assert_eq!(said("/cells[server=b,tool=null]/share percent"), "50 %");
        assert_eq!(said("/cells[server=b,tool=null]/name text"), "x");
        assert_eq!(said("/cells[server=b,tool!=null]/p99 us"), "1.23 ms");
        assert_eq!(said("/cells[rate.value=0.5432]/server text"), "a");
        assert_eq!(said("/left count"), "12,345");
    }

    #[test]
    fn what_is_not_there_or_not_one_is_an_error() {
        let complaint = |pointer: &str| find(&summary(), pointer).unwrap_err().to_string();
        assert!(complaint("/cells[server=b]/p99").contains("2 members of cells fit"));
        assert!(complaint("/cells[server=c]/p99").contains("no member of cells fits"));
        assert!(complaint("/cells/7").contains("there is no 7"));
        assert!(complaint("/nothing").contains("there is no nothing"));
        assert!(print(&json!("x"), "ratio").is_err() && print(&json!(1.0), "odd").is_err());
    }
}
