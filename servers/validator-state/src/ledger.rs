//! A node's data when it starts: account balances and the chain. Loaded from a folder or made from a seed.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use foldhash::fast::RandomState;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::pubkey::{ParsePubkeyError, Pubkey};
use crate::seeded::SeededSpec;
use crate::slots::{from_ranges, ranges};
use crate::state::Commitment;

/// The most slots of a chain that is loaded from a file: they take 8 bytes each.
const MAX_CHAIN_SLOTS: u64 = 100_000_000;

/// Accounts and chain at the moment a server starts.
#[derive(Debug)]
pub struct Ledger {
    /// Balances in lamports. A missing account has none.
    pub(crate) accounts: HashMap<Pubkey, u64, RandomState>,
    /// Every produced slot up to `processed`, in order.
    pub(crate) slots: Arc<[u64]>,
    pub(crate) finalized: u64,
    pub(crate) confirmed: u64,
    pub(crate) processed: u64,
    /// Kept for the life of the process, so that an answer can hold it without counting references.
    pub(crate) api_version: &'static str,
    pub(crate) feature_set: u32,
}

/// A server's ledger as its ready line describes it, so that two servers can be seen to have the same one.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct LedgerSummary {
    /// Number of accounts.
    pub accounts: usize,
    /// Number of finalized slots.
    pub slots: u64,
    /// SHA-256 over every account and slot, in hexadecimal.
    pub sha256: String,
}

/// Why a ledger folder could not be read or written: which file, which field, and what is wrong with it.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// A file or folder that could not be read or written.
    #[error("ledger {path}: {source}")]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A file that is not of the format.
    #[error("ledger {path}: {source}")]
    Format {
        /// The file.
        path: PathBuf,
        /// Where in it, and what was expected.
        source: serde_json::Error,
    },
    /// A `pubkey` that is no address.
    #[error("ledger {path}: field pubkey: {text:?} {source}")]
    Pubkey {
        /// The file.
        path: PathBuf,
        /// What is wrong there.
        text: String,
        /// What is wrong with it.
        source: ParsePubkeyError,
    },
    /// A value that makes no sense.
    #[error("ledger {path}: field {field}: {problem}")]
    Field {
        /// The file.
        path: PathBuf,
        /// The field.
        field: &'static str,
        /// What is wrong with it.
        problem: String,
    },
}

/// `accounts/*.json`, as `solana account -o json` writes them.
#[derive(Deserialize)]
struct AccountFile {
    pubkey: String,
    account: AccountFields,
}

#[derive(Deserialize)]
struct AccountFields {
    lamports: u64,
}

/// `chain.json`.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChainFile {
    pub api_version: String,
    pub feature_set: u32,
    pub rooted: Vec<(u64, u64)>,
    pub confirmed: u64,
    pub processed: u64,
}

impl Ledger {
    /// Loads `DIR/accounts/*.json` and `DIR/chain.json`.
    ///
    /// # Errors
    /// [`LedgerError`] names the file and the field.
    pub fn load(dir: &Path) -> Result<Self, LedgerError> {
        let (path, chain) = load_chain(dir)?;
        let accounts = load_accounts(&dir.join("accounts"))?;
        let (slots, finalized) = chain_slots(&path, &chain)?;
        Ok(Self {
            accounts,
            slots,
            finalized,
            confirmed: chain.confirmed,
            processed: chain.processed,
            api_version: chain.api_version.leak(),
            feature_set: chain.feature_set,
        })
    }

    /// A node's chain as its block store has it, with the accounts of [`SeededSpec::default`]: a store of blocks holds no
    /// balances. `roots` are its rooted slots in order; nothing above the last one is known. `None` where there is no root, or
    /// where they are not in order.
    pub fn from_roots(roots: &[u64]) -> Option<Self> {
        let tip = *roots.last()?;
        if !roots.is_sorted_by(|slot, next| slot < next) {
            return None;
        }
        let seeded = Self::seeded(&SeededSpec { slots: 1, ..SeededSpec::default() });
        Some(Self { slots: roots.into(), finalized: tip, confirmed: tip, processed: tip, ..seeded })
    }

    /// The same ledger in a server of another version: `context.apiVersion` of a balance, and both fields of getVersion.
    #[must_use]
    pub fn of_version(self, api_version: &str, feature_set: u32) -> Self {
        // Kept for as long as the process runs, as the version of a loaded ledger is.
        Self { api_version: api_version.to_owned().leak(), feature_set, ..self }
    }

    /// The finalized slots, in order: what a block store holds of this ledger.
    pub fn roots(&self) -> impl Iterator<Item = u64> {
        self.rooted().iter().copied()
    }

    pub(crate) fn rooted(&self) -> &[u64] {
        self.slots.get(..self.rooted_slots()).unwrap_or_default()
    }

    fn rooted_slots(&self) -> usize {
        self.slots.partition_point(|slot| *slot <= self.finalized)
    }

    /// The produced slots above the finalized one, in order.
    pub fn unrooted(&self) -> impl Iterator<Item = u64> {
        self.slots.iter().copied().skip(self.rooted_slots())
    }

    /// The newest slot of a commitment.
    pub const fn tip(&self, commitment: Commitment) -> u64 {
        match commitment {
            Commitment::Processed => self.processed,
            Commitment::Confirmed => self.confirmed,
            Commitment::Finalized => self.finalized,
        }
    }

    /// Every account with its balance in lamports, in no order.
    pub fn accounts(&self) -> impl Iterator<Item = (Pubkey, u64)> {
        self.accounts.iter().map(|(pubkey, lamports)| (*pubkey, *lamports))
    }

    /// Number of accounts, number of finalized slots, and a checksum of both, whatever order they are stored in.
    pub fn summary(&self) -> LedgerSummary {
        let mut accounts: Vec<_> = self.accounts.iter().collect();
        accounts.sort_unstable();
        let mut hash = Sha256::new();
        for (pubkey, lamports) in accounts {
            hash.update(pubkey.0);
            hash.update(lamports.to_le_bytes());
        }
        for (first, last) in ranges(&self.slots) {
            hash.update(first.to_le_bytes());
            hash.update(last.to_le_bytes());
        }
        for tip in [self.finalized, self.confirmed, self.processed] {
            hash.update(tip.to_le_bytes());
        }
        let sha256 = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        LedgerSummary { accounts: self.accounts.len(), slots: self.rooted_slots() as u64, sha256 }
    }
}

fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, LedgerError> {
    let text =
        fs::read_to_string(path).map_err(|source| LedgerError::Read { path: path.to_owned(), source })?;
    serde_json::from_str(&text).map_err(|source| LedgerError::Format { path: path.to_owned(), source })
}

fn load_accounts(dir: &Path) -> Result<HashMap<Pubkey, u64, RandomState>, LedgerError> {
    let unreadable = |source| LedgerError::Read { path: dir.to_owned(), source };
    let mut accounts = HashMap::default();
    for entry in fs::read_dir(dir).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let file: AccountFile = read_json(&path)?;
        let pubkey = match Pubkey::parse(&file.pubkey) {
            Ok(pubkey) => pubkey,
            Err(source) => return Err(LedgerError::Pubkey { path, text: file.pubkey, source }),
        };
        if accounts.insert(pubkey, file.account.lamports).is_some() {
            let problem = format!("{pubkey} is in another file too");
            return Err(LedgerError::Field { path, field: "pubkey", problem });
        }
    }
    Ok(accounts)
}

fn load_chain(dir: &Path) -> Result<(PathBuf, ChainFile), LedgerError> {
    let path = dir.join("chain.json");
    let chain = read_json(&path)?;
    Ok((path, chain))
}

/// The produced slots of a chain file, and its finalized slot. Above that every slot up to `processed` counts as
/// produced: the file does not say otherwise.
fn chain_slots(path: &Path, chain: &ChainFile) -> Result<(Arc<[u64]>, u64), LedgerError> {
    let wrong = |field, problem| LedgerError::Field { path: path.to_owned(), field, problem };
    let Some(&(_, finalized)) = chain.rooted.last() else {
        return Err(wrong("rooted", "holds no range; give at least one, such as [[0,100]]".to_owned()));
    };
    if chain.confirmed < finalized {
        return Err(wrong(
            "confirmed",
            format!("{} is below the last rooted slot {finalized}", chain.confirmed),
        ));
    }
    if chain.processed < chain.confirmed {
        return Err(wrong(
            "processed",
            format!("{} is below confirmed {}", chain.processed, chain.confirmed),
        ));
    }
    if chain.processed > u64::MAX / 2 {
        return Err(wrong(
            "processed",
            format!("{} is above {}, the most a chain may reach", chain.processed, u64::MAX / 2),
        ));
    }
    let above = (finalized < chain.processed).then_some((finalized + 1, chain.processed));
    let all = chain.rooted.iter().copied().chain(above);
    let length = |(first, last): (u64, u64)| last.saturating_sub(first).saturating_add(1);
    let produced = all.clone().map(length).fold(0, u64::saturating_add);
    if produced > MAX_CHAIN_SLOTS {
        let problem = format!("makes a chain of {produced} slots; the most is {MAX_CHAIN_SLOTS}");
        return Err(wrong("rooted", problem));
    }
    let slots = from_ranges(all).map_err(|position| {
        wrong(
            "rooted",
            format!(
                "range {position} {:?} is reversed or not above the one before it",
                chain.rooted.get(position)
            ),
        )
    })?;
    Ok((slots.into(), finalized))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn oracle() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../conformance/oracle/ledger")
    }

    fn folder(chain: &str, account: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("accounts")).unwrap();
        fs::write(dir.path().join("chain.json"), chain).unwrap();
        fs::write(dir.path().join("accounts/a.json"), account).unwrap();
        dir
    }

    const CHAIN: &str =
        r#"{"api_version":"1","feature_set":1,"rooted":[[0,9],[11,20]],"confirmed":30,"processed":31}"#;
    const ACCOUNT: &str = r#"{"pubkey":"11111111111111111111111111111111","account":{"lamports":7}}"#;

    #[test]
    fn the_recorded_ledger_loads() {
        let summary = Ledger::load(&oracle()).unwrap().summary();
        assert_eq!(
            (summary.accounts, summary.slots),
            (fs::read_dir(oracle().join("accounts")).unwrap().count(), 425)
        );
    }

    #[test]
    fn a_ledger_tells_all_that_it_holds() {
        let dir = folder(&CHAIN.replace("31}", "33}"), ACCOUNT);
        let ledger = Ledger::load(dir.path()).unwrap();
        let slots: Vec<u64> = ledger.roots().chain(ledger.unrooted()).collect();
        assert_eq!(slots, (0..=9).chain(11..=33).collect::<Vec<_>>());
        assert_eq!(ledger.unrooted().next(), Some(21));
        let tips = [Commitment::Finalized, Commitment::Confirmed, Commitment::Processed];
        assert_eq!(tips.map(|commitment| ledger.tip(commitment)), [20, 30, 33]);
        let accounts: Vec<_> =
            ledger.accounts().map(|(pubkey, lamports)| (pubkey.to_string(), lamports)).collect();
        assert_eq!(accounts, [("11111111111111111111111111111111".to_owned(), 7)]);
    }

    #[test]
    fn every_mistake_is_named_with_its_file_and_field() {
        let cases = [
            (CHAIN.replace("[[0,9],[11,20]]", "[]"), ACCOUNT.to_owned(), "field rooted"),
            (CHAIN.replace("[11,20]", "[5,20]"), ACCOUNT.to_owned(), "field rooted: range 1"),
            (
                CHAIN.replace("30,", "300000000,").replace("31}", "300000000}"),
                ACCOUNT.to_owned(),
                "field rooted: makes a chain of 300000000 slots",
            ),
            (CHAIN.replace("30", "3"), ACCOUNT.to_owned(), "field confirmed"),
            (CHAIN.replace("31", "3"), ACCOUNT.to_owned(), "field processed"),
            (CHAIN.replace("31", "18446744073709551615"), ACCOUNT.to_owned(), "field processed"),
            (CHAIN.replace("confirmed", "konfirmed"), ACCOUNT.to_owned(), "konfirmed"),
            (CHAIN.to_owned(), ACCOUNT.replace("1111", "0000"), "field pubkey"),
            (CHAIN.to_owned(), ACCOUNT.replace('7', "-7"), "a.json"),
            (CHAIN.to_owned(), "{".to_owned(), "a.json"),
        ];
        for (chain, account, expected) in cases {
            let dir = folder(&chain, &account);
            let message = Ledger::load(dir.path()).unwrap_err().to_string();
            assert!(message.contains(expected), "{message:?} lacks {expected:?}");
            assert_eq!(message.lines().count(), 1, "{message:?}");
        }
        assert!(Ledger::load(Path::new("no-such-folder")).unwrap_err().to_string().contains("chain.json"));
    }

    #[test]
    fn the_checksum_sees_a_changed_balance_and_a_changed_slot() {
        let sum = |chain: &str, account: &str| {
            let dir = folder(chain, account);
            Ledger::load(dir.path()).unwrap().summary().sha256
        };
        let base = sum(CHAIN, ACCOUNT);
        assert_eq!(base, sum(CHAIN, ACCOUNT));
        assert_ne!(base, sum(CHAIN, &ACCOUNT.replace('7', "8")));
        assert_ne!(base, sum(&CHAIN.replace("[11,20]", "[12,20]"), ACCOUNT));
    }
}
