//! Load tools. To add one, write a module that implements [`load_tool::Driver`], and an entry in [`LoadTool`]'s table.
//!
//! A load is closed-loop (a connection sends again once it has its answer) or open-loop (requests are due at a rate,
//! answered or not). Units are converted here, once. No other module reads a tool's output.

pub mod bombardier;
pub mod failure;
pub mod k6;
pub mod level;
pub mod load_tool;
pub mod records;
pub mod rpc_load;
pub mod sample;
pub mod sample_details;
pub mod silences;
pub mod toolchain;
pub mod vegeta;

use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};

pub use self::level::{Client, Level, Load, UserStage, at};
pub use self::load_tool::Capability;
use self::load_tool::{About, Driver};
pub use self::sample::{Bin, Latency, LoadSample, OpenWindow, width_ms};

/// A load tool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LoadTool {
    /// Closed loop; with a limit on its rate, for comparison, still closed.
    #[default]
    Bombardier,
    /// Open loop, one body a request in the order given.
    Vegeta,
    /// This workspace's own: closed or open loop.
    RpcLoad,
    /// Users who come and go in stages, each of whom sends one request a second; and a closed loop.
    K6,
}

impl LoadTool {
    /// Every load tool; those of an open loop in the order in which they are tried.
    pub const ALL: [Self; 4] = [Self::Bombardier, Self::Vegeta, Self::RpcLoad, Self::K6];

    /// The table: each tool's module.
    pub fn driver(self) -> &'static dyn Driver {
        match self {
            Self::Bombardier => &bombardier::Bombardier,
            Self::Vegeta => &vegeta::Vegeta,
            Self::RpcLoad => &rpc_load::RpcLoad,
            Self::K6 => &k6::K6,
        }
    }

    /// The tool of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    /// Those that have open loops, in the order in which they are tried.
    pub fn of_open_loops() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|tool| tool.can(Capability::OpenLoop))
    }

    /// As campaigns and its authors call it.
    pub fn name(self) -> &'static str {
        self.about().name
    }

    /// What it is.
    pub fn about(self) -> About {
        self.driver().about()
    }

    /// Whether it can do that.
    pub fn can(self, what: Capability) -> bool {
        self.about().can.contains(&what)
    }

    /// Whether it can do all of these.
    ///
    /// # Errors
    /// One line: what it can't, and which load tools can.
    pub fn check(self, asked: impl IntoIterator<Item = Capability>) -> Result<()> {
        let Some(lack) = asked.into_iter().find(|what| !self.can(*what)) else { return Ok(()) };
        let others = Self::ALL.into_iter().filter(|tool| tool.can(lack)).map(Self::name);
        let others = others.collect::<Vec<_>>().join(", ");
        bail!("{} can't {}; choose another load tool ({others})", self.name(), lack.words())
    }

    /// Whether it is the default.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
