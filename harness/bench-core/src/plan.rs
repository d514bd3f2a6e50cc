//! What a run is to do, resolved: its campaign, and the ordered list of its trials.
//!
//! Trials that will be compared stand next to each other, in an order drawn from the campaign's seed: on a machine that
//! drifts, what ran just before decides more than one would like.

mod labels;
pub mod layouts;

use std::borrow::Cow;
use std::collections::BTreeSet;

use anyhow::{Context, Result};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::config::layouts::{can_be_drawn, in_layout};
use crate::config::{Campaign, Duets, Environment, Placement, Pool, Server};
use crate::load::{Client, Level, Load, LoadTool};
use crate::workload::Workload;

pub use labels::short_labels;

/// The format of a run's files, which `plan.json` states. It changes when a kept file can no longer be read as before;
/// runs of another format are refused.
pub const FORMAT: &str = "1";

/// All that a run was to do, resolved: the report needs nothing else of the configuration.
///
/// The tag is written as its first field, `"format": "1"`: [`FORMAT`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "format", rename = "1")]
pub struct Plan {
    /// The campaign.
    pub campaign: Campaign,
    /// Its workloads.
    pub workloads: Vec<Workload>,
    /// Its servers.
    pub servers: Vec<Server>,
    /// The servers that answers are compared with, those that the harness starts for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<Server>,
    /// Threads that `{threads}` stood for.
    pub threads: u32,
    /// Connection counts of the campaign that this machine can't hold, and were left out.
    pub left_out_connections: Vec<u32>,
    /// Loads of an open loop that no load tool can send here, and were left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out_rates: Vec<u32>,
    /// The loads where some have a rate, each with the tool that is to send it; empty where all are closed loops.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rates: Vec<Level>,
    /// The load hosts, where several put the load on together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Pool>,
    /// The trials, in order.
    pub trials: Vec<Trial>,
}

/// An upper limit of the load on a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MostLoad {
    /// Connections at one time.
    pub connections: u32,
    /// Time under load in all, in seconds.
    pub seconds: u64,
}

impl Plan {
    /// Whether some server gets batches, so that its rates count calls.
    pub fn has_batches(&self) -> bool {
        self.servers.iter().any(|server| self.environment_of(server).batch() > 1)
    }

    /// The connection counts that are measured, as the campaign orders them.
    pub fn connections(&self) -> Vec<u32> {
        let left_out = |count: &u32| self.left_out_connections.contains(count);
        self.campaign.connections.iter().copied().filter(|count| !left_out(count)).collect()
    }

    /// The loads that are measured: connection counts as the campaign orders them, an open loop's rates, or both.
    pub fn levels(&self) -> Vec<Level> {
        if !self.rates.is_empty() {
            return self.rates.clone();
        }
        self.campaign.closed_loops(&self.connections())
    }

    /// The load that the headline shows for a workload.
    pub fn headline_level(&self, workload: &str) -> Level {
        self.campaign.headline_level(workload, &self.levels())
    }

    /// The loads that the headline shows for a workload: the stated one or, without one, each that is measured.
    pub fn headline_levels(&self, workload: &str) -> Vec<Level> {
        let (first, mut levels) = (self.headline_level(workload), self.levels());
        if self.campaign.headline.contains_key(workload) || levels.is_empty() {
            return vec![first];
        }
        let mut seen = BTreeSet::new();
        levels.retain(|level| level.disturbed == first.disturbed && seen.insert(level.amount()));
        levels
    }

    /// How much each of these loads is: connections, or requests a second, each once.
    pub fn amounts(&self) -> Vec<u32> {
        let mut amounts: Vec<u32> = self.levels().into_iter().map(Level::amount).collect();
        amounts.dedup();
        amounts
    }

    /// The most load that its sweep of closed loops puts on each server: nothing stops early, as many blocks as allowed
    /// are run again, and connecting takes as long as it may.
    pub fn most_load(&self) -> MostLoad {
        let Campaign { warmup_ms, connect_ms, window_ms, .. } = self.campaign;
        let trials = (self.trials.len() / self.servers.len().max(1)) as u64;
        let connections = self.trials.iter().map(|trial| trial.connections).max().unwrap_or(0);
        MostLoad { connections, seconds: (trials * (warmup_ms + connect_ms + window_ms)).div_ceil(1_000) }
    }

    /// The plan of the duets, where the campaign has them.
    pub fn duets(&self) -> Option<Self> {
        let campaign = self.campaign.duet_campaign()?;
        let servers = self.servers.iter().filter(|server| campaign.servers.contains(&server.name));
        let mut rates: Vec<Level> = self.campaign.duets.iter().flat_map(Duets::rates).collect();
        if !rates.is_empty() {
            rates.splice(0..0, campaign.closed_loops(&campaign.connections));
        }
        Some(self.part_at(servers.cloned().collect(), campaign.clone(), rates))
    }

    /// The plan of a part of its run: a campaign of its own over these servers.
    #[must_use]
    pub fn part(&self, servers: Vec<Server>, campaign: Campaign) -> Self {
        self.part_at(servers, campaign, Vec::new())
    }

    /// The same at these loads; where there are none, in the campaign's closed loops.
    fn part_at(&self, servers: Vec<Server>, campaign: Campaign, rates: Vec<Level>) -> Self {
        let names = servers.iter().map(|server| server.name.clone()).collect();
        let campaign = Campaign { servers: names, ..campaign };
        let workloads = self.workloads.iter().filter(|workload| campaign.workloads.contains(&workload.name));
        let mut trials = if rates.is_empty() { trials(&campaign) } else { trials_at(&campaign, &rates) };
        layouts::draw(&campaign, &servers, &mut trials);
        Self {
            workloads: workloads.cloned().collect(),
            rates,
            trials,
            campaign,
            servers,
            threads: self.threads,
            hosts: self.hosts.clone(),
            references: self.references.clone(),
            ..Self::default()
        }
    }

    /// What a server runs in, with its own settings.
    pub fn environment_of(&self, server: &Server) -> Environment {
        self.campaign.environment.with(&server.overrides)
    }

    /// A load as a server gets it: its connections share the requests in flight as the server's settings say.
    #[must_use]
    pub fn load_of(&self, server: &Server, load: Load) -> Load {
        let environment = self.environment_of(server);
        let (in_flight, batch) = (environment.in_flight(), environment.batch());
        let as_is = server.answers_one_request();
        let (connections, hold) = (load.connections.div_ceil(in_flight), self.campaign.hold);
        let (access, close_each) = (server.access(), !environment.keep_alive());
        Load { in_flight, batch, connections, as_is, hold, close_each, access, ..load }
    }

    /// Its server of that name.
    ///
    /// # Errors
    /// It has none.
    pub fn server(&self, name: &str) -> Result<&Server> {
        let found = self.servers.iter().find(|server| server.name == name);
        found.with_context(|| format!("the plan has no {name:?}"))
    }

    /// The server of a trial, as it is in the trial's layout.
    ///
    /// # Errors
    /// The plan has no such server.
    pub fn server_of(&self, trial: &Trial) -> Result<Cow<'_, Server>> {
        let server = self.server(&trial.server)?;
        Ok(match self.campaign.layouts.zip(trial.layout) {
            Some((layouts, number)) => Cow::Owned(in_layout(server, layouts, number)),
            None => Cow::Borrowed(server),
        })
    }

    /// Whether a server only shows what the load tool can send: the campaign's ceiling, where that has one answer to
    /// all. Any other server that a campaign names as its ceiling is measured like the rest.
    pub fn is_ceiling(&self, server: &str) -> bool {
        self.campaign.ceiling.as_deref() == Some(server)
            && self.server(server).is_ok_and(Server::answers_one_request)
    }

    /// The servers that are compared, in the campaign's order: all but its [ceiling](Self::is_ceiling).
    pub fn compared(&self) -> impl Iterator<Item = &Server> {
        self.servers.iter().filter(|server| !self.is_ceiling(&server.name))
    }

    /// Whether trials of a server run one of its layouts each.
    pub fn draws_layouts_of(&self, server: &Server) -> bool {
        self.campaign.layouts.is_some() && can_be_drawn(server)
    }

    /// The programs that run as a server, relative to the repository's root: one for each layout. Empty where it runs
    /// already.
    pub fn programs(&self, server: &Server) -> Vec<String> {
        match self.campaign.layouts.filter(|_| self.draws_layouts_of(server)) {
            Some(layouts) => layouts.numbers().map(|number| layouts.program(server, number)).collect(),
            None if server.program.is_empty() => Vec::new(),
            None => vec![server.program.clone()],
        }
    }

    /// Its workload of that name.
    ///
    /// # Errors
    /// It has none.
    pub fn workload(&self, name: &str) -> Result<&Workload> {
        let found = self.workloads.iter().find(|workload| workload.name == name);
        found.with_context(|| format!("the plan has no {name:?}"))
    }
}

/// One server, one workload, one load, once.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Trial {
    /// Its place in the plan, from 1.
    pub number: u32,
    /// Which repetition it belongs to, from 1.
    pub block: u32,
    /// The server.
    pub server: String,
    /// The workload.
    pub workload: String,
    /// Connections that the load tool holds.
    pub connections: u32,
    /// In a duet, the server that runs at the same time and that this one is compared with.
    pub beside: Option<String>,
    /// The load tool's client.
    #[serde(default, skip_serializing_if = "Client::is_default")]
    pub client: Client,
    /// Requests a second in an open loop; `None` in a closed one.
    pub rate: Option<u32>,
    /// The load tool.
    #[serde(default, skip_serializing_if = "LoadTool::is_default")]
    pub tool: LoadTool,
    /// Whether the campaign's background load runs at the same time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disturbed: bool,
    /// Whether `connections` is the number of requests in flight; see [`Level::in_flight`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_flight: bool,
    /// Which of its server's layouts runs, from 1; `None` is the program as cargo links it.
    pub layout: Option<u32>,
    /// The measured window in milliseconds, where it is not the campaign's.
    pub window_ms: Option<u64>,
}

impl Trial {
    /// The load on the server.
    pub const fn level(&self) -> Level {
        let Self { connections, rate, tool, disturbed, in_flight, .. } = *self;
        Level { connections, rate, tool, disturbed, in_flight }
    }
}

/// One with this load.
impl From<Level> for Trial {
    fn from(Level { connections, rate, tool, disturbed, in_flight }: Level) -> Self {
        Self { connections, rate, tool, disturbed, in_flight, ..Self::default() }
    }
}

/// The trials of a campaign of closed loops, at all of its connection counts.
pub fn trials(campaign: &Campaign) -> Vec<Trial> {
    trials_at(campaign, &campaign.closed_loops(&campaign.connections))
}

/// The trials of a campaign, in order, as if nothing stopped early and as many blocks as allowed had to be run again.
/// Each block runs every trial once.
pub fn trials_at(campaign: &Campaign, levels: &[Level]) -> Vec<Trial> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(campaign.seed);
    let mut trials = Vec::new();
    for block in 1..=campaign.max_blocks + campaign.extra_blocks() {
        let each = |workload| levels.iter().map(move |level| (workload, *level));
        let mut cells: Vec<(&String, Level)> = campaign.workloads.iter().flat_map(each).collect();
        shuffle(&mut cells, &mut random);
        for (workload, level) in cells {
            for (server, beside) in arms(campaign, &mut random) {
                if campaign.measures(&server, workload, level) {
                    let (number, workload) = (trials.len() as u32 + 1, workload.clone());
                    trials.push(Trial { number, block, server, workload, beside, ..Trial::from(level) });
                }
            }
        }
    }
    trials
}

/// How many of a plan's trials are planned: the others may be run in place of lost ones.
pub fn planned(campaign: &Campaign, trials: &[Trial]) -> usize {
    trials.iter().filter(|trial| trial.block <= campaign.max_blocks).count()
}

/// The servers of a cell in a drawn order, each once; in a duet the compared pairs, the two of a pair next to each
/// other.
fn arms(campaign: &Campaign, random: &mut impl Rng) -> Vec<(String, Option<String>)> {
    if campaign.environment.placement != Placement::Duet {
        let mut servers: Vec<_> = campaign.servers.iter().map(|server| (server.clone(), None)).collect();
        shuffle(&mut servers, random);
        return servers;
    }
    let mut pairs = campaign.compared();
    shuffle(&mut pairs, random);
    let mut both = |(a, b): (String, String)| {
        let mut both = [(a.clone(), Some(b.clone())), (b, Some(a))];
        shuffle(&mut both, random);
        both
    };
    pairs.into_iter().flat_map(&mut both).collect()
}

/// Fisher and Yates. The modulo's bias is below 2^-50 for lists of this length.
pub fn shuffle<T>(items: &mut [T], random: &mut impl Rng) {
    for last in (1..items.len()).rev() {
        let other = (random.next_u64() % (last as u64 + 1)) as usize;
        items.swap(last, other);
    }
}

#[cfg(test)]
mod tests;
