//! Axes of a campaign: each server in each combination of the values. They become the campaign's arms, requests and
//! loads when it is read. Several tables of axes are a union: what of one grid is not in another.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::along::{CONNECTIONS, NO_SETTINGS, RATE, SERVER, TOOL, WORKLOAD, one_or_several};
use super::variants::{Choice, Variants};
use crate::field_checks::distinct;
use crate::load::LoadTool;

use super::{Campaign, CampaignArm, Overrides, View};

/// The most arms that axes may become.
const MOST_ARMS: usize = 500;

/// Values that leave a setting as the environment has it.
const NONE: [&str; 2] = ["none", "loopback"];

/// Axes, by name: `server`, `workload`, `connections`, `rate`, `tool`, a setting that an arm may have, or an axis of
/// variants in `servers.toml`. What it does not name of requests, loads and tools is as the campaign's fields say.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Axes(pub(super) BTreeMap<String, Vec<Value>>);

/// What is not run: one value, or several, of each of some axes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Except(pub(super) BTreeMap<String, Value>);

/// Where something stands: a value of each axis.
pub(super) type Place = BTreeMap<String, Value>;

impl Axes {
    fn values(&self, axis: &str) -> &[Value] {
        self.0.get(axis).map_or(&[], Vec::as_slice)
    }

    fn texts(&self, axis: &str) -> Result<Vec<String>> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let texts = self.values(axis).iter().map(text).collect::<Option<Vec<_>>>();
        texts.with_context(|| format!("field axes.{axis}: give names, as texts"))
    }

    fn numbers(&self, axis: &str) -> Result<Vec<u32>> {
        let number = |value: &Value| value.as_u64().and_then(|number| u32::try_from(number).ok());
        let numbers = self.values(axis).iter().map(number).collect::<Option<Vec<_>>>();
        numbers.with_context(|| format!("field axes.{axis}: give whole numbers"))
    }

    /// The axes of settings and of variants.
    fn settings(&self) -> impl Iterator<Item = (&String, &Vec<Value>)> {
        self.0.iter().filter(|(name, _)| !NO_SETTINGS.contains(&name.as_str()))
    }

    /// Each server at each combination of the settings.
    fn places(&self) -> Result<Vec<Place>> {
        let of = |axis: &str, value: &Value| Place::from([(axis.to_owned(), value.clone())]);
        let mut places: Vec<Place> = self.values(SERVER).iter().map(|server| of(SERVER, server)).collect();
        for (axis, values) in self.settings() {
            let with_each = |place: &Place| {
                let with = |value| place.clone().into_iter().chain(of(axis, value)).collect();
                values.iter().map(with).collect::<Vec<Place>>()
            };
            places = places.iter().flat_map(with_each).collect();
            ensure!(places.len() <= MOST_ARMS, "table [axes]: they give more than {MOST_ARMS} combinations");
        }
        Ok(places)
    }
}

impl Except {
    /// Whether it names the place.
    fn names(&self, place: &Place) -> bool {
        self.0.iter().all(|(axis, excepted)| {
            let is_excepted =
                |value| one_or_several(excepted).iter().any(|other| is_same(axis, other, value));
            place.get(axis).is_some_and(is_excepted)
        })
    }
}

/// What a value of an axis changes.
fn setting(axis: &str, value: &Value) -> Result<Overrides> {
    if value.as_str().is_some_and(|word| NONE.contains(&word)) {
        return Ok(Overrides::default());
    }
    let table = Value::Object([(axis.to_owned(), value.clone())].into_iter().collect());
    let own: Overrides =
        serde_json::from_value(table).with_context(|| format!("field axes.{axis}: {value}"))?;
    own.check_ranges("axes")?;
    Ok(own)
}

/// A value as part of an arm's name.
fn slug(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Object(members) => members.values().map(slug).collect::<Vec<_>>().join("-"),
        other => other.to_string(),
    };
    let parts = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("-").to_ascii_lowercase()
}

/// The number that orders a setting's values, of one as a campaign writes it: none within where it leaves the setting
/// as the environment has it, none at all where there is no such setting or value.
pub fn written(axis: &str, value: &Value) -> Option<Option<u64>> {
    let own = setting(axis, value).ok()?;
    Some(own.each().next().map(|(_, value)| value))
}

/// A setting's value in words, as a campaign writes it; none where there is no such setting or value.
pub fn words_of(axis: &str, value: &Value) -> Option<String> {
    let words = setting(axis, value).ok()?.words();
    if words.is_empty() { value.as_str().map(str::to_owned) } else { Some(words) }
}

/// Whether two values of an axis are the same, however they are written: `1` and `1.0`, say.
pub(super) fn is_same(axis: &str, one: &Value, other: &Value) -> bool {
    one == other || setting(axis, one).ok().zip(setting(axis, other).ok()).is_some_and(|(a, b)| a == b)
}

impl Campaign {
    /// The loads: connection counts, or the rates of an open loop.
    pub(super) fn amounts(&self) -> &[u32] {
        self.open.as_ref().map_or(&self.connections, |open| &open.rates)
    }

    /// The axis that has them.
    pub(super) fn amounts_axis(&self) -> &'static str {
        if self.open.is_some() { RATE } else { CONNECTIONS }
    }

    pub(super) fn set_amounts(&mut self, amounts: Vec<u32>) {
        match &mut self.open {
            Some(open) => open.rates = amounts,
            None => self.connections = amounts,
        }
    }

    /// The values of an axis in all tables.
    pub fn values(&self, axis: &str) -> impl Iterator<Item = &Value> {
        self.axes.iter().flat_map(move |axes| axes.values(axis))
    }

    /// Whether a view's ratios are over values that their axes have, and what it shows is among them.
    pub(super) fn check_values(&self, view: &View) -> Result<()> {
        for (field, values) in [("over", &view.over), ("minus", &view.minus), ("only", &view.only)] {
            for (axis, value) in values.iter().filter(|_| !self.axes.is_empty()) {
                let values =
                    if field == "only" { one_or_several(value) } else { std::slice::from_ref(value) };
                values.iter().try_for_each(|value| self.check_value(field, axis, value))?;
            }
        }
        Ok(())
    }

    /// Whether an axis has that value.
    pub(super) fn check_value(&self, field: &str, axis: &str, value: &Value) -> Result<()> {
        // Requests, loads and tools may stand outside of the axes.
        let is_own = match axis {
            WORKLOAD => self.workloads.iter().any(|known| value == known.as_str()),
            TOOL => self.tools().any(|known| value == known.name()),
            CONNECTIONS | RATE => self.amounts().iter().any(|known| value == known),
            _ => false,
        };
        let is_there = is_own || self.values(axis).any(|known| is_same(axis, known, value));
        ensure!(is_there, "field {field}.{axis}: {value} is not among the axis's values");
        Ok(())
    }

    /// Puts arms, requests and loads in the place of the axes.
    ///
    /// # Errors
    /// One line with the field.
    pub(super) fn expand(&mut self, variants: &Variants) -> Result<()> {
        ensure!(self.arms.is_empty(), "field arm: write its server and settings as a table [[axes]]");
        if self.axes.is_empty() {
            ensure!(self.over.is_empty(), "field over: it names values of axes, and there are no [axes]");
            ensure!(
                self.excepts.is_empty(),
                "table [[except]]: there are no [axes] that it could leave out of"
            );
            return Ok(());
        }
        self.check_axes(variants)?;
        self.expand_tools()?;
        let arms = self.combined(variants)?;
        let is_plain = |(arm, _): &(CampaignArm, _)| {
            arm.settings.is_empty() && arm.loads.is_empty() && arm.variant.is_none()
        };
        if arms.iter().all(is_plain) {
            let is_left_out = self.over.is_empty();
            ensure!(
                is_left_out,
                "field over: the axes differ in servers alone; name a baseline in its place"
            );
            self.servers.splice(0..0, arms.into_iter().map(|(arm, _)| arm.name));
            return Ok(());
        }
        self.compare_within(&arms)?;
        self.arms.extend(arms.into_iter().map(|(arm, _)| arm));
        Ok(())
    }

    fn check_axes(&self, variants: &Variants) -> Result<()> {
        // Coerced one by one: the names of settings live as long as the program.
        let settings = Overrides::names().map(|name| -> &str { name });
        let known: Vec<&str> = NO_SETTINGS.into_iter().chain(settings).chain(variants.names()).collect();
        let stated = self.environment.settings();
        // An environment always has a tuning and a number of slots.
        let is_stated = |axis: &str| {
            !["tuning", "slots"].contains(&axis) && stated.each().any(|(setting, _)| setting.name == axis)
        };
        for axes in &self.axes {
            ensure!(!axes.values(SERVER).is_empty(), "field axes.server: name the servers");
            for (axis, values) in &axes.0 {
                if !known.contains(&axis.as_str()) {
                    bail!("field axes: there is no axis {axis:?}; there are {}", known.join(", "));
                }
                ensure!(!values.is_empty(), "field axes.{axis}: give values");
                ensure!(!is_stated(axis), "field axes.{axis}: [environment] states it, too; leave one out");
            }
        }
        let has_no_rates = self.values(RATE).next().is_none() || self.open.is_some();
        ensure!(has_no_rates, "field axes.rate: rates are those of an open loop; give [open]");
        for Except(excepted) in &self.excepts {
            ensure!(!excepted.is_empty(), "table [[except]]: name an axis and its value");
            ensure!(
                !excepted.contains_key(TOOL),
                "field except.tool: each load tool sends all that the others do; leave it out"
            );
            for (axis, excepted) in excepted {
                for one in one_or_several(excepted) {
                    self.check_value("except", axis, one)?;
                }
            }
        }
        Ok(())
    }

    /// The load tools are those of the open loop, where there is one, and else those of the closed loops.
    fn expand_tools(&mut self) -> Result<()> {
        let named: Vec<&Value> = self.values(TOOL).collect();
        if named.is_empty() {
            return Ok(());
        }
        distinct("axes.tool", &named)?;
        let of = |name: &&Value| {
            let known = || LoadTool::ALL.map(LoadTool::name).join(", ");
            let none = || format!("field axes.tool: there is no load tool {name}; there are {}", known());
            name.as_str().and_then(LoadTool::named).with_context(none)
        };
        let tools = named.iter().map(of).collect::<Result<Vec<_>>>()?;
        let own = self.open.as_mut().map_or(&mut self.tools, |open| &mut open.tools);
        let is_left_out = own.is_empty() && self.tool.is_default();
        ensure!(is_left_out, "field axes.tool: tool names a load tool, too; leave one out");
        own.clone_from(&tools);
        if self.open.is_none() {
            // The default first: a run keeps the version of one tool that has closed loops alone.
            self.tool = if tools.contains(&LoadTool::default()) { LoadTool::default() } else { tools[0] };
        }
        Ok(())
    }

    /// An arm for each combination of servers, settings and variants that is run, with its place.
    fn combined(&mut self, variants: &Variants) -> Result<Vec<(CampaignArm, Place)>> {
        let mut arms: Vec<(CampaignArm, Place)> = Vec::new();
        let (mut workloads, mut amounts) = (Vec::new(), Vec::new());
        let axis = self.amounts_axis();
        for axes in &self.axes {
            let own = axes.stated_or(WORKLOAD, axes.texts(WORKLOAD)?, &self.workloads)?;
            let loads = axes.stated_or(axis, axes.numbers(axis)?, self.amounts())?;
            for place in axes.places()? {
                let mut arm = arm_at(&place, variants)?;
                for (workload, amount) in
                    own.iter().flat_map(|name| loads.iter().map(move |load| (name, load)))
                {
                    let at = [(WORKLOAD, Value::from(workload.as_str())), (axis, Value::from(*amount))];
                    let at = at.map(|(axis, value)| (axis.to_owned(), value));
                    let at = place.clone().into_iter().chain(at).collect();
                    if !self.excepts.iter().any(|except| except.names(&at)) {
                        arm.loads.entry(workload.clone()).or_default().push(*amount);
                    }
                }
                match arms.iter_mut().find(|(known, _)| known.name == arm.name) {
                    // A search has no loads of its own.
                    _ if arm.loads.is_empty() && !loads.is_empty() => {}
                    Some((known, _)) => known.add_loads(arm.loads),
                    None => arms.push((arm, place)),
                }
            }
            add_new(&mut workloads, own);
            add_new(&mut amounts, loads);
        }
        ensure!(!arms.is_empty(), "table [[except]]: it leaves nothing to run");
        let is_all = |arm: &CampaignArm| {
            arm.loads.len() == workloads.len() && arm.loads.values().all(|own| own.len() == amounts.len())
        };
        for (arm, _) in arms.iter_mut().filter(|(arm, _)| is_all(arm)) {
            arm.loads.clear();
        }
        self.workloads = workloads;
        self.set_amounts(amounts);
        Ok(arms)
    }
}

impl Axes {
    /// The values of an axis, or those of the campaign's field where the table names none.
    fn stated_or<T: Clone + PartialEq + std::fmt::Debug>(
        &self,
        axis: &str,
        stated: Vec<T>,
        of_campaign: &[T],
    ) -> Result<Vec<T>> {
        if stated.is_empty() {
            return Ok(of_campaign.to_vec());
        }
        let other = stated.iter().find(|value| !of_campaign.is_empty() && !of_campaign.contains(value));
        match other {
            Some(other) => {
                bail!("field axes.{axis}: {other:?} is not among those that the campaign names besides")
            }
            None => Ok(stated),
        }
    }
}

fn add_new<T: PartialEq>(to: &mut Vec<T>, values: Vec<T>) {
    for value in values {
        if !to.contains(&value) {
            to.push(value);
        }
    }
}

/// The arm at a place, without its loads.
fn arm_at(place: &Place, variants: &Variants) -> Result<CampaignArm> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let of = place.get(SERVER).map(text).unwrap_or_default();
    let (mut name, mut settings) = (of.clone(), Overrides::default());
    let mut choice = Choice { of, values: BTreeMap::new() };
    for (axis, value) in place.iter().filter(|(axis, _)| *axis != SERVER) {
        if variants.has(axis) {
            ensure!(value.is_string(), "field axes.{axis}: {value} is no name; give texts");
            choice.values.insert(axis.clone(), text(value));
        } else {
            settings = setting(axis, value)?.or(&settings);
        }
        name.push_str(&format!("-{}-{}", axis.replace('_', "-"), slug(value)));
    }
    let server = variants.entry(&choice)?;
    let variant = (!choice.values.is_empty()).then_some(choice);
    Ok(CampaignArm { name, server, settings, variant, loads: BTreeMap::new() })
}

#[cfg(test)]
mod tests;
