//! Where the cells of a run stand on its axes.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::super::cell::Cell;
use crate::config::{Along, Overrides, written};
use crate::load::LoadTool;
use crate::plan::Plan;
use crate::readable_numbers::count;

/// Where a cell stands on an axis.
#[derive(Debug, Clone, PartialEq, PartialOrd)]
pub(super) struct Place {
    /// Orders the values of an axis.
    pub order: f64,
    pub words: String,
    pub number: Option<f64>,
}

/// A cell and its coordinates.
#[derive(Clone)]
pub(super) struct Located<'a> {
    pub cell: &'a Cell,
    /// Its server, by the name in `servers.toml`.
    pub entry: &'a str,
    pub places: BTreeMap<Along, Place>,
}

/// Every cell but those of the ceiling. A server of a duet has one for each other server that it ran beside.
pub(super) fn located<'a>(plan: &'a Plan, cells: &'a [Cell]) -> Vec<Located<'a>> {
    let is_own = |cell: &&Cell| !plan.is_ceiling(&cell.server);
    cells.iter().filter(is_own).map(|cell| locate(plan, cell)).collect()
}

/// A cell with its coordinates.
pub(super) fn locate<'a>(plan: &'a Plan, cell: &'a Cell) -> Located<'a> {
    let campaign = &plan.campaign;
    let mut places = BTreeMap::new();
    let named = |names: Vec<&str>, own: &str| names.iter().position(|name| *name == own).unwrap_or(0) as f64;
    let entry = campaign.entry_of(&cell.server);
    let entries = campaign.servers.iter().map(|name| campaign.entry_of(name));
    let words = |text: &str, order| Place { order, words: text.to_owned(), number: None };
    places.insert(Along::Server, words(&plan.label_of_entry(entry), named(entries.collect(), entry)));
    let workloads = campaign.workloads.iter().map(String::as_str).collect();
    places.insert(Along::Workload, words(&cell.workload, named(workloads, &cell.workload)));
    let amount = f64::from(cell.level.amount());
    let load = format!("{} {}", count(cell.level.amount().into()), cell.level.unit_of(cell.level.amount()));
    places.insert(Along::Load, Place { order: amount, words: load, number: Some(amount) });
    let tool = LoadTool::ALL.iter().position(|tool| *tool == cell.level.tool).unwrap_or(0);
    places.insert(Along::Tool, words(cell.level.tool.name(), tool as f64));
    let is_next_to = campaign.background().filter(|_| cell.level.disturbed);
    let next_to = is_next_to
        .map_or_else(|| "alone".to_owned(), |other| format!("{} in the background", other.workload));
    places.insert(Along::Background, words(&next_to, f64::from(u8::from(cell.level.disturbed))));
    let server = plan.servers.iter().find(|server| server.name == cell.server);
    if let Some(environment) = server.map(|server| plan.environment_of(server)) {
        for name in Overrides::names() {
            let Some(place) = environment.place(name) else { continue };
            let order = place.value.map_or(-1.0, |value| value as f64);
            places.insert(Along::Setting(name), Place { order, words: place.words, number: place.number });
        }
    }
    let variant = campaign.arm(&cell.server).and_then(|arm| arm.variant.as_ref());
    for (axis, value) in variant.into_iter().flat_map(|choice| &choice.values) {
        let order = campaign.values(axis).position(|known| known == value).unwrap_or(0) as f64;
        places.insert(Along::Variant(axis.clone()), words(value, order));
    }
    Located { cell, entry, places }
}

/// The axes on which cells differ.
pub(super) fn varied(all: &[Located<'_>]) -> BTreeSet<Along> {
    let differ = |axis: &Along| {
        let mut words = all.iter().filter_map(|one| one.places.get(axis)).map(|place| &place.words);
        let first = words.next();
        words.any(|other| Some(other) != first)
    };
    let axes: BTreeSet<&Along> = all.iter().flat_map(|one| one.places.keys()).collect();
    axes.into_iter().filter(|axis| differ(axis)).cloned().collect()
}

impl Located<'_> {
    /// Whether it is at a value that a campaign states.
    pub fn is_at(&self, axis: &Along, value: &Value) -> bool {
        let Some(place) = self.places.get(axis) else { return false };
        match axis {
            Along::Server => value.as_str() == Some(self.entry),
            Along::Workload | Along::Tool | Along::Variant(_) => value.as_str() == Some(&place.words),
            Along::Load => value.as_f64() == place.number,
            Along::Background => value.as_bool().map(|is_on| f64::from(u8::from(is_on))) == Some(place.order),
            Along::Setting(name) => written(name, value)
                .is_some_and(|order| order.map_or(-1.0, |order| order as f64) == place.order),
            Along::Figure(_) => false,
        }
    }
}
