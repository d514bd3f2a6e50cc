//! Writes a seeded ledger into a folder: chain and accounts as files, and the same chain into each block store of this build.
//!
//! Exit code 2 and one line on stderr where it can't.

use std::path::PathBuf;
use std::process::ExitCode;

use block_stores::{StoreKind, write_ledger};
use clap::Parser;
use validator_state::SeededSpec;

/// Write one and the same seeded chain into a folder, as files and into each block store of this build
#[derive(Parser)]
#[command(version)]
struct CommandLine {
    /// Folder of the ledger; what it holds already of the same ledger is kept
    dir: PathBuf,
    /// Slots up to the newest finalized one, of which one in twenty is skipped
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000_000), default_value_t = SeededSpec::default().slots)]
    slots: u64,
    /// Accounts, each of which is a file
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000), default_value_t = 100)]
    accounts: u32,
    /// Seed; the same seed gives the same ledger
    #[arg(long, value_name = "N", default_value_t = SeededSpec::default().seed)]
    seed: u64,
}

fn main() -> ExitCode {
    let CommandLine { dir, slots, accounts, seed } = CommandLine::parse();
    let spec = SeededSpec { accounts: accounts as usize, slots, seed };
    match write_ledger(&dir, &spec) {
        Ok(parts) => {
            for part in parts {
                println!("{}: {}", part.path.display(), if part.kept { "kept" } else { "written" });
            }
            for kind in StoreKind::ALL.into_iter().filter(|kind| !kind.is_built()) {
                println!(
                    "SKIPPED {kind}: this program was built without RocksDB; `target/rocksdb/release/ledger` adds it"
                );
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("ledger: {}", error.to_string().replace('\n', " "));
            ExitCode::from(2)
        }
    }
}
