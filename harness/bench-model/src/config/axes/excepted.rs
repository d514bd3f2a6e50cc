//! What of a campaign is not run.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Axes, CONNECTIONS, Coordinate, RATE, TOOL, WORKLOAD, is_same};
use crate::config::Campaign;
use crate::config::view::one_or_several;

/// What is not run: one value, or several, of each of some axes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Except(BTreeMap<String, Value>);

impl Except {
    /// Whether it names the place, as far as the place is known: what it names and the place does not is left open.
    pub(super) fn names(&self, place: &[Coordinate<'_>]) -> bool {
        self.0.iter().all(|(axis, excepted)| {
            let is_excepted =
                |value| one_or_several(excepted).iter().any(|other| is_same(axis, other, value));
            place.iter().any(|(known, value)| known == axis && is_excepted(value))
        })
    }

    pub(in crate::config) fn check(&self, axes: &Axes) -> Result<()> {
        ensure!(!self.0.is_empty(), "table [[except]]: name an axis and its value");
        let names_none = !self.0.contains_key(TOOL);
        ensure!(names_none, "field except.tool: each load tool sends all that the others do; leave it out");
        for (axis, excepted) in &self.0 {
            let values = axes.values(axis);
            ensure!(!values.is_empty(), "field except.{axis}: there is no such axis");
            for one in one_or_several(excepted) {
                let is_there = values.iter().any(|value| is_same(axis, one, value));
                ensure!(is_there, "field except.{axis}: {one} is not among the axis's values");
            }
        }
        Ok(())
    }
}

impl Campaign {
    /// The loads: connection counts, or the rates of an open loop.
    pub(in crate::config) fn amounts(&self) -> &[u32] {
        self.open.as_ref().map_or(&self.connections, |open| &open.rates)
    }

    /// The axis that has them.
    fn amounts_axis(&self) -> &'static str {
        if self.open.is_some() { RATE } else { CONNECTIONS }
    }

    /// Without axes, what is excepted is a load of each arm that states none and is not as another one.
    pub(super) fn except_from_arms(&mut self) -> Result<()> {
        if self.excepts.is_empty() {
            return Ok(());
        }
        let has_arms = !self.arms.is_empty();
        ensure!(has_arms, "table [[except]]: there are no [axes] and no [[arm]] that it could leave out of");
        let workloads = self.workloads.iter().map(|name| name.as_str().into()).collect();
        let amounts = self.amounts().iter().map(|amount| (*amount).into()).collect();
        let axes = [(WORKLOAD.to_owned(), workloads), (self.amounts_axis().to_owned(), amounts)];
        let axes = Axes(axes.into_iter().collect());
        self.excepts.iter().try_for_each(|except| except.check(&axes))?;
        let loads = self.loads(&[]).context("table [[except]]: it leaves nothing to run")?;
        for arm in self.arms.iter_mut().filter(|arm| arm.of.is_none() && arm.loads.is_empty()) {
            arm.loads.clone_from(&loads);
        }
        Ok(())
    }

    /// The loads that an arm is measured at: empty where these are all, `None` where there are none.
    pub(super) fn loads(&self, place: &[Coordinate<'_>]) -> Option<BTreeMap<String, Vec<u32>>> {
        let (amounts, axis) = (self.amounts(), self.amounts_axis());
        let of = |workload: &String| {
            let name = Value::from(workload.as_str());
            let is_run = |amount: &u32| {
                let load = Value::from(*amount);
                let place = [place, &[(WORKLOAD, &name), (axis, &load)]].concat();
                !self.excepts.iter().any(|except| except.names(&place))
            };
            (workload.clone(), amounts.iter().copied().filter(is_run).collect())
        };
        let mut loads: BTreeMap<String, Vec<u32>> = self.workloads.iter().map(of).collect();
        if loads.values().all(|left| left.len() == amounts.len()) {
            return Some(BTreeMap::new());
        }
        loads.retain(|_, left| !left.is_empty());
        (!loads.is_empty()).then_some(loads)
    }
}
