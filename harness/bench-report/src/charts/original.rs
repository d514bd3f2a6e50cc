//! The original test and its repetition as bars: a row for each branch, the arm that repeats it, and each change; a
//! column for each figure. One chart for each request.

use super::super::Run;
use super::super::format::{list, load};
use super::super::original::{COLUMNS, Column, found, loads};
use super::palette::GREY;
use super::series::known_colour;
use super::{Bar, COLOURS, Chart, Picture, Row};
use bench_analysis::grouped;
use bench_analysis::original::Printed;
use bench_model::config::{CampaignArm, Original};
use bench_model::load::Level;
use bench_system::readable_numbers::thousands;

/// The figures that are drawn.
const DRAWN: [&str; 4] = ["answered/s", "timeouts", "p50", "p99"];

/// A row: what it is, its figures, its colour and how strong that is.
type Line = (String, Printed, &'static str, f64);

/// A chart for each request.
pub(super) fn pictures(run: &Run) -> Vec<Picture> {
    let original = Original::read();
    let picture = |(workload, levels): (&str, Vec<Level>)| {
        let alt =
            format!("{workload} at {}: the original test and here", list(levels.iter().map(|at| load(*at))));
        Picture::new(format!("original-{workload}.svg"), alt, "", chart(run, &original, workload, &levels))
    };
    grouped(loads(run)).into_iter().map(picture).collect()
}

/// Bars for each load, on a scale of their own.
fn chart(run: &Run, original: &Original, workload: &str, levels: &[Level]) -> Chart {
    let rows = levels.iter().map(|level| {
        let branches = branches(run, original, workload, *level);
        let names = branches.iter().flat_map(|lines| (0..).zip(lines));
        let names = names.map(|(place, (name, ..))| (name.clone(), place == 0)).collect();
        let drawn = COLUMNS.into_iter().filter(|(title, ..)| DRAWN.contains(title));
        let column = |(place, (title, value, write)): (usize, Column)| {
            let bar = |(_, printed, colour, opacity): &Line| match value(printed) {
                None => Bar::default(),
                Some(value) => Bar::of(value, colour, *opacity, write(value)),
            };
            let at =
                if place == 0 { format!("{}: ", thousands(level.amount().into())) } else { String::new() };
            (at + title, branches.iter().flatten().map(bar).collect())
        };
        Row::bars(names, drawn.enumerate().map(column).collect())
    });
    let by = match levels {
        [one] => format!(" at {}", load(*one)),
        _ => ", by connections".to_owned(),
    };
    let title = format!("{workload}{by}: the original test (grey) and here");
    Chart { title, rows: rows.collect(), ..Chart::default() }
}

/// The rows of each branch that was repeated: as it was, the arms that repeat it, and those that change one setting of
/// these.
fn branches(run: &Run, original: &Original, workload: &str, level: Level) -> Vec<Vec<Line>> {
    let campaign = &run.plan.campaign;
    let mut branches = Vec::new();
    for (place, branch) in original.branches.iter().enumerate() {
        let colour = COLOURS[known_colour(&branch.server).unwrap_or(place) % COLOURS.len()];
        let here = |arm: &CampaignArm| {
            let is_of_branch = campaign.base(arm).branch.as_ref() == Some(&branch.name);
            let printed = found(run, &arm.name, workload, level).filter(|_| is_of_branch)?.printed;
            let (name, opacity) = match arm.of {
                Some(_) => (format!("but {}", arm.settings.words()), 0.55),
                None => (format!("here: {}", run.label(&arm.name)), 1.0),
            };
            Some((name, printed, colour, opacity))
        };
        let here: Vec<Line> = campaign.arms.iter().filter_map(here).collect();
        if here.is_empty() {
            continue;
        }
        let there = branch.run(workload, level.connections);
        let there = there.map(|there| (branch.title.clone(), Printed::of_original(there), GREY, 1.0));
        branches.push(there.into_iter().chain(here).collect());
    }
    branches
}
