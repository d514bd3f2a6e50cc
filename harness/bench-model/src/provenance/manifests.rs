//! Cargo's manifests and lock file, as far as they say what is below a package.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::{Table, Value};

/// Tables of what a program is linked with or built by.
const NEEDED: [&str; 2] = ["dependencies", "build-dependencies"];

/// A package in a folder of this machine.
#[derive(Debug, Clone)]
pub(super) struct Package {
    /// Its name.
    pub name: String,
    /// Its folder.
    pub folder: PathBuf,
    /// Its manifest.
    pub manifest: Table,
    /// That of its own workspace, from which it may inherit; its own where it is in none.
    workspace: Table,
    /// The folder of that workspace.
    pub root: PathBuf,
}

/// What a package depends on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Dependency {
    /// What the package calls it.
    pub key: String,
    /// Its own name.
    pub name: String,
    /// Its folder, where it has one.
    pub folder: Option<PathBuf>,
    /// Whether it is there only if a feature turns it on.
    pub optional: bool,
    /// Whether its default features are on.
    pub default_features: bool,
    /// Its other features.
    pub features: BTreeSet<String>,
}

/// Reads a file of TOML.
pub(super) fn read<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let place = || format!("can't read {}", path.display());
    toml::from_str(&fs::read_to_string(path).with_context(place)?).with_context(place)
}

/// The entries of a table in a table.
pub(super) fn entries<'a>(of: &'a Table, name: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    of.get(name).and_then(Value::as_table).into_iter().flatten()
}

fn strings(value: Option<&Value>) -> Vec<String> {
    let array = value.and_then(Value::as_array).into_iter().flatten();
    array.filter_map(|value| value.as_str().map(str::to_owned)).collect()
}

impl Package {
    /// Reads the package of a folder.
    pub fn read(folder: &Path) -> Result<Self> {
        let manifest: Table = read(&folder.join("Cargo.toml"))?;
        let name = manifest.get("package").and_then(|package| package.get("name")).and_then(Value::as_str);
        let name = name.with_context(|| format!("{} is no package", folder.display()))?.to_owned();
        let (mut workspace, mut root) = (manifest.clone(), folder.to_owned());
        // Above the folder that all paths start from there is nothing to be found.
        for above in folder.ancestors().filter(|above| above.join("Cargo.toml").is_file()) {
            let found: Table = read(&above.join("Cargo.toml"))?;
            if found.contains_key("workspace") {
                (workspace, root) = (found, above.to_owned());
                break;
            }
        }
        Ok(Self { name, folder: folder.to_owned(), manifest, workspace, root })
    }

    /// The package of that name among the members of the workspace in a folder.
    pub fn member(root: &Path, name: &str) -> Result<Self> {
        let manifest: Table = read(&root.join("Cargo.toml"))?;
        let members = strings(manifest.get("workspace").and_then(|workspace| workspace.get("members")));
        let mut folders = vec![root.to_owned()];
        for member in members {
            match member.strip_suffix("/*") {
                None => folders.push(normal(&root.join(member))),
                Some(all) => {
                    let entries = fs::read_dir(root.join(all)).into_iter().flatten().flatten();
                    folders.extend(entries.map(|entry| entry.path()));
                }
            }
        }
        let named = |folder: &PathBuf| Self::read(folder).ok().filter(|package| package.name == name);
        folders.iter().find_map(named).with_context(|| format!("{} has no package {name}", root.display()))
    }

    /// A field of `[package]`, inherited where it says so.
    pub fn field(&self, name: &str) -> Option<&Value> {
        let own = self.manifest.get("package")?.get(name)?;
        match own.get("workspace") {
            None => Some(own),
            Some(_) => self.workspace.get("workspace")?.get("package")?.get(name),
        }
    }

    /// The features and what each of them turns on.
    pub fn features(&self) -> BTreeMap<String, Vec<String>> {
        entries(&self.manifest, "features").map(|(name, asks)| (name.clone(), strings(Some(asks)))).collect()
    }

    /// What it depends on; for examples with what they and tests alone need.
    pub fn dependencies(&self, with_dev: bool) -> Result<Vec<Dependency>> {
        let mut tables: Vec<&Table> = vec![&self.manifest];
        tables.extend(entries(&self.manifest, "target").filter_map(|(_, table)| table.as_table()));
        let kinds = NEEDED.into_iter().chain(with_dev.then_some("dev-dependencies"));
        let found = kinds.flat_map(|kind| tables.iter().flat_map(move |table| entries(table, kind)));
        found.map(|(key, spec)| self.dependency(key, spec)).collect()
    }

    fn dependency(&self, key: &str, spec: &Value) -> Result<Dependency> {
        let switch = |of: &Value, field: &str| of.get(field).and_then(Value::as_bool);
        let (base, of) = if switch(spec, "workspace").unwrap_or(false) {
            let shared = self.workspace.get("workspace").and_then(|workspace| workspace.get("dependencies"));
            let shared = shared.and_then(|shared| shared.get(key));
            let none = || format!("package {}: its workspace has no dependency {key}", self.name);
            (shared.with_context(none)?, &self.root)
        } else {
            (spec, &self.folder)
        };
        let text = |field: &str| base.get(field).and_then(Value::as_str);
        let mut features: BTreeSet<String> = strings(base.get("features")).into_iter().collect();
        features.extend(strings(spec.get("features")));
        Ok(Dependency {
            key: key.to_owned(),
            name: text("package").unwrap_or(key).to_owned(),
            folder: text("path").map(|path| normal(&of.join(path))),
            optional: switch(spec, "optional").unwrap_or(false),
            default_features: switch(base, "default-features")
                .or(switch(spec, "default-features"))
                .unwrap_or(true),
            features,
        })
    }

    /// Programs and libraries whose files the manifest names.
    pub fn named_files(&self) -> Vec<PathBuf> {
        let of_lib = self.manifest.get("lib").into_iter();
        let of_bins = self.manifest.get("bin").and_then(Value::as_array).into_iter().flatten();
        let paths = of_lib.chain(of_bins).filter_map(|target| target.get("path").and_then(Value::as_str));
        paths.map(|path| normal(&self.folder.join(path))).collect()
    }
}

/// A path without `.` and `..` inside, as far as it goes without asking the disk.
pub(super) fn normal(path: &Path) -> PathBuf {
    use std::path::Component::{CurDir, Normal, ParentDir};
    let mut parts: Vec<std::path::Component<'_>> = Vec::new();
    for part in path.components() {
        match (part, parts.last()) {
            (CurDir, _) => {}
            (ParentDir, Some(Normal(_))) => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    if parts.is_empty() { PathBuf::from(".") } else { parts.into_iter().collect() }
}

/// A profile with those that it inherits from, the outermost first. Empty tables are cargo's own values.
pub(super) fn profiles(workspace: &Table, name: &str) -> Vec<(String, Value)> {
    let mut chain: Vec<(String, Value)> = Vec::new();
    let mut next = Some(name.to_owned());
    while let Some(name) = next.filter(|next| chain.iter().all(|(known, _)| known != next)) {
        let profile = workspace.get("profile").and_then(|profiles| profiles.get(&name));
        let profile = profile.cloned().unwrap_or_else(|| Value::Table(Table::new()));
        next = profile.get("inherits").and_then(Value::as_str).map(str::to_owned);
        chain.push((name, profile));
    }
    chain
}

/// `Cargo.lock`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Lock {
    package: Vec<Locked>,
}

/// One package of a lock file.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(default)]
pub(super) struct Locked {
    pub name: String,
    pub version: String,
    /// None where it is in a folder of this machine.
    pub source: Option<String>,
    pub checksum: Option<String>,
    /// `name`, or `name version` where there are several.
    dependencies: Vec<String>,
}

impl Lock {
    /// The packages that one means by `name` or `name version`; one of another name may be several versions.
    fn meant(&self, by: &str) -> impl Iterator<Item = &Locked> {
        let mut words = by.split(' ').map(str::to_owned);
        let (name, version) = (words.next().unwrap_or_default(), words.next());
        self.package.iter().filter(move |locked| {
            locked.name == name && version.as_ref().is_none_or(|version| locked.version == *version)
        })
    }

    /// Of what a package of this machine depends on, the packages of that name.
    ///
    /// # Errors
    /// The lock file does not have them.
    pub fn dependency(&self, package: &str, name: &str) -> Result<Vec<&Locked>> {
        let own = self.package.iter().filter(|locked| locked.name == package && locked.source.is_none());
        let listed = own.flat_map(|locked| &locked.dependencies);
        let listed = listed.filter(|by| by.split(' ').next() == Some(name));
        let found: Vec<&Locked> = listed.flat_map(|by| self.meant(by)).collect();
        ensure!(!found.is_empty(), "Cargo.lock has no {name} below {package}; build it first");
        Ok(found)
    }

    /// All packages below some, with these.
    pub fn below<'a>(&'a self, packages: impl IntoIterator<Item = &'a Locked>) -> BTreeSet<&'a Locked> {
        let mut found = BTreeSet::new();
        let mut left: Vec<&Locked> = packages.into_iter().collect();
        while let Some(locked) = left.pop() {
            if found.insert(locked) {
                left.extend(locked.dependencies.iter().flat_map(|by| self.meant(by)));
            }
        }
        found
    }
}
