//! Views: what a report shows of a campaign's axes. Each is a table, a chart, a tab's section and a part of the
//! headline.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;

use super::Overrides;
use super::along::{Along, BACKGROUND, NO_SETTINGS, SERVER, one_or_many, one_or_several, variable};
use crate::arithmetic::Formula;
use crate::figure::Figure;
use crate::workload::Workload;

/// A question to the cells of a run: which figures, against what.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct View {
    /// Its heading.
    pub title: String,
    /// One figure or several; the fit, the bound and the chart are of the first.
    #[serde(deserialize_with = "one_or_many")]
    pub figure: Vec<Figure>,
    /// What the figures stand against: an axis, or another figure.
    pub x: String,
    /// The axis with a line for each value.
    #[serde(default = "default_series")]
    pub series: String,
    /// The axis with a panel for each value.
    pub panels: Option<String>,
    /// Values of some axes, one or several of each: what the view shows; all cells where left out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub only: BTreeMap<String, Value>,
    /// Values of some axes: each cell is also shown as a ratio over the one with these and all other coordinates the
    /// same.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub over: BTreeMap<String, Value>,
    /// Values of some axes: each cell is also shown as what it has above the one with these and all other coordinates
    /// the same.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub minus: BTreeMap<String, Value>,
    /// The method whose calls latencies are of, also where a workload mixes several: what other calls do to these.
    pub method: Option<String>,
    /// How ratios over `over` truly are, by the value of x, where that is known: the report counts right and wrong claims
    /// of the first figure.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub planted: BTreeMap<String, Planted>,
    /// What is fitted through each series.
    pub fit: Option<Fit>,
    /// What arithmetic allows the first figure to be, such as `connections * batch / round_trip`; see [`Formula`].
    pub bound: Option<Formula>,
    /// Whether the values of x stand side by side, a column for each, in a table with a row for each figure of a series.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub grid: bool,
    /// A sentence above those that the report writes itself.
    pub headline: Option<String>,
}

/// How a ratio truly is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Planted {
    /// 1.
    Same,
    /// Above 1.
    More,
    /// Below 1.
    Less,
}

/// What is fitted through points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fit {
    /// A straight line by relative error, in each block.
    Line,
}

fn default_series() -> String {
    SERVER.to_owned()
}

impl View {
    /// Figures of each server along an axis.
    pub fn of(title: &str, figure: &[Figure], x: &str) -> Self {
        Self {
            title: title.to_owned(),
            figure: figure.to_vec(),
            x: x.to_owned(),
            series: default_series(),
            ..Self::default()
        }
    }

    /// What the figures stand against.
    ///
    /// # Errors
    /// There is no such axis or figure.
    pub fn x(&self) -> Result<Along> {
        along("x", &self.x)
    }

    /// The axis with a line for each value.
    ///
    /// # Errors
    /// There is no such axis.
    pub fn series(&self) -> Result<Along> {
        axis("series", &self.series)
    }

    /// The axis with a panel for each value.
    ///
    /// # Errors
    /// There is no such axis.
    pub fn panels(&self) -> Result<Option<Along>> {
        self.panels.as_ref().map(|name| axis("panels", name)).transpose()
    }

    /// The axes whose values are stated for the denominator of ratios.
    ///
    /// # Errors
    /// There is no such axis.
    pub fn over(&self) -> Result<Vec<(Along, &Value)>> {
        stated("over", &self.over)
    }

    /// The axes whose values are stated for what differences are from.
    ///
    /// # Errors
    /// There is no such axis.
    pub fn minus(&self) -> Result<Vec<(Along, &Value)>> {
        stated("minus", &self.minus)
    }

    /// The axes of which some values alone are shown, with these.
    ///
    /// # Errors
    /// There is no such axis.
    pub fn only(&self) -> Result<Vec<(Along, &[Value])>> {
        self.only.iter().map(|(name, value)| Ok((axis("only", name)?, one_or_several(value)))).collect()
    }

    /// Whether some request calls the method that latencies are of, as far as workloads say what they call.
    ///
    /// # Errors
    /// One line with the view and the field.
    pub fn check_method(&self, workloads: &[Workload]) -> Result<()> {
        let Some(method) = &self.method else { return Ok(()) };
        ensure!(
            workloads.iter().any(|workload| workload.may_call(method)),
            "[[view]] {:?}: field method: no workload calls {method:?}; name a method of {}",
            self.title,
            workloads.iter().map(|workload| workload.name.as_str()).collect::<Vec<_>>().join(", ")
        );
        Ok(())
    }

    pub(super) fn check(&self, has_axis: impl Fn(&str) -> bool) -> Result<()> {
        let is_heading = !self.title.trim().is_empty() && !self.title.contains(['\n', '#', '|', '`']);
        ensure!(is_heading, "field title: give one line without #, | and `");
        ensure!(!self.figure.is_empty(), "field figure: name one");
        let (x, series) = (self.x()?, self.series()?);
        let panels = self.panels()?;
        let (over, minus, only) = (self.over()?, self.minus()?, self.only()?);
        let mut named = vec![("x", &x), ("series", &series)];
        named.extend(panels.iter().map(|axis| ("panels", axis)));
        named.extend(over.iter().map(|(axis, _)| ("over", axis)));
        named.extend(minus.iter().map(|(axis, _)| ("minus", axis)));
        named.extend(only.iter().map(|(axis, _)| ("only", axis)));
        for (field, axis) in named {
            let Along::Variant(name) = axis else { continue };
            ensure!(has_axis(name), unknown(field, name));
        }
        ensure!(x != series, "fields x and series: both are {:?}; give two axes", self.x);
        if let (Some(axis), Some(name)) = (panels, &self.panels) {
            let is_other = axis != x && axis != series;
            ensure!(is_other, "field panels: {name:?} is x or series already; name another axis");
        }
        ensure!(
            self.planted.is_empty() || !over.is_empty(),
            "field planted: says how ratios truly are, and there are none; give over"
        );
        for (axis, values) in &only {
            ensure!(!values.is_empty(), "field only: {:?} has no value; give one", axis.name());
        }
        ensure!(
            self.fit.is_none() || x.is_number(),
            "field fit: x is {:?}, which is no number; leave fit out, or give an axis or figure that is one",
            self.x
        );
        let of_all = self.figure.iter().find(|figure| !figure.is_latency());
        if let (Some(_), Some(figure)) = (&self.method, of_all) {
            bail!(
                "field method: {} is of all calls of a mix; give a latency such as p99_us, or leave method out",
                figure.name()
            );
        }
        for name in self.bound.iter().flat_map(|bound| bound.variables()) {
            ensure!(
                variable(name).is_some_and(|(along, _)| along.is_number()),
                "field bound: there is no number {name:?}; name an axis that is one, or a figure"
            );
        }
        Ok(())
    }
}

fn unknown(field: &str, name: &str) -> String {
    let known: Vec<&str> = NO_SETTINGS.into_iter().chain([BACKGROUND]).chain(Overrides::names()).collect();
    format!(
        "field {field}: there is no axis or figure {name:?}; axes are {}, and those of variants that [axes] names",
        known.join(", ")
    )
}

/// Whether an unknown name is one of an axis of variants, the campaign's axes decide; see [`View::check`].
fn along(field: &str, name: &str) -> Result<Along> {
    let is_name = name.starts_with(|c: char| c.is_ascii_lowercase());
    let variant = || is_name.then(|| Along::Variant(name.to_owned()));
    Along::named(name).or_else(variant).with_context(|| unknown(field, name))
}

/// Axes with the values that a field states of them.
fn stated<'a>(field: &str, values: &'a BTreeMap<String, Value>) -> Result<Vec<(Along, &'a Value)>> {
    values.iter().map(|(name, value)| Ok((axis(field, name)?, value))).collect()
}

fn axis(field: &str, name: &str) -> Result<Along> {
    let found = along(field, name)?;
    ensure!(!matches!(found, Along::Figure(_)), "field {field}: {name:?} is a figure; name an axis");
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::each_is_refused;

    fn view(text: &str) -> Result<View> {
        let view: View = toml::from_str(&format!("title = \"t\"\n{text}"))?;
        view.check(|_| false)?;
        Ok(view)
    }

    #[test]
    fn axes_and_figures_have_names() {
        let read =
            view("figure = \"p99_us\"\nx = \"network.round_trip\"\nbound = \"2 * round_trip\"").unwrap();
        assert_eq!(read.x().unwrap(), Along::Figure(Figure::RoundTripUs));
        assert_eq!((read.series().unwrap(), read.figure.len()), (Along::Server, 1));
        assert_eq!(variable("round_trip"), Some((Along::Figure(Figure::RoundTripUs), 1e-6)));
        assert_eq!(variable("network.round_trip"), variable("round_trip"));
        assert_eq!(variable("batch"), Some((Along::Setting("batch"), 1.0)));
        let several = view("figure = [\"p50_us\", \"p99_us\"]\nx = \"connections\"\nfit = \"line\"").unwrap();
        assert_eq!(several.figure, [Figure::P50Us, Figure::P99Us]);
    }

    #[test]
    fn a_wrong_field_is_named() {
        // The file's place is said where campaigns are read.
        each_is_refused("views", "{}", |text| {
            view(text).map_err(|error| format!("{error:#}").replace('\n', " "))
        });
    }
}
