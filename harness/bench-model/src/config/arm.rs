//! Arms of a campaign: a server with settings of its own, or another arm with one setting changed.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};

use super::{Campaign, Choice, ConfigDir, Overrides, Server};
use crate::field_checks::is_name;
use crate::load::Level;

/// A server of a campaign with settings of its own.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CampaignArm {
    /// What the campaign calls it.
    pub name: String,
    /// The server, by its name in `servers.toml`. Either this or `of`.
    pub server: Option<String>,
    /// The arm that this one is, but for one setting.
    pub of: Option<String>,
    /// What a reader knows it by; worked out from its settings where left out.
    pub label: Option<String>,
    /// Its settings; of an arm with `of`, the one that is changed.
    #[serde(default)]
    pub settings: Overrides,
    /// Of which server this one is which variant, where axes choose among variants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<Choice>,
    /// The connection counts (or rates) that it is measured at, by workload; all where left out, or those of `of`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub loads: BTreeMap<String, Vec<u32>>,
}

impl Campaign {
    /// The arm of that name.
    pub fn arm(&self, name: &str) -> Option<&CampaignArm> {
        self.arms.iter().find(|arm| arm.name == name)
    }

    /// The arm that another one is, but for one setting; an arm with a server of its own is its own base.
    pub fn base<'a>(&'a self, arm: &'a CampaignArm) -> &'a CampaignArm {
        arm.of.as_deref().and_then(|name| self.arm(name)).unwrap_or(arm)
    }

    /// The server of a subject, which may be an arm, by its name in `servers.toml`; of a variant, that which it is
    /// one of.
    pub fn entry_of<'a>(&'a self, name: &'a str) -> &'a str {
        let Some(arm) = self.arm(name).map(|arm| self.base(arm)) else { return name };
        let variant = arm.variant.as_ref().map(|choice| choice.of.as_str());
        variant.or(arm.server.as_deref()).unwrap_or(name)
    }

    /// A server of the campaign: an entry of `servers.toml`, or an arm of it.
    ///
    /// # Errors
    /// There is no such entry, or an arm has the name of one.
    pub fn server(&self, config: &ConfigDir, name: &str) -> Result<Server> {
        let Some(arm) = self.arm(name) else { return config.server(name) };
        let base = self.base(arm);
        let place = || format!("campaign {}: [[arm]] {name:?}", self.name);
        let servers = config.servers()?;
        // As axes make one: the server itself, at some of the loads.
        let is_plain = arm.server.as_deref() == Some(name) && arm.settings.is_empty();
        if !is_plain && servers.iter().any(|server| server.name == name) {
            bail!("{}: servers.toml has a server of that name; choose another one", place());
        }
        let entry = config.server(base.server.as_deref().unwrap_or_default()).with_context(place)?;
        if is_plain {
            return Ok(entry);
        }
        let worked_out = || match base.settings.words() {
            words if words.is_empty() => entry.label().to_owned(),
            words => format!("{}, {words}", entry.label()),
        };
        let of_base = base.label.clone().unwrap_or_else(worked_out);
        let own = if arm.of.is_some() { format!("{of_base}, but {}", arm.settings.words()) } else { of_base };
        Ok(Server {
            name: name.to_owned(),
            label: Some(arm.label.clone().unwrap_or(own)),
            overrides: arm.settings.or(&base.settings),
            // Arms differ by settings, not by layers; and there are more of them than colours.
            colour: None,
            ..entry
        })
    }

    /// The loads that an arm is measured at, by workload; `None` where these are all.
    fn loads_of(&self, server: &str) -> Option<&BTreeMap<String, Vec<u32>>> {
        let arm = self.arm(server)?;
        let loads = if arm.loads.is_empty() { &self.base(arm).loads } else { &arm.loads };
        (!loads.is_empty()).then_some(loads)
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

    /// Whether an arm makes sense.
    pub(super) fn check_arm(&self, arm: &CampaignArm) -> Result<()> {
        ensure!(is_name(&arm.name), "field name: use letters, digits, - and _");
        ensure!(arm.server.is_some() != arm.of.is_some(), "give either server or of (an arm)");
        arm.settings.check_ranges("settings")?;
        if let Some(name) = &arm.of {
            let base = self.arm(name).filter(|base| base.server.is_some());
            let base = base.with_context(|| format!("field of: there is no arm {name:?} with a server"))?;
            let stated = arm.settings.stated();
            let is_one = stated.len() == 1 && !base.settings.stated().contains(&stated[0]);
            ensure!(is_one, "field settings: give one setting that differs from those of {name:?}");
        }
        for (workload, amounts) in &arm.loads {
            ensure!(self.workloads.contains(workload), "field loads: {workload:?} is not among workloads");
            ensure!(!amounts.is_empty(), "field loads: {workload} has none; name one, or leave it out");
            for amount in amounts {
                ensure!(self.amounts().contains(amount), "field loads: {amount} is not among the campaign's");
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Environment;

    fn shipped() -> ConfigDir {
        ConfigDir::of_repository()
    }

    fn original() -> Campaign {
        shipped().campaign("original").unwrap().0
    }

    fn arguments(name: &str) -> String {
        let campaign = original();
        let server = campaign.server(&shipped(), name).unwrap();
        server.arguments(&server.placeholders(&campaign.environment, "a:1", "{}")).join(" ")
    }

    #[test]
    fn an_arm_is_started_with_its_own_settings() {
        let base = arguments("legacy-original");
        for setting in ["--threads 1", "--slots 2023", "--global-queue-interval=61", "--walk-ns-per-slot=129"]
        {
            assert!(base.contains(setting), "{base}");
        }
        assert_eq!(arguments("legacy-interval-own"), base.replace(" --global-queue-interval=61", ""));
        assert_eq!(arguments("legacy-workers-2"), base.replace("--threads 1", "--threads 2"));
        assert_eq!(arguments("legacy-walk-0"), base.replace(" --walk-ns-per-slot=129", ""));
        let changed = original().server(&shipped(), "legacy-interval-8").unwrap();
        assert_eq!(changed.label(), "legacy as master, but global queue interval 8");
    }

    #[test]
    fn an_arm_without_settings_is_called_as_its_server() {
        let mut campaign = original();
        let plain = CampaignArm {
            name: "plain".to_owned(),
            server: Some("legacy".to_owned()),
            ..campaign.arms.remove(0)
        };
        let plain = CampaignArm { label: None, settings: Overrides::default(), ..plain };
        let changed = CampaignArm {
            name: "changed".to_owned(),
            server: None,
            of: Some("plain".to_owned()),
            settings: Overrides { threads: Some(1), ..Overrides::default() },
            ..plain.clone()
        };
        campaign.arms = vec![plain, changed];
        let label = |name| campaign.server(&shipped(), name).unwrap().label().to_owned();
        assert_eq!([label("plain"), label("changed")], ["jsonrpc-core", "jsonrpc-core, but 1 worker"]);
    }

    #[test]
    fn each_arm_is_measured_at_its_own_loads() {
        let campaign = original();
        let measured =
            |name, workload, connections: u32| campaign.measures(name, workload, connections.into());
        assert!(
            measured("legacy-original", "getBalance", 125) && measured("legacy-original", "getBlocks", 500)
        );
        assert!(
            !measured("legacy-original", "getBalance", 500) && !measured("legacy-walk-0", "getBalance", 125)
        );
        assert!(measured("any other server", "getBalance", 500));
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
