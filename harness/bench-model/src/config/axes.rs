//! Axes of a campaign: each server in each combination of the values. They become the campaign's arms, requests and
//! loads when it is read, so that all behind knows arms alone.

mod compared;
mod excepted;

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::variants::{Choice, Variants};
use super::view::one_or_several;
use crate::field_checks::distinct;
use crate::load::LoadTool;

use super::{Campaign, CampaignArm, Overrides, View};

pub use excepted::Except;

/// The most arms that axes may become.
const MOST_ARMS: usize = 500;

/// What an axis names that is no setting.
pub(super) const SERVER: &str = "server";
pub(super) const WORKLOAD: &str = "workload";
pub(super) const CONNECTIONS: &str = "connections";
pub(super) const RATE: &str = "rate";
pub(super) const TOOL: &str = "tool";

/// All of them.
pub(super) const NO_SETTINGS: [&str; 5] = [SERVER, WORKLOAD, CONNECTIONS, RATE, TOOL];

/// Values that leave a setting as the environment has it.
const NONE: [&str; 2] = ["none", "loopback"];

/// Axes, by name: `server`, `workload`, `connections`, `rate`, `tool`, a setting that an arm may have, or an axis of
/// variants in `servers.toml`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Axes(pub(super) BTreeMap<String, Vec<Value>>);

/// An axis and one of its values.
type Coordinate<'a> = (&'a str, &'a Value);

impl Axes {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether there is an axis of that name.
    pub(super) fn has(&self, axis: &str) -> bool {
        self.0.contains_key(axis)
    }

    /// Where a value of an axis stands among its values; 0 where it does not.
    pub fn order(&self, axis: &str, value: &str) -> usize {
        self.values(axis).iter().position(|known| known == value).unwrap_or(0)
    }

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

    /// The axes of settings.
    fn settings(&self) -> impl Iterator<Item = (&str, &[Value])> {
        let is_setting = |name: &str| !NO_SETTINGS.contains(&name);
        let settings = self.0.iter().filter(move |(name, _)| is_setting(name));
        settings.map(|(name, values)| (name.as_str(), values.as_slice()))
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

/// Puts what an axis names, if anything, in the place of a field; `too` says what the field names where it does.
fn put<T>(field: &mut Vec<T>, named: Result<Vec<T>>, too: &str) -> Result<()> {
    if named.as_ref().is_ok_and(Vec::is_empty) {
        return Ok(());
    }
    ensure!(field.is_empty(), "field axes.{too}, too; leave one out");
    *field = named?;
    Ok(())
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
fn is_same(axis: &str, one: &Value, other: &Value) -> bool {
    one == other || setting(axis, one).ok().zip(setting(axis, other).ok()).is_some_and(|(a, b)| a == b)
}

impl Campaign {
    /// Whether a view's ratios are over values that their axes have, and what it shows is among them.
    pub(super) fn check_values(&self, view: &View) -> Result<()> {
        if self.axes.is_empty() {
            return Ok(());
        }
        for (field, values) in [("over", &view.over), ("minus", &view.minus)] {
            values.iter().try_for_each(|(axis, value)| self.check_value(field, axis, value))?;
        }
        for (axis, values) in &view.only {
            one_or_several(values).iter().try_for_each(|value| self.check_value("only", axis, value))?;
        }
        Ok(())
    }

    /// Whether an axis has that value.
    fn check_value(&self, field: &str, axis: &str, value: &Value) -> Result<()> {
        let is_there = match axis {
            // They may stand outside of the axes.
            WORKLOAD => self.workloads.iter().any(|known| value == known.as_str()),
            TOOL => self.tools().any(|known| value == known.name()),
            CONNECTIONS | RATE => self.amounts().iter().any(|known| value == known),
            axis => self.axes.values(axis).iter().any(|known| is_same(axis, known, value)),
        };
        ensure!(is_there, "field {field}.{axis}: {value} is not among the axis's values");
        Ok(())
    }

    /// Puts arms, requests and connection counts in the place of the axes.
    ///
    /// # Errors
    /// One line with the field.
    pub(super) fn expand(&mut self, variants: &Variants) -> Result<()> {
        if self.axes.is_empty() {
            ensure!(self.over.is_empty(), "field over: it names values of axes, and there are no [axes]");
            return self.except_from_arms();
        }
        let axes = self.axes.clone();
        // Coerced one by one: the names of settings live as long as the program.
        let settings = Overrides::names().map(|name| -> &str { name });
        let known: Vec<&str> = NO_SETTINGS.into_iter().chain(settings).chain(variants.names()).collect();
        if let Some(axis) = axes.0.keys().find(|axis| !known.contains(&axis.as_str())) {
            bail!("field axes: there is no axis {axis:?}; there are {}", known.join(", "));
        }
        for (axis, values) in &axes.0 {
            ensure!(!values.is_empty(), "field axes.{axis}: give values");
        }
        self.excepts.iter().try_for_each(|except| except.check(&axes))?;
        let servers = axes.texts(SERVER)?;
        ensure!(!servers.is_empty(), "field axes.server: name the servers");
        put(&mut self.workloads, axes.texts(WORKLOAD), "workload: workloads names requests")?;
        put(&mut self.connections, axes.numbers(CONNECTIONS), "connections: connections stands by itself")?;
        if axes.has(RATE) {
            let open = self.open.as_mut();
            let open = open.context("field axes.rate: rates are those of an open loop; give [open]")?;
            put(&mut open.rates, axes.numbers(RATE), "rate: open.rates names rates")?;
        }
        self.expand_tools(&axes)?;
        let stated = self.environment.settings();
        // An environment always has a tuning and a number of slots.
        let is_stated = |axis| {
            !["tuning", "slots"].contains(&axis) && stated.each().any(|(setting, _)| setting.name == axis)
        };
        if let Some((axis, _)) = axes.settings().find(|(axis, _)| is_stated(axis)) {
            bail!("field axes.{axis}: [environment] states it, too; leave one out");
        }
        let arms = self.combined(&axes, variants)?;
        let is_plain = |(arm, _): &(CampaignArm, _)| {
            arm.settings.is_empty() && arm.loads.is_empty() && arm.variant.is_none()
        };
        if arms.iter().all(is_plain) && arms.len() == servers.len() {
            let is_left_out = self.over.is_empty();
            ensure!(
                is_left_out,
                "field over: the axes differ in servers alone; name a baseline in its place"
            );
            self.servers.splice(0..0, servers);
            return Ok(());
        }
        self.check_over()?;
        self.compare_within(&arms, &servers)?;
        self.arms.splice(0..0, arms.into_iter().map(|(arm, _)| arm));
        Ok(())
    }

    /// The load tools are those of the open loop, where there is one, and else those of the closed loops.
    fn expand_tools(&mut self, axes: &Axes) -> Result<()> {
        if !axes.has(TOOL) {
            return Ok(());
        }
        let named = axes.texts(TOOL)?;
        let of = |name: &String| {
            let known = || LoadTool::ALL.map(LoadTool::name).join(", ");
            let none = || format!("field axes.tool: there is no load tool {name:?}; there are {}", known());
            LoadTool::named(name).with_context(none)
        };
        let tools = named.iter().map(of).collect::<Result<Vec<_>>>()?;
        distinct("axes.tool", &named)?;
        if let Some(open) = &mut self.open {
            return put(&mut open.tools, Ok(tools), "tool: open.tools names load tools");
        }
        ensure!(self.tool.is_default(), "field axes.tool: tool names a load tool, too; leave one out");
        // The default first: a run keeps the version of one tool that has closed loops alone.
        self.tool = if tools.contains(&LoadTool::default()) { LoadTool::default() } else { tools[0] };
        put(&mut self.tools, Ok(tools), "tool: tool names a load tool")
    }

    /// An arm for each combination of servers, settings and variants that is run, with its place on the axes.
    fn combined<'a>(
        &self,
        axes: &'a Axes,
        variants: &Variants,
    ) -> Result<Vec<(CampaignArm, Vec<Coordinate<'a>>)>> {
        let mut places: Vec<Vec<Coordinate<'_>>> =
            axes.values(SERVER).iter().map(|server| vec![(SERVER, server)]).collect();
        for (axis, values) in axes.settings() {
            let with_each =
                |place: Vec<_>| values.iter().map(move |value| [&place[..], &[(axis, value)]].concat());
            places = places.into_iter().flat_map(with_each).collect();
            ensure!(places.len() <= MOST_ARMS, "table [axes]: they give more than {MOST_ARMS} combinations");
        }
        let mut arms = Vec::new();
        for place in places {
            let Some(loads) = self.loads(&place) else { continue };
            let mut settings = Overrides::default();
            let mut name = String::new();
            let mut choice = Choice::default();
            for (axis, value) in &place {
                let text = || value.as_str().unwrap_or_default().to_owned();
                if *axis == SERVER {
                    (choice.of, name) = (text(), text());
                    continue;
                }
                if variants.has(axis) {
                    ensure!(value.is_string(), "field axes.{axis}: {value} is no name; give texts");
                    choice.values.insert((*axis).to_owned(), text());
                } else {
                    settings = setting(axis, value)?.or(&settings);
                }
                name.push_str(&format!("-{}-{}", axis.replace('_', "-"), slug(value)));
            }
            let server = variants.entry(&choice)?;
            let variant = (!choice.values.is_empty()).then_some(choice);
            let arm = CampaignArm {
                name,
                server: Some(server),
                settings,
                variant,
                loads,
                ..CampaignArm::default()
            };
            arms.push((arm, place));
        }
        ensure!(!arms.is_empty(), "table [[except]]: it leaves nothing to run");
        Ok(arms)
    }
}

#[cfg(test)]
mod tests;
