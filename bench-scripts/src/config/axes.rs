//! Axes of a campaign: each server in each combination of the values. They become the campaign's arms, requests and connection counts
//! when it is read, so that all behind knows arms alone.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Campaign, CampaignArm, Overrides, View};

/// The most arms that axes may become.
const MOST_ARMS: usize = 500;

/// What an axis names that is no setting.
pub(super) const SERVER: &str = "server";
pub(super) const WORKLOAD: &str = "workload";
pub(super) const CONNECTIONS: &str = "connections";

/// Values that leave a setting as the environment has it.
const NONE: [&str; 2] = ["none", "loopback"];

/// Axes, by name: `server`, `workload`, `connections`, or a setting that an arm may have.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Axes(BTreeMap<String, Vec<Value>>);

/// What is not run: one value, or several, of each of some axes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Except(BTreeMap<String, Value>);

/// An axis and one of its values.
type Coordinate<'a> = (&'a str, &'a Value);

impl Axes {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn values(&self, axis: &str) -> &[Value] {
        self.0.get(axis).map_or(&[], Vec::as_slice)
    }

    fn texts(&self, axis: &str) -> Result<Vec<String>> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let texts = self.values(axis).iter().map(text).collect::<Option<Vec<_>>>();
        texts.with_context(|| format!("field axes.{axis}: give names, as texts"))
    }

    fn connections(&self) -> Result<Vec<u32>> {
        let number = |value: &Value| value.as_u64().and_then(|number| u32::try_from(number).ok());
        let numbers = self.values(CONNECTIONS).iter().map(number).collect::<Option<Vec<_>>>();
        numbers.with_context(|| format!("field axes.{CONNECTIONS}: give whole numbers"))
    }

    /// The axes of settings.
    fn settings(&self) -> impl Iterator<Item = (&str, &[Value])> {
        let is_setting = |name: &str| ![SERVER, WORKLOAD, CONNECTIONS].contains(&name);
        let settings = self.0.iter().filter(move |(name, _)| is_setting(name));
        settings.map(|(name, values)| (name.as_str(), values.as_slice()))
    }
}

/// What a value of an axis changes.
fn setting(axis: &str, value: &Value) -> Result<Overrides> {
    if value.as_str().is_some_and(|word| NONE.contains(&word)) {
        // So that an axis that is no setting is found with such a value as well.
        ensure!(Overrides::names().any(|name| name == axis), unknown(axis));
        return Ok(Overrides::default());
    }
    ensure!(Overrides::names().any(|name| name == axis), unknown(axis));
    let table = Value::Object([(axis.to_owned(), value.clone())].into_iter().collect());
    let own: Overrides =
        serde_json::from_value(table).with_context(|| format!("field axes.{axis}: {value}"))?;
    own.check_ranges("axes")?;
    Ok(own)
}

fn unknown(axis: &str) -> String {
    let known: Vec<&str> = [SERVER, WORKLOAD, CONNECTIONS].into_iter().chain(Overrides::names()).collect();
    format!("field axes: there is no axis {axis:?}; there are {}", known.join(", "))
}

/// A value as part of an arm's name.
fn slug(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Object(members) => members.values().map(slug).collect::<Vec<_>>().join("-"),
        other => other.to_string(),
    };
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    text.chars()
        .map(plain)
        .collect::<String>()
        .split('-')
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("-")
}

impl Except {
    /// Whether it names the place, as far as the place is known: what it names and the place does not is left open.
    fn names(&self, place: &[Coordinate<'_>]) -> Result<bool> {
        for (axis, excepted) in &self.0 {
            let Some((_, value)) = place.iter().find(|(known, _)| known == axis) else { return Ok(false) };
            let several = excepted.as_array();
            let mut one_of = several.map_or(std::slice::from_ref(excepted), Vec::as_slice).iter();
            if !one_of.any(|other| is_same(axis, other, value)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn check(&self, axes: &Axes) -> Result<()> {
        ensure!(!self.0.is_empty(), "table [[except]]: name an axis and its value");
        for (axis, excepted) in &self.0 {
            let values = axes.values(axis);
            ensure!(!values.is_empty(), "field except.{axis}: there is no such axis in [axes]");
            let several = excepted.as_array();
            for one in several.map_or(std::slice::from_ref(excepted), Vec::as_slice) {
                ensure!(
                    values.iter().any(|value| is_same(axis, one, value)),
                    "field except.{axis}: {one} is not among the axis's values"
                );
            }
        }
        Ok(())
    }
}

/// The number that orders a setting's values, of one as a campaign writes it: none within where it leaves the setting as the environment
/// has it, none at all where there is no such setting or value.
pub fn written(axis: &str, value: &Value) -> Option<Option<u64>> {
    let own = setting(axis, value).ok()?;
    Some(own.stated().first().map(|(_, value)| *value))
}

/// Whether two values of an axis are the same, however they are written: `1` and `1.0`, say.
fn is_same(axis: &str, one: &Value, other: &Value) -> bool {
    one == other || setting(axis, one).ok().zip(setting(axis, other).ok()).is_some_and(|(a, b)| a == b)
}

impl Campaign {
    /// Whether a view's ratios are over values that their axes have.
    pub(super) fn check_over(&self, view: &View) -> Result<()> {
        for (axis, value) in view.over.iter().filter(|_| !self.axes.is_empty()) {
            let is_there = match axis.as_str() {
                // They may stand outside of the axes.
                WORKLOAD => self.workloads.iter().any(|known| value == known.as_str()),
                CONNECTIONS => self.connections.iter().any(|known| value == known),
                axis => self.axes.values(axis).iter().any(|known| is_same(axis, known, value)),
            };
            ensure!(is_there, "field over.{axis}: {value} is not among the axis's values");
        }
        Ok(())
    }

    /// Puts arms, requests and connection counts in the place of the axes.
    ///
    /// # Errors
    /// One line with the field.
    pub(super) fn expand(&mut self) -> Result<()> {
        if self.axes.is_empty() {
            ensure!(
                self.excepts.is_empty(),
                "table [[except]]: there are no [axes] that it could leave out of"
            );
            return Ok(());
        }
        let axes = self.axes.clone();
        let empty = axes.0.iter().find(|(_, values)| values.is_empty());
        ensure!(empty.is_none(), "field axes.{}: give values", empty.map_or("", |(axis, _)| axis));
        self.excepts.iter().try_for_each(|except| except.check(&axes))?;
        let servers = axes.texts(SERVER)?;
        ensure!(!servers.is_empty(), "field axes.server: name the servers");
        if !axes.values(WORKLOAD).is_empty() {
            ensure!(
                self.workloads.is_empty(),
                "field axes.workload: workloads names requests, too; leave one out"
            );
            self.workloads = axes.texts(WORKLOAD)?;
        }
        if !axes.values(CONNECTIONS).is_empty() {
            ensure!(
                self.connections.is_empty(),
                "field axes.connections: connections stands by itself, too; leave one out"
            );
            self.connections = axes.connections()?;
        }
        let stated = self.environment.stated();
        let twice = axes.settings().find(|(axis, _)| stated.contains(axis));
        ensure!(
            twice.is_none(),
            "field axes.{}: [environment] states it, too; leave one out",
            twice.map_or("", |(axis, _)| axis)
        );
        let arms = self.combined(&axes)?;
        if arms.iter().all(|(arm, _)| arm.settings.is_empty() && arm.loads.is_empty())
            && arms.len() == servers.len()
        {
            self.servers.splice(0..0, servers);
            return Ok(());
        }
        self.compare_within(&arms, &servers)?;
        self.arms.splice(0..0, arms.into_iter().map(|(arm, _)| arm));
        Ok(())
    }

    /// An arm for each combination of servers and settings that is run, and its settings as a part of its name.
    fn combined(&self, axes: &Axes) -> Result<Vec<(CampaignArm, String)>> {
        let mut places: Vec<Vec<Coordinate<'_>>> =
            axes.values(SERVER).iter().map(|server| vec![(SERVER, server)]).collect();
        for (axis, values) in axes.settings() {
            let mut longer = Vec::new();
            for place in &places {
                for value in values {
                    longer.push(place.iter().copied().chain([(axis, value)]).collect());
                }
            }
            places = longer;
            ensure!(places.len() <= MOST_ARMS, "table [axes]: they give more than {MOST_ARMS} combinations");
        }
        let mut arms = Vec::new();
        for place in &places {
            let Some(loads) = self.loads(place)? else { continue };
            let mut settings = Overrides::default();
            let (mut server, mut parts) = (String::new(), String::new());
            for (axis, value) in place {
                if *axis == SERVER {
                    server = value.as_str().unwrap_or_default().to_owned();
                    continue;
                }
                settings = setting(axis, value)?.or(&settings);
                parts.push_str(&format!("-{}-{}", axis.replace('_', "-"), slug(value)));
            }
            let arm = CampaignArm {
                name: format!("{server}{parts}"),
                server: Some(server),
                of: None,
                label: None,
                branch: None,
                settings,
                loads,
            };
            arms.push((arm, parts));
        }
        ensure!(!arms.is_empty(), "table [[except]]: it leaves nothing to run");
        Ok(arms)
    }

    /// The loads that an arm is measured at: empty where these are all, `None` where there are none.
    fn loads(&self, place: &[Coordinate<'_>]) -> Result<Option<BTreeMap<String, Vec<u32>>>> {
        let mut loads = BTreeMap::new();
        let mut is_all = true;
        for workload in &self.workloads {
            let name = Value::from(workload.as_str());
            let mut left = Vec::new();
            let amounts = self.open.as_ref().map_or(&self.connections, |open| &open.rates);
            for &amount in amounts {
                let connections = Value::from(amount);
                let mut place = place.to_vec();
                place.extend([(WORKLOAD, &name), (CONNECTIONS, &connections)]);
                let mut excepted = false;
                for except in &self.excepts {
                    excepted |= except.names(&place)?;
                }
                if !excepted {
                    left.push(amount);
                }
            }
            is_all &= left.len() == amounts.len();
            if !left.is_empty() {
                loads.insert(workload.clone(), left);
            }
        }
        Ok(match (is_all, loads.is_empty()) {
            (true, _) => Some(BTreeMap::new()),
            (false, true) => None,
            (false, false) => Some(loads),
        })
    }

    /// Compares each arm with that of the baseline which has the same settings.
    fn compare_within(&mut self, arms: &[(CampaignArm, String)], servers: &[String]) -> Result<()> {
        let Some(baseline) = self.baseline.take() else { return Ok(()) };
        if !servers.contains(&baseline) {
            bail!("field baseline: {baseline:?} is not among axes.server; name one of these");
        }
        for (arm, parts) in arms.iter().filter(|(arm, _)| arm.server.as_ref() != Some(&baseline)) {
            let other = format!("{baseline}{parts}");
            if arms.iter().any(|(known, _)| known.name == other) {
                self.comparisons.push((arm.name.clone(), other));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn campaign(text: &str) -> Result<Campaign> {
        let rest =
            "why = \"w\"\nmax_blocks = 2\nseed = 1\nwarmup_ms = 500\nwindow_ms = 1000\ntimeout_ms = 2000\n";
        let environment = "\n[environment]\ntuning = \"equal\"\naccounts = 10\nslots = 10\nledger_seed = 1\n";
        let mut campaign: Campaign = toml::from_str(&format!("{rest}{text}{environment}"))?;
        campaign.expand()?;
        campaign.servers.extend(campaign.arms.iter().map(|arm| arm.name.clone()));
        campaign.check()?;
        Ok(campaign)
    }

    const GRID: &str = "workloads = [\"getBalance\"]\nconnections = [4, 8]\n[axes]\nserver = [\"legacy\", \"actix\"]\n\
        batch = [1, 10]\nnetwork = [\"loopback\", { delay_ms = 0.5, loss = \"1%\" }]\n";

    #[test]
    fn each_server_is_in_each_combination() {
        let campaign = campaign(GRID).unwrap();
        assert_eq!(campaign.servers.len(), 8);
        let last = campaign.arm("actix-batch-10-network-0-5-1").unwrap();
        assert_eq!((last.settings.batch, last.settings.network.map(|of| of.loss())), (Some(10), Some(0.01)));
        assert_eq!(campaign.arm("legacy-batch-1-network-loopback").unwrap().settings.network, None);
        let server =
            campaign.server(&crate::config::tests::shipped(), "legacy-batch-10-network-loopback").unwrap();
        assert_eq!(server.label(), "jsonrpc-core, batches of 10");
        assert_eq!(crate::plan::trials(&campaign).iter().filter(|trial| trial.block == 1).count(), 16);
    }

    #[test]
    fn what_is_excepted_is_not_run() {
        let with = |except: &str| campaign(&format!("{GRID}[[except]]\n{except}\n"));
        let run = with("batch = 10\nserver = \"actix\"").unwrap();
        assert_eq!(run.servers.len(), 6);
        let run = with("network = { delay_ms = 0.50, loss = \"1%\" }").unwrap();
        assert_eq!(run.servers.len(), 4);
        let several = with("batch = [1, 10]\nserver = \"actix\"").unwrap();
        assert_eq!(several.servers.len(), 4);
        for (wrong, named) in [
            ("batch = 7", "except.batch: 7 is not among"),
            ("threads = 1", "except.threads: there is no such axis"),
            ("", "name an axis"),
            ("batch = [1, 10]", "leaves nothing to run"),
        ] {
            let error = format!("{:#}", with(wrong).unwrap_err());
            assert!(error.contains(named), "{wrong}: {error}");
        }
    }

    #[test]
    fn ratios_are_over_values_of_their_axes() {
        let over = |over: &str| {
            let view = "[[view]]\ntitle = \"t\"\nfigure = \"p99_us\"\nx = \"batch\"\n";
            campaign(&format!("{GRID}{view}over = {{ {over} }}\n"))
        };
        assert!(over("network = { delay_ms = 0.50, loss = \"1%\" }").is_ok());
        assert!(over("network = \"loopback\", server = \"legacy\"").is_ok());
        assert!(over("connections = 4, workload = \"getBalance\"").is_ok());
        let error = format!("{:#}", over("batch = 7").unwrap_err());
        assert!(error.contains("field over.batch: 7 is not among"), "{error}");
    }

    #[test]
    fn loads_may_be_excepted() {
        let text = "[axes]\nserver = [\"legacy\", \"actix\"]\nworkload = [\"getBalance\", \"getBlocks\"]\nconnections = [4, 8]\n\
            [[except]]\nserver = \"actix\"\nworkload = \"getBlocks\"\nconnections = 8\n";
        let campaign = campaign(text).unwrap();
        let run =
            |server, workload, connections: u32| campaign.measures(server, workload, connections.into());
        assert!(run("actix", "getBlocks", 4) && run("legacy", "getBlocks", 8));
        assert!(!run("actix", "getBlocks", 8));
        assert_eq!(campaign.server(&crate::config::tests::shipped(), "actix").unwrap().name, "actix");
    }

    #[test]
    fn servers_alone_are_no_arms_and_a_baseline_is_one_in_each_combination() {
        let plain = "baseline = \"legacy\"\nworkloads = [\"getBalance\"]\nconnections = [4]\n[axes]\nserver = [\"legacy\", \"actix\"]\n";
        let plain = campaign(plain).unwrap();
        assert_eq!((plain.arms.len(), plain.compared().len()), (0, 1));
        let grid = campaign(&format!("baseline = \"legacy\"\n{GRID}")).unwrap();
        let pair =
            ("actix-batch-1-network-loopback".to_owned(), "legacy-batch-1-network-loopback".to_owned());
        assert!(grid.compared().len() == 4 && grid.compared().contains(&pair));
    }

    #[test]
    fn a_wrong_axis_is_one_line_with_its_field() {
        for (axis, named) in [
            ("colour = [1]", "there is no axis \"colour\""),
            ("batch = []", "axes.batch: give values"),
            ("batch = [0]", "axes.batch"),
            ("batch = [\"many\"]", "axes.batch"),
            ("network = [{ delay = 1 }]", "axes.network"),
            ("workload = [\"getBlocks\"]", "axes.workload"),
            ("transport = [\"pigeon\"]", "axes.transport"),
        ] {
            let text = GRID.replace("batch = [1, 10]", axis);
            let is_twice = axis.starts_with("network");
            let text: String = text
                .lines()
                .filter(|line| !is_twice || !line.contains("loopback"))
                .map(|line| format!("{line}\n"))
                .collect();
            let error = format!("{:#}", campaign(&text).unwrap_err());
            assert!(error.contains(named) && !error.contains('\n'), "{axis}: {error}");
        }
    }
}
