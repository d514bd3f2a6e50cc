//! The fingerprint of what a program is built from: the files of its package and of the packages of this repository
//! below it, the features that are on in each, the versions of all other packages as `Cargo.lock` has them, the
//! profile, and the rest of the build command. Nothing in it depends on where the repository lies, on git, or on what
//! is downloaded or built.
//!
//! Cargo itself is not asked: `cargo metadata` unites the features of the whole workspace, so that a dependency of the
//! harness would change every server, and it needs every crate of every platform.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};
use toml::{Table, Value};

use super::build_command::BuildCommand;
use super::manifests::{Dependency, Lock, Locked, Package, entries, normal, profiles, read};
use bench_system::repository::hex;

/// Folders of a package that are in none of its programs.
const OF_TESTS: [&str; 5] = ["tests", "benches", "examples", "fuzz", "target"];

/// What a program is built from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sources {
    /// SHA-256 of all of it, in hexadecimal.
    pub fingerprint: String,
    /// The files behind it, manifests and lock file too, from the root that was given.
    pub files: Vec<PathBuf>,
}

/// A package and the features that are on in it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct State {
    features: BTreeSet<String>,
    /// Optional dependencies that are on.
    on: BTreeSet<String>,
}

/// The sources of what a command builds in the repository at `root`; `None` where the command is not cargo's.
///
/// # Errors
/// A manifest or a file can't be read, or the lock file does not fit.
pub fn sources(command: &[String], root: &Path) -> Result<Option<Sources>> {
    let Some(command) = BuildCommand::read(command) else { return Ok(None) };
    let manifest = command.manifest.as_deref().map(|path| root.join(path));
    let start = manifest.as_ref().and_then(|path| path.parent()).unwrap_or(root);
    let package = match &command.package {
        Some(name) => Package::member(start, name)?,
        None => Package::read(&normal(start))?,
    };
    let below = Below::of(&command, package)?;
    let mut text = below.text(&command)?;
    let files = below.files()?;
    for (label, path) in &files {
        let bytes = fs::read(path).with_context(|| format!("can't read {}", path.display()))?;
        text.push_str(&format!("file {label} {}\n", hex(&Sha256::digest(bytes))));
    }
    let manifests = below.packages.keys().map(|folder| folder.join("Cargo.toml"));
    let of_workspace = ["Cargo.toml", "Cargo.lock"].map(|name| below.root.join(name));
    let relative = |path: PathBuf| {
        let path = normal(&path);
        path.strip_prefix(root).map_or_else(|_| path.clone(), Path::to_owned)
    };
    let paths: BTreeSet<PathBuf> =
        files.into_values().chain(manifests).chain(of_workspace).map(relative).collect();
    Ok(Some(Sources { fingerprint: hex(&Sha256::digest(text)), files: paths.into_iter().collect() }))
}

/// A package with those of this machine below it.
struct Below {
    /// The folder of the package that is built.
    built: PathBuf,
    /// The folder of the workspace that it is built in.
    root: PathBuf,
    is_example: bool,
    packages: BTreeMap<PathBuf, (Package, State)>,
    lock: Lock,
    /// All packages from elsewhere.
    locked: BTreeSet<Locked>,
}

impl Below {
    fn of(command: &BuildCommand, package: Package) -> Result<Self> {
        let (built, root) = (package.folder.clone(), package.root.clone());
        let mut state = State { features: command.features.iter().cloned().collect(), ..State::default() };
        if command.all_features {
            state.features.extend(package.features().into_keys());
        }
        if !command.no_default_features {
            state.features.insert("default".to_owned());
        }
        let lock = read(&root.join("Cargo.lock"))?;
        let packages = BTreeMap::from([(built.clone(), (package, state))]);
        let mut below =
            Self { built, root, is_example: command.is_example, packages, lock, locked: BTreeSet::new() };
        below.resolve()?;
        below.lock()?;
        Ok(below)
    }

    fn dependencies(&self, package: &Package) -> Result<Vec<Dependency>> {
        package.dependencies(self.is_example && package.folder == self.built)
    }

    /// Turns features on until no more ask for others.
    fn resolve(&mut self) -> Result<()> {
        loop {
            let before = self.packages.clone();
            for (package, state) in before.values() {
                self.resolve_one(package, state.clone())?;
            }
            if self.packages.values().map(|(_, state)| state).eq(before.values().map(|(_, state)| state)) {
                return Ok(());
            }
        }
    }

    /// Turns on what the features of a package ask for; what these ask for in turn is for the next round.
    fn resolve_one(&mut self, package: &Package, mut state: State) -> Result<()> {
        let features = package.features();
        let mut asked: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for feature in state.features.clone() {
            let Some(asks) = features.get(&feature) else {
                // A dependency that is a feature of its own name.
                state.on.insert(feature);
                continue;
            };
            for ask in asks {
                if let Some(dependency) = ask.strip_prefix("dep:") {
                    state.on.insert(dependency.to_owned());
                } else if let Some((dependency, feature)) = ask.split_once('/') {
                    if !dependency.ends_with('?') {
                        state.on.insert(dependency.to_owned());
                    }
                    let dependency = dependency.trim_end_matches('?').to_owned();
                    asked.entry(dependency).or_default().insert(feature.to_owned());
                } else {
                    state.features.insert(ask.clone());
                }
            }
        }
        for dependency in self.dependencies(package)? {
            let is_on = !dependency.optional || state.on.contains(&dependency.key);
            let Some(at) = dependency.folder.filter(|_| is_on) else { continue };
            if !self.packages.contains_key(&at) {
                self.packages.insert(at.clone(), (Package::read(&at)?, State::default()));
            }
            let Some((_, its)) = self.packages.get_mut(&at) else { continue };
            its.features.extend(dependency.features);
            its.features.extend(asked.get(&dependency.key).cloned().unwrap_or_default());
            its.features.extend(dependency.default_features.then(|| "default".to_owned()));
        }
        if let Some((_, known)) = self.packages.get_mut(&package.folder) {
            known.features.extend(state.features);
            known.on.extend(state.on);
        }
        Ok(())
    }

    /// The dependencies of a package that are on.
    fn active(&self, package: &Package, state: &State) -> Result<Vec<Dependency>> {
        let mut all = self.dependencies(package)?;
        all.retain(|dependency| !dependency.optional || state.on.contains(&dependency.key));
        all.sort();
        Ok(all)
    }

    /// Finds the packages from elsewhere, and those of this machine that take the place of such.
    fn lock(&mut self) -> Result<()> {
        let mut found: BTreeSet<Locked> = BTreeSet::new();
        for (package, state) in self.packages.values() {
            let active = self.active(package, state)?;
            for dependency in active.iter().filter(|dependency| dependency.folder.is_none()) {
                let direct = self.lock.dependency(&package.name, &dependency.name)?;
                found.extend(self.lock.below(direct).into_iter().cloned());
            }
        }
        for name in found.iter().filter(|locked| locked.source.is_none()).map(|locked| locked.name.clone()) {
            if self.packages.values().any(|(package, _)| package.name == name) {
                continue;
            }
            let folder = self.patched(&name)?;
            let folder = folder.with_context(|| format!("Cargo.lock gives no source of {name}"))?;
            // In a target folder: made by the build, from files of the package.
            if folder.components().all(|part| part.as_os_str() != "target") {
                self.packages.insert(folder.clone(), (Package::read(&folder)?, State::default()));
            }
        }
        self.locked = found;
        Ok(())
    }

    /// The folder that the workspace takes a package from in the place of its registry's.
    fn patched(&self, name: &str) -> Result<Option<PathBuf>> {
        let manifest: Table = read(&self.root.join("Cargo.toml"))?;
        let patches = entries(&manifest, "patch").filter_map(|(_, of)| of.as_table()).flatten();
        let named =
            patches.filter(|(key, spec)| spec.get("package").and_then(Value::as_str).unwrap_or(key) == name);
        let mut paths = named.filter_map(|(_, spec)| spec.get("path").and_then(Value::as_str));
        Ok(paths.next().map(|path| normal(&self.root.join(path))))
    }

    /// All but the files, a line each.
    fn text(&self, command: &BuildCommand) -> Result<String> {
        let mut lines = vec![format!("build {} {:?}", command.profile, command.rest)];
        let workspace = read(&self.root.join("Cargo.toml"))?;
        for (name, profile) in profiles(&workspace, &command.profile) {
            lines.push(format!("profile {name} {profile}"));
        }
        let mut packages: Vec<&(Package, State)> = self.packages.values().collect();
        packages.sort_by_key(|(package, _)| &package.name);
        for (package, state) in packages {
            let field = |name: &str| package.field(name).map_or_else(String::new, Value::to_string);
            lines.push(format!("package {} {} {}", package.name, field("version"), field("edition")));
            lines.push(format!("features {:?}", state.features));
            for of in self.active(package, state)? {
                let Dependency { key, name, folder, default_features, features, .. } = of;
                let here = folder.is_some();
                lines.push(format!("dependency {key} {name} {here} {default_features} {features:?}"));
            }
        }
        lines.extend(self.locked.iter().map(|Locked { name, version, source, checksum, .. }| {
            format!("locked {name} {version} {source:?} {checksum:?}")
        }));
        Ok(lines.join("\n") + "\n")
    }

    /// Each file of the packages by what it is called in every clone.
    fn files(&self) -> Result<BTreeMap<String, PathBuf>> {
        let mut files = BTreeMap::new();
        for (package, _) in self.packages.values() {
            let with_examples = self.is_example && package.folder == self.built;
            let mut found = files_of(&package.folder, with_examples)?;
            found.extend(package.named_files());
            for path in found {
                let label = match path.strip_prefix(&package.folder) {
                    Ok(inside) => inside.display().to_string(),
                    Err(_) => format!("outside {}", path.file_name().unwrap_or_default().display()),
                };
                files.insert(format!("{} {label}", package.name), path);
            }
        }
        Ok(files)
    }
}

/// The files of a package that may be in its programs. Its manifest is not among them: what of it counts is read.
fn files_of(folder: &Path, with_examples: bool) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut left = vec![folder.to_owned()];
    while let Some(at) = left.pop() {
        let place = || format!("can't read {}", at.display());
        for entry in fs::read_dir(&at).with_context(place)? {
            let path = entry.with_context(place)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let is_of_tests = OF_TESTS.contains(&&*name) && !(with_examples && name == "examples");
            let is_left_out = is_of_tests || ["Cargo.toml", "Cargo.lock"].contains(&&*name);
            if name.starts_with('.') || name.ends_with(".md") || (at == folder && is_left_out) {
                continue;
            }
            match path.is_dir() {
                // Another package.
                true if path.join("Cargo.toml").is_file() => {}
                true => left.push(path),
                false => files.push(path),
            }
        }
    }
    Ok(files)
}
