//! Rooted slots in RocksDB, as a validator keeps and walks them (Agave's `Blockstore::rooted_slot_iterator`).
//!
//! Left out of what a validator does for each getBlocks: it also looks up the lowest slot that it holds.

use std::path::{Path, PathBuf};

use rocksdb::{ColumnFamily, DB, Direction, Error, IteratorMode, Options};
use validator_state::{BlockStore, StoreError};

/// The store's folder in a ledger folder, a validator's or ours.
pub const FOLDER: &str = "rocksdb";

/// The column family of rooted slots; a key is a slot in big-endian.
const ROOT: &str = "root";

/// The value of each key: true, in the validator's encoding.
const TRUE: [u8; 1] = [1];

/// How the iterator's end is found. The iterator itself has no upper bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Walk {
    /// Not at all: every root after the start is read, and those above the end are dropped.
    Filter,
    /// It is the first root above the end.
    TakeWhile,
}

/// A RocksDB folder, opened read-only: without its lock, so a running validator's can be opened too, as it is now.
#[derive(Debug)]
pub struct RocksdbStore {
    path: PathBuf,
    database: DB,
    walk: Walk,
}

impl RocksdbStore {
    /// Opens the store of a ledger folder, with RocksDB's default settings.
    ///
    /// # Errors
    /// It is missing, of another format, or cut short.
    pub fn open(dir: &Path, walk: Walk) -> Result<Self, StoreError> {
        let path = dir.join(FOLDER);
        if !path.join("CURRENT").is_file() {
            let problem =
                "is missing; write one with `target/rocksdb/release/ledger`, or give a validator's ledger";
            return Err(StoreError { path, problem: problem.to_owned() });
        }
        match DB::open_cf_for_read_only(&Options::default(), &path, [ROOT], false) {
            Ok(database) => Ok(Self { path, database, walk }),
            Err(error) => Err(failed(&path, &error)),
        }
    }
}

impl BlockStore for RocksdbStore {
    fn roots(&self, first: u64, last: u64, limit: usize) -> Result<Vec<u64>, StoreError> {
        let column = root_column(&self.database, &self.path)?;
        let start = first.to_be_bytes();
        let entries = self.database.iterator_cf(column, IteratorMode::From(&start, Direction::Forward));
        let slots = entries.take(limit).map(|entry| {
            let (key, _) = entry.map_err(|error| failed(&self.path, &error))?;
            slot(&key).ok_or_else(|| self.not_a_slot(&key))
        });
        // An error is kept, for the collection to end with it.
        let is_in_range = |slot: &Result<u64, StoreError>| slot.as_ref().map_or(true, |slot| *slot <= last);
        match self.walk {
            Walk::Filter => slots.filter(is_in_range).collect(),
            Walk::TakeWhile => slots.take_while(is_in_range).collect(),
        }
    }
}

impl RocksdbStore {
    fn not_a_slot(&self, key: &[u8]) -> StoreError {
        let problem = format!("column family {ROOT}: a key has {} bytes, and a slot has 8", key.len());
        StoreError { path: self.path.clone(), problem }
    }
}

fn slot(key: &[u8]) -> Option<u64> {
    key.try_into().ok().map(u64::from_be_bytes)
}

/// Writes the store's folder, which must not exist yet: flushed and compacted, as roots are that a validator has held for a while.
///
/// # Errors
/// The folder can't be written.
pub fn write(path: &Path, roots: &[u64]) -> Result<(), StoreError> {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    let database = DB::open_cf(&options, path, [ROOT]).map_err(|error| failed(path, &error))?;
    let column = root_column(&database, path)?;
    for slot in roots {
        database.put_cf(column, slot.to_be_bytes(), TRUE).map_err(|error| failed(path, &error))?;
    }
    database.flush_cf(column).map_err(|error| failed(path, &error))?;
    database.compact_range_cf(column, None::<&[u8]>, None::<&[u8]>);
    Ok(())
}

fn root_column<'a>(database: &'a DB, path: &Path) -> Result<&'a ColumnFamily, StoreError> {
    database.cf_handle(ROOT).ok_or_else(|| StoreError {
        path: path.to_owned(),
        problem: format!(
            "has no column family {ROOT}; give a validator's ledger, or write one with `target/rocksdb/release/ledger`"
        ),
    })
}

fn failed(path: &Path, error: &Error) -> StoreError {
    // RocksDB's own errors may have several lines.
    let text = error.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
    let problem = format!(
        "{text}; if it is no validator's block store, or cut short, remove it and write one with `target/rocksdb/release/ledger`"
    );
    StoreError { path: path.to_owned(), problem }
}
