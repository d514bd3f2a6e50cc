//! Copies of crates of the registry with a patch of ours, for servers that say what a change to their framework would give.
//! A patch is a file `CRATE-VERSION.patch`, as `diff -u` writes it; the sources stay where cargo keeps them.

#![forbid(unsafe_code)]

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// The patches of a folder.
///
/// # Errors
/// It can't be read, or has none.
pub fn patches(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("read {}", folder.display()))?;
    let files: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    let patches: Vec<PathBuf> =
        files.into_iter().filter(|file| file.extension() == Some(OsStr::new("patch"))).collect();
    ensure!(!patches.is_empty(), "{}: has no CRATE-VERSION.patch", folder.display());
    Ok(patches)
}

/// Makes `into/CRATE-VERSION`: the crate's source with the patch. What is up to date stays, so that cargo does not build it again.
///
/// # Errors
/// Cargo.lock has no such crate, or the patch does not fit it.
pub fn copy(patch: &Path, into: &Path) -> Result<PathBuf> {
    let name = patch.file_stem().and_then(OsStr::to_str).context("a patch is named CRATE-VERSION.patch")?;
    let text = fs::read(patch).with_context(|| format!("read {}", patch.display()))?;
    let copy = into.join(name);
    let applied = copy.join(".applied.patch");
    if fs::read(&applied).is_ok_and(|before| before == text) {
        return Ok(copy);
    }
    if copy.exists() {
        fs::remove_dir_all(&copy).with_context(|| format!("remove {}", copy.display()))?;
    }
    copy_folder(&source(name)?, &copy)?;
    let patch = fs::canonicalize(patch)?;
    // `--git-dir` that is not there: it takes files for what they are, also below an ignored folder.
    let mut git = Command::new("git");
    git.args(["--git-dir", "none", "apply"]).arg(&patch).current_dir(&copy);
    let output = git.output().context("start git")?;
    let said = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
    ensure!(output.status.success(), "{} does not fit {name}: {said}", patch.display());
    fs::write(&applied, text).with_context(|| format!("write {}", applied.display()))?;
    Ok(copy)
}

/// Where cargo has the source of `CRATE-VERSION`, which it downloads where it has to.
fn source(name: &str) -> Result<PathBuf> {
    let output = Command::new("cargo").args(["metadata", "--format-version", "1", "--locked"]).output();
    let output = output.context("start cargo metadata")?;
    ensure!(
        output.status.success(),
        "cargo metadata failed: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    let metadata: Value = serde_json::from_slice(&output.stdout).context("read what cargo metadata says")?;
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let text = |package: &Value, member: &str| package[member].as_str().unwrap_or_default().to_owned();
    let found = packages
        .iter()
        .find(|package| format!("{}-{}", text(package, "name"), text(package, "version")) == name)
        .with_context(|| {
            format!("Cargo.lock has no {name}; give the patch the name of the crate's version")
        })?;
    let manifest = PathBuf::from(text(found, "manifest_path"));
    manifest.parent().map(Path::to_owned).context("a manifest is in a folder")
}

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("make {}", to.display()))?;
    for entry in fs::read_dir(from).with_context(|| format!("read {}", from.display()))? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), &to).with_context(|| format!("write {}", to.display()))?;
        }
    }
    Ok(())
}
