//! What a run was measured with and on: `environment.json`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::load::toolchain::Tool;
use crate::provenance::Program;
use bench_system::probe::host::Host;

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
    /// Why the run can't stand for a commit: it does not know what its servers were built from, or something that
    /// decides figures had changed since the commit. Pages and results decide none. `None` where it can.
    pub fn uncommitted(&self) -> Option<String> {
        if self.programs.is_empty() {
            return Some("it does not say what its servers were built from".to_owned());
        }
        let unknown = |(server, program): (&String, &Program)| {
            let why = program.unknown.as_ref()?;
            Some(format!("what server {server} was built from is not known: {why}"))
        };
        if let Some(why) = self.programs.iter().find_map(unknown) {
            return Some(why);
        }
        if let Some((server, _)) = self.programs.iter().find(|(_, program)| program.changed == Some(true)) {
            return Some(format!("the sources of server {server} had changed since the commit"));
        }
        let decides = |file: &&String| !file.ends_with(".md") && !file.starts_with("results/");
        let changed = self.host.changed_files.as_ref();
        match changed.map(|files| files.iter().find(decides)) {
            None => Some("it was measured outside of a git repository".to_owned()),
            Some(file) => file.map(|file| format!("{file} had changed since the commit")),
        }
    }

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
