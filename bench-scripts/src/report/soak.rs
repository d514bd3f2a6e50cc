//! The report of a soak: whether memory and latency are flat or grow, a chart, and every window.

use anyhow::Result;

use super::charts::{self, Axis, Chart, Panel, Plot, Row, Series, Style};
use super::format::{Table, bullets, bytes, count, dash, estimate, percent, significant, thousands, time_us};
use crate::analysis::soak::{Course, MARGIN, SoakSummary, SoakWindow, Trend, soaked};
use crate::plan::Plan;
use crate::results::{REPORT, RunFolder, pretty};

/// What was written.
#[derive(Debug)]
pub struct Written {
    /// What the soak says, a line for each figure.
    pub headline: String,
    /// What was found.
    pub summary: SoakSummary,
}

const CHART: &str = "soak.svg";

/// Writes `summary.json`, the chart and `report.md` of a soak.
///
/// # Errors
/// The folder holds no soak, or takes nothing.
pub fn write(folder: &RunFolder) -> Result<Written> {
    let (plan, conditions) = (folder.plan()?, folder.conditions()?);
    let summary = soaked(&folder.observations()?);
    folder.write_derived("summary.json", &pretty(&summary)?)?;
    let headline = headline(&summary);
    folder.write_derived(CHART, &charts::svg(&chart(&summary)))?;
    let text = format!(
        "# Soak: {}\n\n{}\n\n## Headline\n\n{headline}\n![memory and p99 over time]({CHART})\n\n## Every window\n\n{}\n## How it is worked out\n\n{}\n{}\n",
        plan.campaign.servers.join(", "),
        plan.campaign.why,
        table(&summary).markdown(),
        bullets(method(&plan)),
        conditions.history(),
    );
    folder.write_derived(REPORT, &text)?;
    Ok(Written { headline, summary })
}

/// A line for memory, one for latency, and what failed.
fn headline(summary: &SoakSummary) -> String {
    let mut lines = vec![
        line("Memory", summary.memory.as_ref(), bytes),
        line("p99", summary.p99.as_ref(), time_us),
        format!("{} requests failed in {} windows.", count(summary.failed), summary.windows.len()),
    ];
    lines.extend(summary.lost.iter().map(|lost| format!("Without a figure: {lost}.")));
    bullets(lines)
}

fn line(what: &str, trend: Option<&Trend>, write: fn(f64) -> String) -> String {
    let Some(Trend { level, per_hour, change, course }) = trend else {
        return format!("**{what}: inconclusive**: fewer than two windows have it.");
    };
    let signed = |value: f64| if value < 0.0 { format!("-{}", write(-value)) } else { write(value) };
    let hint = match course {
        Course::Inconclusive => "; a longer soak narrows the interval",
        _ => "",
    };
    format!(
        "**{what}: {}**. {} is the median; it changes by {} an hour, over the soak by {} of the median{hint}.",
        course.word(),
        write(*level),
        estimate(*per_hour, signed),
        estimate(*change, |share| format!("{:+.1} %", share * 100.0)),
    )
}

fn method(plan: &Plan) -> Vec<String> {
    vec![
        format!(
            "One process of the server, {} windows of {} at {} requests/s by {}, after {} of warm-up. Latency counts from when a request was \
             meant to be sent.",
            plan.trials.len(),
            time_us(plan.campaign.window_ms as f64 * 1e3),
            thousands(plan.trials.first().and_then(|trial| trial.rate).unwrap_or(0).into()),
            plan.campaign.tool.name(),
            time_us(plan.campaign.warmup_ms as f64 * 1e3),
        ),
        format!(
            "The slope is that of Theil and Sen over windows, with an interval of 95 %. *Flat*: the whole interval of the change over the soak lies \
             within {} of the median. *Growing* or *falling*: it lies on one side of zero. Else it is inconclusive.",
            percent(MARGIN)
        ),
        "Windows are taken as independent; where each resembles the one before, the interval is too narrow. A server that fills a cache grows \
         until that is full: soak it for longer than that takes."
            .to_owned(),
    ]
}

fn table(summary: &SoakSummary) -> Table {
    let row = |window: &SoakWindow| {
        vec![
            window.number.to_string(),
            format!("{:.1} min", window.at_hours * 60.0),
            dash(window.memory_bytes, bytes),
            time_us(window.p99_us),
            thousands(window.rate),
            dash(window.cpu_us_per_request, significant),
            String::new(),
        ]
    };
    let headers = "window | at | memory | p99 | requests/s | CPU µs/request | ";
    Table::of(headers, 0, summary.windows.iter().map(row))
}

fn chart(summary: &SoakSummary) -> Chart {
    let panel = |title: &str, value: fn(&SoakWindow) -> Option<f64>| {
        let points: Vec<(f64, f64)> = summary
            .windows
            .iter()
            .filter_map(|window| Some((window.at_hours * 60.0, value(window)?)))
            .collect();
        Panel {
            title: title.to_owned(),
            series: vec![Series::line(Style::default(), 2.0, &points)],
            empty: "not measured",
            ..Panel::default()
        }
    };
    let plot = |name: &str, write: fn(f64) -> String, panel: Panel| {
        let axes = [Axis::linear("minutes", significant), Axis::linear(name, write)];
        Row::Plot(Plot { title: String::new(), axes, panels: vec![panel], columns: 1, height: 180.0 })
    };
    let mib = |window: &SoakWindow| Some(window.memory_bytes? / f64::from(1 << 20));
    let rows = vec![
        plot("MiB", significant, panel("memory of the server", mib)),
        plot("latency", charts::time_tick, panel("p99", |window| Some(window.p99_us))),
    ];
    Chart { rows, ..Chart::default() }
}
