//! The fingerprint of what a program is built from: the trees in git of its package and of the packages of this machine
//! below it, what of them differs from the commit, the workspace's `Cargo.toml` and `Cargo.lock`, and the build command.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use sha2::{Digest, Sha256};

use bench_system::cargo::without_own_package;
use bench_system::repository::{git, hex, sha256_of_file};

/// What a program is built from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sources {
    /// SHA-256 of all of it, in hexadecimal.
    pub fingerprint: String,
    /// The folders and files behind it, from the root that was given.
    pub files: Vec<String>,
    /// Whether one of these differs from the commit, or is not in it.
    pub changed: bool,
}

/// The sources of what a command builds in the repository at `root`; `None` where the command is not cargo's.
///
/// # Errors
/// There is no git, cargo knows no such package, or a file can't be read.
pub fn sources(command: &[String], root: &Path) -> Result<Option<Sources>> {
    let root = &root.canonicalize().with_context(|| format!("can't read {}", root.display()))?;
    let after = |names: &[&str]| {
        let at = command.iter().rposition(|arg| names.contains(&arg.as_str()))?;
        command.get(at + 1)
    };
    let (manifest, package) = match command {
        // The crates that it patches are made from the patches in that folder.
        [.., program, dashes, folder] if [program, dashes] == ["patched-build", "--"] => (Some(folder), None),
        [cargo, verb, ..] if cargo == "cargo" && ["build", "rustc"].contains(&verb.as_str()) => {
            (after(&["--manifest-path"]), after(&["--package", "-p"]))
        }
        _ => return Ok(None),
    };
    let manifest = root.join(manifest.map_or("Cargo.toml", |path| path.as_str()));
    let manifest = if manifest.is_dir() { manifest.join("Cargo.toml") } else { manifest };
    let workspace = metadata(&manifest)?;
    let top = Path::new(workspace["workspace_root"].as_str().unwrap_or_default());
    let folders = match package {
        None => below(&workspace, manifest.parent().unwrap_or(root))?,
        Some(name) => {
            let built = packages(&workspace).find(|package| package["name"] == *name.as_str());
            let built = built.with_context(|| format!("{} has no package {name}", root.display()))?;
            below(&workspace, folder(built))?
        }
    };
    let shared = ["Cargo.toml", "Cargo.lock"].map(|name| top.join(name));
    let from_root = |path: &PathBuf| {
        let path = path.strip_prefix(root).unwrap_or(path);
        Path::new(".").join(path).display().to_string()
    };
    let files: Vec<String> = folders.iter().chain(&shared).map(from_root).collect();
    let asked = |args: &[&str]| {
        git(root, args)
            .with_context(|| format!("git knows nothing of {} in {}", files.join(", "), root.display()))
    };
    let of_files = |args: &[&str]| {
        asked(&[args, &["--"], &files.iter().map(String::as_str).collect::<Vec<_>>()].concat())
    };

    // Where the program lies decides nothing of it.
    let words =
        command.iter().filter(|word| *word != "--target-dir" && after(&["--target-dir"]) != Some(word));
    let mut text: String = words.map(|word| format!("{word}\n")).collect();
    for folder in files.iter().take(folders.len()) {
        text += &format!("{folder} {}", asked(&["rev-parse", &format!("HEAD:{folder}")])?);
    }
    for file in &shared {
        text += &sha256_of_file(file)?;
    }
    let differs = of_files(&["diff", "HEAD", "--binary"])?;
    let new = of_files(&["ls-files", "--others", "--exclude-standard", "-z"])?;
    text += &differs;
    for name in new.split_terminator('\0') {
        text += &format!("{name} {}\n", sha256_of_file(&root.join(name))?);
    }
    let changed = !differs.is_empty() || !new.is_empty();
    Ok(Some(Sources { fingerprint: hex(&Sha256::digest(text)), files, changed }))
}

/// A package's folder and those of the packages of this machine below it.
fn below(workspace: &Value, built: &Path) -> Result<BTreeSet<PathBuf>> {
    let (mut left, mut found) = (vec![built.to_owned()], BTreeSet::new());
    while let Some(next) = left.pop() {
        if !found.insert(next.clone()) {
            continue;
        }
        let is_it = |package: &&Value| folder(package) == next;
        // Of another workspace where this one does not have it.
        let other = packages(workspace).all(|package| folder(package) != next);
        let other = other.then(|| metadata(&next.join("Cargo.toml"))).transpose()?;
        let package = packages(other.as_ref().unwrap_or(workspace)).find(is_it);
        let needs = package.and_then(|package| package["dependencies"].as_array()).into_iter().flatten();
        let needs = needs.filter(|of| of["kind"] != "dev");
        left.extend(needs.filter_map(|of| of["path"].as_str()).map(PathBuf::from));
    }
    Ok(found)
}

fn packages(workspace: &Value) -> impl Iterator<Item = &Value> {
    workspace["packages"].as_array().into_iter().flatten()
}

/// The folder of a package's manifest.
fn folder(package: &Value) -> &Path {
    Path::new(package["manifest_path"].as_str().unwrap_or_default()).parent().unwrap_or(Path::new(""))
}

/// What `cargo metadata` prints of the packages of a workspace.
fn metadata(manifest: &Path) -> Result<Value> {
    let mut cargo = Command::new("cargo");
    cargo
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1", "--manifest-path"])
        .arg(manifest);
    let output = without_own_package(&mut cargo).output().context("can't start cargo")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "cargo metadata of {}: {}", manifest.display(), said.trim());
    serde_json::from_slice(&output.stdout).context("cargo metadata prints another form")
}
