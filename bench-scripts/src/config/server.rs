//! A subject under test: how it is built and started, and how it says that it is ready.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

/// `servers.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ServersFile {
    #[serde(rename = "server")]
    pub servers: Vec<Server>,
}

/// A server: a process that can be started on an address and says when it answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// What campaigns call it.
    pub name: String,
    /// What a reader of the report should know it by.
    pub title: String,
    /// A command that builds it, run from the repository's root; empty where there is nothing to build.
    #[serde(default)]
    pub build: Vec<String>,
    /// The program, relative to the repository's root.
    pub program: String,
    /// Its arguments, with placeholders.
    pub args: Vec<String>,
    /// How it says that it is ready.
    pub ready: Ready,
    /// Files that it may open; as many as the harness where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_files: Option<u64>,
    /// A build of it that counts its own allocations, where there is one: its metrics have `allocations_total` and
    /// `allocated_bytes_total`. It is never timed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counting: Option<Build>,
    /// A build of it that takes `--handicap-rounds`, for calibrations, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handicap: Option<Build>,
    /// A program that runs its method and dispatch without HTTP, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_process: Option<InProcess>,
}

/// Another build of a server. It takes the server's arguments.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Build {
    /// A command that builds it, run from the repository's root; empty where there is nothing to build.
    #[serde(default)]
    pub build: Vec<String>,
    /// The program, relative to the repository's root.
    pub program: String,
}

/// A program that runs a server's method and dispatch without HTTP and says what a request cost. docs/ADD-A-SERVER.md says
/// which arguments it gets and what it prints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InProcess {
    /// A command that builds it, run from the repository's root; empty where there is nothing to build.
    #[serde(default)]
    pub build: Vec<String>,
    /// The program, relative to the repository's root.
    pub program: String,
    /// Its first arguments; those of the measurement come behind.
    #[serde(default)]
    pub args: Vec<String>,
}

/// How a server says that it answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Ready {
    /// One line of JSON on its standard output.
    Line(ReadyLine),
    /// Nothing: it is ready once the port that it was told takes a connection.
    Connect {},
}

/// Where things stand in the ready line, as JSON pointers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadyLine {
    /// The address that it serves on.
    pub addr: String,
    /// The address of its metrics, where it has any.
    pub metrics: Option<String>,
}

/// Values for the placeholders in a server's arguments.
pub type Placeholders = BTreeMap<&'static str, String>;

impl Server {
    /// The argument vector with every `{placeholder}` replaced.
    pub fn arguments(&self, values: &Placeholders) -> Vec<String> {
        let fill = |arg: &String| match arg.strip_prefix('{').and_then(|arg| arg.strip_suffix('}')) {
            Some(name) => values.get(name).cloned().unwrap_or_else(|| arg.clone()),
            None => arg.clone(),
        };
        self.args.iter().map(fill).collect()
    }

    /// Whether it is told one request when it starts and gives that one's answer to all.
    pub fn answers_one_request(&self) -> bool {
        self.args.iter().any(|arg| arg == "{request}")
    }

    pub(super) fn check(&self) -> Result<()> {
        ensure!(!self.name.is_empty(), "field name: is empty");
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        ensure!(self.name.chars().all(plain), "field name: use letters, digits, - and _");
        ensure!(!self.program.is_empty(), "field program: is empty");
        let files = self.open_files.unwrap_or(u64::MAX);
        ensure!(files >= 8, "field open_files: {files} is too few for any program; give 8 or more");
        let known = ["listen", "tuning", "threads", "accounts", "slots", "seed", "request"];
        for arg in self.args.iter().filter(|arg| arg.starts_with('{') && arg.ends_with('}')) {
            let name = &arg[1..arg.len() - 1];
            ensure!(
                known.contains(&name),
                "field args: unknown placeholder {arg}; known are {}",
                known.join(", ")
            );
        }
        ensure!(
            self.args.iter().any(|arg| arg == "{listen}"),
            "field args: lacks {{listen}}, the address to bind"
        );
        Ok(())
    }
}
