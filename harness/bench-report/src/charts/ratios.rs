//! Each server's ratio to the baseline with its interval and, behind it, the ratio of every block: a forest plot, equal
//! at 1.

use super::super::Run;
use super::super::format::at;
use super::super::verdicts::is_duet;
use super::series::styles;
use super::{Chart, Forest, Picture, Ratio, Ratios, Row, Style};
use bench_model::config::Server;
use bench_model::load::Level;
use bench_model::plan::short_labels;
use bench_stats::Estimate;

/// The places of requests a second and of CPU time in [`bench_analysis::JUDGED`].
const RATE: usize = 0;
const CPU: usize = 1;

/// The chart; none where nothing is compared with a baseline.
pub(crate) fn picture(run: &Run) -> Option<Picture> {
    let campaign = &run.plan.campaign;
    let baseline = campaign.baseline.as_ref()?;
    // With a background load the CPU time is that of both loads.
    if campaign.open.as_ref().is_some_and(|open| open.background.is_some()) {
        return None;
    }
    let servers: Vec<(&Server, Style)> = run.plan.servers.iter().zip(styles(&run.plan.servers)).collect();
    let column = |run: &Run, figure: usize, workload: &str, level: Level| {
        let ratio = |(server, style): &(&Server, Style)| {
            let pair = run.summary.comparison(&server.name, baseline, workload, level)?;
            let Estimate { value, interval } = [pair.rate, pair.cpu][figure].ratio;
            let dots = pair.block_ratios[figure].clone();
            Some(Ratio { style: *style, value, interval, dots })
        };
        let name = if figure == CPU { "CPU/request" } else { "requests/s" };
        let title = format!("{}: {name}", at(workload, level));
        Ratios { title, falls: figure == CPU, ratios: servers.iter().map(ratio).collect() }
    };
    let at_headline = |figure: usize| -> Vec<Ratios> {
        let workloads = campaign.workloads.iter();
        workloads.map(|workload| column(run, figure, workload, run.plan.headline_level(workload))).collect()
    };
    // A row for each load at which CPU time is compared, rates first, and one for requests a second.
    let mut rows: Vec<Vec<Ratios>> = match run.duets.as_deref() {
        None => vec![at_headline(CPU)],
        Some(duets) => {
            let mut levels = duets.plan.levels();
            levels.sort_by_key(|level| level.rate.is_none());
            let workloads = || campaign.workloads.iter();
            let row = |level: Level| workloads().map(|one| column(duets, CPU, one, level)).collect();
            levels.into_iter().map(row).collect()
        }
    };
    if !is_duet(run) && campaign.open.is_none() {
        rows.push(at_headline(RATE));
    }
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
        true => ", so the scale of CPU/request falls to the right",
        false => "",
    };
    let baseline = run.label(baseline);
    let chart = Chart {
        title: format!("Ratio to {baseline}"),
        note: format!("Vertical line: equal; right of it is better{falls}. {key}. Logarithmic scale."),
        rows: rows.into_iter().map(forest).collect(),
        ..Chart::default()
    };
    let alt = format!("Each server's requests/s and CPU per request over those of {baseline}");
    Some(Picture::new("ratios.svg", alt, "", chart))
}
