//! Rooted slots in redb: one table, keyed by slot. A store that a new node without C++ might use.

use std::fmt;
use std::path::{Path, PathBuf};

use redb::{Database, Error, ReadOnlyDatabase, ReadableDatabase, TableDefinition};
use validator_state::{BlockStore, StoreError};

/// The store's file in a ledger folder.
pub const FILE: &str = "roots.redb";

const ROOTS: TableDefinition<u64, ()> = TableDefinition::new("roots");

/// A redb file, opened read-only. Its own cache holds up to 1 GiB, which is redb's default.
pub struct RedbStore {
    path: PathBuf,
    database: ReadOnlyDatabase,
}

impl RedbStore {
    /// Opens the store of a ledger folder. Several processes may have it open, as long as none of them writes.
    ///
    /// # Errors
    /// It is missing, locked by a process that writes, of another format, or cut short.
    pub fn open(dir: &Path) -> Result<Self, StoreError> {
        let path = dir.join(FILE);
        let database = ReadOnlyDatabase::open(&path).map_err(|error| failed(&path, error))?;
        let store = Self { path, database };
        // Else a file without the table would be found out by the first request.
        store.roots(0, 0, 1)?;
        Ok(store)
    }
}

impl BlockStore for RedbStore {
    fn roots(&self, first: u64, last: u64, limit: usize) -> Result<Vec<u64>, StoreError> {
        // A transaction for each answer, as it would be where another thread adds roots meanwhile.
        let transaction = self.database.begin_read().map_err(|error| failed(&self.path, error))?;
        let table = transaction.open_table(ROOTS).map_err(|error| failed(&self.path, error))?;
        let entries = table.range(first..=last).map_err(|error| failed(&self.path, error))?;
        let slots = entries.take(limit).map(|entry| entry.map(|(slot, _)| slot.value()));
        slots.collect::<Result<_, _>>().map_err(|error| failed(&self.path, error))
    }
}

impl fmt::Debug for RedbStore {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("RedbStore").field("path", &self.path).finish_non_exhaustive()
    }
}

/// Writes the store's file, which must not exist yet.
///
/// # Errors
/// The file can't be written.
pub fn write(path: &Path, roots: &[u64]) -> Result<(), StoreError> {
    let database = Database::create(path).map_err(|error| failed(path, error))?;
    let transaction = database.begin_write().map_err(|error| failed(path, error))?;
    {
        let mut table = transaction.open_table(ROOTS).map_err(|error| failed(path, error))?;
        for &slot in roots {
            table.insert(slot, ()).map_err(|error| failed(path, error))?;
        }
    }
    transaction.commit().map_err(|error| failed(path, error))?;
    database.close().map_err(|error| failed(path, error))
}

fn failed(path: &Path, error: impl Into<Error>) -> StoreError {
    let error = error.into();
    let what_to_do = match &error {
        Error::DatabaseAlreadyOpen => "end the process that writes to it",
        Error::Io(source) if source.kind() == std::io::ErrorKind::NotFound => {
            "write one into the folder with `just ledger`"
        }
        _ => {
            "if it is no redb file with a table of roots, or cut short, remove it and write it with `just ledger`"
        }
    };
    StoreError { path: path.to_owned(), problem: format!("{error}; {what_to_do}") }
}
