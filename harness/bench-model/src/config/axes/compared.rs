//! Which arms of axes are compared.

use std::collections::BTreeMap;

use anyhow::{Result, bail, ensure};
use serde_json::Value;

use super::super::{Campaign, CampaignArm, Placement};
use super::{CONNECTIONS, Coordinate, RATE, SERVER, TOOL, WORKLOAD, is_same};

impl Campaign {
    /// What `over` names is an axis of arms, and a value of it.
    pub(super) fn check_over(&self) -> Result<()> {
        for (axis, value) in &self.over {
            // An arm is at each load and request itself.
            let is_of_arms = ![WORKLOAD, TOOL, CONNECTIONS, RATE].contains(&axis.as_str());
            ensure!(
                is_of_arms,
                "field over.{axis}: give a server or a setting; a view's over may name the others"
            );
            self.check_value("over", axis, value)?;
        }
        Ok(())
    }

    /// Compares each arm with that of the baseline, or at the campaign's `over`, which is the same in all else. Duets
    /// without either run the pairs that the views show ratios of.
    pub(super) fn compare_within(
        &mut self,
        arms: &[(CampaignArm, Vec<Coordinate<'_>>)],
        servers: &[String],
    ) -> Result<()> {
        let of_views = || self.views.iter().map(|view| view.over.clone()).filter(|over| !over.is_empty());
        let overs: Vec<BTreeMap<String, Value>> = match &self.baseline {
            Some(_) if !self.over.is_empty() => {
                bail!("fields baseline and over: both say what is compared with what; leave one out")
            }
            Some(baseline) if !servers.contains(baseline) => {
                bail!("field baseline: {baseline:?} is not among axes.server; name one of these")
            }
            Some(baseline) => vec![[(SERVER.to_owned(), Value::from(baseline.as_str()))].into()],
            None if !self.over.is_empty() => vec![std::mem::take(&mut self.over)],
            None if self.environment.placement == Placement::Duet && self.comparisons.is_empty() => {
                of_views().collect()
            }
            None => return Ok(()),
        };
        self.baseline = None;
        for over in &overs {
            for (arm, place) in arms {
                let is_other =
                    |((axis, value), (_, other)): (&Coordinate<'_>, &Coordinate<'_>)| match over.get(*axis) {
                        Some(over) => is_same(axis, over, other),
                        None => value == other,
                    };
                let reference = arms.iter().find(|(_, others)| place.iter().zip(others).all(is_other));
                let pair = reference.map(|(other, _)| (arm.name.clone(), other.name.clone()));
                let pair = pair.filter(|(one, other)| one != other);
                self.comparisons.extend(pair.filter(|pair| !self.comparisons.contains(pair)));
            }
        }
        Ok(())
    }
}
