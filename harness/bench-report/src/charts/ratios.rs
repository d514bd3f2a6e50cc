//! Each server's ratio to the baseline with its interval and, behind it, the ratio of every block: a forest plot, equal
//! at 1.

use std::collections::{BTreeMap, BTreeSet};

use super::super::Run;
use super::super::sections::is_duet;
use super::series::{known_colour, known_label, styles};
use super::{COLOURS, Chart, Forest, Picture, Ratio, Ratios, Row, Style};
use bench_analysis::pooled::{Across, Group, Model, PooledFigure};
use bench_analysis::{Comparison, Finding, JUDGED};
use bench_model::config::Placement;
use bench_model::plan::short_labels;
use bench_stats::Estimate;

/// A column: the run whose comparisons it shows, the request, and which of [`JUDGED`].
struct Column<'a> {
    title: String,
    run: &'a Run,
    workload: &'a str,
    figure: usize,
}

impl Column<'_> {
    fn ratio(&self, server: &str, over: &str, style: Style) -> Option<Ratio> {
        let level = self.run.plan.headline_level(self.workload);
        let pair: &Comparison = self.run.summary.comparison(server, over, self.workload, level)?;
        let finding: &Finding = [&pair.rate, &pair.cpu][self.figure];
        let Estimate { value, interval } = finding.ratio;
        Some(Ratio { style, value, interval, blocks: pair.block_ratios[self.figure].clone() })
    }
}

/// The chart; none where nothing is compared with a baseline.
pub(crate) fn picture(run: &Run) -> Option<Picture> {
    let campaign = &run.plan.campaign;
    let baseline = campaign.baseline.as_ref()?;
    // With a background load the CPU time is that of both loads.
    if campaign.open.as_ref().is_some_and(|open| open.background.is_some()) {
        return None;
    }
    let mut columns = Vec::new();
    for workload in &campaign.workloads {
        for figure in 0..JUDGED.len() {
            let (name, run) = match figure {
                0 => ("requests/s", run),
                _ => ("CPU/request", run.duets.as_deref().unwrap_or(run)),
            };
            if figure == 0 && (is_duet(run) || campaign.open.is_some()) {
                continue;
            }
            columns.push(Column { title: format!("{workload}: {name}"), run, workload, figure });
        }
    }
    let servers: Vec<_> = run.plan.servers.iter().zip(styles(&run.plan.servers)).collect();
    let ratios = |column: &Column<'_>| -> Vec<Option<Ratio>> {
        servers.iter().map(|(server, style)| column.ratio(&server.name, baseline, *style)).collect()
    };
    let all: Vec<Vec<Option<Ratio>>> = columns.iter().map(ratios).collect();
    let is_shown = |server: &usize| all.iter().any(|column| column[*server].is_some());
    let shown: Vec<usize> = (0..servers.len()).filter(is_shown).collect();
    if shown.is_empty() {
        return None;
    }
    let labels: Vec<&str> = shown.iter().map(|server| servers[*server].0.label()).collect();
    let names = short_labels(&labels);
    let take = |(column, mut ratios): (Column<'_>, Vec<Option<Ratio>>)| Ratios {
        title: column.title,
        falls: column.figure != 0,
        ratios: shown.iter().map(|server| ratios[*server].take()).collect(),
    };
    let forest = Forest { names, columns: columns.into_iter().zip(all).map(take).collect() };
    let chart = chart(run.label(baseline), vec![forest], "its interval; dots: blocks");
    Some(Picture {
        file: "ratios.svg".to_owned(),
        alt: format!("Each server's requests/s and CPU per request over those of {}", run.label(baseline)),
        note: String::new(),
        chart,
    })
}

/// Ratios of all kept runs of the newest builds to the baseline that most of them have: CPU time of pairs side by side,
/// over many builds where these were measured, and below it rates. None where nothing was pooled of three runs on one
/// model of processor. Of several models the bar is the range over them.
pub(crate) fn pooled(groups: &[Group]) -> Option<Chart> {
    let is_predicted = |model: &Model| model.pooled.is_some_and(|pooled| pooled.prediction.is_some());
    let is_cpu = |group: &Group| group.setting.figure == PooledFigure::Cpu;
    let enough = |group: &&Group| {
        let is_sharp = !is_cpu(group) || group.setting.placement == Placement::Duet;
        is_sharp && group.newest && group.models.iter().any(is_predicted)
    };
    let shown: Vec<&Group> = groups.iter().filter(enough).collect();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    shown.iter().for_each(|group| *counts.entry(&group.setting.over).or_default() += 1);
    let (baseline, _) = counts.into_iter().max_by_key(|(_, count)| *count)?;
    let shown: Vec<&Group> = shown.into_iter().filter(|group| group.setting.over == baseline).collect();
    let of_figure = |falls: bool| {
        let groups: Vec<&Group> = shown.iter().copied().filter(|group| is_cpu(group) == falls).collect();
        forest(&groups, falls)
    };
    let forests = [true, false].into_iter().filter_map(of_figure).collect();
    let key = match shown.iter().any(|group| group.across.is_some()) {
        false => "the range in which one more run on this processor is expected; dots: runs",
        true => "the range over models of processors; dots: runs",
    };
    Some(chart(known_label(baseline), forests, key))
}

/// Pooled ratios of one figure: a column for each request.
fn forest(groups: &[&Group], falls: bool) -> Option<Forest> {
    let column = |group: &Group| {
        let setting = &group.setting;
        let figure = if falls { "CPU/request" } else { "requests/s" };
        format!("{}: {figure}, {} conn.", setting.workload, setting.connections)
    };
    let sorted = |of: &dyn Fn(&Group) -> String| {
        let all: BTreeSet<String> = groups.iter().map(|group| of(group)).collect();
        all.into_iter().collect::<Vec<_>>()
    };
    let (titles, names) = (sorted(&column), sorted(&|group| group.setting.server.clone()));
    let ratio = |title: &String, name: &String| {
        let of = |group: &&&Group| column(group) == *title && group.setting.server == *name;
        let group =
            groups.iter().filter(of).max_by_key(|group| (group.setting.many_builds, group.runs().count()))?;
        let colour = known_colour(name).unwrap_or(COLOURS.len());
        let next = group.models.first()?.next_run();
        let (value, interval) = match group.across {
            None => (next.value, next.interval),
            Some(Across { range: (low, high), .. }) => ((low * high).sqrt(), Some((low, high))),
        };
        let blocks = group.runs().map(|run| run.ratio.value).collect();
        Some(Ratio { style: Style { colour, variant: 0 }, value, interval, blocks })
    };
    let columns: Vec<Ratios> = titles
        .into_iter()
        .map(|title| {
            let ratios = names.iter().map(|name| ratio(&title, name)).collect();
            Ratios { title, falls, ratios }
        })
        .collect();
    let names = short_labels(&names.iter().map(|name| known_label(name)).collect::<Vec<_>>());
    (!columns.is_empty()).then_some(Forest { names, columns })
}

fn chart(baseline: &str, forests: Vec<Forest>, key: &str) -> Chart {
    let falls = match forests.iter().flat_map(|forest| &forest.columns).any(|column| column.falls) {
        true => ", so the scale of CPU/request falls to the right",
        false => "",
    };
    Chart {
        title: format!("Ratio to {baseline}"),
        note: format!(
            "Vertical line: equal; right of it is better{falls}. Large mark: the ratio; bar: {key}. Logarithmic \
             scale, of the same length in {}.",
            if forests.len() > 1 { "panels next to each other" } else { "all panels" }
        ),
        rows: forests.into_iter().map(Row::Forest).collect(),
        ..Chart::default()
    }
}
