//! What a command line says in place of a campaign's own fields: which servers answer, what is sent to them, how much
//! and for how long.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::axes::{CONNECTIONS, RATE, SERVER, WORKLOAD};
use super::{Campaign, CampaignArm};
use crate::field_checks::distinct;

/// What is said; the campaign's own where nothing is.
#[derive(Debug, Clone, Default)]
pub struct Instead {
    /// The servers.
    pub servers: Vec<String>,
    /// The request, by its workload's name.
    pub workload: Option<String>,
    /// Requests a second, of an open loop.
    pub rate: Option<u32>,
    /// Connections: those of a closed loop, or those that an open loop may hold.
    pub connections: Option<u32>,
    /// The window, in minutes.
    pub minutes: Option<u32>,
}

impl Instead {
    /// Puts it into a campaign as it was written, before its axes become arms.
    ///
    /// # Errors
    /// One line: the campaign has no such field, or none of its comparisons is of these servers.
    pub(super) fn put_into(&self, campaign: &mut Campaign) -> Result<()> {
        if !self.servers.is_empty() {
            let option = || format!("--server {}", self.servers.join(" --server "));
            campaign.answered_by(&self.servers).with_context(option)?;
        }
        if let Some(workload) = &self.workload {
            campaign.axes.remove(WORKLOAD);
            campaign.workloads = vec![workload.clone()];
            campaign.headline.retain(|name, _| name == workload);
        }
        if let Some(rate) = self.rate {
            let open = campaign.open.as_mut();
            let open = open.context("--rate: the campaign sends at no rate; name one with a table [open]")?;
            open.rates = vec![rate];
            campaign.axes.remove(RATE);
            campaign.headline.retain(|_, amount| *amount == rate);
        }
        if let Some(connections) = self.connections {
            match &mut campaign.open {
                Some(open) => open.connections = connections,
                None => {
                    campaign.axes.remove(CONNECTIONS);
                    campaign.connections = vec![connections];
                    campaign.headline.retain(|_, amount| *amount == connections);
                }
            }
        }
        if let Some(minutes) = self.minutes {
            campaign.window_ms = u64::from(minutes) * 60_000;
        }
        Ok(())
    }
}

impl Campaign {
    /// Has these servers answer, with those that the campaign compares them with and its ceiling.
    fn answered_by(&mut self, names: &[String]) -> Result<()> {
        distinct("servers", names)?;
        let is_other = self.ceiling.as_ref().is_none_or(|ceiling| !names.contains(ceiling));
        ensure!(is_other, "it is the campaign's ceiling already; name another server");
        if self.axes.has(SERVER) {
            self.axes.put(SERVER, names);
            let axes = self.axes.clone();
            self.excepts.retain(|except| except.check(&axes).is_ok());
            let views = std::mem::take(&mut self.views);
            self.views = views.into_iter().filter(|view| self.check_values(view).is_ok()).collect();
        } else if self.arms.is_empty() {
            self.compare_with(names)?;
        } else {
            self.keep_arms_of(names)?;
        }
        let is_there = |name: &Option<String>| name.as_ref().is_none_or(|name| self.servers.contains(name));
        self.pass.retain(|rule| is_there(&rule.server) && is_there(&rule.over));
        if self.axes.is_empty() && self.arms.is_empty() && self.compared().is_empty() {
            self.duets = None;
        }
        Ok(())
    }

    /// Without axes and arms: the servers, the baseline, and the other sides of the pairs that name one of them.
    fn compare_with(&mut self, names: &[String]) -> Result<()> {
        let has_pairs = !self.comparisons.is_empty();
        self.comparisons.retain(|(a, b)| names.contains(a) || names.contains(b));
        ensure!(
            !has_pairs || !self.comparisons.is_empty() || self.baseline.is_some(),
            "none of the campaign's comparisons is of it; name another server"
        );
        let sides = self.comparisons.iter().flat_map(|(a, b)| [a, b]);
        let mut servers: Vec<String> = names.to_vec();
        for name in self.baseline.iter().chain(sides) {
            if !servers.contains(name) {
                servers.push(name.clone());
            }
        }
        let ceiling = self.ceiling.iter().filter(|ceiling| self.servers.contains(ceiling)).cloned();
        servers.extend(ceiling);
        self.servers = servers;
        Ok(())
    }

    /// The arms of these servers, and those that are one of them but for a setting.
    fn keep_arms_of(&mut self, names: &[String]) -> Result<()> {
        let server = |arm: &CampaignArm| self.base(arm).server.clone();
        let others: Vec<String> = self.arms.iter().filter_map(server).collect();
        let mut kept = self.arms.clone();
        kept.retain(|arm| server(arm).is_some_and(|server| names.contains(&server)));
        ensure!(
            !kept.is_empty(),
            "the campaign's arms are of {}; name one of these",
            sorted(others).join(", ")
        );
        self.arms = kept;
        Ok(())
    }
}

/// Each name once.
fn sorted(mut names: Vec<String>) -> Vec<String> {
    names.sort();
    names.dedup();
    names
}

impl super::Axes {
    /// Takes an axis away.
    fn remove(&mut self, axis: &str) {
        self.0.remove(axis);
    }

    /// Gives an axis these values.
    fn put(&mut self, axis: &str, values: &[String]) {
        self.0.insert(axis.to_owned(), values.iter().map(|name| Value::from(name.as_str())).collect());
    }
}
