//! Arms of a campaign: servers with settings of their own, which its axes become.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::{Campaign, Choice, ConfigDir, Overrides, Server};
use crate::load::Level;

/// A server of a campaign with settings of its own.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CampaignArm {
    /// What the run calls it.
    pub name: String,
    /// Its entry, by its name in `servers.toml`.
    pub server: String,
    /// Its settings.
    #[serde(default)]
    pub settings: Overrides,
    /// Of which server this one is which variant, where axes choose among variants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<Choice>,
    /// The connection counts (or rates) that it is measured at, by workload; all where it is empty.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub loads: BTreeMap<String, Vec<u32>>,
}

impl CampaignArm {
    /// Has it measured at these loads, too.
    pub(super) fn add_loads(&mut self, loads: BTreeMap<String, Vec<u32>>) {
        for (workload, amounts) in loads {
            let known = self.loads.entry(workload).or_default();
            known.extend(amounts);
            known.sort_unstable();
            known.dedup();
        }
    }
}

impl Campaign {
    /// The arm of that name.
    pub fn arm(&self, name: &str) -> Option<&CampaignArm> {
        self.arms.iter().find(|arm| arm.name == name)
    }

    /// The server of a subject, which may be an arm, by its name in `servers.toml`; of a variant, that which it is
    /// one of.
    pub fn entry_of<'a>(&'a self, name: &'a str) -> &'a str {
        let Some(arm) = self.arm(name) else { return name };
        arm.variant.as_ref().map_or(&arm.server, |choice| &choice.of)
    }

    /// A server of the campaign: an entry of `servers.toml`, or an arm of it.
    ///
    /// # Errors
    /// There is no such entry.
    pub fn server(&self, config: &ConfigDir, name: &str) -> Result<Server> {
        let Some(arm) = self.arm(name) else { return config.server(name) };
        let entry = config.server(&arm.server)?;
        if arm.name == arm.server {
            return Ok(entry);
        }
        let label = match arm.settings.words() {
            words if words.is_empty() => entry.label().to_owned(),
            words => format!("{}, {words}", entry.label()),
        };
        Ok(Server {
            name: name.to_owned(),
            label: Some(label),
            overrides: arm.settings.clone(),
            // Arms differ by settings, not by layers; and there are more of them than colours.
            colour: None,
            ..entry
        })
    }

    /// The loads that an arm is measured at, by workload; `None` where these are all.
    fn loads_of(&self, server: &str) -> Option<&BTreeMap<String, Vec<u32>>> {
        self.arm(server).map(|arm| &arm.loads).filter(|loads| !loads.is_empty())
    }

    /// Whether a server is measured with a workload at this load.
    pub fn measures(&self, server: &str, workload: &str, level: Level) -> bool {
        let measured = |amounts: &Vec<u32>| amounts.contains(&level.amount());
        self.loads_of(server).is_none_or(|loads| loads.get(workload).is_some_and(measured))
    }

    /// Whether a server gets a workload at any load. All of them get what is not measured: that of the background.
    pub fn sends(&self, server: &str, workload: &str) -> bool {
        let is_measured = self.workloads.iter().any(|known| known == workload);
        !is_measured || self.loads_of(server).is_none_or(|loads| loads.contains_key(workload))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Environment;

    const BY_BLOCK_STORE: &str = "legacy-global-queue-interval-61-slots-2023-threads-1-walk-ns-per-slot-129";

    fn shipped() -> ConfigDir {
        ConfigDir::of_repository()
    }

    fn original() -> Campaign {
        shipped().campaign("original").unwrap().0
    }

    #[test]
    fn an_arm_is_started_with_its_own_settings() {
        let campaign = original();
        let server = campaign.server(&shipped(), BY_BLOCK_STORE).unwrap();
        let args = server.arguments(&server.placeholders(&campaign.environment, "a:1", "{}")).join(" ");
        for setting in ["--threads 1", "--slots 2023", "--global-queue-interval=61", "--walk-ns-per-slot=129"]
        {
            assert!(args.contains(setting), "{args}");
        }
        let label = "jsonrpc-core, 1 worker, global queue interval 61, chain of 2,023 slots, simulated walk of 129 ns \
            a slot";
        assert_eq!(server.label(), label);
    }

    #[test]
    fn each_arm_is_measured_at_its_own_loads() {
        let campaign = original();
        let measured =
            |name, workload, connections: u32| campaign.measures(name, workload, connections.into());
        assert!(measured(BY_BLOCK_STORE, "getBalance", 125) && measured(BY_BLOCK_STORE, "getBlocks", 500));
        let without = BY_BLOCK_STORE.replace("slot-129", "slot-0");
        assert!(!measured(BY_BLOCK_STORE, "getBalance", 500) && !measured(&without, "getBalance", 125));
        assert!(measured(&without, "getBlocks", 500) && measured("any other server", "getBalance", 500));
        let trials = crate::plan::trials(&campaign);
        assert!(trials.iter().all(|trial| campaign.measures(&trial.server, &trial.workload, trial.level())));
        assert!(campaign.servers.iter().all(|name| trials.iter().any(|trial| trial.server == *name)));
    }

    #[test]
    fn a_setting_that_a_server_has_no_argument_for_is_named() {
        let actix = shipped().server("actix").unwrap();
        let environment = original().environment;
        let with = |interval| Environment { global_queue_interval: Some(interval), ..environment.clone() };
        assert_eq!(actix.lacks(&with(61)), Some("global_queue_interval"));
        assert_eq!(actix.lacks(&with(0)), None, "left to tokio");
        assert_eq!(shipped().server("legacy").unwrap().lacks(&with(61)), None);
    }
}
