//! Bursts of connections on servers with known backlogs: the plan, and what was observed.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::diagnosis::{Burst, Tried};
use crate::config::{Environment, Server};
use crate::probe::host::Host;
pub use crate::results::BURSTS;
use crate::results::RunFolder;

/// One line a burst.
pub const BURST_LINES: &str = "bursts.ndjson";

/// What to try, and on what.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BurstPlan {
    /// The servers with their backlogs.
    pub servers: Vec<Server>,
    /// The arms, in the same order, without bursts.
    pub arms: Vec<Tried>,
    /// What they run in.
    pub environment: Environment,
    /// The largest burst that this machine can make.
    pub most: u32,
    /// Decides the order.
    pub seed: u64,
    /// The machine.
    pub host: Host,
    /// When it began, in UTC.
    pub started_at: String,
}

/// One burst, as a line of `bursts.ndjson`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BurstLine {
    /// Its place in the plan's arms.
    pub arm: usize,
    /// What was observed.
    #[serde(flatten)]
    pub burst: Burst,
}

/// The plan and the bursts of a folder.
///
/// # Errors
/// A file can't be read, or a burst belongs to no arm of the plan.
pub fn read(folder: &RunFolder) -> Result<(BurstPlan, Vec<Tried>)> {
    let plan: BurstPlan = folder.read_json(BURSTS)?;
    let mut arms = plan.arms.clone();
    for line in folder.lines::<BurstLine>(BURST_LINES)? {
        let arm = arms.get_mut(line.arm);
        let arm =
            arm.with_context(|| format!("{}/{BURST_LINES}: no arm {}", folder.0.display(), line.arm))?;
        arm.bursts.push(line.burst);
    }
    Ok((plan, arms))
}
