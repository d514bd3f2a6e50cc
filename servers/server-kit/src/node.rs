//! The node that a command line describes: which ledger, and where its blocks come from.

use block_stores::StoreKind;
use validator_state::{Ledger, State};

use crate::error::StartError;
use crate::flags::Flags;

/// Makes or opens it.
pub(crate) fn open(flags: &Flags) -> Result<State, StartError> {
    let flag = format!("--blocks {}", flags.blocks);
    match &flags.ledger {
        None if flags.blocks == StoreKind::Memory => Ok(State::new(Ledger::seeded(&flags.seeded()))),
        None => {
            let reason = "a store on disk is part of a ledger folder; name it with --ledger, or write one with `just ledger`";
            Err(StartError::refused(flag, reason))
        }
        Some(_) if flags.blocks != StoreKind::Memory && flags.slot_interval_ms > 0 => {
            let reason = "the store is only read, so the chain can't move; leave --slot-interval-ms out";
            Err(StartError::refused(flag, reason))
        }
        Some(dir) => Ok(block_stores::open(flags.blocks, dir)?),
    }
}
