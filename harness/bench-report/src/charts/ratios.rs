//! Each server's ratio to the baseline with its interval and, behind it, the ratio of every block: a forest plot, equal
//! at 1.

use std::collections::{BTreeMap, BTreeSet};

use super::super::Run;
use super::super::answer::short;
use super::super::sections::is_duet;
use super::series::{known_label, styles};
use super::{Chart, Forest, Key, Mark, Picture, Ratio, RatioMark, Ratios, Row, Style};
use bench_analysis::JUDGED;
use bench_analysis::pooled::{Group, Model, PooledFigure, Setting};
use bench_model::config::{Placement, Server};
use bench_model::plan::short_labels;
use bench_stats::Estimate;

/// The chart; none where nothing is compared with a baseline.
pub(crate) fn picture(run: &Run) -> Option<Picture> {
    let campaign = &run.plan.campaign;
    let baseline = campaign.baseline.as_ref()?;
    // With a background load the CPU time is that of both loads.
    if campaign.open.as_ref().is_some_and(|open| open.background.is_some()) {
        return None;
    }
    let servers: Vec<(&Server, Style)> = run.plan.servers.iter().zip(styles(&run.plan.servers)).collect();
    // A column for each request and each of [`JUDGED`].
    let column = |workload: &str, figure: usize| {
        let (name, run) = match figure {
            0 => ("requests/s", run),
            _ => ("CPU/request", run.duets.as_deref().unwrap_or(run)),
        };
        let level = run.plan.headline_level(workload);
        let ratio = |(server, style): &(&Server, Style)| {
            let pair = run.summary.comparison(&server.name, baseline, workload, level)?;
            let Estimate { value, interval } = [pair.rate, pair.cpu][figure].ratio;
            let dots = pair.block_ratios[figure].clone();
            Some(Ratio { marks: vec![RatioMark { style: *style, value, interval, dots }] })
        };
        let ratios = servers.iter().map(ratio).collect();
        Ratios { title: format!("{workload}: {name}"), falls: figure != 0, ratios }
    };
    let has_rates = !is_duet(run) && campaign.open.is_none();
    let figures = usize::from(!has_rates)..JUDGED.len();
    let places = campaign.workloads.iter().flat_map(|workload| figures.clone().map(move |of| (workload, of)));
    let mut columns: Vec<Ratios> = places.map(|(workload, figure)| column(workload, figure)).collect();
    let has_ratio = |server: usize| columns.iter().any(|column| column.ratios[server].is_some());
    let shown: Vec<bool> = (0..servers.len()).map(has_ratio).collect();
    for column in &mut columns {
        let mut is_shown = shown.iter();
        column.ratios.retain(|_| is_shown.next() == Some(&true));
    }
    let labels = servers.iter().zip(&shown).filter(|(_, is_shown)| **is_shown);
    let labels: Vec<&str> = labels.map(|((server, _), _)| server.label()).collect();
    if labels.is_empty() {
        return None;
    }
    let forest = Forest { names: short_labels(&labels), columns };
    let key = "Large mark: the ratio; bar: its interval; dots: blocks";
    let chart = chart(run.label(baseline), vec![forest], key);
    let alt = format!("Each server's requests/s and CPU per request over those of {}", run.label(baseline));
    Some(Picture::new("ratios.svg", alt, "", chart))
}

/// Ratios of all kept runs of the newest builds to the baseline that most of them have: CPU time of pairs side by side,
/// over many builds where these were measured, and below it rates. None where nothing was pooled of three runs on one
/// model of processor.
pub(crate) fn pooled(groups: &[Group]) -> Option<Chart> {
    let is_predicted = |model: &Model| model.pooled.is_some_and(|pooled| pooled.prediction.is_some());
    let is_cpu = |group: &Group| group.setting.figure == PooledFigure::Cpu;
    let enough = |group: &&Group| {
        let is_shown = match group.setting.figure {
            PooledFigure::Cpu => group.setting.placement == Placement::Duet,
            PooledFigure::Rate => true,
            PooledFigure::P99 => false,
        };
        let Setting { level, hosts, .. } = &group.setting;
        // A column names a load by its connections alone.
        let is_usual = level.tool.is_default() && hosts.is_none();
        is_shown && is_usual && group.newest && group.models.iter().any(is_predicted)
    };
    let shown: Vec<&Group> = groups.iter().filter(enough).collect();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    shown.iter().for_each(|group| *counts.entry(&group.setting.over).or_default() += 1);
    let (baseline, _) = counts.into_iter().max_by_key(|(_, count)| *count)?;
    let shown: Vec<&Group> = shown.into_iter().filter(|group| group.setting.over == baseline).collect();
    // One name for a server in all panels.
    let names: BTreeSet<&str> = shown.iter().map(|group| &*group.setting.server).collect();
    let labels = short_labels(&names.iter().map(|name| known_label(name)).collect::<Vec<_>>());
    let known: BTreeMap<&str, String> = names.into_iter().zip(labels).collect();
    let models = shown.iter().flat_map(|group| &group.models);
    let processors: BTreeSet<&str> = models.map(|model| &*model.processor).collect();
    let processors: Vec<&str> = processors.into_iter().collect();
    let of_figure = |falls: bool| {
        let groups: Vec<&Group> = shown.iter().copied().filter(|group| is_cpu(group) == falls).collect();
        forest(&groups, &known, &processors, falls)
    };
    let forests = [true, false].into_iter().filter_map(of_figure).collect();
    let legend = processors
        .iter()
        .enumerate()
        .map(|(place, processor)| (Key::Line(of_processor(place), 0.0, Mark::Small), short(processor)));
    let key = "Mark: the mean of the runs on a processor; dots: these runs; numbers: from the lowest mean to the \
        highest";
    Some(Chart { legend: legend.collect(), ..chart(known_label(baseline), forests, key) })
}

fn of_processor(place: usize) -> Style {
    Style { colour: place, variant: 0 }
}

/// Pooled ratios of one figure: a column for each request. `known` has the servers' labels.
fn forest(
    groups: &[&Group],
    known: &BTreeMap<&str, String>,
    processors: &[&str],
    falls: bool,
) -> Option<Forest> {
    let column = |group: &Group| {
        let setting = &group.setting;
        let figure = if falls { "CPU/request" } else { "requests/s" };
        format!("{}: {figure}, {} conn.; better →", setting.workload, setting.level.connections)
    };
    let titles: BTreeSet<String> = groups.iter().map(|group| column(group)).collect();
    let names: BTreeSet<&str> = groups.iter().map(|group| &*group.setting.server).collect();
    let ratio = |title: &String, name: &str| {
        let of = |group: &&&Group| column(group) == *title && group.setting.server == *name;
        let group =
            groups.iter().filter(of).max_by_key(|group| (group.setting.many_builds, group.runs().count()))?;
        let mark = |(place, processor): (usize, &&str)| {
            let model = group.models.iter().find(|model| model.processor == **processor)?;
            let dots = model.runs.iter().map(|run| run.ratio.value).collect();
            let value = model.ratio().value;
            Some(RatioMark { style: of_processor(place), value, interval: None, dots })
        };
        Some(Ratio { marks: processors.iter().enumerate().filter_map(mark).collect() })
    };
    let column = |title: String| {
        let ratios = names.iter().map(|name| ratio(&title, name)).collect();
        Ratios { title, falls, ratios }
    };
    let columns: Vec<Ratios> = titles.into_iter().map(column).collect();
    let names = names.iter().filter_map(|name| known.get(name).cloned()).collect();
    (!columns.is_empty()).then_some(Forest { names, columns })
}

fn chart(baseline: &str, forests: Vec<Forest>, key: &str) -> Chart {
    let falls = match forests.iter().flat_map(|forest| &forest.columns).any(|column| column.falls) {
        true => ", so the scale of CPU/request falls to the right",
        false => "",
    };
    Chart {
        title: format!("Ratio to {baseline}"),
        note: format!("Vertical line: equal; right of it is better{falls}. {key}. Logarithmic scale."),
        rows: forests.into_iter().map(Row::Forest).collect(),
        ..Chart::default()
    }
}
