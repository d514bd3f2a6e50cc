//! `servers.toml`: the entries of servers, and the short form of one that is started like another.

use std::path::Path;

use anyhow::{Context, Result, anyhow, bail, ensure};
use toml::{Table, Value};

use super::server::Server;
use super::{mistake, parse_toml};

/// What an entry takes from the one that it is like: what builds and starts it. What it is called, and its other builds, are its own.
const STARTED: [&str; 8] = ["build", "program", "args", "ws_args", "ready", "holds", "version", "open_files"];

/// Reads all servers of a file.
///
/// # Errors
/// One line, with the server and the field.
pub(super) fn read(path: &Path) -> Result<Vec<Server>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("can't read {}", path.display()))?;
    let mut file: Table = parse_toml(path, &text)?;
    let place = || path.display().to_string();
    let entries = file.remove("server");
    ensure!(file.is_empty(), "{}: has {:?}; each server is a [[server]]", place(), file.keys().next());
    let Some(Value::Array(entries)) = entries else { bail!("{}: has no [[server]]", place()) };
    let (mut whole, mut servers): (Vec<Table>, Vec<Server>) = (Vec::new(), Vec::new());
    for entry in entries {
        let Value::Table(entry) = entry else { bail!("{}: a server is no table", place()) };
        let name = entry.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let place = || format!("{}: server {name:?}", path.display());
        let entry = completed(entry, &whole).with_context(place)?;
        // As a text of its own, so that a mistake is one of a field.
        let text = toml::to_string(&entry).with_context(place)?;
        let server = toml::from_str(&text).map_err(|error| anyhow!(mistake(&text, &error)));
        let server: Server = server.with_context(place)?;
        server.check().with_context(place)?;
        ensure!(servers.iter().all(|other| other.name != name), "{}: stands twice", place());
        servers.push(server);
        whole.push(entry);
    }
    Ok(servers)
}

/// An entry with what it takes from another one: `like` names that, and `with` gives placeholders of its arguments a value for good.
fn completed(mut entry: Table, before: &[Table]) -> Result<Table> {
    let with = entry.remove("with");
    let Some(like) = entry.remove("like") else {
        ensure!(with.is_none(), "field with: goes with like, whose args it fills; leave it out");
        return Ok(entry);
    };
    let is_it = |other: &&Table| other.get("name") == Some(&like);
    let other = before.iter().find(is_it);
    let other = other.with_context(|| format!("field like: no server {like} stands before this one"))?;
    for field in STARTED {
        if let (None, Some(value)) = (entry.get(field), other.get(field)) {
            entry.insert(field.to_owned(), value.clone());
        }
    }
    match with {
        None => {}
        Some(Value::Table(values)) => {
            values.iter().try_for_each(|(name, value)| fill(&mut entry, name, value))?
        }
        Some(_) => bail!("field with: give a table, such as {{ tuning = \"shipped\" }}"),
    }
    Ok(entry)
}

/// Gives a placeholder among an entry's arguments its value.
fn fill(entry: &mut Table, name: &str, value: &Value) -> Result<()> {
    let placeholder = format!("{{{name}}}");
    let value = value.as_str().with_context(|| format!("field with.{name}: give a text"))?;
    let args = entry.get_mut("args").and_then(Value::as_array_mut);
    let mut found = false;
    for arg in args.into_iter().flatten() {
        if let Value::String(arg) = arg
            && arg.ends_with(&placeholder)
        {
            *arg = arg.replace(&placeholder, value);
            found = true;
        }
    }
    ensure!(found, "field with.{name}: its args have no {placeholder}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str = r#"
        [[server]]
        name = "a"
        title = "A"
        label = "a server"
        colour = 1
        build = ["make"]
        program = "a/server"
        args = ["--listen", "{listen}", "--tuning", "{tuning}", "--walk={walk_ns_per_slot}"]
        ready = { line = { addr = "/addr" } }
        contract = true
        counting = { program = "a/counting" }
    "#;

    fn read_text(text: &str) -> Result<Vec<Server>> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("servers.toml");
        std::fs::write(&path, format!("{BASE}\n{text}"))?;
        read(&path)
    }

    #[test]
    fn an_entry_like_another_says_only_what_differs() {
        let text = r#"
            [[server]]
            name = "b"
            like = "a"
            title = "B"
            program = "b/server"
            with = { tuning = "shipped", walk_ns_per_slot = "7" }

            [[server]]
            name = "c"
            like = "b"
            title = "C"
        "#;
        let servers = read_text(text).unwrap();
        let [a, b, c] = &servers[..] else { unreachable!("{servers:?}") };
        assert_eq!((&b.build, &b.ready), (&a.build, &a.ready));
        assert_eq!(b.args, ["--listen", "{listen}", "--tuning", "shipped", "--walk=7"]);
        assert_eq!((b.label(), b.colour, b.contract, &b.counting), ("b", None, false, &None), "its own");
        let named = Server { name: "c".into(), title: "C".into(), ..b.clone() };
        assert_eq!(c, &named, "also like one that is like another");
    }

    #[test]
    fn rubbish_in_a_short_entry_is_named() {
        let entry = |fields: &str| format!("[[server]]\nname = \"b\"\ntitle = \"B\"\n{fields}\n");
        let cases = [
            (entry("like = \"nobody\""), "field like: no server \"nobody\" stands before"),
            (entry("like = \"b\""), "field like"),
            (
                entry("like = \"a\"\nwith = { threads = \"1\" }"),
                "field with.threads: its args have no {threads}",
            ),
            (entry("like = \"a\"\nwith = { tuning = 1 }"), "field with.tuning: give a text"),
            (entry("like = \"a\"\nwith = 7"), "field with"),
            (entry("with = { tuning = \"equal\" }"), "goes with like"),
            (entry("like = \"a\"\nprogramm = \"b\""), "programm"),
            (entry("like = \"a\"\nargs = 7"), "args"),
            (entry("like = \"a\"").repeat(2), "stands twice"),
            ("[sever]".to_owned(), "sever"),
        ];
        for (text, named) in cases {
            let said = format!("{:#}", read_text(&text).unwrap_err());
            assert!(said.contains("servers.toml") && said.contains(named), "{text} gave {said}");
            assert_eq!(said.lines().count(), 1, "{said}");
        }
    }
}
