//! All kept runs side by side.

use std::fs;
use std::path::Path;
use std::process::Command;

use bench_core::results::{RunFolder, pretty};
use serde_json::Value;

use crate::kept::newest;

/// Copies the newest quick run, which has a sweep and duets, under a name, each file changed.
fn copy(results: &Path, name: &str, change: impl Fn(&str, &mut Value)) {
    let from = RunFolder::open(&newest("quick").unwrap()).unwrap();
    for inner in ["", "duets"] {
        let from = if inner.is_empty() { from.clone() } else { from.inside(inner).unwrap() };
        let to = RunFolder(results.join(name).join(inner));
        fs::create_dir_all(&to.0).unwrap();
        for file in ["plan.json", "environment.json"] {
            let mut value: Value = from.read_json(file).unwrap();
            change(file, &mut value);
            fs::write(to.0.join(file), pretty(&value).unwrap()).unwrap();
        }
        for observation in from.observations().unwrap() {
            let mut value = serde_json::to_value(&observation).unwrap();
            change("an observation", &mut value);
            to.append(&serde_json::from_value(value).unwrap()).unwrap();
        }
    }
}

fn same(_: &str, _: &mut Value) {}

fn on_another_processor(file: &str, value: &mut Value) {
    if file == "environment.json" {
        value["host"]["cpu"] = "another".into();
        value["host"]["processor"] = serde_json::json!({ "vendor": "x", "family": "1", "model": "1" });
    }
}

/// Every request of actix costs half as much again.
fn actix_costs_more(file: &str, value: &mut Value) {
    if file == "an observation" && value["server"] == "actix" {
        for field in ["user_s", "system_s"] {
            if let Some(used) = value["outcome"]["server_cpu"][field].as_f64() {
                value["outcome"]["server_cpu"][field] = (used * 1.5).into();
            }
        }
    }
}

fn called(results: &Path, args: &[&str]) -> (i32, String) {
    let mut call = Command::new(env!("CARGO_BIN_EXE_rpc-bench"));
    let output = call.arg("--results").arg(results).args(args).output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
}

#[test]
fn each_run_has_a_row_and_each_processor_a_range() {
    let dir = tempfile::tempdir().unwrap();
    copy(dir.path(), "2026-01-01T000000Z-quick", same);
    copy(dir.path(), "2026-01-02T000000Z-quick", actix_costs_more);
    copy(dir.path(), "2026-01-03T000000Z-quick", on_another_processor);
    // Another tuning is another table.
    copy(dir.path(), "2026-01-04T000000Z-quick", |file, value| {
        if file == "plan.json" {
            value["campaign"]["environment"]["tuning"] = "shipped".into();
        }
    });
    let (code, said) = called(dir.path(), &["compare", "--all"]);
    assert_eq!(code, 0);
    let tables: Vec<&str> = said
        .split("\n## ")
        .filter(|table| table.contains("CPU per request, side by side, getBlocks at 25"))
        .collect();
    let [equal, shipped] = tables.as_slice() else { panic!("{said}") };
    assert!(
        equal.starts_with("quick, tuning equal") && shipped.starts_with("quick, tuning shipped"),
        "{said}"
    );
    let rows: Vec<Vec<&str>> =
        equal.lines().filter(|line| line.starts_with('|')).map(|row| row.split('|').collect()).collect();
    assert_eq!(rows.len(), 2 + 4, "three runs and a range: {equal}");
    let ratio = |row: &[&str]| row[4].split_whitespace().next().unwrap().parse::<f64>().unwrap();
    assert!(rows[0][4].contains("actix / legacy"), "{equal}");
    let range = rows.iter().find(|row| row[2].contains("2 runs")).unwrap();
    let processor = range[1].trim().trim_matches('*');
    let two: Vec<f64> =
        rows[2..].iter().filter(|row| row[1].trim() == processor).map(|row| ratio(row)).collect();
    assert_eq!(range[4].trim(), format!("**{:.2} to {:.2}**", two[0], two[1]), "{equal}");
    assert!((two[1] / two[0] - 1.5).abs() < 0.02, "{two:?}");
}
