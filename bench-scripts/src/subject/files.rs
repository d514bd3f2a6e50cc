//! Files that a server's arguments name: a folder of its own, and the accounts of the ledger. They are removed with the server.

use std::fs;

use anyhow::{Context, Result};
use tempfile::TempDir;
use validator_state::{Ledger, SeededSpec};

use crate::config::{Placeholders, Server};

/// A temporary folder with what a server's placeholders name.
#[derive(Debug)]
pub struct Files(TempDir);

impl Files {
    /// Makes what a server's arguments name, and its placeholders' values: `{folder}`, which is empty, and `{accounts_dir}`,
    /// one file for each account as `solana account -o json` writes it. `None` where they name neither.
    ///
    /// # Errors
    /// They can't be written.
    pub fn of(server: &Server, ledger: &SeededSpec, values: &mut Placeholders) -> Result<Option<Self>> {
        if !server.takes("folder") && !server.takes("accounts_dir") {
            return Ok(None);
        }
        let dir = tempfile::Builder::new().prefix("rpc-bench-").tempdir();
        let dir =
            dir.with_context(|| format!("server {}: can't make a folder for its files", server.name))?;
        let folder = dir.path().join("node");
        fs::create_dir(&folder).with_context(|| format!("can't make {}", folder.display()))?;
        values.insert("folder", folder.display().to_string());
        if server.takes("accounts_dir") {
            let place = dir.path().join("ledger");
            Ledger::seeded(ledger).write(&place)?;
            values.insert("accounts_dir", place.join("accounts").display().to_string());
        }
        Ok(Some(Self(dir)))
    }

    /// Leaves them where they are.
    pub fn keep(self) {
        let _ = self.0.keep();
    }
}
