//! Block stores: from which stores the servers read, chains of which length, and who sends a light request meanwhile.
//!
//! Which requests are measured is the campaign's `workloads`; one that is about more slots than a chain has is left out
//! there.

use std::slice;

use anyhow::{Result, bail, ensure};
use serde::{Deserialize, Serialize};

use super::{Build, Campaign, Server};
use crate::field_checks::{distinct, known, within};
use crate::load::LoadTool;

/// The `[stores]` table of a campaign.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stores {
    /// What the servers' `--blocks` is given; the first is the one that the cost of reading a root is counted from.
    pub blocks: Vec<String>,
    /// Those of them that read every root after the start of a range, however short it is.
    #[serde(default)]
    pub reads_all: Vec<String>,
    /// Slots of the chains, of which one in twenty is skipped.
    pub slots: Vec<u64>,
    /// Connections of the measured requests.
    pub connections: u32,
    /// Where ledger folders are kept between runs: writing a long chain takes seconds.
    pub ledgers: String,
    /// The program that writes a ledger folder. It is given the folder, `--slots`, `--accounts` and `--seed`, and keeps
    /// what is there.
    pub ledger: Build,
    /// A light request while a heavy one is answered.
    pub neighbour: Option<Neighbour>,
}

/// A light request at a steady rate, while the server answers a heavy one as fast as it can.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Neighbour {
    /// The light request.
    pub workload: String,
    /// How often it is sent, in requests a second.
    pub rate: u32,
    /// Connections that it may hold at most.
    pub connections: u32,
    /// The heavy request.
    pub beside: String,
    /// Connections that send it, each again once it is answered.
    pub beside_connections: u32,
    /// What the servers' `--blocks-on` is given, each for trials of its own; the flag is left out where this is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocks_on: Vec<String>,
}

impl Neighbour {
    /// The load tool that sends the light request: the one that is there at once.
    pub const TOOL: LoadTool = LoadTool::Vegeta;

    /// The threads that walk the store, one by one; `None` is that of the server's default.
    pub fn threads(&self) -> Vec<Option<&str>> {
        if self.blocks_on.is_empty() {
            return vec![None];
        }
        self.blocks_on.iter().map(|on| Some(on.as_str())).collect()
    }
}

impl Stores {
    /// The folder of a chain's trials, inside a run's.
    pub fn folder(slots: u64) -> String {
        format!("stores-{slots}")
    }

    /// The folder of the trials with a light request.
    pub fn neighbour_folder(slots: u64) -> String {
        format!("stores-{slots}-neighbour")
    }

    /// The folders of all trials, in their order.
    pub fn folders(&self) -> Vec<String> {
        let of = |slots: &u64| {
            let neighbour = self.neighbour.as_ref().map(|_| Self::neighbour_folder(*slots));
            std::iter::once(Self::folder(*slots)).chain(neighbour)
        };
        self.slots.iter().flat_map(of).collect()
    }

    /// The name of a server that reads from a store, on a thread where that is stated.
    pub fn arm(server: &str, blocks: &str, on: Option<&str>) -> String {
        on.map_or_else(|| format!("{server}-{blocks}"), |on| format!("{server}-{blocks}-{on}"))
    }

    /// A server as the build of it that reads from stores.
    ///
    /// # Errors
    /// It has none.
    pub fn build_of(server: Server) -> Result<Server> {
        let Some(Build { build, program }) = server.stores.clone() else {
            bail!(
                "servers.toml, server {}: has no build that reads from block stores, which [stores] needs; add the \
                 field stores, or name another server",
                server.name
            );
        };
        Ok(Server { build, program, ..server })
    }

    /// A server that reads from a store of a ledger folder, on a thread where that is stated. The folder takes the
    /// place of the seeded ledger's arguments.
    pub fn reading(server: &Server, ledger: &str, blocks: &str, on: Option<&str>) -> Server {
        let mut args = server.arguments_over(ledger);
        args.extend(["--blocks", blocks].map(str::to_owned));
        args.extend(on.iter().flat_map(|on| ["--blocks-on", *on].map(str::to_owned)));
        let name = Self::arm(&server.name, blocks, on);
        let label = Some(format!(
            "{}, {blocks}{}",
            server.label(),
            on.map_or_else(String::new, |on| format!(" on {on}"))
        ));
        Server { name, label, colour: None, args, ..server.clone() }
    }

    /// Whether the fields make sense together.
    ///
    /// # Errors
    /// One line with the field.
    pub(super) fn check(&self, campaign: &Campaign) -> Result<()> {
        ensure!(
            !campaign.has_closed_loop() && campaign.open.is_none() && campaign.slo.is_none(),
            "table [stores]: the campaign also has other loads (connections, [open], [duets], [threshold] or [slo]); \
             give the stores a campaign of their own and write connections = []"
        );
        within("max_blocks", campaign.max_blocks.into(), 1, 1_000)?;
        distinct("stores.blocks", &self.blocks)?;
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let threads = self.neighbour.iter().flat_map(|neighbour| &neighbour.blocks_on);
        for name in self.blocks.iter().chain(threads) {
            ensure!(
                !name.is_empty() && name.chars().all(plain),
                "fields stores.blocks and stores.neighbour.blocks_on: {name:?} is no name; give such \
                 as \"memory\", \"worker\""
            );
        }
        known("stores.reads_all", &self.reads_all, "stores.blocks", &self.blocks)?;
        distinct("stores.slots", &self.slots)?;
        self.slots.iter().try_for_each(|slots| within("stores.slots", *slots, 1, 20_000_000))?;
        within("stores.connections", self.connections.into(), 1, 60_000)?;
        if let Some(neighbour) = &self.neighbour {
            let beside = slice::from_ref(&neighbour.beside);
            known("stores.neighbour.beside", beside, "workloads", &campaign.workloads)?;
            if !neighbour.blocks_on.is_empty() {
                distinct("stores.neighbour.blocks_on", &neighbour.blocks_on)?;
            }
            within("stores.neighbour.rate", neighbour.rate.into(), 1, 1_000_000)?;
            within("stores.neighbour.connections", neighbour.connections.into(), 1, 60_000)?;
            within("stores.neighbour.beside_connections", neighbour.beside_connections.into(), 1, 60_000)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ConfigDir;

    #[test]
    fn a_ledger_folder_takes_the_place_of_the_seeded_ledger() {
        let config = ConfigDir::of_repository();
        let server = config.server("legacy").unwrap();
        let reading = Stores::reading(&server, "some/folder", "redb", None);
        assert_eq!((reading.name.as_str(), reading.label()), ("legacy-redb", "jsonrpc-core, redb"));
        let pooled = Stores::reading(&server, "some/folder", "redb", Some("blocking"));
        assert_eq!(
            (pooled.name.as_str(), pooled.label()),
            ("legacy-redb-blocking", "jsonrpc-core, redb on blocking")
        );
        assert!(pooled.args.join(" ").ends_with("--blocks redb --blocks-on blocking"), "{:?}", pooled.args);
        let args = reading.args.join(" ");
        assert!(args.ends_with("--ledger some/folder --blocks redb"), "{args}");
        for gone in ["--accounts", "--slots", "--seed", "{slots}"] {
            assert!(!args.contains(gone), "{args}");
        }
        assert!(args.contains("--threads {threads}"), "{args}");
    }

    #[test]
    fn a_server_without_such_a_build_is_named() {
        let config = ConfigDir::of_repository();
        let error = Stores::build_of(config.server("control").unwrap()).unwrap_err().to_string();
        assert!(error.contains("server control") && error.contains("field stores"), "{error}");
        let legacy = Stores::build_of(config.server("legacy").unwrap()).unwrap();
        assert!(legacy.build.contains(&"rocksdb".to_owned()), "{:?}", legacy.build);
    }
}
