//! Each server's ratio to the baseline with its interval and, behind it, the ratio of every block: a forest plot, equal
//! at 1.

use super::super::Run;
use super::super::answer::{self, Question, questions};
use super::super::format::{at, distinct, joined};
use super::series::styles;
use super::{Chart, Forest, Picture, Ratio, Ratios, Row, Style};
use bench_core::config::Server;
use bench_core::figure::{Better, Figure};
use bench_core::plan::short_labels;
use bench_core::stats::Estimate;

/// The chart: a row of columns for each judged figure and load; none of a run without an answer.
pub(crate) fn picture(run: &Run) -> Option<Picture> {
    answer::of(run)?;
    let baseline = run.plan.campaign.baseline.as_ref()?;
    let judged: Vec<Figure> = run.plan.campaign.judged().into_iter().map(|(figure, _)| figure).collect();
    let servers: Vec<(&Server, Style)> = run.plan.servers.iter().zip(styles(&run.plan)).collect();
    let column = |Question { part, figure, workload, level }: Question<'_>| {
        let ratio = |(server, style): &(&Server, Style)| {
            let pair = part.summary.comparison(&server.name, baseline, workload, level)?;
            let Estimate { value, interval } = pair.ratio(figure)?;
            let dots = pair.block_ratios.get(&figure).cloned().unwrap_or_default();
            Some(Ratio { style: *style, value, interval, dots })
        };
        let title = format!("{}: {}", at(workload, level), figure.described().0);
        let falls = figure.better() == Some(Better::Less);
        Ratios { title, falls, ratios: servers.iter().map(ratio).collect() }
    };
    let questions: Vec<Question<'_>> =
        questions(run).into_iter().filter(|question| judged.contains(&question.figure)).collect();
    let figures =
        distinct(judged.into_iter().filter(|figure| questions.iter().any(|of| of.figure == *figure)));
    // A row has each workload once.
    let place = |of: &Question<'_>| run.plan.campaign.workloads.iter().position(|name| name == of.workload);
    let is_of_row = |a: &Question<'_>, b: &Question<'_>| a.figure == b.figure && place(a) < place(b);
    let mut rows: Vec<Vec<Ratios>> =
        questions.chunk_by(is_of_row).map(|row| row.iter().copied().map(column).collect()).collect();
    let has_ratio = |server: usize| rows.iter().flatten().any(|column| column.ratios[server].is_some());
    let shown: Vec<bool> = (0..servers.len()).map(has_ratio).collect();
    for column in rows.iter_mut().flatten() {
        let mut is_shown = shown.iter();
        column.ratios.retain(|_| is_shown.next() == Some(&true));
    }
    let labels = servers.iter().zip(&shown).filter(|(_, is_shown)| **is_shown);
    let labels: Vec<&str> = labels.map(|((server, _), _)| server.label()).collect();
    if labels.is_empty() {
        return None;
    }
    let names = short_labels(&labels);
    let forest = |columns: Vec<Ratios>| Row::Forest(Forest { names: names.clone(), columns });
    let key = "Large mark: the ratio; bar: its interval; dots: blocks";
    let falls = match rows.iter().flatten().any(|column| column.falls) {
        true => ", so a scale of which less is better falls to the right",
        false => "",
    };
    let baseline = run.label(baseline);
    let chart = Chart {
        title: format!("Ratio to {baseline}"),
        note: format!("Vertical line: equal; right of it is better{falls}. {key}. Logarithmic scale."),
        rows: rows.into_iter().map(forest).collect(),
        ..Chart::default()
    };
    let figures = joined(figures.iter().map(|figure| figure.described().0), " and ");
    let alt = format!("Each server's {figures} over those of {baseline}");
    Some(Picture::new("ratios.svg", alt, "", chart))
}
