//! `servers.toml`, and `servers.local.toml` next to it: the entries of servers, and the short form of one that is
//! started like another.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail, ensure};
use toml::{Table, Value};

use super::server::Server;
use super::variants::{Variant, Variants, text};
use super::{cargo, mistake, parse_toml};

/// The servers of this repository.
pub(super) const FILE: &str = "servers.toml";

/// A user's own, which git ignores. It need not be there.
pub(super) const OWN_FILE: &str = "servers.local.toml";

/// What an entry takes from the one that it is like: what builds and starts it. What it is called, and its other
/// builds, are its own.
const STARTED: [&str; 13] = [
    "build",
    "program",
    "args",
    "prepare",
    "ws_args",
    "ws_path",
    "ready",
    "headers",
    "tls",
    "ca",
    "holds",
    "version",
    "open_files",
];

/// Reads all servers of a folder, and which are variants of others.
///
/// # Errors
/// One line, with the file, the server and the field.
pub(super) fn read(folder: &Path) -> Result<(Vec<Server>, Variants)> {
    let mut known = Known::default();
    known.add(folder.join(FILE))?;
    let own = folder.join(OWN_FILE);
    if own.exists() {
        known.add(own)?;
    }
    Ok((known.servers, known.variants))
}

/// What was read so far.
#[derive(Default)]
struct Known {
    files: Vec<PathBuf>,
    /// The entries with all that they take from others.
    whole: Vec<Table>,
    servers: Vec<Server>,
    variants: Variants,
}

impl Known {
    fn add(&mut self, path: PathBuf) -> Result<()> {
        let text = crate::text_files::read(&path)?;
        let mut file: Table = parse_toml(&path, &text)?;
        let place = || path.display().to_string();
        self.files.push(path.clone());
        let [entries, variants] = ["server", "variant"].map(|table| file.remove(table));
        ensure!(
            file.is_empty(),
            "{}: has {:?}; each server is a [[server]], and each other build or setting of some a [[variant]]",
            place(),
            file.keys().next()
        );
        let entries = match entries {
            Some(Value::Array(entries)) => entries,
            // A user may have commented all of them out.
            None if !self.servers.is_empty() => Vec::new(),
            _ => bail!("{}: has no [[server]]", place()),
        };
        for entry in entries {
            let Value::Table(entry) = entry else { bail!("{}: a server is no table", place()) };
            self.add_server(entry, &path)?;
        }
        let variants = match variants {
            Some(Value::Array(variants)) => variants,
            None => Vec::new(),
            Some(_) => bail!("{}: has a [variant]; each is a [[variant]]", place()),
        };
        for variant in &variants {
            let place = || format!("{}: [[variant]] {}", place(), variant.get("value").unwrap_or(variant));
            let variant = Variant::read(variant.clone()).with_context(place)?;
            for entry in self.variants.add(&variant, &self.whole).with_context(place)? {
                self.add_server(entry, &path).with_context(place)?;
            }
        }
        Ok(())
    }

    fn add_server(&mut self, entry: Table, path: &Path) -> Result<()> {
        let name = text(&entry, "name").to_owned();
        let place = || format!("{}: server {name:?}", path.display());
        let whole = completed(entry, &self.whole).with_context(place)?;
        let mut entry = whole.clone();
        entry.remove(cargo::FIELD);
        // As a text of its own, so that a mistake is one of a field.
        let text = toml::to_string(&entry).with_context(place)?;
        let server = toml::from_str(&text).map_err(|error| anyhow!(mistake(&text, &error)));
        let server: Server = server.with_context(place)?;
        server.check().with_context(place)?;
        let is_new = self.servers.iter().all(|other| other.name != name);
        ensure!(is_new, "{}: stands twice in {}; give one of them another name", place(), self.files());
        self.servers.push(server);
        self.whole.push(whole);
        Ok(())
    }

    fn files(&self) -> String {
        self.files.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" and ")
    }
}

/// An entry with what it takes from another one: `like` names that, and `more_args` stands behind its arguments.
fn completed(mut entry: Table, before: &[Table]) -> Result<Table> {
    let more = entry.remove("more_args");
    let Some(like) = entry.remove("like") else {
        ensure!(more.is_none(), "field more_args: goes with like, whose args it stands behind; leave it out");
        cargo::fill_in(&mut entry, None)?;
        return Ok(entry);
    };
    let other = before.iter().find(|other| other.get("name") == Some(&like));
    let other = other.with_context(|| format!("field like: no server {like} stands before this one"))?;
    cargo::fill_in(&mut entry, Some(other))?;
    for field in STARTED {
        if let (None, Some(value)) = (entry.get(field), other.get(field)) {
            entry.insert(field.to_owned(), value.clone());
        }
    }
    match (more, entry.get_mut("args").and_then(Value::as_array_mut)) {
        (None, _) => {}
        (Some(Value::Array(more)), Some(args)) => args.extend(more),
        (Some(_), _) => bail!("field more_args: give a list, which stands behind the args of {like}"),
    }
    Ok(entry)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::tests::each_is_refused;

    const BASE: &str = include_str!("../../tests/fixtures/servers-base.toml");

    fn read_text(text: &str) -> Result<Vec<Server>> {
        let folder = tempfile::tempdir()?;
        std::fs::write(folder.path().join(FILE), format!("{BASE}\n{text}"))?;
        read(folder.path()).map(|(servers, _)| servers)
    }

    /// With this text in the user's own file.
    fn read_own(text: &str) -> Result<Vec<Server>> {
        let folder = tempfile::tempdir()?;
        std::fs::write(folder.path().join(FILE), BASE)?;
        std::fs::write(folder.path().join(OWN_FILE), text)?;
        read(folder.path()).map(|(servers, _)| servers)
    }

    #[test]
    fn a_users_own_servers_stand_in_a_file_of_their_own() {
        let own = "[[server]]\nname = \"own\"\ntitle = \"Own\"\nlike = \"a\"\n";
        let names: Vec<String> = read_own(own).unwrap().into_iter().map(|server| server.name).collect();
        assert_eq!(names, ["a", "own"]);
        assert_eq!(read_own("# nothing yet\n").unwrap().len(), 1);
        let said = format!("{:#}", read_own(&own.replace("\"own\"", "\"a\"")).unwrap_err());
        assert!(said.contains("servers.toml and ") && said.contains("servers.local.toml; give"), "{said}");
        let said = format!("{:#}", read_own("[[server]]\nname = 7").unwrap_err());
        assert!(said.contains("servers.local.toml") && said.contains("name"), "{said}");
    }

    #[test]
    fn an_entry_like_another_says_only_what_differs() {
        let text = r#"
            [[server]]
            name = "b"
            like = "a"
            title = "B"
            program = "b/server"
            more_args = ["--quiet"]

            [[server]]
            name = "c"
            like = "b"
            title = "C"
        "#;
        let servers = read_text(text).unwrap();
        let [a, b, c] = &servers[..] else { unreachable!("{servers:?}") };
        assert_eq!((&b.build, &b.ready), (&a.build, &a.ready));
        assert_eq!(b.args, [&a.args[..], &["--quiet".to_owned()]].concat());
        assert_eq!((b.label(), b.colour, b.contract), ("b", None, false), "its own");
        let named = Server { name: "c".into(), title: "C".into(), ..b.clone() };
        assert_eq!(c, &named, "also like one that is like another");
    }

    #[test]
    fn rubbish_in_a_short_entry_is_named() {
        each_is_refused("servers of a user", "{}", |text| {
            read_text(text).inspect_err(|error| assert!(format!("{error:#}").contains(FILE), "{error:#}"))
        });
    }

    const VARIANTS: &str = include_str!("../../tests/fixtures/servers-variants.toml");

    /// Two builds of other features in one folder would be one program, and so one of them measured twice.
    #[test]
    fn variants_combine_and_each_has_a_folder_of_its_own() {
        let servers = read_text(VARIANTS).unwrap();
        let names: Vec<&str> = servers.iter().map(|server| server.name.as_str()).collect();
        assert_eq!(names, ["a", "c", "c-disk", "a-on", "c-on", "c-disk-on"]);
        let programs: BTreeSet<&str> = servers[1..].iter().map(|server| server.program.as_str()).collect();
        assert!(programs.contains("target/disk-trace/release/c"), "{programs:?}");
        assert_eq!(programs.len(), 4, "a-on and c-on are the same here: {programs:?}");
        let both = &servers[5];
        assert_eq!((both.label(), both.title.as_str()), ("c, on disk, traced", "C, on disk, traced"));
        assert_eq!(both.args, ["--listen", "{listen}", "--trace"]);
    }

    #[test]
    fn a_wrong_variant_is_named() {
        each_is_refused("variants", VARIANTS, read_text);
        let error = read_text("[variant]\naxis = \"x\"").unwrap_err().to_string();
        assert!(error.contains("each is a [[variant]]"), "{error}");
    }
}
