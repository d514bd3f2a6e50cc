//! A run's figures in the formats that other tools read: those of a dashboard that keeps them over time, and of a CI
//! that shows tests.

use std::collections::BTreeMap;

use anyhow::Result;
use minijinja::{Environment, context};
use serde_json::{Value, json};

use super::Run;
use super::format::{at, known};
use bench_analysis::{Cell, FailedTrial};
use bench_model::figure::Figure;
use bench_stats::Estimate;

/// A format that another tool reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Bencher Metric Format, a JSON object: rate, CPU time per request and 99th percentile of each server, request and
    /// load, with intervals.
    Bmf,
    /// What github-action-benchmark reads as `customSmallerIsBetter`, a JSON list: CPU time per request and 99th
    /// percentile.
    GithubActionBenchmark,
    /// JUnit XML: a test for each server, request and load, which fails where a trial failed, and one for each bound of
    /// the campaign.
    Junit,
}

/// A figure as these formats name it: in Bencher's words, and in a reader's with its unit where less of it is better.
type Measure = (Figure, &'static str, Option<(&'static str, &'static str)>);

const MEASURES: [Measure; 3] = [
    (Figure::RequestsPerSecond, "throughput", None),
    (Figure::CpuUsPerRequest, "cpu-per-request", Some(("CPU per request", "µs"))),
    (Figure::P99Us, "latency-p99", Some(("p99", "µs"))),
];

/// The figures of a run, and of its duets, in a format.
///
/// # Errors
/// The text can't be written.
pub fn export(run: &Run, format: Format) -> Result<String> {
    Ok(match format {
        Format::Bmf => serde_json::to_string_pretty(&bmf(run))? + "\n",
        Format::GithubActionBenchmark => serde_json::to_string_pretty(&smaller_is_better(run))? + "\n",
        Format::Junit => junit(run)?,
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

fn figures(cell: &Cell) -> impl Iterator<Item = (Measure, Estimate)> {
    MEASURES.into_iter().filter_map(|measure| Some((measure, cell.figure(measure.0)?)))
}

fn bmf(run: &Run) -> BTreeMap<String, BTreeMap<&'static str, Value>> {
    let metric = |((_, slug, _), Estimate { value, interval }): (Measure, Estimate)| {
        let metric = match interval {
            Some((lower, upper)) => json!({ "value": value, "lower_value": lower, "upper_value": upper }),
            None => json!({ "value": value }),
        };
        (slug, metric)
    };
    let metrics = |cell: &Cell| figures(cell).map(metric).collect::<BTreeMap<_, _>>();
    let named = cells(run).map(|(name, cell)| (name, metrics(cell)));
    named.filter(|(_, metrics)| !metrics.is_empty()).collect()
}

fn smaller_is_better(run: &Run) -> Vec<Value> {
    let of_cell = |(name, cell): (String, &Cell)| {
        let entry = |((.., smaller), Estimate { value, interval }): (Measure, Estimate)| {
            let (words, unit) = smaller?;
            let range = known(interval, "", |(low, high)| format!("{low:.3} to {high:.3}"));
            let (name, extra) = (format!("{name}: {words}"), format!("{} trials", cell.completed));
            Some(json!({ "name": name, "unit": unit, "value": value, "range": range, "extra": extra }))
        };
        figures(cell).filter_map(entry).collect::<Vec<_>>()
    };
    cells(run).flat_map(of_cell).collect()
}

/// Named for minijinja, which escapes what it puts into a file of this ending.
const JUNIT: &str = "junit.xml";

const TEMPLATE: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="{{ run }}">
{%- set failures = cases | selectattr("reasons") | length %}
{%- set skipped = cases | selectattr("skipped") | length %}
  <testsuite name="{{ campaign }}" tests="{{ cases | length }}" failures="{{ failures }}" skipped="{{ skipped }}">
{%- for case in cases %}
    <testcase name="{{ case.name }}" classname="{{ campaign }}">
{%- if case.reasons %}<failure message="{{ case.reasons | first }}">{{ case.reasons | join("\n") }}</failure>
{%- elif case.skipped %}<skipped/>
{%- endif %}</testcase>
{%- endfor %}
  </testsuite>
</testsuites>
"#;

fn junit(run: &Run) -> Result<String> {
    let bounds = run.summary.bounds.iter().map(|bound| {
        let rule = &bound.rule;
        let reasons = if bound.holds { Vec::new() } else { vec!["not shown to hold"] };
        let name = format!("{}, {}: {}", rule.of(&|name| name.to_owned()), bound.workload, rule.words());
        context! { name, reasons, skipped => false }
    });
    let cases = cells(run).map(|(name, cell)| case_of(run, name, cell)).chain(bounds);
    let cases: Vec<minijinja::Value> = cases.collect();
    let mut environment = Environment::new();
    environment.add_template(JUNIT, TEMPLATE)?;
    let (run, campaign) = (run.name.as_str(), run.plan.campaign.name.as_str());
    Ok(environment.get_template(JUNIT)?.render(context! { run, campaign, cases })?)
}

/// A test of JUnit's: why it failed, if it did, or that nothing was measured.
fn case_of(run: &Run, name: String, cell: &Cell) -> minijinja::Value {
    let place = (&cell.server, &cell.beside, &cell.workload, cell.level);
    let is_own =
        |failed: &&FailedTrial| (&failed.server, &failed.beside, &failed.workload, failed.level) == place;
    // XML has no characters for most control codes, and a server may print any.
    let plain = |text: String| text.replace(|c: char| c.is_control(), " ");
    let reason = |failed: &FailedTrial| plain(format!("trial {}: {}", failed.number, failed.reason));
    let reasons: Vec<String> = run.failed().filter(is_own).map(reason).collect();
    let skipped = reasons.is_empty() && cell.completed == 0;
    context! { name, reasons, skipped }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;
    use bench_model::results::{RunFolder, kept};

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
        assert!(is(&bmf[&name]["cpu-per-request"]["value"], cpu.value));
        assert!(is(&bmf[&name]["cpu-per-request"]["upper_value"], cpu.interval.unwrap().1));
        assert_eq!(bmf[&name].as_object().unwrap().len(), 3, "{bmf}");
        assert!(bmf.as_object().unwrap().keys().any(|name| name.contains("paired with")), "duets too");
        let list = json_of(&run, Format::GithubActionBenchmark);
        let entry =
            list.as_array().unwrap().iter().find(|one| one["name"] == format!("{name}: CPU per request"));
        assert!(is(&entry.unwrap()["value"], cpu.value) && entry.unwrap()["unit"] == "µs");
        assert!(list.as_array().unwrap().iter().all(|one| one["unit"] == "µs"), "a rate is not better small");
    }

    #[test]
    fn a_failed_trial_fails_a_test_and_no_text_breaks_the_xml() {
        let mut run = quick();
        let text = export(&run, Format::Junit).unwrap();
        assert!(text.contains(r#"failures="0" skipped="0""#) && !text.contains("<failure"), "{text}");
        let cell = run.summary.cells[0].clone();
        run.summary.failed.push(bench_analysis::FailedTrial {
            number: 7,
            block: 1,
            server: cell.server,
            beside: cell.beside,
            workload: cell.workload,
            level: cell.level,
            kind: (),
            reason: "it said <a & \"b\">\u{1b}[0m".to_owned(),
        });
        let text = export(&run, Format::Junit).unwrap();
        assert_eq!(
            (text.matches("<failure").count(), text.matches(r#"failures="1""#).count()),
            (1, 1),
            "{text}"
        );
        assert!(text.contains("trial 7: it said &lt;a &amp; &quot;b&quot;&gt; [0m"), "{text}");
    }
}
