//! Open-loop load: requests are sent at their times, whether or not earlier ones were answered.
//!
//! Says which rates and what disturbs them; not which tool can send that many, which is measured where the run begins.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::Campaign;
use crate::field_checks::{distinct, within};
use crate::load::{Capability, Level, LoadTool};

/// The most that any rate may be, in requests a second.
pub(super) const MOST_RATE: u64 = 1_000_000;

/// The `[open]` table of a campaign.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Open {
    /// Requests a second; the axis `rate` may name them.
    #[serde(default)]
    pub rates: Vec<u32>,
    /// Connections that the load tool may hold at most.
    pub connections: u32,
    /// The load tools, each for trials of its own at every rate. Left out, each rate gets the first one that can send
    /// it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<LoadTool>,
    /// A background load; every rate is measured without and with it.
    pub background: Option<Background>,
    /// The server is stopped now and then.
    pub stall: Option<Stall>,
}

/// Another load on the same server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Background {
    /// Its requests.
    pub workload: String,
    /// Requests a second. Left out, each connection sends its next request once it is answered: as much as the server
    /// gives.
    pub rate: Option<u32>,
    /// Connections; with a rate, those that it may hold at most.
    pub connections: u32,
    /// What sends it at its rate.
    #[serde(default = "vegeta")]
    pub tool: LoadTool,
    /// When it begins, in milliseconds of the window.
    #[serde(default)]
    pub from_ms: u64,
    /// How long it runs, in milliseconds; to the window's end where left out.
    pub for_ms: Option<u64>,
    /// Whether trials without it are left out: where what follows it is the question, and not what it does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub always: bool,
}

const fn vegeta() -> LoadTool {
    LoadTool::Vegeta
}

/// How a server is stopped: the kernel lets it wait (SIGSTOP) and go on (SIGCONT).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stall {
    /// From the window's start, and from one stop to the next, in milliseconds.
    pub every_ms: u64,
    /// How long it waits each time, in milliseconds.
    pub for_ms: u64,
}

impl Background {
    /// From when to when it runs, in milliseconds of the window, where it ends within it.
    pub fn within_window_ms(&self) -> Option<(u64, u64)> {
        Some((self.from_ms, self.from_ms + self.for_ms?))
    }
}

impl Open {
    /// The loads of a campaign, by rate, tool and disturbance. `tool` says which tool can send a rate, where the
    /// campaign names none; rates for which it knows none are left out.
    pub fn levels(&self, tool: impl Fn(u32) -> Option<LoadTool>) -> Vec<Level> {
        let disturbed: &[bool] = match &self.background {
            None => &[false],
            Some(background) if background.always => &[true],
            Some(_) => &[false, true],
        };
        let mut levels = Vec::new();
        for &rate in &self.rates {
            let tools =
                if self.tools.is_empty() { tool(rate).into_iter().collect() } else { self.tools.clone() };
            for tool in tools {
                let level =
                    Level { connections: self.connections, rate: Some(rate), tool, ..Level::default() };
                levels.extend(disturbed.iter().map(|disturbed| Level { disturbed: *disturbed, ..level }));
            }
        }
        levels
    }

    /// Whether the fields make sense together.
    ///
    /// # Errors
    /// One line with the field.
    pub(super) fn check(&self, campaign: &Campaign) -> Result<()> {
        distinct("open.rates", &self.rates)?;
        self.rates.iter().try_for_each(|rate| within("open.rates", u64::from(*rate), 1, MOST_RATE))?;
        within("open.connections", self.connections.into(), 1, 60_000)?;
        if !self.tools.is_empty() {
            distinct("open.tools", &self.tools)?;
        }
        self.tools.iter().try_for_each(|tool| tool.check([Capability::Rate])).context("field open.tools")?;
        if let Some(background) = &self.background {
            within("open.background.rate", background.rate.unwrap_or(1).into(), 1, MOST_RATE)?;
            within("open.background.connections", background.connections.into(), 1, 60_000)?;
            within("open.background.from_ms", background.from_ms, 0, campaign.window_ms.saturating_sub(1))?;
            let left_ms = campaign.window_ms - background.from_ms;
            within("open.background.for_ms", background.for_ms.unwrap_or(left_ms), 1, left_ms)?;
        }
        if let Some(stall) = self.stall {
            within("open.stall.every_ms", stall.every_ms, 2, campaign.window_ms)?;
            within("open.stall.for_ms", stall.for_ms, 1, stall.every_ms - 1)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open() -> Open {
        Open { rates: vec![100, 200], connections: 8, tools: Vec::new(), background: None, stall: None }
    }

    fn background(always: bool) -> Background {
        let workload = "getBlocks".to_owned();
        let tool = LoadTool::Vegeta;
        Background { workload, rate: Some(5), connections: 1, tool, from_ms: 0, for_ms: None, always }
    }

    #[test]
    fn a_rate_that_no_tool_can_send_is_left_out() {
        let levels = open().levels(|rate| (rate < 150).then_some(LoadTool::Vegeta));
        assert_eq!(levels.len(), 1);
        assert_eq!(
            (levels[0].rate, levels[0].tool, levels[0].disturbed),
            (Some(100), LoadTool::Vegeta, false)
        );
    }

    #[test]
    fn named_tools_send_every_rate() {
        let open = Open { tools: vec![LoadTool::Vegeta, LoadTool::RpcLoad], ..open() };
        let levels = open.levels(|_| None);
        let tools: Vec<_> = levels.iter().map(|level| (level.rate.unwrap(), level.tool.name())).collect();
        assert_eq!(tools, [(100, "vegeta"), (100, "rpc-load"), (200, "vegeta"), (200, "rpc-load")]);
    }

    #[test]
    fn a_background_load_doubles_the_rates_unless_it_is_always_on() {
        let disturbed = |always| {
            let open = Open { background: Some(background(always)), ..open() };
            let levels = open.levels(|_| Some(LoadTool::RpcLoad));
            levels.iter().map(|level| level.disturbed).collect::<Vec<_>>()
        };
        assert_eq!(disturbed(false), [false, true, false, true]);
        assert_eq!(disturbed(true), [true, true]);
    }
}
