//! What a measured program is: the file itself, and what cargo built it from. Two runs whose servers have the same
//! fingerprint measured the same servers, whatever else changed in the repository between them.

mod sources;

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::config::Server;
use crate::config::layouts;
use crate::plan::Plan;
use bench_system::repository::sha256_of_file;

pub use sources::{Sources, sources};

/// As many digits of a fingerprint as pages show.
const SHORT: usize = 12;

/// A server's program, and what it was built from.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// SHA-256 of the program, in hexadecimal.
    pub sha256: Option<String>,
    /// SHA-256 of the program in each of its layouts, in their order, where the run draws them; it has no `sha256`
    /// then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layouts: Vec<String>,
    /// The fingerprint of its sources, in hexadecimal: [`sources`]. None where cargo did not build it.
    pub sources: Option<String>,
    /// The compiler, its target and its LLVM.
    pub compiler: Option<String>,
    /// Flags for the compiler and settings of profiles from outside of the repository, such as `RUSTFLAGS`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
    /// Whether a file behind the fingerprint differs from the commit; none where that is not known.
    pub changed: Option<bool>,
    /// Why nothing is known of it.
    pub unknown: Option<String>,
}

impl Program {
    /// The program that a server is started as, built by its command from the sources below `root`.
    pub fn of(server: &Server, root: &Path) -> Self {
        if server.running_at().is_some() {
            let unknown = Some("it ran already, and the harness neither built nor started it".to_owned());
            return Self { unknown, ..Self::default() };
        }
        let sha256 = server.find_program().and_then(|path| sha256_of_file(&path)).ok();
        let mut program = Self { sha256, ..Self::default() };
        match sources(&server.build, root) {
            Ok(Some(sources)) => {
                program.changed = Some(sources.changed);
                program.sources = Some(sources.fingerprint);
                program.compiler = compiler();
                program.flags = flags(root);
            }
            Ok(None) => {}
            Err(error) => program.unknown = Some(format!("its sources: {error:#}")),
        }
        program
    }

    /// In a few words: the beginning of its fingerprint, with `+` where files had changed since the commit.
    pub fn words(&self) -> String {
        let short = |hash: &String| hash.chars().take(SHORT).collect::<String>();
        match (&self.sources, &self.sha256) {
            (Some(sources), _) => short(sources) + if self.changed == Some(true) { "+" } else { "" },
            (None, Some(sha256)) => format!("{} (of the program alone)", short(sha256)),
            (None, None) => "unknown".to_owned(),
        }
    }

    /// What it was built from, and the flags from outside.
    pub fn build(&self) -> String {
        self.flags.iter().fold(self.words(), |text, flag| format!("{text}, {flag}"))
    }
}

/// What a run's servers are built from, by their names, those behind gateways too.
pub fn programs(plan: &Plan, root: &Path) -> BTreeMap<String, Program> {
    let mut programs = BTreeMap::new();
    for server in plan.servers.iter().flat_map(Server::and_upstream) {
        let of = || {
            let program = Program::of(server, &root.join(layouts::checkout(server)));
            if !plan.draws_layouts_of(server) {
                return program;
            }
            let layouts = plan.programs(server).into_iter().map(|path| sha256_of_file(&root.join(path)));
            Program { sha256: None, layouts: layouts.collect::<Result<_>>().unwrap_or_default(), ..program }
        };
        programs.entry(server.name.clone()).or_insert_with(of);
    }
    programs
}

/// Whether servers are still built from what a run began with.
///
/// # Errors
/// One line: which server's sources changed.
pub fn check_unchanged(before: &BTreeMap<String, Program>, servers: &[Server], root: &Path) -> Result<()> {
    let compiler_now = compiler();
    for server in servers.iter().flat_map(Server::and_upstream) {
        let then = before.get(&server.name).filter(|program| program.sources.is_some());
        let Some(then) = then else { continue };
        let root = root.join(layouts::checkout(server));
        let now = sources(&server.build, &root)?.map(|sources| sources.fingerprint);
        ensure!(
            now == then.sources,
            "the sources of server {} changed since the run began, so that its trials would be of two servers; begin \
             a new run",
            server.name
        );
        let flags_now = flags(&root);
        ensure!(
            then.compiler == compiler_now && then.flags == flags_now,
            "the compiler of server {} or its flags changed since the run began ({}, {:?}; now {}, {flags_now:?}); \
             set them as they were, or begin a new run",
            server.name,
            then.compiler.as_deref().unwrap_or("unknown"),
            then.flags,
            compiler_now.as_deref().unwrap_or("unknown")
        );
    }
    Ok(())
}

/// The compiler that cargo takes, such as `rustc 1.95.0 (59807616e 2026-04-14), x86_64-unknown-linux-gnu, LLVM 22.1.2`.
fn compiler() -> Option<String> {
    let program = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(program).arg("-vV").output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("unknown");
    Some(format!("{}, {}, LLVM {}", text.lines().next()?, field("host: "), field("LLVM version: ")))
}

/// Flags of the compiler and settings of profiles that the environment or cargo's configuration gives.
fn flags(root: &Path) -> Vec<String> {
    let decides = |name: &str| name.ends_with("RUSTFLAGS") || name.starts_with("CARGO_PROFILE_RELEASE_");
    let variables = env::vars().filter(|(name, value)| decides(name) && !value.is_empty());
    let mut flags: Vec<String> = variables.map(|(name, value)| format!("{name}={value}")).collect();
    flags.sort();
    let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(env::home_dir()?.join(".cargo")));
    let places: BTreeSet<PathBuf> =
        root.ancestors().map(|folder| folder.join(".cargo")).chain(home).collect();
    let texts = places.iter().map(|place| fs::read_to_string(place.join("config.toml")).unwrap_or_default());
    flags.extend(texts.flat_map(|text| configured(&text)));
    flags
}

/// What of a file of cargo's configuration decides machine code.
fn configured(text: &str) -> Vec<String> {
    let Ok(config) = text.parse::<toml::Table>() else { return Vec::new() };
    let build = config.get("build").and_then(|build| build.get("rustflags"));
    let places =
        [("build.rustflags", build), ("target", config.get("target")), ("profile", config.get("profile"))];
    places.into_iter().filter_map(|(name, value)| Some(format!("{name} = {}", value?))).collect()
}

#[cfg(test)]
mod tests;
