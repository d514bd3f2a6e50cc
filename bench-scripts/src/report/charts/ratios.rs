//! Each server's ratio to the baseline with its interval and, behind it, the ratio of every block: a forest plot, equal at 1.

use super::super::Run;
use super::super::answer::short;
use super::super::sections::is_duet;
use super::series::styles;
use super::{Chart, Forest, Picture, Ratio, Row, Style};
use crate::analysis::{Comparison, Finding, JUDGED};
use crate::stats::Estimate;

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
pub(in crate::report) fn picture(run: &Run) -> Option<Picture> {
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
    let names = short(&labels);
    let titles = columns.into_iter().map(|column| column.title);
    let take = |mut column: Vec<Option<Ratio>>| shown.iter().map(|server| column[*server].take()).collect();
    let forest = Forest { names, columns: titles.zip(all.into_iter().map(take)).collect() };
    let chart = Chart {
        title: format!("Ratio to {} (vertical line: equal)", run.label(baseline)),
        rows: vec![Row::Forest(forest)],
        ..Chart::default()
    };
    Some(Picture {
        file: "ratios.svg".to_owned(),
        alt: format!("Each server's requests/s and CPU per request over those of {}", run.label(baseline)),
        note: "More requests/s is better, less CPU is better. Bars are the intervals of this run; dots are its blocks. All scales \
               are the same, and logarithmic, so that half and double are as far from equal."
            .to_owned(),
        chart,
    })
}
