//! The calls that are benchmarked: the two of the original test, getBlocks in lengths that show what a slot costs.

use anyhow::{Context, Result, bail};
use validator_state::{Answer, SEED_ACCOUNT, State};

use crate::call::Call;

/// Slots that the benchmarked getBlocks answer with.
pub const BLOCKS_SLOTS: [usize; 4] = [10, 500, 5_000, 100_000];

/// The first requested slot: from here on a slot has four digits or more, as slots in a long answer have.
const FIRST_SLOT: usize = 1_000;

/// The balance of the account of the original test.
///
/// # Errors
/// None; for symmetry with [`get_blocks`].
pub fn get_balance() -> Result<Call> {
    Call::read(&format!(
        r#"{{"jsonrpc": "2.0", "id": 1, "method": "getBalance", "params": ["{SEED_ACCOUNT}"]}}"#
    ))
}

/// A range that holds exactly that many produced slots.
///
/// # Errors
/// The chain is too short.
pub fn get_blocks(state: &State, slots: usize) -> Result<Call> {
    let range = |last: u64| {
        Call::read(&format!(
            r#"{{"jsonrpc": "2.0", "id": 1,"method": "getBlocks","params": [{FIRST_SLOT}, {last}]}}"#
        ))
    };
    // One slot in twenty is skipped; half as many again hold enough.
    let Answer::Blocks(blocks) = range((FIRST_SLOT + 20 + slots * 3 / 2) as u64)?.ask(state)? else {
        bail!("getBlocks gives no blocks")
    };
    let last = slots.checked_sub(1).and_then(|last| blocks.get(last)).copied();
    range(last.with_context(|| format!("the chain has no {slots} slots from {FIRST_SLOT} on"))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use validator_state::{Ledger, SeededSpec};

    #[test]
    fn the_answers_are_as_long_as_they_are_called() {
        let state = State::new(Ledger::seeded(&SeededSpec { accounts: 1, slots: 8_000, seed: 1 }));
        for slots in [1, 10, 500, 5_000] {
            let answer = get_blocks(&state, slots).unwrap().ask(&state).unwrap();
            assert!(matches!(answer, Answer::Blocks(blocks) if blocks.len() == slots), "{slots}");
        }
        assert!(get_blocks(&state, 100_000).is_err());
        assert!(get_balance().unwrap().ask(&state).is_ok());
    }
}
