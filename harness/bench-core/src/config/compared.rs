//! Which arms of axes are compared.

use anyhow::{Result, bail, ensure};
use serde_json::Value;

use super::along::{CONNECTIONS, RATE, SERVER, TOOL, WORKLOAD};
use super::axes::{Place, is_same};
use super::{Campaign, CampaignArm, Placement};

impl Campaign {
    /// Compares each arm with that of the baseline, or at the campaign's `over`, which is the same in all else. Duets
    /// without either run the pairs that the views show ratios of.
    pub(super) fn compare_within(&mut self, arms: &[(CampaignArm, Place)]) -> Result<()> {
        for (axis, value) in &self.over {
            // An arm is at each load and request itself.
            let is_of_arms = ![WORKLOAD, TOOL, CONNECTIONS, RATE].contains(&axis.as_str());
            ensure!(
                is_of_arms,
                "field over.{axis}: give a server or a setting; a view's over may name the others"
            );
            self.check_value("over", axis, value)?;
        }
        let of_views = || self.views.iter().map(|view| view.over.clone()).filter(|over| !over.is_empty());
        let overs: Vec<Place> = match &self.baseline {
            Some(_) if !self.over.is_empty() => {
                bail!("fields baseline and over: both say what is compared with what; leave one out")
            }
            Some(baseline) if !self.values(SERVER).any(|server| server == baseline.as_str()) => {
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
                let value = |axis: &String, own| over.get(axis).unwrap_or(own).clone();
                let reference: Place =
                    place.iter().map(|(axis, own)| (axis.clone(), value(axis, own))).collect();
                let is_it = |(_, other): &&(CampaignArm, Place)| {
                    other.len() == reference.len()
                        && other
                            .iter()
                            .zip(&reference)
                            .all(|((axis, one), (_, other))| is_same(axis, one, other))
                };
                let pair = arms.iter().find(is_it).map(|(other, _)| (arm.name.clone(), other.name.clone()));
                let pair = pair.filter(|(one, other)| one != other);
                self.comparisons.extend(pair.filter(|pair| !self.comparisons.contains(pair)));
            }
        }
        Ok(())
    }
}
