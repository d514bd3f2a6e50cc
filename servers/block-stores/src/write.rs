//! Writing one and the same chain as files and into each store of this build.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use validator_state::{Ledger, SeededSpec, StoreError};

#[cfg(feature = "rocksdb")]
use crate::rocksdb_store;
use crate::{CHAIN_FILE, OpenError, StoreKind, open, redb_store};

/// One part of a ledger folder, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Its file or folder.
    pub path: PathBuf,
    /// Whether it was there already, with the same chain.
    pub kept: bool,
}

/// Writes the ledger of `spec` into `dir`: chain and accounts as files, and the chain into each store of this build. What is
/// there already is kept, so a build with more stores can add its own. At the end every store is read and compared with the
/// chain.
///
/// # Errors
/// The folder holds another ledger or is a validator's own, or a part can't be written.
pub fn write_ledger(dir: &Path, spec: &SeededSpec) -> Result<Vec<Part>, OpenError> {
    let ledger = Ledger::seeded(spec);
    let mut parts = vec![write_files(dir, &ledger)?];
    let roots: Vec<u64> = ledger.roots().collect();
    parts.push(write_store(dir, redb_store::FILE, &roots, redb_store::write)?);
    #[cfg(feature = "rocksdb")]
    parts.push(write_store(dir, rocksdb_store::FOLDER, &roots, rocksdb_store::write)?);
    for kind in StoreKind::ALL.into_iter().filter(|kind| kind.is_built()) {
        open(kind, dir)?;
    }
    Ok(parts)
}

fn write_files(dir: &Path, ledger: &Ledger) -> Result<Part, OpenError> {
    let path = dir.join(CHAIN_FILE);
    let refused = |problem: &str| StoreError { path: dir.to_owned(), problem: problem.to_owned() };
    let kept = path.exists();
    if !kept {
        // A folder of ours gets its chain before its stores.
        if dir.join("rocksdb").exists() {
            return Err(refused("is a validator's own, and is only read; give another folder").into());
        }
        ledger.write(dir)?;
    } else if Ledger::load(dir)?.summary() != ledger.summary() {
        return Err(refused(
            "holds another ledger; give another folder, or the accounts, slots and seed of it",
        )
        .into());
    }
    Ok(Part { path, kept })
}

/// Written under another name first, so that a store that has its name is whole.
fn write_store(
    dir: &Path,
    name: &str,
    roots: &[u64],
    write: fn(&Path, &[u64]) -> Result<(), StoreError>,
) -> Result<Part, OpenError> {
    let path = dir.join(name);
    let kept = path.exists();
    if !kept {
        let unfinished = dir.join(format!("{name}.unfinished"));
        let failed = |source: io::Error| StoreError { path: unfinished.clone(), problem: source.to_string() };
        remove(&unfinished).map_err(failed)?;
        write(&unfinished, roots)?;
        fs::rename(&unfinished, &path).map_err(failed)?;
    }
    Ok(Part { path, kept })
}

/// Removes what an earlier call left, where it was ended.
fn remove(path: &Path) -> io::Result<()> {
    let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}
