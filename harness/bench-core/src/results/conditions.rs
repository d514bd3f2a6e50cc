//! What a run was measured with and on: `environment.json`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::load::toolchain::Tool;
use crate::machine::Host;
use crate::provenance::Program;

/// What a run was measured with and on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Conditions {
    /// When the run began, in UTC.
    pub started_at: String,
    /// The machine.
    pub host: Host,
    /// The load tool.
    pub tool: Tool,
    /// The tools of the open loop, where the run needs any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open_loop_tools: Vec<Tool>,
    /// What each server said when it was ready: every effective setting.
    pub servers: BTreeMap<String, Value>,
    /// Each server's program and what it was built from. Older runs have none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub programs: BTreeMap<String, Program>,
    /// How the harness was called.
    pub command: String,
    /// When it was resumed, where it was stopped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resumed: Vec<Resumed>,
}

/// A stopped run was resumed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resumed {
    /// When, in UTC.
    pub at: String,
    /// The commit that was measured from then on, with `+` where files had changed since.
    pub commit: Option<String>,
}

impl Conditions {
    /// How and when the run was begun and resumed.
    pub fn history(&self) -> String {
        let mut text = format!("`{}`, begun {}", self.command, self.started_at);
        for resumed in &self.resumed {
            let commit = resumed.commit.as_deref().unwrap_or("unavailable");
            text.push_str(&format!(", resumed {} (commit {commit})", resumed.at));
        }
        text
    }
}
