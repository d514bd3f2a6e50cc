//! Every store of this build against memory, and every way in which a store can be wrong. With `--features rocksdb` also those
//! of RocksDB.
#![allow(clippy::unwrap_used, reason = "a test's helpers may fail loudly")]

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::Command;

use block_stores::{Part, StoreKind, open, write_ledger};
use tempfile::TempDir;
use validator_state::{Method, Params, SeededSpec, State};

const SPEC: SeededSpec = SeededSpec { accounts: 3, slots: 20_000, seed: 7 };

fn ledger() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    write_ledger(dir.path(), &SPEC).unwrap();
    dir
}

/// Each store on disk that this build has.
fn stores() -> impl Iterator<Item = StoreKind> {
    StoreKind::ALL.into_iter().filter(|kind| kind.is_built() && *kind != StoreKind::Memory)
}

fn place(dir: &Path, kind: StoreKind) -> PathBuf {
    dir.join(if kind == StoreKind::Redb { "roots.redb" } else { "rocksdb" })
}

fn answer(state: &State, method: Method, params: &str) -> String {
    match state.call(method, Params::Raw(params)) {
        Ok(answer) => serde_json::to_string(&answer).unwrap(),
        Err(error) => serde_json::to_string(&error).unwrap(),
    }
}

/// What `open` says, which must be one line and name the place.
fn refusal(kind: StoreKind, dir: &Path, expected: &str) {
    let message = open(kind, dir).unwrap_err().to_string();
    assert!(message.contains(expected), "{kind}: {message:?} lacks {expected:?}");
    assert!(message.contains(dir.to_str().unwrap()), "{kind}: {message:?} names no place");
    assert_eq!(message.lines().count(), 1, "{kind}: {message:?}");
}

#[test]
fn all_stores_answer_byte_for_byte_the_same() {
    let dir = ledger();
    let memory = open(StoreKind::Memory, dir.path()).unwrap();
    let starts = [0, 1, 2, 63, 64, 255, 256, 257, 10_000, 19_998, 19_999, 20_000, 20_020, 30_000];
    let others = [0, 1, 10, 255, 256, 1_400, 19_999, 20_000, 20_029, 20_030, 500_000];
    for kind in stores() {
        let stored = open(kind, dir.path()).unwrap();
        assert_eq!(stored.ledger_summary(), memory.ledger_summary());
        for (start, other) in starts.iter().flat_map(|start| others.map(|other| (start, other))) {
            for method in [Method::GetBlocks, Method::GetBlocksWithLimit] {
                for config in ["", r#",{"commitment":"confirmed"}"#] {
                    let params = format!("[{start},{other}{config}]");
                    let [stored, memory] = [&stored, &memory].map(|state| answer(state, method, &params));
                    assert_eq!(stored, memory, "{kind}: {method} {params}");
                }
            }
        }
    }
}

#[test]
fn an_existing_ledger_is_kept() {
    let dir = ledger();
    let parts = write_ledger(dir.path(), &SPEC).unwrap();
    assert!(parts.len() >= 2 && parts.iter().all(|part| part.kept), "{parts:?}");
    let store = place(dir.path(), StoreKind::Redb);
    fs::remove_file(&store).unwrap();
    let again = write_ledger(dir.path(), &SPEC).unwrap();
    assert!(again.contains(&Part { path: store, kept: false }), "{again:?}");
    let message = write_ledger(dir.path(), &SeededSpec { slots: 21_000, ..SPEC }).unwrap_err().to_string();
    assert!(message.contains("holds another ledger"), "{message}");
}

#[test]
fn a_validators_own_folder_is_served_and_never_written_to() {
    for kind in stores() {
        let dir = ledger();
        fs::remove_file(dir.path().join("chain.json")).unwrap();
        let node = open(kind, dir.path()).unwrap();
        let newest = answer(&node, Method::GetSlot, "[]");
        assert_eq!(newest, "19999");
        let whole = |state: &State| answer(state, Method::GetBlocks, "[0,19999]");
        assert_eq!(whole(&node), whole(&State::new(validator_state::Ledger::seeded(&SPEC))), "{kind}");
        refusal(StoreKind::Memory, dir.path(), "chain.json");
    }
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("rocksdb")).unwrap();
    let message = write_ledger(dir.path(), &SPEC).unwrap_err().to_string();
    assert!(message.contains("a validator's own"), "{message}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn a_store_that_is_missing_is_named() {
    let dir = ledger();
    for kind in stores() {
        let store = place(dir.path(), kind);
        let elsewhere = dir.path().join("elsewhere");
        fs::rename(&store, &elsewhere).unwrap();
        refusal(kind, dir.path(), "just ledger");
        fs::rename(&elsewhere, &store).unwrap();
    }
}

#[test]
fn a_store_that_somebody_writes_to_is_locked() {
    let dir = ledger();
    let writer = redb::Database::open(place(dir.path(), StoreKind::Redb)).unwrap();
    refusal(StoreKind::Redb, dir.path(), "end the process that writes to it");
    drop(writer);
    let readers = [(); 2].map(|()| open(StoreKind::Redb, dir.path()).unwrap());
    assert_eq!(readers.len(), 2, "those who read do not lock each other out");
}

#[test]
fn a_store_of_another_format_is_named() {
    let dir = ledger();
    let store = place(dir.path(), StoreKind::Redb);
    fs::remove_file(&store).unwrap();
    for text in ["", "no redb file", &"x".repeat(100_000)] {
        fs::write(&store, text).unwrap();
        refusal(StoreKind::Redb, dir.path(), "just ledger");
    }
    fs::remove_file(&store).unwrap();
    drop(redb::Database::create(&store).unwrap());
    refusal(StoreKind::Redb, dir.path(), "roots");
}

#[test]
fn a_store_that_is_cut_short_is_named_wherever_it_is_cut() {
    let dir = ledger();
    let store = place(dir.path(), StoreKind::Redb);
    let whole = fs::metadata(&store).unwrap().len();
    for cut in [whole - 1, whole - 4_096, whole / 2, whole / 4, 8_192, 4_096, 100, 1] {
        let file = OpenOptions::new().write(true).open(&store).unwrap();
        file.set_len(cut).unwrap();
        refusal(StoreKind::Redb, dir.path(), "just ledger");
    }
}

#[test]
fn a_store_of_another_chain_is_refused() {
    let [dir, other] = [SPEC, SeededSpec { slots: 19_000, ..SPEC }].map(|spec| {
        let dir = tempfile::tempdir().unwrap();
        write_ledger(dir.path(), &spec).unwrap();
        dir
    });
    for kind in stores() {
        let (store, elsewhere) = (place(dir.path(), kind), dir.path().join("elsewhere"));
        fs::rename(&store, &elsewhere).unwrap();
        fs::rename(place(other.path(), kind), &store).unwrap();
        refusal(kind, dir.path(), "the newest 18999");
        fs::rename(&store, place(other.path(), kind)).unwrap();
        fs::rename(&elsewhere, &store).unwrap();
    }
}

/// Each server that is measured would otherwise wait for what it does not use.
#[test]
fn no_server_has_a_store_on_disk_by_default() {
    let tree = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO"));
        command
            .args(["tree", "--offline", "--quiet", "--prefix", "none", "--edges", "normal,build"])
            .args(args);
        let output = command.current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
        assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let has = |tree: &str, name: &str| tree.lines().any(|line| line.starts_with(&format!("{name} v")));
    for server in ["server-legacy", "server-jsonrpsee", "server-actix", "server-axum", "server-control"] {
        let built = tree(&["--package", server]);
        assert!(has(&built, "block-stores") && !has(&built, "redb") && !has(&built, "rocksdb"), "{built}");
    }
    // Cargo has the crates of RocksDB only where that was built.
    let built = tree(&["--package", "server-legacy", "--features", "redb"]);
    assert!(has(&built, "redb"), "{built}");
}

#[cfg(feature = "rocksdb")]
mod rocksdb {
    use super::*;

    const KIND: StoreKind = StoreKind::RocksdbTakeWhile;

    /// The store's table files.
    fn tables(dir: &Path) -> Vec<PathBuf> {
        let files = fs::read_dir(place(dir, KIND)).unwrap().map(|entry| entry.unwrap().path());
        files.filter(|path| path.extension().is_some_and(|extension| extension == "sst")).collect()
    }

    fn names(dir: &Path) -> Vec<PathBuf> {
        let mut names: Vec<PathBuf> =
            fs::read_dir(place(dir, KIND)).unwrap().map(|entry| entry.unwrap().path()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_store_is_opened_without_its_lock_and_left_as_it_is() {
        let dir = ledger();
        let store = place(dir.path(), KIND);
        let writer = ::rocksdb::DB::open_cf(&::rocksdb::Options::default(), &store, ["root"]).unwrap();
        let before = names(dir.path());
        let readers = [(); 2].map(|()| open(KIND, dir.path()).unwrap());
        assert_eq!(readers.map(|state| answer(&state, Method::GetSlot, "[]")), ["19999", "19999"]);
        assert_eq!(names(dir.path()), before);
        drop(writer);
    }

    #[test]
    fn what_a_validator_has_not_flushed_yet_is_read_too() {
        let dir = tempfile::tempdir().unwrap();
        let mut options = ::rocksdb::Options::default();
        options.create_if_missing(true);
        options.create_missing_column_families(true);
        let path = dir.path().join("rocksdb");
        let writer = ::rocksdb::DB::open_cf(&options, &path, ["root", "meta", "orphans"]).unwrap();
        for slot in [3_u64, 5, 300] {
            writer.put_cf(writer.cf_handle("root").unwrap(), slot.to_be_bytes(), [1]).unwrap();
            writer.put_cf(writer.cf_handle("meta").unwrap(), slot.to_be_bytes(), "other").unwrap();
        }
        let node = open(KIND, dir.path()).unwrap();
        assert_eq!(answer(&node, Method::GetBlocks, "[0,1000]"), "[3,5,300]");
    }

    #[test]
    fn a_store_of_another_format_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let store = place(dir.path(), KIND);
        fs::create_dir(&store).unwrap();
        fs::write(store.join("CURRENT"), "nothing").unwrap();
        refusal(KIND, dir.path(), "just ledger");
        fs::remove_dir_all(&store).unwrap();
        let mut options = ::rocksdb::Options::default();
        options.create_if_missing(true);
        drop(::rocksdb::DB::open(&options, &store).unwrap());
        refusal(KIND, dir.path(), "root");
    }

    #[test]
    fn a_store_that_is_cut_short_is_named_wherever_it_is_cut() {
        for part in [0, 1, 2, 3] {
            let dir = ledger();
            for table in tables(dir.path()) {
                let file = OpenOptions::new().write(true).open(&table).unwrap();
                file.set_len(file.metadata().unwrap().len() * part / 4).unwrap();
            }
            refusal(KIND, dir.path(), "just ledger");
        }
        let dir = ledger();
        fs::remove_file(tables(dir.path()).first().unwrap()).unwrap();
        refusal(KIND, dir.path(), "just ledger");
    }
}
