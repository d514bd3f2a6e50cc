//! The fingerprint of what a program is built from: the files in git of its package and of the packages of this machine
//! below it, `Cargo.lock`, the workspace's profiles and shared dependencies, and the build command.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use bench_system::cargo::without_own_package;
use bench_system::repository::{git, hex, sha256_of_file};

/// What a program is built from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sources {
    /// SHA-256 of all of it, in hexadecimal.
    pub fingerprint: String,
    /// The folders and files behind it, from the root that was given.
    pub files: Vec<PathBuf>,
}

/// What `cargo metadata --no-deps` prints: the packages of a workspace.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    workspace_root: PathBuf,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    manifest_path: PathBuf,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    /// Its folder, where it is on this machine.
    path: Option<PathBuf>,
    /// None of a usual one, else `build` or `dev`.
    kind: Option<String>,
}

/// The sources of what a command builds in the repository at `root`; `None` where the command is not cargo's.
///
/// # Errors
/// There is no git, cargo knows no such package, or a file can't be read.
pub fn sources(command: &[String], root: &Path) -> Result<Option<Sources>> {
    let root = &root.canonicalize().with_context(|| format!("can't read {}", root.display()))?;
    let (manifest, package) = match command {
        // The crates that it patches are made from the patches in that folder.
        [.., program, dashes, folder] if [program, dashes] == ["patched-build", "--"] => (Some(folder), None),
        [cargo, verb, ..] if cargo == "cargo" && ["build", "rustc"].contains(&verb.as_str()) => {
            let value = |names: &[&str]| {
                let at = command.iter().rposition(|arg| names.contains(&arg.as_str()))?;
                command.get(at + 1)
            };
            (value(&["--manifest-path"]), value(&["--package", "-p"]))
        }
        _ => return Ok(None),
    };
    let manifest = root.join(manifest.map_or("Cargo.toml", |path| path.as_str()));
    let manifest = if manifest.is_dir() { manifest.join("Cargo.toml") } else { manifest };
    let workspace = metadata(&manifest)?;
    let shared = [workspace.workspace_root.join("Cargo.toml"), workspace.workspace_root.join("Cargo.lock")];
    let is_built = |of: &&Package| package.map_or(of.manifest_path == manifest, |name| of.name == *name);
    let built = workspace.packages.iter().find(is_built);
    let named = package.map_or_else(|| manifest.display().to_string(), Clone::clone);
    let built = built.with_context(|| format!("{} has no package {named}", root.display()))?;
    let folders = below(&workspace.packages, built, command.iter().any(|arg| arg == "--example"))?;

    // Where the program lies decides nothing of it.
    let folder = command.iter().position(|arg| arg == "--target-dir");
    let words = command.iter().enumerate();
    let words = words.filter(|(at, _)| folder.is_none_or(|folder| *at != folder && *at != folder + 1));
    let mut text: String = words.map(|(_, word)| format!("{word}\n")).collect();
    text += &of_workspace(&shared[0])?;
    text += &sha256_of_file(&shared[1])?;
    for folder in &folders {
        text += &state(root, folder)?;
    }
    let files = folders.iter().chain(&shared).map(|path| path.strip_prefix(root).unwrap_or(path).to_owned());
    Ok(Some(Sources { fingerprint: hex(&Sha256::digest(text)), files: files.collect() }))
}

/// The folders of a package and of those of this machine below it; for an example, of those that tests need, too.
fn below(packages: &[Package], built: &Package, is_example: bool) -> Result<BTreeSet<PathBuf>> {
    let of = |package: &Package, with_dev: bool| -> Vec<PathBuf> {
        let needed = package.dependencies.iter().filter(|of| with_dev || of.kind.as_deref() != Some("dev"));
        needed.filter_map(|of| of.path.clone()).collect()
    };
    let own = built.manifest_path.parent().unwrap_or(Path::new("/")).to_owned();
    let mut left = of(built, is_example);
    let mut found = BTreeSet::from([own]);
    while let Some(folder) = left.pop() {
        if found.insert(folder.clone()) {
            let manifest = folder.join("Cargo.toml");
            let is_it = |of: &&Package| of.manifest_path == manifest;
            match packages.iter().find(is_it) {
                Some(package) => left.extend(of(package, false)),
                // Of another workspace.
                None => left.extend(
                    metadata(&manifest)?.packages.iter().find(is_it).into_iter().flat_map(|it| of(it, false)),
                ),
            }
        }
    }
    Ok(found)
}

fn metadata(manifest: &Path) -> Result<Metadata> {
    let mut cargo = Command::new("cargo");
    cargo
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1", "--manifest-path"])
        .arg(manifest);
    let output = without_own_package(&mut cargo).output().context("can't start cargo")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "cargo metadata of {}: {}", manifest.display(), said.trim());
    serde_json::from_slice(&output.stdout).context("cargo metadata prints another form")
}

/// What of a workspace's manifest its packages are built by.
fn of_workspace(manifest: &Path) -> Result<String> {
    let text = fs::read_to_string(manifest).with_context(|| format!("can't read {}", manifest.display()))?;
    let table: toml::Table = text.parse().with_context(|| format!("can't read {}", manifest.display()))?;
    let workspace = table.get("workspace");
    let shared = ["dependencies", "package"].map(|name| workspace.and_then(|of| of.get(name)));
    let own = ["profile", "patch"].map(|name| table.get(name));
    Ok(shared.into_iter().chain(own).flatten().map(|value| format!("{value}\n")).collect())
}

/// The tree of a folder in the commit, and what of it differs from that.
fn state(root: &Path, folder: &Path) -> Result<String> {
    let label = folder.strip_prefix(root).unwrap_or(folder).to_string_lossy();
    let of = |args: &[&str]| {
        git(folder, args).with_context(|| format!("git knows nothing of {}", folder.display()))
    };
    let tree = of(&["rev-parse", "HEAD:./"])?;
    let changed = of(&["diff", "HEAD", "--binary", "--", "."])?;
    let mut text = format!("{label} {}\n{changed}", tree.trim());
    for name in of(&["ls-files", "--others", "--exclude-standard", "-z"])?.split_terminator('\0') {
        text += &format!("{name} {}\n", sha256_of_file(&folder.join(name))?);
    }
    Ok(text)
}
