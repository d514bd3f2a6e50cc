//! Cargo's manifests and lock file, as far as they say what is below a package.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
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

pub(super) fn read_table(path: &Path) -> Result<Table> {
    let text = fs::read_to_string(path).with_context(|| format!("can't read {}", path.display()))?;
    text.parse().with_context(|| format!("can't read {}", path.display()))
}

fn strings(value: Option<&Value>) -> Vec<String> {
    let array = value.and_then(Value::as_array).into_iter().flatten();
    array.filter_map(|value| value.as_str().map(str::to_owned)).collect()
}

impl Package {
    /// Reads the package of a folder.
    pub fn read(folder: &Path) -> Result<Self> {
        let manifest = read_table(&folder.join("Cargo.toml"))?;
        let name = manifest.get("package").and_then(|package| package.get("name")).and_then(Value::as_str);
        let name = name.with_context(|| format!("{} is no package", folder.display()))?.to_owned();
        let mut root = folder.to_owned();
        let mut workspace = manifest.clone();
        while !workspace.contains_key("workspace") {
            // Above the folder that all paths start from there is nothing to be found.
            let Some(above) = root.parent().map(Path::to_owned) else { break };
            root = above;
            let path = root.join("Cargo.toml");
            if path.is_file() {
                workspace = read_table(&path)?;
            }
        }
        if !workspace.contains_key("workspace") {
            (workspace, root) = (manifest.clone(), folder.to_owned());
        }
        Ok(Self { name, folder: folder.to_owned(), manifest, workspace, root })
    }

    /// The package of that name among the members of the workspace in a folder.
    pub fn member(root: &Path, name: &str) -> Result<Self> {
        let manifest = read_table(&root.join("Cargo.toml"))?;
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
        let table = self.manifest.get("features").and_then(Value::as_table).into_iter().flatten();
        table.map(|(name, asks)| (name.clone(), strings(Some(asks)))).collect()
    }

    /// What it depends on; for examples with what they and tests alone need.
    pub fn dependencies(&self, with_dev: bool) -> Result<Vec<Dependency>> {
        let mut tables: Vec<&Table> = vec![&self.manifest];
        let targets = self.manifest.get("target").and_then(Value::as_table).into_iter().flatten();
        tables.extend(targets.filter_map(|(_, table)| table.as_table()));
        let mut found = Vec::new();
        let kinds = NEEDED.into_iter().chain(with_dev.then_some("dev-dependencies"));
        for kind in kinds {
            for table in &tables {
                let entries = table.get(kind).and_then(Value::as_table).into_iter().flatten();
                for (key, spec) in entries {
                    found.push(self.dependency(key, spec)?);
                }
            }
        }
        Ok(found)
    }

    fn dependency(&self, key: &str, spec: &Value) -> Result<Dependency> {
        let inherits = spec.get("workspace").and_then(Value::as_bool).unwrap_or(false);
        let base = if inherits {
            let shared = self.workspace.get("workspace").and_then(|workspace| workspace.get("dependencies"));
            let shared = shared.and_then(|shared| shared.get(key));
            shared.with_context(|| format!("package {}: its workspace has no dependency {key}", self.name))?
        } else {
            spec
        };
        let text = |field: &str| base.get(field).and_then(Value::as_str);
        let switch = |of: &Value, field: &str| of.get(field).and_then(Value::as_bool);
        let of = if inherits { &self.root } else { &self.folder };
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
    let mut chain = Vec::new();
    let mut name = name.to_owned();
    while !chain.iter().any(|(known, _)| *known == name) {
        let profile = workspace.get("profile").and_then(|profiles| profiles.get(&name));
        let profile = profile.cloned().unwrap_or_else(|| Value::Table(Table::new()));
        let inherits = profile.get("inherits").and_then(Value::as_str).map(str::to_owned);
        chain.push((name.clone(), profile));
        match inherits {
            Some(next) => name = next,
            None => break,
        }
    }
    chain
}

/// `Cargo.lock`.
#[derive(Debug)]
pub(super) struct Lock(Vec<Locked>);

/// One package of a lock file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
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
    /// Reads the lock file of a workspace.
    pub fn read(root: &Path) -> Result<Self> {
        let table = read_table(&root.join("Cargo.lock"))?;
        let packages = table.get("package").and_then(Value::as_array).into_iter().flatten();
        let text = |of: &Value, field: &str| of.get(field).and_then(Value::as_str).map(str::to_owned);
        let locked = packages.map(|of| Locked {
            name: text(of, "name").unwrap_or_default(),
            version: text(of, "version").unwrap_or_default(),
            source: text(of, "source"),
            checksum: text(of, "checksum"),
            dependencies: strings(of.get("dependencies")),
        });
        Ok(Self(locked.collect()))
    }

    /// The packages that one means by `name` or `name version`; one of another name may be several versions.
    fn meant(&self, by: &str) -> impl Iterator<Item = &Locked> {
        let mut words = by.split(' ');
        let (name, version) = (words.next().unwrap_or_default().to_owned(), words.next().map(str::to_owned));
        self.0.iter().filter(move |locked| {
            locked.name == name && version.as_ref().is_none_or(|version| locked.version == *version)
        })
    }

    /// Of what a package of this machine depends on, the packages of that name.
    ///
    /// # Errors
    /// The lock file does not have them.
    pub fn dependency(&self, package: &str, name: &str) -> Result<Vec<&Locked>> {
        let own = self.0.iter().filter(|locked| locked.name == package && locked.source.is_none());
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
