//! The node's view of its ledger at one moment, and how the chain moves on.
//!
//! Readers load one snapshot and take slot and value from it, so an answer's parts belong together. While the chain
//! does not advance, a read takes no lock.

use std::num::NonZeroU64;
use std::sync::Arc;

use arc_swap::ArcSwap;
use serde::{Deserialize, Serialize};

use crate::ledger::{Ledger, LedgerSummary};
use crate::pubkey::Pubkey;
use crate::seeded::{FINALIZED_AFTER, SEED_ACCOUNT, SKIPPED_ONE_IN, mix};
use crate::slots::SlotSet;
use crate::store::BlockStore;

/// Lamports that a moving account earns in each slot: one signature's fee.
const LAMPORTS_PER_SLOT: u64 = 5_000;

/// Seed of the slots that are skipped while the chain advances.
const ADVANCE_SEED: u64 = 1;

/// One account in this many moves while the chain advances.
const MOVING_ONE_IN: u8 = 8;

/// How sure the cluster is of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Commitment {
    /// The node has executed the slot.
    Processed,
    /// The cluster has voted for the slot.
    Confirmed,
    /// The slot can't be rolled back.
    #[default]
    Finalized,
}

/// A slot that the chain has moved on to, as a node announces it to those who have subscribed to slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SlotInfo {
    /// The produced slot before it.
    pub parent: u64,
    /// The newest finalized slot.
    pub root: u64,
    /// The slot itself: from now on the newest processed one.
    pub slot: u64,
}

/// The chain at one moment.
#[derive(Debug)]
pub(crate) struct Snapshot {
    /// Every produced slot up to `processed`.
    pub slots: SlotSet,
    pub finalized: u64,
    pub confirmed: u64,
    pub processed: u64,
}

impl Snapshot {
    /// The newest slot of a commitment.
    pub fn tip(&self, commitment: Commitment) -> u64 {
        match commitment {
            Commitment::Processed => self.processed,
            Commitment::Confirmed => self.confirmed,
            Commitment::Finalized => self.finalized,
        }
    }

    /// The chain one produced slot later. Slots are skipped at the usual rate.
    fn next(&self) -> Self {
        let mut processed = self.processed + 1;
        while mix(ADVANCE_SEED, processed).is_multiple_of(SKIPPED_ONE_IN) {
            processed += 1;
        }
        let mut slots = self.slots.clone();
        slots.push(processed);
        let rooted = slots.at_or_below(processed.saturating_sub(FINALIZED_AFTER)).unwrap_or(0);
        Self { slots, finalized: rooted.max(self.finalized), confirmed: self.processed, processed }
    }
}

/// A running node: its ledger, and the chain as of now. Shared by all threads of a server.
#[derive(Debug)]
pub struct State {
    ledger: Ledger,
    seed_account: Option<Pubkey>,
    snapshot: ArcSwap<Snapshot>,
    /// See `walk`.
    pub(crate) walk_ns_per_slot: Option<NonZeroU64>,
    /// Where getBlocks reads rooted slots; without one, from the snapshot.
    store: Option<Box<dyn BlockStore>>,
}

impl State {
    /// A node that holds `ledger` and whose chain does not advance.
    pub fn new(ledger: Ledger) -> Self {
        let snapshot = Snapshot {
            slots: SlotSet::new(Arc::clone(&ledger.slots)),
            finalized: ledger.finalized,
            confirmed: ledger.confirmed,
            processed: ledger.processed,
        };
        let seed_account = Pubkey::parse(SEED_ACCOUNT).ok();
        let snapshot = ArcSwap::from_pointee(snapshot);
        Self { ledger, seed_account, snapshot, walk_ns_per_slot: None, store: None }
    }

    /// A node that reads rooted slots from `store`, which must hold those of `ledger`. Meant for a chain that does not advance: what
    /// becomes finalized later is not written to the store.
    pub fn with_store(ledger: Ledger, store: Box<dyn BlockStore>) -> Self {
        Self { store: Some(store), ..Self::new(ledger) }
    }

    /// Moves the chain on by one produced slot: it is processed, the one before it is confirmed, and the one 31 slots
    /// back is finalized. Gives that slot. Meant for one thread; readers never wait.
    pub fn advance(&self) -> SlotInfo {
        let before = self.snapshot.load();
        let next = before.next();
        let slot = SlotInfo { parent: before.processed, root: next.finalized, slot: next.processed };
        self.snapshot.store(Arc::new(next));
        slot
    }

    /// What the ledger held when the server started.
    pub fn ledger_summary(&self) -> LedgerSummary {
        self.ledger.summary()
    }

    /// The newest slot of a commitment.
    pub fn tip(&self, commitment: Commitment) -> u64 {
        self.snapshot.load().tip(commitment)
    }

    /// Balance of an account at a slot, in lamports; 0 for an absent account. This is the ledger's whole history:
    /// moving accounts earn a fixed fee in each slot after the server's first.
    pub fn balance_at(&self, account: &Pubkey, slot: u64) -> u64 {
        let Some(&lamports) = self.ledger.accounts.get(account) else { return 0 };
        let elapsed = slot.saturating_sub(self.ledger.processed);
        if elapsed == 0 || !self.is_moving(account) {
            return lamports;
        }
        lamports.saturating_add(elapsed.saturating_mul(LAMPORTS_PER_SLOT))
    }

    fn is_moving(&self, account: &Pubkey) -> bool {
        account.0[31].is_multiple_of(MOVING_ONE_IN) || self.seed_account.as_ref() == Some(account)
    }

    pub(crate) fn snapshot(&self) -> arc_swap::Guard<Arc<Snapshot>> {
        self.snapshot.load()
    }

    pub(crate) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    pub(crate) fn store(&self) -> Option<&dyn BlockStore> {
        self.store.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SeededSpec;

    fn state() -> State {
        State::new(Ledger::seeded(&SeededSpec { accounts: 64, slots: 100, seed: 1 }))
    }

    #[test]
    fn a_slot_is_processed_then_confirmed_then_finalized() {
        let state = state();
        for _ in 0..2_000 {
            let before =
                [Commitment::Processed, Commitment::Confirmed, Commitment::Finalized].map(|c| state.tip(c));
            let announced = state.advance();
            let snapshot = state.snapshot();
            assert_eq!(
                announced,
                SlotInfo { parent: before[0], root: snapshot.finalized, slot: snapshot.processed }
            );
            assert!(snapshot.processed > before[0]);
            assert_eq!(snapshot.confirmed, before[0]);
            assert!(
                snapshot.finalized >= before[2] && snapshot.finalized + FINALIZED_AFTER <= snapshot.processed
            );
            assert_eq!(
                snapshot.slots.at_or_below(snapshot.finalized),
                Some(snapshot.finalized),
                "is produced"
            );
        }
    }

    #[test]
    fn some_balances_move_and_the_rest_stand() {
        let state = state();
        let later = state.tip(Commitment::Processed) + 10;
        let moved =
            state.ledger.accounts.iter().filter(|(key, lamports)| state.balance_at(key, later) != **lamports);
        let moved = moved.count();
        assert!(0 < moved && moved < 64, "{moved}");
        let seed = Pubkey::parse(SEED_ACCOUNT).unwrap();
        let now = state.balance_at(&seed, later - 10);
        assert_eq!(state.balance_at(&seed, later), now + 10 * LAMPORTS_PER_SLOT);
        assert_eq!(state.balance_at(&Pubkey([1; 32]), later), 0);
    }
}
