//! Files that a server's arguments name: a folder of its own, the accounts of the ledger, and the answer that its
//! workload states, which are removed with the server; and the whole ledger, which is kept for the next one.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;
use validator_state::{Ledger, SeededSpec};

use crate::lock;
use bench_core::config::{Environment, Placeholders, Server};
use bench_core::transport::Transport;
use bench_core::workload::Opening;

/// Where ledgers are kept, from the working directory: what cargo builds is there, too.
const LEDGERS: &str = "target/ledgers";

/// A temporary folder with what a server's placeholders name.
#[derive(Debug)]
pub struct Files(TempDir);

impl Files {
    /// Makes what a server's arguments name, and its placeholders' values: `{folder}`, which is empty,
    /// `{accounts_dir}`, one file for each account as `solana account -o json` writes it, `{answer_file}` where an
    /// answer is stated, `{ipc}` where it is reached by a Unix socket, and `{ledger_dir}`. `None` where nothing is to
    /// be removed.
    ///
    /// # Errors
    /// They can't be written.
    pub fn of(
        server: &Server,
        environment: &Environment,
        opening: &Opening,
        values: &mut Placeholders,
    ) -> Result<Option<Self>> {
        let environment = environment.with(&server.overrides);
        let ledger = environment.ledger();
        prepare(server, &environment, values)?;
        let answer = opening.answer.as_ref().filter(|_| server.takes("answer_file"));
        let is_ipc = environment.transport() == Transport::Ipc;
        if answer.is_none() && !is_ipc && !server.takes("folder") && !server.takes("accounts_dir") {
            return Ok(None);
        }
        let context = || format!("server {}: can't make a folder for its files", server.name);
        let dir = tempfile::Builder::new().prefix("rpc-bench-").tempdir().with_context(context)?;
        let folder = dir.path().join("node");
        fs::create_dir(&folder).with_context(|| format!("can't make {}", folder.display()))?;
        values.insert("folder", folder.display().to_string());
        if server.takes("accounts_dir") {
            let place = dir.path().join("ledger");
            Ledger::seeded(&ledger).write(&place)?;
            values.insert("accounts_dir", place.join("accounts").display().to_string());
        }
        if is_ipc {
            values.insert("ipc", dir.path().join("node.ipc").display().to_string());
        }
        if let Some(answer) = answer {
            let path = dir.path().join("answer.json");
            bench_core::text_files::write(&path, answer)?;
            values.insert("answer_file", path.display().to_string());
        }
        Ok(Some(Self(dir)))
    }

    /// Leaves them where they are.
    pub fn keep(self) {
        let _ = self.0.keep();
    }
}

/// Makes what a server's arguments name and servers only read: `{ledger_dir}`, and what its command
/// [`Server::prepare`] makes, which this process runs once with the same arguments. `values` are those of its
/// placeholders.
///
/// # Errors
/// The ledger can't be written, or the command fails.
pub fn prepare(server: &Server, environment: &Environment, values: &mut Placeholders) -> Result<()> {
    static DONE: Mutex<Vec<Vec<String>>> = Mutex::new(Vec::new());
    let place = || format!("server {}", server.name);
    if server.takes("ledger_dir") {
        let kept = kept_ledger(Path::new(LEDGERS), &environment.ledger());
        values.insert("ledger_dir", kept.with_context(place)?.display().to_string());
    }
    let command = server.preparation(values);
    // Two servers of a duet start at the same time.
    let mut done = lock(&DONE);
    if !done.contains(&command) {
        super::builds::run(Path::new("."), "preparation", &command).with_context(place)?;
        done.push(command);
    }
    Ok(())
}

/// The folder of a seeded ledger, as `just ledger DIR` writes its files: made where there is none, and read once by
/// each process, since it may be of another version of this program.
fn kept_ledger(ledgers: &Path, spec: &SeededSpec) -> Result<PathBuf> {
    static READ: Mutex<Option<HashSet<PathBuf>>> = Mutex::new(None);
    let SeededSpec { accounts, slots, seed } = *spec;
    let name = format!("accounts-{accounts}-slots-{slots}-seed-{seed}");
    let path = std::path::absolute(ledgers.join(&name)).context("the working directory has no path")?;
    // Two servers of a duet start at the same time.
    let mut read = lock(&READ);
    let read = read.get_or_insert_default();
    if read.contains(&path) {
        return Ok(path);
    }
    let ledger = Ledger::seeded(spec);
    if !path.exists() {
        let to = path.display();
        bench_core::note!("writing the ledger of {accounts} accounts and {slots} slots to {to}");
        let context = || format!("can't write {}", ledgers.display());
        fs::create_dir_all(ledgers).with_context(context)?;
        // Under its own name only once it is whole; another harness may be as far.
        let draft =
            tempfile::Builder::new().prefix(&format!("{name}.")).tempdir_in(ledgers).with_context(context)?;
        let whole = draft.path().join("ledger");
        ledger.write(&whole)?;
        if let Err(error) = fs::rename(&whole, &path) {
            ensure!(path.exists(), "can't write {}: {error}", path.display());
        }
    }
    let is_it = Ledger::load(&path).is_ok_and(|found| found.summary() == ledger.summary());
    ensure!(is_it, "{} holds another ledger than its name says; remove the folder", path.display());
    read.insert(path.clone());
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPEC: SeededSpec = SeededSpec { accounts: 3, slots: 20, seed: 7 };

    #[test]
    fn a_ledger_is_written_once_and_is_that_of_the_campaign() {
        let folder = tempfile::tempdir().unwrap();
        let path = kept_ledger(folder.path(), &SPEC).unwrap();
        assert_eq!(Ledger::load(&path).unwrap().summary(), Ledger::seeded(&SPEC).summary());
        let chain = path.join("chain.json");
        let written = fs::metadata(&chain).unwrap().modified().unwrap();
        assert_eq!(kept_ledger(folder.path(), &SPEC).unwrap(), path);
        assert_eq!(fs::metadata(&chain).unwrap().modified().unwrap(), written);
        let other = kept_ledger(folder.path(), &SeededSpec { seed: 8, ..SPEC }).unwrap();
        assert_ne!(other, path);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "no draft is left");
    }

    #[test]
    fn a_folder_with_another_ledger_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("accounts-3-slots-20-seed-7");
        Ledger::seeded(&SeededSpec { seed: 8, ..SPEC }).write(&path).unwrap();
        let said = kept_ledger(folder.path(), &SPEC).unwrap_err().to_string();
        assert!(said.contains("seed-7 holds another ledger") && said.contains("remove the folder"), "{said}");
    }
}
