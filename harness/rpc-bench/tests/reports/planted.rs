//! An invalid trial moves nothing: in each kind of run some trials are made invalid, once with their own figures and
//! once with absurd ones, and all that is worked out and written is the same.

use std::collections::HashSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use bench_core::results::RunFolder;
use serde_json::{Value, json};

use crate::kept::newest;
use crate::on_all_processors;

/// One campaign for each way in which trials become figures.
const CAMPAIGNS: &[&str] =
    &["batches", "connections", "curves", "head-of-line", "isolation", "original", "quick", "stages"];

/// What figures are multiplied by. A trial that counts as passed though it was disturbed has to stay one, and one that
/// failed too: one of the two factors does that.
const ABSURD: [f64; 2] = [1.0 / 977.0, 977.0];

/// Where figures say whether a trial is invalid, and why.
const GROUNDS: [&str; 2] = ["host", "foreign_cpu"];

/// A folder in which a rate is held or not, and no figure is made of that.
const JUDGED_ONLY: &str = "ceilings";

#[derive(Clone, Copy, PartialEq)]
enum Planted {
    Invalid,
    InvalidAndAbsurd(f64),
    /// Counts, so that it shows that the figures would be seen.
    Absurd(f64),
}

/// A copy of a packed run that is not packed.
fn unpacked(run: &Path, to: &Path) -> RunFolder {
    let archive = File::open(run.join("run.tar.xz")).unwrap();
    tar::Archive::new(lzma_rust2::XzReader::new(archive, false)).unpack(to).unwrap();
    for file in fs::read_dir(run).unwrap().map(|entry| entry.unwrap().path()) {
        let name = file.file_name().unwrap();
        if file.extension().is_some_and(|end| end == "json") {
            fs::copy(&file, to.join(name)).unwrap();
        }
    }
    RunFolder::open(to).unwrap()
}

fn multiply(value: &mut Value, by: f64) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(|value| match value {
            // A probability and its quantile.
            Value::Array(pair) if pair.len() == 2 => multiply(&mut pair[1], by),
            value => multiply(value, by),
        }),
        Value::Object(fields) => {
            let fields = fields.iter_mut().filter(|(name, _)| !GROUNDS.contains(&name.as_str()));
            fields.for_each(|(_, value)| multiply(value, by));
        }
        Value::Number(number) => match number.as_u64() {
            // Many counts are of 32 bits.
            Some(count) => *value = json!(((count as f64 * by) as u64).min(count.max(u64::from(u32::MAX)))),
            None => *value = json!(number.as_f64().unwrap() * by),
        },
        _ => {}
    }
}

/// Plants in one file of observations: in one trial of each cell, or, where trials follow from those before, in the
/// last one. Gives the number of trials.
fn plant(file: &Path, what: Planted) -> usize {
    let text = fs::read_to_string(file).unwrap();
    let mut trials: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let folder = file.parent().unwrap();
    let has_searches = folder.join("searches.json").is_file();
    let last = trials.len().saturating_sub(1);
    let mut seen = HashSet::new();
    let mut planted = 0;
    for (place, trial) in trials.iter_mut().enumerate() {
        let mut cell = trial.clone();
        for name in ["outcome", "number", "block", "started_at", "took_s"] {
            cell[name].take();
        }
        let is_new = seen.insert(cell.to_string());
        if trial["outcome"]["kind"] != "completed" || if has_searches { place != last } else { !is_new } {
            continue;
        }
        planted += 1;
        if let Planted::InvalidAndAbsurd(by) | Planted::Absurd(by) = what {
            multiply(&mut trial["outcome"], by);
        }
        if !matches!(what, Planted::Absurd(_)) {
            trial["outcome"]["host"]["throttled_periods"] = json!(1);
        }
    }
    let lines: String = trials.iter().map(|trial| format!("{trial}\n")).collect();
    fs::write(file, lines).unwrap();
    planted
}

fn observations(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() && !path.ends_with(JUDGED_ONLY) {
            files.extend(observations(&path));
        } else if path.ends_with("observations.ndjson") {
            files.push(path);
        }
    }
    files
}

/// The report and all of what it shows, and the number of trials that were planted.
fn rendered(run: &Path, what: Planted) -> (String, Value, usize) {
    let dir = tempfile::tempdir().unwrap();
    let folder = unpacked(run, &dir.path().join(run.file_name().unwrap()));
    let planted = observations(&folder.0).iter().map(|file| plant(file, what)).sum();
    bench_report::write(&folder).unwrap();
    let report = fs::read_to_string(folder.0.join("report.md")).unwrap();
    let summary = fs::read_to_string(folder.0.join("summary.json")).unwrap_or_else(|_| "{}".to_owned());
    (report, serde_json::from_str(&summary).unwrap(), planted)
}

/// What is different with absurd figures in invalid trials, by each factor; none where nothing is by one of them.
fn moved(run: &Path) -> Option<String> {
    let (report, summary, planted) = rendered(run, Planted::Invalid);
    assert!(planted > 0, "{} has no trial that was measured", run.display());
    let mut found = Vec::new();
    for by in ABSURD {
        let (absurd_report, absurd_summary, _) = rendered(run, Planted::InvalidAndAbsurd(by));
        found.push(changed(&report, &absurd_report, difference("", &summary, &absurd_summary))?);
    }
    Some(format!("{}: {}", run.display(), found.join("\nor ")))
}

/// What is different in two reports and their summaries.
fn changed(report: &str, absurd_report: &str, difference: Option<String>) -> Option<String> {
    let lines = report.lines().zip(absurd_report.lines()).find(|(a, b)| a != b);
    match (difference, lines) {
        (Some(difference), _) => Some(difference),
        (None, Some((a, b))) => Some(format!("{a}\n{b}")),
        (None, None) => (report != absurd_report).then(|| "one report is longer".to_owned()),
    }
}

/// Where two values differ first, as a pointer with both.
fn difference(at: &str, a: &Value, b: &Value) -> Option<String> {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) if a.len() == b.len() => a.iter().find_map(|(name, value)| {
            difference(&format!("{at}/{name}"), value, b.get(name).unwrap_or(&Value::Null))
        }),
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let mut pairs = a.iter().zip(b).enumerate();
            pairs.find_map(|(place, (a, b))| difference(&format!("{at}/{place}"), a, b))
        }
        _ if a == b => None,
        _ => Some(format!("{at}: {a} and {b}")),
    }
}

#[test]
#[ignore = "takes minutes on a busy machine: just test-long"]
fn an_invalid_trial_moves_no_figure_in_any_kind_of_run() {
    let runs: Vec<PathBuf> = CAMPAIGNS.iter().filter_map(|name| newest(name)).collect();
    assert_eq!(runs.len(), CAMPAIGNS.len(), "kept runs of too few kinds: {runs:?}");
    let wrong: Vec<String> = on_all_processors(&runs, |run| moved(run)).into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_planted_would_be_seen() {
    let run = newest("quick").unwrap();
    let shown = |what| rendered(&run, what).0;
    assert_ne!(shown(Planted::Invalid), shown(Planted::Absurd(ABSURD[0])));
}
