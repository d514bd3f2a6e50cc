//! Block stores on disk: each holds the rooted slots of a chain, and getBlocks walks it.
//!
//! A ledger folder has the chain and the accounts as files (`chain.json`, `accounts/*.json`), and one store of each kind with
//! the same chain: `roots.redb`, and `rocksdb/` as in a validator's ledger directory. A validator's own directory has only the
//! latter, and can be served too. Every store is opened read-only.
//!
//! Out of scope: what getBlocks means (`validator-state`), flags (`server-kit`).

#![forbid(unsafe_code)]
#![deny(
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::unreachable,
    reason = "the network reaches this"
)]

#[cfg(feature = "redb")]
mod redb_store;
#[cfg(feature = "rocksdb")]
mod rocksdb_store;
#[cfg(feature = "redb")]
mod write;

use std::fmt;
use std::path::Path;

use clap::ValueEnum;
use serde::Serialize;
use validator_state::{BlockStore, Ledger, LedgerError, State, StoreError};

#[cfg(feature = "redb")]
pub use write::{Part, write_ledger};

/// Where the rooted slots of getBlocks come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StoreKind {
    /// Ranges in memory
    Memory,
    /// redb, an embedded B-tree
    Redb,
    /// RocksDB as a validator reads it up to Agave 4.3: every root after the start, however short the range
    RocksdbFilter,
    /// RocksDB as a validator reads it from Agave 4.4 on: the roots of the range, and one more
    RocksdbTakeWhile,
}

impl StoreKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Memory, Self::Redb, Self::RocksdbFilter, Self::RocksdbTakeWhile];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Redb => "redb",
            Self::RocksdbFilter => "rocksdb-filter",
            Self::RocksdbTakeWhile => "rocksdb-take-while",
        }
    }

    /// Whether this build can open it.
    pub const fn is_built(self) -> bool {
        match self {
            Self::Memory => true,
            Self::Redb => cfg!(feature = "redb"),
            Self::RocksdbFilter | Self::RocksdbTakeWhile => cfg!(feature = "rocksdb"),
        }
    }

    /// How to build a program that can open it.
    const fn how_to_build(self) -> &'static str {
        match self {
            Self::Memory | Self::Redb => "--features redb",
            Self::RocksdbFilter | Self::RocksdbTakeWhile => "just build-rocksdb",
        }
    }
}

impl fmt::Display for StoreKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// Why a ledger folder can't be served or written, in one line.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Its chain or accounts.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// Its store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The store needs another build.
    #[error(
        "block store {0}: this program was built without it; build one that has it with `{how}`",
        how = .0.how_to_build()
    )]
    NotBuilt(StoreKind),
}

/// The node of a ledger folder, with its rooted slots from a store of this kind.
///
/// Where the folder has a `chain.json`, the store must hold exactly its chain. Where it has none, as a validator's own ledger
/// directory, the chain is what the store holds and the accounts are the default seeded ones. Reads the whole store once.
///
/// # Errors
/// A file is missing or wrong; the store is missing, locked, of another format, cut short, or of another chain.
pub fn open(kind: StoreKind, dir: &Path) -> Result<State, OpenError> {
    let Some(store) = open_store(kind, dir)? else { return Ok(State::new(Ledger::load(dir)?)) };
    let roots = store.roots(0, u64::MAX, usize::MAX)?;
    let wrong = |problem| StoreError { path: dir.to_owned(), problem };
    let ledger = if dir.join(CHAIN_FILE).exists() {
        let ledger = Ledger::load(dir)?;
        compare(&ledger, &roots).map_err(wrong)?;
        ledger
    } else {
        let empty = || wrong(format!("{kind} holds no rooted slot, so there is no chain to serve"));
        Ledger::from_roots(&roots).ok_or_else(empty)?
    };
    Ok(State::with_store(ledger, store))
}

/// The chain of a ledger folder.
const CHAIN_FILE: &str = "chain.json";

/// `None` is memory.
#[cfg_attr(not(feature = "redb"), expect(unused_variables, reason = "nothing is opened without a store"))]
fn open_store(kind: StoreKind, dir: &Path) -> Result<Option<Box<dyn BlockStore>>, OpenError> {
    Ok(match kind {
        StoreKind::Memory => None,
        #[cfg(feature = "redb")]
        StoreKind::Redb => Some(Box::new(redb_store::RedbStore::open(dir)?)),
        #[cfg(feature = "rocksdb")]
        StoreKind::RocksdbFilter => {
            Some(Box::new(rocksdb_store::RocksdbStore::open(dir, rocksdb_store::Walk::Filter)?))
        }
        #[cfg(feature = "rocksdb")]
        StoreKind::RocksdbTakeWhile => {
            Some(Box::new(rocksdb_store::RocksdbStore::open(dir, rocksdb_store::Walk::TakeWhile)?))
        }
        #[cfg(not(feature = "redb"))]
        StoreKind::Redb => return Err(OpenError::NotBuilt(kind)),
        #[cfg(not(feature = "rocksdb"))]
        StoreKind::RocksdbFilter | StoreKind::RocksdbTakeWhile => return Err(OpenError::NotBuilt(kind)),
    })
}

/// Whether a store holds the same chain as the folder's `chain.json`.
fn compare(ledger: &Ledger, roots: &[u64]) -> Result<(), String> {
    if ledger.roots().eq(roots.iter().copied()) {
        return Ok(());
    }
    let chain = ledger.summary().slots;
    let newest = roots.last().map_or_else(|| "none".to_owned(), u64::to_string);
    Err(format!(
        "the store has {} rooted slots, the newest {newest}, and not the {chain} of {CHAIN_FILE}: it is cut short or of another \
         chain; write the folder again with `just ledger`",
        roots.len()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_command_line() {
        for kind in StoreKind::ALL {
            assert_eq!(StoreKind::from_str(kind.name(), false), Ok(kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
        assert_eq!(StoreKind::value_variants(), StoreKind::ALL);
    }

    #[test]
    fn a_build_without_a_store_says_in_one_line_how_to_build_it() {
        for kind in StoreKind::ALL.into_iter().filter(|kind| !kind.is_built()) {
            let message = open(kind, Path::new("nowhere")).map(drop).unwrap_err().to_string();
            assert_eq!(message, OpenError::NotBuilt(kind).to_string());
        }
        for (kind, how) in
            [(StoreKind::Redb, "`--features redb`"), (StoreKind::RocksdbFilter, "`just build-rocksdb`")]
        {
            let message = OpenError::NotBuilt(kind).to_string();
            assert!(
                message.contains(kind.name()) && message.contains(how) && !message.contains('\n'),
                "{message}"
            );
        }
    }
}
