//! Whether the fields of a campaign make sense together.

use anyhow::{Context, Result, bail, ensure};

use super::layouts::Layouts;
use super::open_loop::MOST_RATE;
use super::{Campaign, Duets, PassRule, Placement, View};
use crate::field_checks::{distinct, known, within};
use crate::load::Capability;

/// The longest window, in milliseconds.
const LONGEST_MS: u64 = 14_400_000;

/// Requests that a window may have at most: the load tool keeps each of them in memory until its end.
const MOST_REQUESTS: u64 = 5_000_000;

impl Campaign {
    /// Whether the fields make sense together.
    ///
    /// # Errors
    /// One line with the field.
    pub fn check(&self) -> Result<()> {
        self.check_parts()?;
        distinct("servers", &self.servers)?;
        distinct("workloads", &self.workloads)?;
        // A search needs no sweep, and so no blocks.
        let has_sweep = self.search.is_none() || !self.connections.is_empty();
        if has_sweep && self.open.is_none() {
            distinct("connections", &self.connections)?;
        }
        if has_sweep {
            within("max_blocks", self.max_blocks.into(), 1, 1_000)?;
        }
        self.check_ranges()?;
        known("baseline", self.baseline.as_slice(), "servers", &self.servers)?;
        if self.environment.placement == Placement::Duet {
            let pairs = self.compared();
            for name in &self.servers {
                ensure!(
                    pairs.iter().any(|(a, b)| a == name || b == name),
                    "field environment.placement: duet runs pairs of servers, and {name:?} is compared with none"
                );
            }
            for View { title, over, .. } in &self.views {
                ensure!(
                    !over.is_empty(),
                    "[[view]] {title:?}: field over: with placement = \"duet\" it says which pairs run at the same \
                     time, and their ratios are all that is shown; give it, or leave the view out"
                );
            }
        }
        if let Some(duets) = self.duet_campaign() {
            ensure!(!duets.servers.is_empty(), "field duets: no servers are compared; name a baseline");
            duets.check().context("table [duets]")?;
        }
        for Duets { rate, .. } in self.duets.iter().filter(|duets| !duets.rate.is_empty()) {
            distinct("duets.rate", rate)?;
            rate.iter().try_for_each(|rate| within("duets.rate", u64::from(*rate), 1, MOST_RATE))?;
        }
        self.open.iter().try_for_each(|open| open.check(self))?;
        for tool in
            self.closed_loop_tools().iter().filter(|_| self.has_closed_loop() && self.stages.is_none())
        {
            tool.check([Capability::ClosedLoop]).context("field tool")?;
        }
        let (is_among, tool) = (self.closed_loop_tools().contains(&self.tool), self.tool.name());
        ensure!(is_among, "field tools: {tool} is not among them; name the load tools in axes.tool");
        self.check_views(&self.views)?;
        self.check_headline_and_pass()?;
        self.check_judged()?;
        self.search.iter().try_for_each(|search| search.check(self))?;
        self.stages.iter().try_for_each(|stages| stages.check(self))?;
        if self.hold {
            self.tool.check([Capability::Holds]).context("field tool")?;
        }
        self.layouts.iter().try_for_each(Layouts::check)
    }

    /// Whether it can be shown by these views.
    ///
    /// # Errors
    /// One line with the view and the field.
    pub fn check_views(&self, views: &[View]) -> Result<()> {
        let titles: Vec<String> = views.iter().map(|view| view.title.clone()).collect();
        if !titles.is_empty() {
            distinct("view.title", &titles)?;
        }
        let has_axis = |axis: &str| self.values(axis).next().is_some();
        let check = |view: &View| view.check(has_axis).and_then(|()| self.check_values(view));
        views.iter().try_for_each(|view| check(view).with_context(|| format!("[[view]] {:?}", view.title)))
    }

    fn check_ranges(&self) -> Result<()> {
        within("max_extra_blocks", self.max_extra_blocks.unwrap_or(0).into(), 0, 1_000)?;
        within("curve_blocks", self.curve_blocks.unwrap_or(1).into(), 1, 1_000)?;
        within("max_minutes", self.max_minutes.unwrap_or(1), 1, 600)?;
        ensure!(
            self.max_minutes.is_none() || self.precision.is_some(),
            "field max_minutes: a campaign without precision has one analysis, at the end; give precision or leave \
             this out"
        );
        within("warmup_connections", self.warmup_connections.unwrap_or(1).into(), 1, 60_000)?;
        within("warmup_ms", self.warmup_ms, 100, 60_000)?;
        within("window_ms", self.window_ms, 500, LONGEST_MS)?;
        let rate = self.open.iter().flat_map(|open| &open.rates).max().copied().unwrap_or(0);
        let requests = u64::from(rate) * self.window_ms / 1_000;
        within("window_ms times open.rates, in requests", requests, 0, MOST_REQUESTS)?;
        within("timeout_ms", self.timeout_ms, 1, 60_000)?;
        within("connect_ms", self.connect_ms, 500, 600_000)?;
        within("remedy_trials", u64::from(self.remedy_trials), 0, 100)?;
        self.connections.iter().try_for_each(|count| within("connections", u64::from(*count), 1, 60_000))?;
        self.environment.check()
    }

    fn check_judged(&self) -> Result<()> {
        if !self.judge.is_empty() {
            distinct("judge", &self.judge)?;
        }
        if let Some(figure) = self.judge.iter().find(|figure| figure.better().is_none()) {
            bail!(
                "field judge: neither more nor less of {} is better, so it gets no verdict; leave it out",
                figure.name()
            );
        }
        Ok(())
    }

    fn check_headline_and_pass(&self) -> Result<()> {
        for (workload, connections) in &self.headline {
            ensure!(self.workloads.contains(workload), "field headline: {workload:?} is not among workloads");
            let name = if self.open.is_some() { "open.rates" } else { "connections" };
            let listed = self.amounts().contains(connections);
            ensure!(listed, "field headline: {connections} for {workload} is not among {name}");
        }
        ensure!(
            !self.compare_headline_only || !self.headline.is_empty(),
            "field compare_headline_only: the campaign has no headline; name one or leave this out"
        );
        for (a, b) in &self.comparisons {
            known("comparisons", &[a, b].map(String::clone), "servers", &self.servers)?;
        }
        for rule @ PassRule { server, over, .. } in &self.pass {
            known("pass.server", server.as_slice(), "servers", &self.servers)?;
            known("pass.over", over.as_slice(), "servers", &self.servers)?;
            rule.check()?;
            let Some((server, over)) = server.clone().zip(over.clone()) else { continue };
            let text = format!("{server} over {over}");
            ensure!(
                self.environment.placement != Placement::Duet || self.compared().contains(&(server, over)),
                "field pass: {text} is no comparison of this campaign"
            );
        }
        Ok(())
    }
}
