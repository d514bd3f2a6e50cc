//! The lists that Prometheus finds its targets in: one file for the harness, one for the servers that run now.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Value, json};

/// The two files, and what they hold.
#[derive(Debug)]
pub(super) struct Targets {
    folder: PathBuf,
    next: u64,
    servers: Vec<(u64, String, String)>,
}

const HARNESS: &str = "harness.json";
const SERVERS: &str = "servers.json";

impl Targets {
    /// Empty lists in this folder, which is made where it is missing.
    pub fn in_folder(folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder).with_context(|| format!("can't make the folder {}", folder.display()))?;
        let targets = Self { folder: folder.to_owned(), next: 0, servers: Vec::new() };
        targets.write(HARNESS, &json!([]))?;
        targets.write(SERVERS, &json!([]))?;
        Ok(targets)
    }

    /// The harness's own address.
    pub fn harness(&mut self, addr: SocketAddr) -> Result<()> {
        self.write(HARNESS, &json!([{ "targets": [addr.to_string()], "labels": {} }]))
    }

    /// One more server; gives what it is removed by.
    pub fn add(&mut self, name: &str, addr: &str) -> u64 {
        self.next += 1;
        self.servers.push((self.next, name.to_owned(), addr.to_owned()));
        self.write_servers();
        self.next
    }

    pub fn remove(&mut self, number: u64) {
        self.servers.retain(|(other, ..)| *other != number);
        self.write_servers();
    }

    pub fn clear(&mut self) {
        self.servers.clear();
        self.write_servers();
        // As below.
        let _unwatched = self.write(HARNESS, &json!([]));
    }

    fn write_servers(&self) {
        let listed = self.servers.iter().map(|(_, name, addr)| {
            // The port changes with every start, and the series of a server is to stay one.
            json!({ "targets": [addr], "labels": { "server": name, "instance": name } })
        });
        // A list that can't be written leaves a board without this server, and no measurement without its result.
        let _unwatched = self.write(SERVERS, &Value::Array(listed.collect()));
    }

    /// Writes a file at once: Prometheus reads it whenever it changes.
    fn write(&self, name: &str, list: &Value) -> Result<()> {
        let path = self.folder.join(name);
        let unfinished = path.with_extension("unfinished");
        let context = || format!("can't write {}", path.display());
        fs::write(&unfinished, format!("{list:#}\n")).with_context(context)?;
        fs::rename(&unfinished, &path).with_context(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(folder: &Path, name: &str) -> Value {
        serde_json::from_str(&fs::read_to_string(folder.join(name)).unwrap()).unwrap()
    }

    #[test]
    fn a_server_is_listed_while_it_runs() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("new");
        let mut targets = Targets::in_folder(&folder).unwrap();
        targets.harness("127.0.0.1:9000".parse().unwrap()).unwrap();
        let axum = targets.add("axum", "127.0.0.1:1");
        targets.add("actix", "127.0.0.1:2");
        assert_eq!(read(&folder, SERVERS).as_array().map(Vec::len), Some(2));
        targets.remove(axum);
        let left = read(&folder, SERVERS);
        assert_eq!(
            (&left[0]["targets"][0], &left[0]["labels"]["server"]),
            (&"127.0.0.1:2".into(), &"actix".into())
        );
        assert_eq!(read(&folder, HARNESS)[0]["targets"], json!(["127.0.0.1:9000"]));
        targets.clear();
        assert_eq!((read(&folder, SERVERS), read(&folder, HARNESS)), (json!([]), json!([])));
    }
}
