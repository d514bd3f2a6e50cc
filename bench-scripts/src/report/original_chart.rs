//! The original test and its repetition as bars: a row for each branch, the arm that repeats it, and each change; a column for each
//! figure. One chart a load.

use anyhow::Result;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::Run;
use super::chart::{Area, COLOURS, FONT, GRID, INK, broken};
use super::format::{load, thousands, time_us};
use super::original::{found, loads};
use crate::analysis::original::Printed;
use crate::config::{Branch, CampaignArm, Original};
use crate::load::Level;

const WIDTH: u32 = 1_280;
const TOP: i32 = 72;
const ROW: i32 = 24;
const BAR: i32 = 15;
/// Between two branches.
const GAP: i32 = 12;
/// Where the first column begins, and how wide each is with the room for its figures.
const LEFT: i32 = 400;
const COLUMN: i32 = 220;
const FIGURES: i32 = 62;
const THERE: RGBColor = RGBColor(150, 150, 150);

/// A column: its title, its value, how that is written.
type Column = (&'static str, fn(&Printed) -> Option<f64>, fn(f64) -> String);

const COLUMNS: [Column; 4] = [
    ("requests/s", |printed| Some(printed.requests_per_second), thousands),
    ("timeouts", |printed| printed.timeouts, thousands),
    ("median", |printed| printed.p50_us, time_us),
    ("p99", |printed| Some(printed.p99_us), time_us),
];

/// A row: what it is, its figures, its colour.
struct Line {
    name: String,
    printed: Printed,
    colour: RGBAColor,
    /// Whether another branch begins with it.
    begins: bool,
}

/// The file of a load's chart.
pub(super) fn file(workload: &str, level: Level) -> String {
    format!("original-{workload}-{}.svg", level.amount())
}

/// A chart for each load, with its file.
pub(super) fn svgs(run: &Run) -> Result<Vec<(String, String)>> {
    let original = Original::read()?;
    loads(run)
        .into_iter()
        .map(|(workload, level)| Ok((file(workload, level), svg(run, &original, workload, level)?)))
        .collect()
}

fn svg(run: &Run, original: &Original, workload: &str, level: Level) -> Result<String> {
    let lines = lines(run, original, workload, level);
    let gaps = lines.iter().filter(|line| line.begins).count() as i32 * GAP;
    let height = (TOP + lines.len() as i32 * ROW + gaps + 16) as u32;
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, (WIDTH, height)).into_drawing_area();
        root.fill(&WHITE).map_err(broken)?;
        let title = format!("{workload} at {}: the original test (grey) and here", load(level));
        write(&root, &title, (20, 22), 17, HPos::Left)?;
        for (place, (name, ..)) in COLUMNS.iter().enumerate() {
            write(&root, name, (LEFT + place as i32 * COLUMN, 52), 14, HPos::Left)?;
        }
        let most = COLUMNS.map(|(_, value, _)| {
            lines.iter().filter_map(|line| value(&line.printed)).fold(f64::MIN_POSITIVE, f64::max)
        });
        let mut y = TOP;
        for line in &lines {
            y += if line.begins { GAP } else { 0 };
            row(&root, line, y, &most)?;
            y += ROW;
        }
        root.present().map_err(broken)?;
    }
    Ok(text)
}

/// The rows: each branch as it was, the arms that repeat it, and those that change one setting of these.
fn lines(run: &Run, original: &Original, workload: &str, level: Level) -> Vec<Line> {
    let mut lines = Vec::new();
    for (place, branch) in original.branches.iter().enumerate() {
        let arms = arms(run, branch);
        let here = |arm: &&CampaignArm| found(run, &arm.name, workload, level).map(|found| found.printed);
        if arms.iter().find_map(here).is_none() {
            continue;
        }
        let first = lines.len();
        if let Some(there) = branch.run(workload, level.connections) {
            let printed = Printed::of_original(there);
            lines.push(Line { name: branch.title.clone(), printed, colour: THERE.to_rgba(), begins: false });
        }
        for arm in arms {
            let Some(printed) = here(&arm) else { continue };
            let (name, strength) = match arm.of {
                Some(_) => (format!("but {}", arm.settings.words()), 0.55),
                None => (format!("here: {}", run.label(&arm.name)), 1.0),
            };
            lines.push(Line {
                name,
                printed,
                colour: COLOURS[place % COLOURS.len()].mix(strength),
                begins: false,
            });
        }
        if let Some(line) = lines.get_mut(first) {
            line.begins = true;
        }
    }
    lines
}

/// The arms that repeat a branch, and those that differ from them by one setting.
fn arms<'a>(run: &'a Run, branch: &Branch) -> Vec<&'a CampaignArm> {
    let campaign = &run.plan.campaign;
    let is_of = |arm: &&CampaignArm| campaign.base(arm).branch.as_ref() == Some(&branch.name);
    campaign.arms.iter().filter(is_of).collect()
}

fn row(area: &Area<'_>, line: &Line, y: i32, most: &[f64; 4]) -> Result<()> {
    write(area, &line.name, (LEFT - 14, y + BAR / 2), 13, HPos::Right)?;
    for (place, ((_, value, written), most)) in COLUMNS.iter().zip(most).enumerate() {
        let x = LEFT + place as i32 * COLUMN;
        area.draw(&PathElement::new(vec![(x, y - 4), (x, y + ROW - 4)], GRID.stroke_width(1)))
            .map_err(broken)?;
        let Some(value) = value(&line.printed) else { continue };
        let end = x + (value / most * f64::from(COLUMN - FIGURES - 20)).round() as i32;
        area.draw(&Rectangle::new([(x, y), (end, y + BAR)], line.colour.filled())).map_err(broken)?;
        write(area, &written(value), (end + 5, y + BAR / 2), 12, HPos::Left)?;
    }
    Ok(())
}

fn write(area: &Area<'_>, text: &str, at: (i32, i32), size: u32, to: HPos) -> Result<()> {
    let style = (FONT, size).into_font().color(&INK).pos(Pos::new(to, VPos::Center));
    area.draw(&Text::new(text.to_owned(), at, style)).map_err(broken)
}
