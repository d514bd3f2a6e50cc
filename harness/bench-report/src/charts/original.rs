//! The original test and its repetition as bars: a row for each branch, the arm that repeats it, and each change; a
//! column for each figure. One chart for each load.

use anyhow::Result;

use super::super::Run;
use super::super::format::load;
use super::super::original::{COLUMNS, Column, found, loads};
use super::palette::GREY;
use super::series::known_colour;
use super::{Bar, COLOURS, Chart, Picture, Row};
use bench_analysis::original::Printed;
use bench_model::config::{CampaignArm, Original};
use bench_model::load::Level;

/// The figures that are drawn.
const DRAWN: [&str; 4] = ["answered/s", "timeouts", "p50", "p99"];

/// A row: what it is, its figures, its colour and how strong that is.
type Line = (String, Printed, &'static str, f64);

/// A chart for each load.
pub(super) fn pictures(run: &Run) -> Result<Vec<Picture>> {
    let original = Original::read()?;
    let picture = |(workload, level): (&str, Level)| {
        let file = format!("original-{workload}-{}.svg", level.amount());
        let alt = format!("{workload} at {}: the original test and here", load(level));
        Picture::new(file, alt, "", chart(run, &original, workload, level))
    };
    Ok(loads(run).into_iter().map(picture).collect())
}

fn chart(run: &Run, original: &Original, workload: &str, level: Level) -> Chart {
    let branches = branches(run, original, workload, level);
    let names = branches.iter().flat_map(|lines| (0..).zip(lines));
    let names = names.map(|(place, (name, ..))| (name.clone(), place == 0));
    let column = |(title, value, write): Column| {
        let bar = |(_, printed, colour, opacity): &Line| match value(printed) {
            None => Bar::default(),
            Some(value) => Bar::of(value, colour, *opacity, write(value)),
        };
        (title.to_owned(), branches.iter().flatten().map(bar).collect())
    };
    let columns = COLUMNS.into_iter().filter(|(title, ..)| DRAWN.contains(title));
    let title = format!("{workload} at {}: the original test (grey) and here", load(level));
    let rows = vec![Row::bars(names.collect(), columns.map(column).collect())];
    Chart { title, rows, ..Chart::default() }
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
