//! The section on the size of answers: what a call costs a server by itself, and for each KiB of its answer.

use super::Run;
use super::arms::{name, transport};
use super::charts::{self, Curve, Picture, Scales};
use super::format::{Table, bytes, dash, estimate, list, load, percent, significant};
use bench_analysis::fitted_lines::AnswerSizes;

/// The chart's file.
const FILE: &str = "answer-sizes.svg";

/// The whole section; empty where no server was measured with answers of several sizes.
pub(super) fn section(run: &Run) -> String {
    let Some(first) = run.summary.answer_sizes.first() else { return String::new() };
    let sizes: Vec<f64> = first.line.points.iter().map(|point| point.x).collect();
    let at = sizes.iter().map(|size| format!("CPU at {}", bytes(*size))).collect::<Vec<_>>().join(" | ");
    let headers = format!(
        "server | transport | CPU µs/call, fixed | CPU µs/KiB of answer | {at} | largest distance from the line | blocks"
    );
    let rows = run.summary.answer_sizes.iter().map(|of| row(run, of, &sizes));
    let picture = chart(run).map_or_else(String::new, |picture| picture.markdown() + "\n");
    format!(
        "## Size of the answer\n\n{} with answers of {}, at {}: CPU time for a call, and the straight line through it. The line is fitted \
         in each block by relative error; its two costs are medians over blocks with 95 % intervals. A line that is far from its points \
         does not describe the server, so the distance is stated.\n\n{picture}{}",
        first.method,
        list(sizes.iter().map(|size| bytes(*size))),
        load(first.level),
        Table::of(&headers, 2, rows).markdown()
    )
}

fn row(run: &Run, of: &AnswerSizes, sizes: &[f64]) -> Vec<String> {
    let line = &of.line;
    let at = |size: &f64| {
        let point = line.points.iter().find(|point| point.x == *size);
        dash(point, |point| format!("{} µs", significant(point.y.value)))
    };
    let slope = line.slope.map(|slope| slope.map(|us_per_byte| us_per_byte * 1_024.0));
    let costs = [line.intercept, slope].map(|cost| dash(cost, |cost| estimate(cost, significant)));
    let ends = [dash(line.misfit, percent), line.blocks.to_string()];
    let names = [name(run, &of.server).to_owned(), transport(run, &of.server).name().to_owned()];
    names.into_iter().chain(costs).chain(sizes.iter().map(at)).chain(ends).collect()
}

/// CPU for a call against the bytes of its answer, with the fitted lines.
pub(super) fn chart(run: &Run) -> Option<Picture> {
    let curve = |of: &AnswerSizes| Curve {
        panel: transport(run, &of.server).name().to_owned(),
        server: name(run, &of.server).to_owned(),
        points: of.line.points.iter().map(|point| (point.x, point.y)).collect(),
        fitted: of.line.intercept.zip(of.line.slope).map(|(at_0, slope)| (at_0.value, slope.value)),
    };
    let curves: Vec<Curve> = run.summary.answer_sizes.iter().map(curve).collect();
    let names = ["bytes of the answer", "CPU time for a call"];
    Some(Picture {
        file: FILE.to_owned(),
        alt: "Server CPU time for a call against the bytes of its answer, with fitted lines".to_owned(),
        note: String::new(),
        chart: charts::curves(run, &curves, Scales::LogBytes, names)?,
    })
}
