//! A run's figures in the formats of dashboards that keep them over time: those that the campaign judges, and p99.

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::{Value, json};

use super::Run;
use super::format::{at, known};
use bench_core::Cell;
use bench_core::figure::{Better, Figure, Unit};
use bench_core::stats::Estimate;

/// A format that another tool reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Bencher Metric Format, a JSON object: the figures of each server, request and load, with intervals.
    Bmf,
    /// What github-action-benchmark reads as `customSmallerIsBetter`, a JSON list: figures of which less is better.
    GithubActionBenchmark,
}

/// The figures of a run, and of its duets, in a format.
///
/// # Errors
/// The text can't be written.
pub fn export(run: &Run, format: Format) -> Result<String> {
    Ok(match format {
        Format::Bmf => serde_json::to_string_pretty(&bmf(run))? + "\n",
        Format::GithubActionBenchmark => serde_json::to_string_pretty(&smaller_is_better(run))? + "\n",
    })
}

/// The cells of a run and of its duets with a name of their own each.
fn cells(run: &Run) -> impl Iterator<Item = (String, &Cell)> {
    run.parts().flat_map(|part| {
        let has_tools = part.plan.campaign.open.as_ref().is_some_and(|open| open.tools.len() > 1);
        part.summary.cells.iter().map(move |cell| {
            let by = if has_tools { format!(" by {}", cell.level.tool.name()) } else { String::new() };
            let disturbed = if cell.level.disturbed { ", disturbed" } else { "" };
            (format!("{}, {}{by}{disturbed}", part.cell_name(cell), at(&cell.workload, cell.level)), cell)
        })
    })
}

fn figures<'a>(run: &Run, cell: &'a Cell) -> impl Iterator<Item = (Figure, Estimate)> + 'a {
    let mut figures: Vec<Figure> = run.plan.campaign.judged().into_iter().map(|(figure, _)| figure).collect();
    if !figures.contains(&Figure::P99Us) {
        figures.push(Figure::P99Us);
    }
    figures.into_iter().filter_map(|figure| Some((figure, cell.figure(figure)?)))
}

fn bmf(run: &Run) -> BTreeMap<String, BTreeMap<String, Value>> {
    let metric = |(figure, Estimate { value, interval }): (Figure, Estimate)| {
        let metric = match interval {
            Some((lower, upper)) => json!({ "value": value, "lower_value": lower, "upper_value": upper }),
            None => json!({ "value": value }),
        };
        (figure.name().replace('_', "-"), metric)
    };
    let metrics = |cell: &Cell| figures(run, cell).map(metric).collect::<BTreeMap<_, _>>();
    let named = cells(run).map(|(name, cell)| (name, metrics(cell)));
    named.filter(|(_, metrics)| !metrics.is_empty()).collect()
}

fn smaller_is_better(run: &Run) -> Vec<Value> {
    let of_cell = |(name, cell): (String, &Cell)| {
        let is_smaller = |(figure, _): &(Figure, Estimate)| figure.better() == Some(Better::Less);
        let entry = |(figure, Estimate { value, interval }): (Figure, Estimate)| {
            let (words, unit) = figure.described();
            let unit = match unit {
                Unit::Us => "µs",
                Unit::Bytes => "B",
                Unit::Share | Unit::Number => "",
            };
            let range = known(interval, "", |(low, high)| format!("{low:.3} to {high:.3}"));
            let (name, extra) = (format!("{name}: {words}"), format!("{} trials", cell.completed));
            json!({ "name": name, "unit": unit, "value": value, "range": range, "extra": extra })
        };
        figures(run, cell).filter(is_smaller).map(entry).collect::<Vec<_>>()
    };
    cells(run).flat_map(of_cell).collect()
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;
    use bench_core::results::{RunFolder, kept};

    /// The newest kept run of `quick`.
    fn quick() -> Run {
        let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results");
        let is_quick = |path: &PathBuf| path.to_string_lossy().ends_with("Z-quick");
        let newest = kept(&results).unwrap().into_iter().rfind(is_quick).unwrap();
        Run::load(&RunFolder::open(&newest).unwrap()).unwrap()
    }

    fn json_of(run: &Run, format: Format) -> Value {
        serde_json::from_str(&export(run, format).unwrap()).unwrap()
    }

    #[test]
    fn each_figure_is_the_summary_s() {
        let run = quick();
        let has_interval =
            |cell: &&Cell| cell.figure(Figure::CpuUsPerRequest).is_some_and(|cpu| cpu.interval.is_some());
        let cell = run.summary.cells.iter().filter(has_interval).find(|cell| cell.server == "actix").unwrap();
        let name = format!("{}, {}", run.cell_name(cell), at(&cell.workload, cell.level));
        let cpu = cell.figure(Figure::CpuUsPerRequest).unwrap();
        let bmf = json_of(&run, Format::Bmf);
        let is = |shown: &Value, value: f64| (shown.as_f64().unwrap() / value - 1.0).abs() < 1e-12;
        assert!(is(&bmf[&name]["cpu-us-per-request"]["value"], cpu.value));
        assert!(is(&bmf[&name]["cpu-us-per-request"]["upper_value"], cpu.interval.unwrap().1));
        assert_eq!(bmf[&name].as_object().unwrap().len(), 3, "{bmf}");
        assert!(bmf.as_object().unwrap().keys().any(|name| name.contains("paired with")), "duets too");
        let list = json_of(&run, Format::GithubActionBenchmark);
        let entry =
            list.as_array().unwrap().iter().find(|one| one["name"] == format!("{name}: CPU per request"));
        assert!(is(&entry.unwrap()["value"], cpu.value) && entry.unwrap()["unit"] == "µs");
        assert!(list.as_array().unwrap().iter().all(|one| one["unit"] == "µs"), "a rate is not better small");
    }
}
