//! What cargo builds, in short: `cargo = "server-actix"` in an entry of `servers.toml` stands for the command and the
//! program.

use anyhow::{Result, anyhow, bail, ensure};
use serde::Deserialize;
use toml::{Table, Value};

use super::read_value;
use super::server::Server;

/// The field of an entry, and of a table in it.
pub(super) const FIELD: &str = "cargo";

/// What it gives.
const GIVEN: [&str; 2] = ["build", "program"];

/// A program that cargo builds. Without `package` it is that of the entry that another one is like, and so with every
/// other field.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Cargo {
    package: String,
    example: Option<String>,
    features: Option<String>,
    default_features: Option<bool>,
    profile: Option<String>,
    /// A manifest outside of the workspace.
    manifest: Option<String>,
    /// A folder of its own in the target folder.
    target: Option<String>,
    /// The program's name, where it is neither the package's nor the example's.
    program: Option<String>,
}

impl Cargo {
    fn read(table: &Table) -> Result<Self> {
        let cargo = read_value(Value::Table(table.clone()));
        let cargo: Self = cargo.map_err(|error| anyhow!("field {FIELD}: {error}"))?;
        let has_package = !cargo.package.is_empty();
        ensure!(has_package, "field {FIELD}: names no package; give the package that cargo builds");
        Ok(cargo)
    }

    fn command(&self) -> Vec<String> {
        let mut command = vec!["cargo", "build"];
        match self.profile.as_deref() {
            None => command.push("--release"),
            Some(profile) => command.extend(["--profile", profile]),
        }
        match &self.manifest {
            None => command.extend(["--package", &self.package]),
            Some(manifest) => command.extend(["--locked", "--manifest-path", manifest]),
        }
        command.extend(self.example.iter().flat_map(|example| ["--example", example]));
        if self.default_features == Some(false) {
            command.push("--no-default-features");
        }
        command.extend(self.features.iter().flat_map(|features| ["--features", features]));
        let folder = self.target_dir();
        command.extend(self.target.iter().flat_map(|_| ["--target-dir", &folder]));
        command.into_iter().map(str::to_owned).collect()
    }

    fn target_dir(&self) -> String {
        self.target.as_ref().map_or_else(|| "target".to_owned(), |target| format!("target/{target}"))
    }

    fn program(&self) -> String {
        let folder = folder_of(self.profile.as_deref().unwrap_or("release"));
        let examples = if self.example.is_some() { "examples/" } else { "" };
        let name = self.program.as_ref().or(self.example.as_ref()).unwrap_or(&self.package);
        format!("{}/{folder}/{examples}{name}", self.target_dir())
    }
}

/// Where in the target folder cargo puts what it builds in a profile.
fn folder_of(profile: &str) -> &str {
    if profile == "dev" { "debug" } else { profile }
}

/// Fills in what `cargo` stands for in an entry. `like` is the entry that this one takes what it leaves open from.
///
/// # Errors
/// One line with the field.
pub(super) fn fill_in(entry: &mut Table, like: Option<&Table>) -> Result<()> {
    let spelled_out = GIVEN.into_iter().find(|field| entry.contains_key(*field));
    let own = own_table(entry)?;
    if let (Some(_), Some(field)) = (&own, spelled_out) {
        bail!("field {FIELD}: gives build and program; leave {field} out");
    }
    let of_other = like.and_then(|other| other.get(FIELD)).and_then(Value::as_table);
    let known = of_other.filter(|_| spelled_out.is_none());
    if let Some(table) = own.as_ref().or(known) {
        let mut table = table.clone();
        for (field, value) in known.into_iter().flatten() {
            table.entry(field.clone()).or_insert_with(|| value.clone());
        }
        give(entry, &Cargo::read(&table)?);
        entry.insert(FIELD.to_owned(), Value::Table(table));
    }
    Ok(())
}

/// Gives a variant of an entry that has features of its own those as well, where it has any, and likewise another
/// folder in the target folder: with other features, both would be built to one place.
pub(super) fn separate(entry: &mut Table, of: &Table) {
    for (field, between) in [("target", "-"), ("features", ",")] {
        let of_other = of.get(FIELD).and_then(|cargo| cargo.get(field)).and_then(Value::as_str);
        let own = entry.get_mut(FIELD).and_then(|cargo| cargo.get_mut(field));
        if let (Some(other), Some(Value::String(own))) = (of_other, own) {
            *own = format!("{other}{between}{own}");
        }
    }
}

/// The table that `cargo` is, or is short for; it is taken out.
fn own_table(of: &mut Table) -> Result<Option<Table>> {
    match of.remove(FIELD) {
        None => Ok(None),
        Some(Value::Table(table)) => Ok(Some(table)),
        Some(package @ Value::String(_)) => Ok(Some(Table::from_iter([("package".to_owned(), package)]))),
        Some(_) => {
            bail!("field {FIELD}: give a package, or a table such as {{ package = \"…\", profile = \"…\" }}")
        }
    }
}

fn give(to: &mut Table, cargo: &Cargo) {
    let command = cargo.command().into_iter().map(Value::String).collect();
    to.insert("build".to_owned(), Value::Array(command));
    to.insert("program".to_owned(), Value::String(cargo.program()));
}

/// A server as it was built already in another profile than release, for runs that show that all works and measure
/// nothing.
#[must_use]
pub fn built(mut server: Server, profile: &str) -> Server {
    let is_of_release = server.build.iter().any(|arg| arg == "--release");
    if is_of_release && server.build.first().is_some_and(|program| program == "cargo") {
        server.program = server.program.replacen("/release/", &format!("/{}/", folder_of(profile)), 1);
        server.build.clear();
    }
    if let Some(entry) = server.upstream.as_mut().and_then(|upstream| upstream.entry.as_mut()) {
        *entry = built(entry.clone(), profile);
    }
    server
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ConfigDir;
    use crate::tests::each_is_refused;

    fn filled_in(entry: &str, like: Option<&str>) -> Result<Table> {
        let mut entry: Table = entry.parse().unwrap();
        let like: Option<Table> = like.map(|text| {
            let mut table = text.parse().unwrap();
            fill_in(&mut table, None).unwrap();
            table
        });
        fill_in(&mut entry, like.as_ref()).map(|()| entry)
    }

    fn build_and_program(table: &Table) -> (String, &str) {
        let words: Vec<&str> = table["build"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        (words.join(" "), table["program"].as_str().unwrap())
    }

    #[test]
    fn cargo_stands_for_a_command_and_a_program() {
        let cases = [
            (r#"cargo = "a""#, "cargo build --release --package a", "target/release/a"),
            (
                r#"cargo = { package = "a", profile = "dev", example = "e" }"#,
                "cargo build --profile dev --package a --example e",
                "target/debug/examples/e",
            ),
            (
                r#"cargo = { package = "a", default_features = false, target = "t" }"#,
                "cargo build --release --package a --no-default-features --target-dir target/t",
                "target/t/release/a",
            ),
        ];
        for (entry, build, program) in cases {
            let table = filled_in(entry, None).unwrap();
            assert_eq!(build_and_program(&table), (build.to_owned(), program), "{entry}");
        }
    }

    #[test]
    fn what_is_left_open_is_that_of_the_other_entry() {
        let other = Some(r#"cargo = { package = "a", features = "calls", target = "calls" }"#);
        let table = filled_in(r#"cargo = "b""#, other).unwrap();
        let build = "cargo build --release --package b --features calls --target-dir target/calls";
        assert_eq!(build_and_program(&table), (build.to_owned(), "target/calls/release/b"));
        let other = Some(r#"cargo = "a""#);
        let table = filled_in(r#"cargo = { manifest = "a/Cargo.toml", target = "t" }"#, other).unwrap();
        let build = "cargo build --release --locked --manifest-path a/Cargo.toml --target-dir target/t";
        assert_eq!(build_and_program(&table), (build.to_owned(), "target/t/release/a"));
        let table = filled_in(r#"program = "own""#, other).unwrap();
        assert_eq!(table.get("build"), None, "who spells a program out has no package");
    }

    #[test]
    fn rubbish_in_the_short_form_is_named() {
        each_is_refused("cargo of an entry", "{}", |entry| filled_in(entry, None));
    }

    #[test]
    fn a_server_can_be_what_another_profile_built() {
        let config = ConfigDir::of_repository();
        let of = |name: &str| built(config.server(name).unwrap(), "dev");
        let actix = of("actix");
        assert_eq!((actix.build.len(), &*actix.program), (0, "target/debug/server-actix"));
        let behind = of("gateway-http").upstream.and_then(|upstream| upstream.entry).unwrap();
        assert_eq!(behind.program, "target/debug/server-actix", "the one behind a gateway too");
        let found = config.server("test-validator").unwrap();
        assert_eq!(built(found.clone(), "dev"), found);
    }
}
