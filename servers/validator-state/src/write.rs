//! Writing a ledger folder: `chain.json` and `accounts/*.json`, as [`Ledger::load`] reads them.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::ledger::{ChainFile, Ledger, LedgerError};
use crate::slots::ranges;

/// The owner of plain accounts.
const SYSTEM_PROGRAM: &str = "11111111111111111111111111111111";

impl Ledger {
    /// Writes the ledger into `dir`, which is made where it is missing. One file an account, in the format of
    /// `solana account -o json`; `chain.json` comes last, so that a folder with one is whole.
    ///
    /// # Errors
    /// The folder or a file can't be written.
    pub fn write(&self, dir: &Path) -> Result<(), LedgerError> {
        let accounts = dir.join("accounts");
        fs::create_dir_all(&accounts).map_err(|source| failed(&accounts, source))?;
        for (pubkey, lamports) in &self.accounts {
            let pubkey = pubkey.to_string();
            let account = json!({
                "pubkey": pubkey,
                "account": {
                    "lamports": lamports,
                    "data": ["", "base64"],
                    "owner": SYSTEM_PROGRAM,
                    "executable": false,
                    "rentEpoch": u64::MAX,
                    "space": 0,
                },
            });
            write(&accounts.join(format!("{pubkey}.json")), &account.to_string())?;
        }
        let chain = ChainFile {
            api_version: self.api_version.to_owned(),
            feature_set: self.feature_set,
            rooted: ranges(self.rooted()).collect(),
            confirmed: self.confirmed,
            processed: self.processed,
        };
        let path = dir.join("chain.json");
        let text = serde_json::to_string(&chain)
            .map_err(|source| LedgerError::Format { path: path.clone(), source })?;
        write(&path, &text)
    }
}

fn write(path: &Path, text: &str) -> Result<(), LedgerError> {
    fs::write(path, text).map_err(|source| failed(path, source))
}

fn failed(path: &Path, source: std::io::Error) -> LedgerError {
    LedgerError::Read { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SeededSpec;

    #[test]
    fn what_is_written_is_read_back() {
        let ledger = Ledger::seeded(&SeededSpec { accounts: 20, slots: 500, seed: 3 });
        let dir = tempfile::tempdir().unwrap();
        let inner = dir.path().join("new/ledger");
        ledger.write(&inner).unwrap();
        assert_eq!(Ledger::load(&inner).unwrap().summary(), ledger.summary());
    }

    #[test]
    fn a_folder_that_takes_nothing_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        let ledger = Ledger::seeded(&SeededSpec { accounts: 1, slots: 1, seed: 1 });
        let message = ledger.write(&file).unwrap_err().to_string();
        assert!(message.contains("file") && message.lines().count() == 1, "{message}");
    }
}
