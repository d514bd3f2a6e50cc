//! What a measured program is: the file itself, and what cargo built it from. Two runs whose servers have the same
//! fingerprint measured the same servers, whatever else changed in the repository between them.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;
use sha2::{Digest, Sha256};

use crate::cargo::without_own_package;
use crate::config::Server;
use crate::config::layouts;
use crate::plan::Plan;
use crate::repository::{git, hex, printed, sha256_of_file};

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
    /// Flags for the compiler and settings of profiles from the environment, such as `RUSTFLAGS`.
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
                program.flags = flags();
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

/// Whether servers are still the programs that a run began with.
///
/// # Errors
/// One line: which server's program is another one.
pub fn check_unchanged(before: &BTreeMap<String, Program>, plan: &Plan, root: &Path) -> Result<()> {
    let files = |program: &Program| (program.sha256.clone(), program.layouts.clone());
    for (name, now) in programs(plan, root) {
        ensure!(
            before.get(&name).is_none_or(|then| files(then) == files(&now)),
            "the program of server {name} is another one than when the run began, by its sources, its compiler or its \
             flags; set them as they were, or begin a new run"
        );
    }
    Ok(())
}

/// The compiler that cargo takes, such as `rustc 1.95.0 (59807616e 2026-04-14), x86_64-unknown-linux-gnu, LLVM 22.1.2`.
fn compiler() -> Option<String> {
    let program = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let text = printed(Command::new(program).arg("-vV")).ok()?;
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("unknown");
    Some(format!("{}, {}, LLVM {}", text.lines().next()?, field("host: "), field("LLVM version: ")))
}

/// Flags of the compiler and settings of profiles that the environment gives.
fn flags() -> Vec<String> {
    let decides = |name: &str| name.ends_with("RUSTFLAGS") || name.starts_with("CARGO_PROFILE_RELEASE_");
    let given = env::vars().filter(|(name, value)| decides(name) && !value.is_empty());
    let flags: BTreeSet<String> = given.map(|(name, value)| format!("{name}={value}")).collect();
    flags.into_iter().collect()
}

/// What a program is built from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sources {
    /// SHA-256 of the build command and of each file, with its name, in hexadecimal.
    pub fingerprint: String,
    /// Whether a file differs from the commit, or is not in it.
    pub changed: bool,
}

/// The sources of what a command builds in the repository at `root`; `None` where the command is not cargo's.
///
/// # Errors
/// There is no git, or cargo knows no such package.
pub fn sources(command: &[String], root: &Path) -> Result<Option<Sources>> {
    let root = &root.canonicalize().with_context(|| format!("can't read {}", root.display()))?;
    let Some(places) = places(command, root)? else { return Ok(None) };
    let of_places = |args: &[&str]| {
        git(root, &[args, &["--"], &places.iter().map(String::as_str).collect::<Vec<_>>()].concat())
            .with_context(|| format!("git knows nothing of {} in {}", places.join(", "), root.display()))
    };
    // Where the program lies decides nothing of it.
    let target_dir = argument(command, &["--target-dir"]);
    let words = command.iter().filter(|word| *word != "--target-dir" && Some(*word) != target_dir);
    let mut text: String = words.map(|word| format!("{word}\n")).collect();
    for name in
        of_places(&["ls-files", "--cached", "--others", "--exclude-standard", "-z"])?.split_terminator('\0')
    {
        let path = root.join(name);
        // One that was removed has none.
        let hash = if path.exists() { sha256_of_file(&path)? } else { String::new() };
        text += &format!("{name} {hash}\n");
    }
    let changed = !of_places(&["status", "--porcelain"])?.is_empty();
    Ok(Some(Sources { fingerprint: hex(&Sha256::digest(text)), changed }))
}

/// What follows one of these flags in a command.
fn argument<'a>(command: &'a [String], flags: &[&str]) -> Option<&'a String> {
    command.get(command.iter().rposition(|arg| flags.contains(&arg.as_str()))? + 1)
}

/// The folders of the package that a command builds and of the packages of this machine below it, and the workspace's
/// `Cargo.toml` and `Cargo.lock`, from the root.
fn places(command: &[String], root: &Path) -> Result<Option<Vec<String>>> {
    let (manifest, package) = match command {
        // The crates that it patches are made from the patches in that folder.
        [.., program, dashes, folder] if [program, dashes] == ["patched-build", "--"] => (Some(folder), None),
        [cargo, verb, ..] if cargo == "cargo" && ["build", "rustc"].contains(&verb.as_str()) => {
            (argument(command, &["--manifest-path"]), argument(command, &["--package", "-p"]))
        }
        _ => return Ok(None),
    };
    let manifest = root.join(manifest.map_or("Cargo.toml", |path| path.as_str()));
    let manifest = if manifest.is_dir() { manifest.join("Cargo.toml") } else { manifest };
    let workspace = metadata(&manifest)?;
    let built = match package {
        None => manifest.parent().unwrap_or(root),
        Some(name) => {
            let built = packages(&workspace).find(|package| package["name"] == *name.as_str());
            folder(built.with_context(|| format!("{} has no package {name}", root.display()))?)
        }
    };
    let (mut left, mut found) = (vec![built.to_owned()], BTreeSet::new());
    while let Some(next) = left.pop() {
        if !found.insert(next.clone()) {
            continue;
        }
        let is_it = |package: &&Value| folder(package) == next;
        // Of another workspace where this one does not have it.
        let other = packages(&workspace).find(is_it).is_none().then(|| metadata(&next.join("Cargo.toml")));
        let other = other.transpose()?;
        let package = packages(other.as_ref().unwrap_or(&workspace)).find(is_it);
        let needs = package.and_then(|package| package["dependencies"].as_array()).into_iter().flatten();
        let needs = needs.filter(|of| of["kind"] != "dev");
        left.extend(needs.filter_map(|of| of["path"].as_str()).map(PathBuf::from));
    }
    let top = Path::new(workspace["workspace_root"].as_str().unwrap_or_default());
    let shared = ["Cargo.toml", "Cargo.lock"].map(|name| top.join(name));
    let from_root = |path: PathBuf| Path::new(".").join(path.strip_prefix(root).unwrap_or(&path));
    Ok(Some(found.into_iter().chain(shared).map(|path| from_root(path).display().to_string()).collect()))
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
    let text = printed(without_own_package(&mut cargo)).with_context(|| manifest.display().to_string())?;
    serde_json::from_str(&text).context("cargo metadata prints another form")
}

#[cfg(test)]
mod tests;
