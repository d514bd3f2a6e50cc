//! A campaign: which servers, workloads and loads, in which environment, how often, in which order, and what must hold.

use std::collections::BTreeMap;
use std::slice;

use anyhow::{Result, ensure};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::along::one_or_many;
use super::layouts::Layouts;
use super::{
    Axes, Background, CampaignArm, Environment, Except, Open, Percent, Placement, Search, Stages, Tuning,
    View,
};
use crate::figure::{Better, Figure};
use crate::load::{Level, LoadTool};
use crate::stats::Estimate;
use validator_state::SeededSpec;

/// What is judged where a campaign does not say it.
const JUDGED: [Figure; 2] = [Figure::RequestsPerSecond, Figure::CpuUsPerRequest];

/// Fewest extra blocks by default: one busy moment of a machine may spoil several blocks of a short run.
const LEAST_EXTRA_BLOCKS: u32 = 3;

fn equal_settings() -> Environment {
    Environment::plain(Tuning::default(), SeededSpec::default())
}

/// What to run. The default has nothing in it: what the harness puts together by itself begins there.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Campaign {
    /// The file's name without its ending.
    #[serde(default)]
    pub name: String,
    /// One sentence: what it is for.
    pub why: String,
    /// The subjects, by name: servers, and behind them the arms.
    #[serde(default)]
    pub servers: Vec<String>,
    /// Subjects with settings of their own, which the axes become. Not in a campaign's file.
    #[serde(default, rename = "arm", skip_serializing_if = "Vec::is_empty")]
    pub arms: Vec<CampaignArm>,
    /// Servers and settings of which each combination is a subject: one table, or several; see [`Axes`].
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub axes: Vec<Axes>,
    /// What of them is not run.
    #[serde(default, rename = "except", skip_serializing_if = "Vec::is_empty")]
    pub excepts: Vec<Except>,
    /// What its report shows of the axes, each a table and a chart; worked out from the axes where left out.
    #[serde(default, rename = "view", skip_serializing_if = "Vec::is_empty")]
    pub views: Vec<View>,
    /// The server that the others are compared with.
    pub baseline: Option<String>,
    /// Values of some axes: each subject is compared with the one that has these and is the same in all else.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub over: BTreeMap<String, Value>,
    /// The server that shows the most this machine and this load generator can do.
    pub ceiling: Option<String>,
    /// The requests, by name.
    #[serde(default)]
    pub workloads: Vec<String>,
    /// Connection counts of the sweep; none where the campaign is a search alone. A server with more than one request
    /// in flight on a connection gets as many connections fewer.
    #[serde(default)]
    pub connections: Vec<u32>,
    /// The load tool of its closed loops; bombardier where left out.
    #[serde(default, skip_serializing_if = "LoadTool::is_default")]
    pub tool: LoadTool,
    /// The load tools of its closed loops, each with every connection count, where axes name several;
    /// [`Campaign::tool`] is the first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<LoadTool>,
    /// Whether the connections are held and nothing is sent on them: what each takes, and how long connecting all at
    /// once takes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hold: bool,
    /// For each workload, the connection count that the headline shows; the rate, in an open loop.
    #[serde(default)]
    pub headline: BTreeMap<String, u32>,
    /// Pairs `[A, B]` to compare; each server with the baseline where left out.
    #[serde(default)]
    pub comparisons: Vec<(String, String)>,
    /// Whether pairs are compared at the headline's load alone; cells at other loads are shown and cost fewer blocks.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub compare_headline_only: bool,
    /// How often each trial is repeated whose cell is compared with none: points of a curve. As often as it takes for
    /// an interval where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub curve_blocks: Option<u32>,
    /// How often each trial of the sweep is repeated at most.
    #[serde(default)]
    pub max_blocks: u32,
    /// How many blocks more may be run in place of blocks that the machine spoiled; see [`Campaign::extra_blocks`].
    pub max_extra_blocks: Option<u32>,
    /// How many minutes the sweep may take: its comparisons end at the last planned interim analysis that fits, and at
    /// the first one at the earliest. No limit where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_minutes: Option<u64>,
    /// The figures that get a verdict in each comparison, such as `["cpu_us_per_request", "p99_us"]`; requests a second
    /// and CPU time for a request where left out; see [`Campaign::judged`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub judge: Vec<Figure>,
    /// The largest difference that does not matter: what lies within it is called small or equivalent.
    #[serde(default = "default_margin")]
    pub margin: Percent,
    /// How narrow an interval answers the question by itself, as half of its width. Where it is given, comparisons that
    /// are answered stop; where it is not, every trial is repeated `max_blocks` times.
    pub precision: Option<Percent>,
    /// Decides the order of the trials, and which layout of its server each has.
    pub seed: u64,
    /// In how many layouts each server is built; where left out, all its trials are of the program as cargo links it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layouts: Option<Layouts>,
    /// Load before the measured window, in milliseconds.
    pub warmup_ms: u64,
    /// Connections of that load at most; as many as in the window where left out.
    pub warmup_connections: Option<u32>,
    /// The measured window, in milliseconds.
    pub window_ms: u64,
    /// When the load tool gives a request up, in milliseconds.
    pub timeout_ms: u64,
    /// How long connecting may take before a closed loop's window, in milliseconds: where fewer than 99 % of the
    /// connections are established by then, the trial gives no figure.
    #[serde(default = "default_connect_ms")]
    pub connect_ms: u64,
    /// What the servers run in; equal settings where left out.
    #[serde(default = "equal_settings")]
    pub environment: Environment,
    /// The compared pairs once more, side by side on one core, for CPU time per request.
    pub duets: Option<Duets>,
    /// How often the remedy of a likely cause is tried, and the same without it; 0 where it is not tried.
    #[serde(default)]
    pub remedy_trials: u32,
    /// Rates of an open loop, in place of connection counts.
    pub open: Option<Open>,
    /// What must hold for the campaign to pass.
    #[serde(default)]
    pub pass: Vec<PassRule>,
    /// The search along connections or along a rate, after the sweep.
    pub search: Option<Search>,
    /// Users who come and go in stages: the load of its connections, in place of a closed loop without a pause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stages: Option<Stages>,
}

fn default_margin() -> Percent {
    Percent(0.02)
}

/// How long connecting may take where a campaign says nothing else, in milliseconds.
pub(super) const fn default_connect_ms() -> u64 {
    10_000
}

/// How compared pairs are run side by side, before the sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Duets {
    /// Connections to each of the two servers in a closed loop: one number, or several.
    #[serde(deserialize_with = "one_or_many")]
    pub connections: Vec<u32>,
    /// Requests a second to each of the two in an open loop, besides the closed ones: one number, or several. The
    /// requests go over as many connections as the largest closed loop has.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub rate: Vec<u32>,
    /// How often each pair is run at most.
    pub max_blocks: u32,
    /// How many minutes they may take; see [`Campaign::max_minutes`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_minutes: Option<u64>,
    /// How narrow an interval answers the question by itself, as half of its width.
    pub precision: Percent,
    /// Load before the measured window, in milliseconds.
    pub warmup_ms: u64,
    /// The measured window, in milliseconds.
    pub window_ms: u64,
}

impl Duets {
    /// The loads at a rate, by the load tool that says when a request was due.
    pub fn rates(&self) -> impl Iterator<Item = Level> {
        let connections = self.connections.iter().max().copied().unwrap_or_default();
        let tool = LoadTool::RpcLoad;
        self.rate.iter().map(move |rate| Level { connections, rate: Some(*rate), tool, ..Level::default() })
    }
}

/// A bound on a figure of a server, which each trial must keep, or on a ratio between two servers, within which the
/// whole interval must lie.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PassRule {
    /// The figure.
    pub figure: Figure,
    /// The server, in the numerator where there is a ratio; each server but the ceiling where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The server in the denominator; the figure itself is bound where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<String>,
    /// The largest ratio that passes: `1.2`, or `"20%"`, which is 20 % more; or the largest figure.
    #[serde(default, deserialize_with = "ratio_or_percent")]
    pub at_most: Option<f64>,
    /// Equivalence: the largest difference that passes, either way. `"5%"` is from 1/1.05 to 1.05.
    pub within: Option<Percent>,
}

/// A ratio, as a number or as how much more than 1 it is.
fn ratio_or_percent<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    #[derive(Deserialize)]
    #[serde(
        untagged,
        expecting = "give a ratio such as 1.2, or a percentage such as \"20%\": at most 20 % more"
    )]
    enum Written {
        Ratio(f64),
        More(String),
    }
    // A plan writes a bound that a rule does not have as null.
    Ok(match Option::<Written>::deserialize(deserializer)? {
        None => None,
        Some(Written::Ratio(ratio)) => Some(ratio),
        Some(Written::More(text)) => Some(1.0 + Percent::share(&text).map_err(serde::de::Error::custom)?.0),
    })
}

impl PassRule {
    /// Whether the ratio passes. It is the interval's ends that decide and not its middle, so a ratio without an
    /// interval does not pass.
    pub fn holds(&self, ratio: Estimate) -> bool {
        let Some((low, high)) = ratio.interval else { return false };
        let within = |margin: Percent| low >= 1.0 / (1.0 + margin.0) && high <= 1.0 + margin.0;
        self.at_most.is_none_or(|most| high <= most) && self.within.is_none_or(within)
    }

    /// What is bound, in words; `label` is what a reader knows a server by.
    pub fn of(&self, label: &dyn Fn(&str) -> String) -> String {
        let (figure, server) = (self.figure.described().0, self.server.as_deref().map(label));
        let over = self.over.as_deref().map(|over| format!(" over {}", label(over)));
        format!("{figure}, {}{}", server.unwrap_or_default(), over.unwrap_or_default())
    }

    /// The bound in words.
    pub fn words(&self) -> String {
        match (self.within, self.at_most) {
            (Some(within), _) => format!("equivalent within {within}"),
            (None, Some(most)) if self.over.is_none() => format!("at most {most}"),
            (None, Some(most)) => format!("at most {most:.2}"),
            (None, None) => "no bound".to_owned(),
        }
    }

    pub(super) fn check(&self) -> Result<()> {
        let is_one = self.at_most.is_some() != self.within.is_some();
        ensure!(
            is_one,
            "field pass: give either at_most (a ratio such as 1.2, or \"20%\" more) or within (a percentage either way)"
        );
        ensure!(
            self.over.is_some() || self.within.is_none(),
            "field pass.within: it is a difference from another server; give over, or at_most in its place"
        );
        ensure!(self.over.is_none() || self.server.is_some(), "field pass.over: give server, too");
        let most = self.at_most.unwrap_or(1.0);
        ensure!(most > 0.0, "field pass.at_most: {most} is no ratio; give a number above 0");
        Ok(())
    }
}

impl Campaign {
    /// Blocks that may be run in place of blocks that the machine spoiled: as stated, or half as many as planned and at
    /// least three. None without a sweep.
    pub fn extra_blocks(&self) -> u32 {
        match self.max_extra_blocks {
            _ if self.max_blocks == 0 => 0,
            Some(stated) => stated,
            None => (self.max_blocks / 2).max(LEAST_EXTRA_BLOCKS),
        }
    }

    /// The figures that get a verdict, each with its better direction: those stated, or requests a second and CPU time.
    pub fn judged(&self) -> Vec<(Figure, Better)> {
        let stated = if self.judge.is_empty() { &JUDGED } else { self.judge.as_slice() };
        stated.iter().filter_map(|figure| Some((*figure, figure.better()?))).collect()
    }

    /// Pairs to compare: those stated, or each server with the baseline.
    pub fn compared(&self) -> Vec<(String, String)> {
        if !self.comparisons.is_empty() {
            return self.comparisons.clone();
        }
        let Some(baseline) = &self.baseline else { return Vec::new() };
        let is_other = |server: &&String| *server != baseline && Some(*server) != self.ceiling.as_ref();
        self.servers.iter().filter(is_other).map(|server| (server.clone(), baseline.clone())).collect()
    }

    /// The campaign of a part of its run: without other parts, and without what the report of the whole run compares.
    #[must_use]
    pub fn part(&self, name: &str) -> Self {
        Self {
            name: name.to_owned(),
            baseline: None,
            ceiling: None,
            headline: BTreeMap::new(),
            comparisons: Vec::new(),
            compare_headline_only: false,
            curve_blocks: None,
            duets: None,
            pass: Vec::new(),
            search: None,
            ..self.clone()
        }
    }

    /// The campaign that runs the compared pairs side by side, where this one has duets.
    pub fn duet_campaign(&self) -> Option<Self> {
        let duets = self.duets.as_ref()?;
        let comparisons = self.compared();
        let compared = |name: &&String| comparisons.iter().any(|(a, b)| a == *name || b == *name);
        Some(Self {
            servers: self.servers.iter().filter(compared).cloned().collect(),
            connections: duets.connections.clone(),
            comparisons,
            max_blocks: duets.max_blocks,
            max_minutes: duets.max_minutes,
            precision: Some(duets.precision),
            warmup_ms: duets.warmup_ms,
            window_ms: duets.window_ms,
            environment: Environment { placement: Placement::Duet, ..self.environment.clone() },
            // They are of servers that ran alone.
            views: Vec::new(),
            open: None,
            ..self.part(&format!("{}-duets", self.name))
        })
    }

    /// A closed loop of that many connections; of that many requests in flight, where an arm has several on each
    /// connection.
    pub fn closed_loop(&self, connections: u32) -> Level {
        let shared = |arm: &CampaignArm| arm.settings.in_flight.is_some_and(|requests| requests > 1);
        let in_flight = self.environment.in_flight() > 1 || self.arms.iter().any(shared);
        Level { connections, tool: self.tool, in_flight, ..Level::default() }
    }

    /// The load that the headline shows for a workload: the stated one, or the lowest; where it is not among those that
    /// are measured, the highest of these.
    pub fn headline_level(&self, workload: &str, measured: &[Level]) -> Level {
        let stated = self.headline.get(workload).copied();
        let lowest = measured.iter().map(|level| level.amount()).min();
        let of = |amount: u32| measured.iter().copied().find(|level| level.amount() == amount);
        let highest = measured.iter().copied().max_by_key(|level| level.amount());
        stated.or(lowest).and_then(of).or(highest).unwrap_or_default()
    }

    /// Whether any part of it is a closed loop.
    pub fn has_closed_loop(&self) -> bool {
        !self.connections.is_empty() || self.searches_connections() || self.duets.is_some()
    }

    /// The load tools that it names for its cells.
    pub fn tools(&self) -> impl Iterator<Item = LoadTool> {
        let closed = if self.has_closed_loop() { self.closed_loop_tools() } else { &[] };
        let open = self.open.iter().flat_map(|open| open.tools.iter().copied());
        let duets = self.duets.iter().flat_map(Duets::rates).map(|level| level.tool);
        closed.iter().copied().chain(open).chain(duets)
    }

    /// The load next to that of an open loop.
    pub fn background(&self) -> Option<&Background> {
        self.open.as_ref()?.background.as_ref()
    }

    /// The same with those of a background load and of a search for rates.
    pub fn all_tools(&self) -> impl Iterator<Item = LoadTool> {
        let background =
            self.background().map(|other| if other.rate.is_some() { other.tool } else { self.tool });
        self.tools().chain(background).chain(self.searched_rate().map(|level| level.tool))
    }

    /// The load tools of its closed loops.
    pub fn closed_loop_tools(&self) -> &[LoadTool] {
        if self.tools.is_empty() { slice::from_ref(&self.tool) } else { &self.tools }
    }

    /// The loads of its closed loops: each load tool with each of these connection counts.
    pub fn closed_loops(&self, connections: &[u32]) -> Vec<Level> {
        let with = |connections: u32| {
            let level = self.closed_loop(connections);
            self.closed_loop_tools().iter().map(move |tool| Level { tool: *tool, ..level })
        };
        connections.iter().flat_map(|connections| with(*connections)).collect()
    }
}
