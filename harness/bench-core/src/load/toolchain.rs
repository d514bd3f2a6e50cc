//! Where the load tools come from: this program itself, an environment variable, the folder of this program where that
//! is installed, the `PATH`, or the pinned version, built from its sums.

mod build;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use super::LoadTool;
use super::load_tool::{About, Build};
use crate::machine::on_path;
use crate::repository;

/// A load tool that was found, and what is known of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    /// Where it is. Not kept in results: a path says nothing on another machine.
    #[serde(skip)]
    pub path: PathBuf,
    /// Its name, as results and reports have it.
    pub name: String,
    /// Its version, as built or as it prints it.
    pub version: String,
    /// How it was found.
    pub source: Source,
    /// SHA-256 of the program, in hexadecimal.
    pub sha256: String,
}

/// How a load tool was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A part of this program, or built at the pinned version, its sums checked.
    Pinned,
    /// Named by the tool's environment variable, such as `BOMBARDIER`.
    Environment,
    /// Found on the `PATH`, or next to the harness's own program.
    Path,
}

/// The load tools that a run may use.
#[derive(Debug, Clone, PartialEq)]
pub struct Tools {
    found: BTreeMap<LoadTool, Tool>,
    /// The folder with their pins.
    pins: PathBuf,
}

impl Tools {
    /// Finds the tool of closed loops and the others that are needed, or builds them. `pins` is the folder with their
    /// pins.
    ///
    /// # Errors
    /// One line: what is missing and what to install.
    pub fn find(needed: &[LoadTool], pins: &Path) -> Result<Self> {
        let mut tools = Self::of([], pins);
        std::iter::once(&LoadTool::default()).chain(needed).try_for_each(|tool| tools.need(*tool))?;
        Ok(tools)
    }

    /// Those that were found before.
    pub fn of(found: impl IntoIterator<Item = (LoadTool, Tool)>, pins: &Path) -> Self {
        Self { found: found.into_iter().collect(), pins: pins.to_owned() }
    }

    /// The folder with their pins.
    pub fn pins(&self) -> &Path {
        &self.pins
    }

    /// Finds one more of them, or builds it, where that was not done yet.
    ///
    /// # Errors
    /// One line: what is missing and what to install.
    pub fn need(&mut self, tool: LoadTool) -> Result<()> {
        if let Entry::Vacant(place) = self.found.entry(tool) {
            place.insert(Tool::find(tool, &self.pins)?);
        }
        Ok(())
    }

    /// One of them.
    ///
    /// # Errors
    /// The run was begun without it.
    pub fn get(&self, tool: LoadTool) -> Result<&Tool> {
        self.found.get(&tool).with_context(|| format!("this run was begun without {}", tool.name()))
    }

    /// One of them, by the name that results know it by.
    ///
    /// # Errors
    /// The run was begun without it, or there is no such tool.
    pub fn named(&self, name: &str) -> Result<&Tool> {
        self.get(LoadTool::named(name).with_context(|| format!("there is no load tool {name:?}"))?)
    }

    /// Those of the open loop that are there.
    pub fn open_loop(&self) -> Vec<Tool> {
        LoadTool::of_open_loops().filter_map(|tool| self.found.get(&tool).cloned()).collect()
    }
}

impl Tool {
    /// Finds a tool, or builds it. `tools` is the folder with the tools' pins.
    ///
    /// # Errors
    /// One line: what is missing and what to install.
    pub fn find(tool: LoadTool, tools: &Path) -> Result<Self> {
        if let Some(found) = Self::find_built(tool, tools)? {
            return Ok(found);
        }
        build::go(tool, tools)?;
        Self::find_built(tool, tools)?.with_context(|| format!("there is no {} after its build", tool.name()))
    }

    /// Finds a tool that need not be built now.
    ///
    /// # Errors
    /// What its environment variable names is not there.
    pub fn find_built(tool: LoadTool, tools: &Path) -> Result<Option<Self>> {
        let About { name, version, build, .. } = tool.about();
        let Build::Go { package, folder, variable, own_version, .. } = build else {
            let path = env::current_exe().context("this program has no path")?;
            return Self::at(path, tool, format!("v{version}"), Source::Pinned).map(Some);
        };
        let named = env::var_os(variable).filter(|path| !path.is_empty()).map(PathBuf::from);
        let source = if named.is_some() { Source::Environment } else { Source::Path };
        if let Some(path) = named.or_else(|| installed(name)).or_else(|| on_path(name)) {
            ensure!(path.is_file(), "{variable}={}: there is no such file", path.display());
            let version = version_of(&path, package, own_version)?;
            return Self::at(path, tool, version, source).map(Some);
        }
        let (path, pins) = (tools.join("bin").join(name), tools.join(folder));
        let pinned = || Self::at(path.clone(), tool, pinned_version(package, &pins)?, Source::Pinned);
        is_built(&path, &pins).then(pinned).transpose()
    }

    fn at(path: PathBuf, tool: LoadTool, version: String, source: Source) -> Result<Self> {
        let sha256 = repository::sha256_of_file(&path)?;
        Ok(Self { path, name: tool.name().to_owned(), version, source, sha256 })
    }

    /// What to know of a version that is not the pinned one.
    pub fn caveat(&self) -> Option<String> {
        let Self { name, version, .. } = self;
        let digits = version.trim_start_matches('v');
        if !digits.starts_with(|c: char| c.is_ascii_digit()) {
            return Some(format!("the version of {name} is unknown (it says {version:?})"));
        }
        LoadTool::named(name)?.driver().caveat(version)
    }
}

/// A program next to this one, where both are installed. In cargo's own folder it may be older than its source.
fn installed(name: &str) -> Option<PathBuf> {
    let own = env::current_exe().ok()?;
    next_to(own.parent()?, name)
}

fn next_to(folder: &Path, name: &str) -> Option<PathBuf> {
    let is_cargos = |folder: &Path| folder.join(".fingerprint").is_dir();
    // A test's program lies one folder deeper.
    if folder.ancestors().take(2).any(is_cargos) {
        return None;
    }
    Some(folder.join(name)).filter(|path| path.is_file())
}

/// Whether a tool was built after its pins were last changed.
fn is_built(path: &Path, pins: &Path) -> bool {
    let modified = |path: &Path| path.metadata().ok()?.modified().ok();
    let built_after = |source: &str| Some(modified(path)? >= modified(&pins.join(source))?);
    ["go.mod", "go.sum"].into_iter().all(|source| built_after(source) == Some(true))
}

fn pinned_version(package: &str, pins: &Path) -> Result<String> {
    let path = pins.join("go.mod");
    let text = crate::text_files::read(&path)?;
    let version = text.lines().find_map(|line| line.trim().strip_prefix(package)?.split_whitespace().next());
    version.map(str::to_owned).with_context(|| format!("{} does not pin {package}", path.display()))
}

/// The version that a program gives: in its own words, or in Go's record of how it was built.
fn version_of(path: &Path, package: &str, (option, word): (&str, usize)) -> Result<String> {
    let output = Command::new(path)
        .arg(option)
        .output()
        .with_context(|| format!("can't start {}; is it a program?", path.display()))?;
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let word = said.split_whitespace().nth(word).unwrap_or("unknown");
    if word.trim_start_matches('v').starts_with(|c: char| c.is_ascii_digit()) {
        return Ok(word.to_owned());
    }
    let record = Command::new("go").args(["version", "-m"]).arg(path).output();
    let recorded = record.ok().and_then(|output| {
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let line =
            text.lines().find(|line| line.contains(package) && line.trim_start().starts_with("mod"))?;
        line.split_whitespace().nth(2).map(str::to_owned)
    });
    Ok(recorded.unwrap_or_else(|| word.to_owned()))
}
