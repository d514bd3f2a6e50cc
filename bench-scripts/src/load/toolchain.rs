//! Where the load tool comes from: `BOMBARDIER`, the `PATH`, or the pinned version, built from its sums.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// A load tool that was found, and what is known of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    /// Where it is. Not kept in results: a path says nothing on another machine.
    #[serde(skip)]
    pub path: PathBuf,
    /// What the reader should know it by.
    pub name: String,
    /// Its version, as built or as it says itself.
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
    /// Built from bench-scripts/tools/go.mod, its sums checked.
    Pinned,
    /// Named by the environment variable `BOMBARDIER`.
    Environment,
    /// Found on the `PATH`.
    Path,
}

const PACKAGE: &str = "github.com/codesenberg/bombardier";

impl Tool {
    /// Finds bombardier, or builds it. `tools` is the folder with its `go.mod`.
    ///
    /// # Errors
    /// One line: what is missing and what to install.
    pub fn bombardier(tools: &Path) -> Result<Self> {
        let (path, source) = if let Some(path) = env::var_os("BOMBARDIER").filter(|path| !path.is_empty()) {
            let path = PathBuf::from(path);
            ensure!(path.is_file(), "BOMBARDIER={}: there is no such file", path.display());
            (path, Source::Environment)
        } else if let Some(path) = on_path("bombardier") {
            (path, Source::Path)
        } else {
            (build(tools)?, Source::Pinned)
        };
        let version = match source {
            Source::Pinned => pinned_version(tools)?,
            Source::Environment | Source::Path => own_version(&path)?,
        };
        let bytes = fs::read(&path).with_context(|| format!("can't read {}", path.display()))?;
        let sha256 = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { path, name: "bombardier".to_owned(), version, source, sha256 })
    }

    /// What to know of a version that is not the pinned one.
    pub fn caveat(&self) -> Option<String> {
        let digits = self.version.trim_start_matches('v');
        match digits.split('.').next() {
            Some("1") => None,
            Some("2") => Some(format!(
                "bombardier {} was used, not 1.2.6: version 2 differs in its clients and timeouts, so its figures do not \
                 compare with those of 1.2.6",
                self.version
            )),
            _ => Some(format!("the version of bombardier is unknown (it says {:?})", self.version)),
        }
    }
}

fn on_path(program: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?).map(|dir| dir.join(program)).find(|path| path.is_file())
}

/// Builds the pinned tool, or finds it built.
fn build(tools: &Path) -> Result<PathBuf> {
    let bin = tools.join("bin");
    let path = bin.join("bombardier");
    let built_after = |source: &str| Some(modified(&path)? >= modified(&tools.join(source))?);
    if built_after("go.mod") == Some(true) && built_after("go.sum") == Some(true) {
        return Ok(path);
    }
    if on_path("go").is_none() {
        bail!(
            "no bombardier and no Go to build it: install Go 1.24 or newer, or set BOMBARDIER=path to bombardier 1.2.6"
        );
    }
    let bin = std::path::absolute(&bin).context("can't tell where the tools are")?;
    eprintln!("building bombardier from {}", tools.join("go.mod").display());
    // The sums in go.sum are checked by Go itself; nothing in the environment may turn the checksum database off.
    let output = Command::new("go")
        .args(["install", "-trimpath", PACKAGE])
        .current_dir(tools)
        .env("GOBIN", &bin)
        .env_remove("GONOSUMDB")
        .env_remove("GONOSUMCHECK")
        .env_remove("GOPRIVATE")
        .env_remove("GOSUMDB")
        .output()
        .context("can't start go")?;
    let last = String::from_utf8_lossy(&output.stderr).lines().last().unwrap_or("it said nothing").to_owned();
    ensure!(output.status.success(), "go could not build bombardier in {}: {last}", tools.display());
    Ok(path)
}

fn modified(path: &Path) -> Option<std::time::SystemTime> {
    fs::metadata(path).ok()?.modified().ok()
}

fn pinned_version(tools: &Path) -> Result<String> {
    let path = tools.join("go.mod");
    let text = fs::read_to_string(&path).with_context(|| format!("can't read {}", path.display()))?;
    let version = text.lines().find_map(|line| line.trim().strip_prefix(PACKAGE)?.split_whitespace().next());
    version.map(str::to_owned).with_context(|| format!("{} does not pin {PACKAGE}", path.display()))
}

/// The version that a foreign bombardier gives: in its own words, or in Go's record of how it was built.
fn own_version(path: &Path) -> Result<String> {
    let output = Command::new(path)
        .arg("--version")
        .output()
        .with_context(|| format!("can't start {}; is it a program?", path.display()))?;
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let word = said.split_whitespace().nth(2).unwrap_or("unknown");
    if word.trim_start_matches('v').starts_with(|c: char| c.is_ascii_digit()) {
        return Ok(word.to_owned());
    }
    let record = Command::new("go").args(["version", "-m"]).arg(path).output();
    let recorded = record.ok().and_then(|output| {
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let line =
            text.lines().find(|line| line.contains(PACKAGE) && line.trim_start().starts_with("mod"))?;
        line.split_whitespace().nth(2).map(str::to_owned)
    });
    Ok(recorded.unwrap_or_else(|| word.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(version: &str) -> Tool {
        let name = "bombardier".to_owned();
        Tool {
            path: PathBuf::new(),
            name,
            version: version.to_owned(),
            source: Source::Path,
            sha256: String::new(),
        }
    }

    #[test]
    fn another_version_is_pointed_out() {
        assert_eq!(version("v1.2.6").caveat(), None);
        assert!(version("v2.0.0").caveat().unwrap().contains("not 1.2.6"));
        assert!(version("unspecified").caveat().unwrap().contains("unknown"));
    }

    #[test]
    fn the_pin_is_read_from_go_mod() {
        let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("tools");
        assert_eq!(pinned_version(&tools).unwrap(), "v1.2.6");
    }
}
