//! Each server's ratio to the baseline with its interval and, behind it, the ratio of every block: a forest plot, equal
//! at 1.

use super::super::Run;
use super::super::sections::is_duet;
use super::series::styles;
use super::{Chart, Forest, Picture, Ratio, Ratios, Row, Style};
use bench_analysis::JUDGED;
use bench_model::config::Server;
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
            Some(Ratio { style: *style, value, interval, dots })
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
    let falls = match forest.columns.iter().any(|column| column.falls) {
        true => ", so the scale of CPU/request falls to the right",
        false => "",
    };
    let baseline = run.label(baseline);
    let chart = Chart {
        title: format!("Ratio to {baseline}"),
        note: format!("Vertical line: equal; right of it is better{falls}. {key}. Logarithmic scale."),
        rows: vec![Row::Forest(forest)],
        ..Chart::default()
    };
    let alt = format!("Each server's requests/s and CPU per request over those of {baseline}");
    Some(Picture::new("ratios.svg", alt, "", chart))
}
