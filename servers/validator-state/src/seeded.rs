//! Ledgers made from a seed: the same seed gives the same ledger in every server and on every machine.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use crate::ledger::Ledger;
use crate::pubkey::Pubkey;

/// The account that every seeded ledger holds: the one of the original test.
pub const SEED_ACCOUNT: &str = "4EVAJ81v9fLjz2wp44SZmxgTbvYB8dBRZ6s1SAqP99eZ";

/// One slot in this many is skipped, about as on Solana's main network.
pub(crate) const SKIPPED_ONE_IN: u64 = 20;

/// Slots that a slot waits, once processed, until it is finalized.
pub(crate) const FINALIZED_AFTER: u64 = 31;

/// Balances are drawn below this many lamports (1,000 SOL).
const MAX_LAMPORTS: u64 = 1_000_000_000_000;

/// What a seeded ledger holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeededSpec {
    /// Number of accounts; at least one, which is [`SEED_ACCOUNT`].
    pub accounts: usize,
    /// Number of slots up to the finalized one, of which one in twenty is skipped; at least one.
    pub slots: u64,
    /// The seed.
    pub seed: u64,
}

impl Default for SeededSpec {
    fn default() -> Self {
        Self { accounts: 100_000, slots: 1_500, seed: 1 }
    }
}

impl SeededSpec {
    /// The newest finalized slot.
    pub const fn finalized(&self) -> u64 {
        self.slots.saturating_sub(1)
    }

    /// The addresses of the accounts, in the order in which the seed gives them; [`SEED_ACCOUNT`] is the first.
    pub fn pubkeys(&self) -> impl Iterator<Item = Pubkey> + use<> {
        drawn_accounts(self.seed).take(self.accounts.max(1)).map(|(pubkey, _)| pubkey)
    }
}

/// A well-mixed hash of two numbers (the finaliser of SplitMix64), for facts that must be known without being stored.
pub(crate) fn mix(seed: u64, value: u64) -> u64 {
    let mut hash = seed ^ value.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    hash ^ (hash >> 31)
}

impl Ledger {
    /// Makes the ledger of `spec`: about 90 bytes an account, and 8 a slot.
    pub fn seeded(spec: &SeededSpec) -> Self {
        let accounts = seeded_accounts(spec.accounts, spec.seed);
        let finalized = spec.finalized();
        let processed = finalized + FINALIZED_AFTER;
        let produced = |slot: u64| {
            slot == 0 || slot >= finalized || !mix(spec.seed, slot).is_multiple_of(SKIPPED_ONE_IN)
        };
        Self {
            accounts,
            slots: (0..=processed).filter(|slot| produced(*slot)).collect(),
            finalized,
            confirmed: processed - 1,
            processed,
            api_version: "2.3.13",
            feature_set: 2_142_755_730,
        }
    }
}

fn seeded_accounts(count: usize, seed: u64) -> HashMap<Pubkey, u64, RandomState> {
    let mut accounts = HashMap::with_capacity_and_hasher(count, RandomState::default());
    for (pubkey, lamports) in drawn_accounts(seed) {
        accounts.insert(pubkey, lamports);
        if accounts.len() >= count {
            break;
        }
    }
    accounts
}

/// Accounts without end, with their balances in lamports. That one comes twice is less likely than any fault of the machine.
fn drawn_accounts(seed: u64) -> impl Iterator<Item = (Pubkey, u64)> + use<> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    // The first account's balance is drawn before all else, so that it depends on the seed alone.
    let lamports = 1 + random.next_u64() % MAX_LAMPORTS;
    let first = Pubkey::parse(SEED_ACCOUNT).ok().map(|pubkey| (pubkey, lamports));
    first.into_iter().chain(std::iter::repeat_with(move || {
        let mut key = [0; 32];
        random.fill_bytes(&mut key);
        (Pubkey(key), 1 + random.next_u64() % MAX_LAMPORTS)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_ledger_is_pinned() {
        let summary = Ledger::seeded(&SeededSpec::default()).summary();
        assert_eq!(summary.accounts, 100_000);
        assert_eq!(summary.slots, 1_415);
        assert_eq!(summary.sha256, "583fb16712e3df9795ac0bf702fbdcd73d3acdd3b064e519d9d947f19fbc46d7");
    }

    #[test]
    fn a_seed_decides_everything() {
        let ledger = |seed| Ledger::seeded(&SeededSpec { accounts: 500, slots: 900, seed }).summary().sha256;
        assert_eq!(ledger(7), ledger(7));
        assert_ne!(ledger(7), ledger(8));
    }

    #[test]
    fn the_accounts_are_known_in_their_order() {
        let spec = SeededSpec { accounts: 500, slots: 900, seed: 7 };
        let ledger = Ledger::seeded(&spec);
        let keys: Vec<Pubkey> = spec.pubkeys().collect();
        assert_eq!(keys[0].to_string(), SEED_ACCOUNT);
        let distinct: std::collections::HashSet<_> = keys.iter().collect();
        assert_eq!((distinct.len(), ledger.accounts.len()), (500, 500));
        assert!(keys.iter().all(|key| ledger.accounts.contains_key(key)));
        let next = SeededSpec { accounts: 501, ..spec }.pubkeys().last().unwrap();
        assert!(!ledger.accounts.contains_key(&next));
        assert_eq!(spec.finalized(), ledger.finalized);
    }

    #[test]
    fn about_one_slot_in_twenty_is_skipped() {
        let ledger = Ledger::seeded(&SeededSpec { accounts: 1, slots: 1_000_000, seed: 3 });
        let produced = ledger.summary().slots;
        assert!((945_000..955_000).contains(&produced), "{produced}");
    }

    #[test]
    fn an_account_takes_less_than_200_bytes() {
        let ledger = Ledger::seeded(&SeededSpec { accounts: 1_000_000, slots: 1, seed: 1 });
        // The table keeps an eighth of its buckets free, and has a byte more for each.
        let buckets = ledger.accounts.capacity() * 8 / 7;
        let bytes = buckets * (size_of::<(Pubkey, u64)>() + 1);
        assert!(bytes / ledger.accounts.len() < 200, "{bytes}");
    }

    #[test]
    fn the_smallest_ledger_holds_the_seed_account() {
        let ledger = Ledger::seeded(&SeededSpec { accounts: 0, slots: 0, seed: 1 });
        assert!(ledger.accounts.contains_key(&Pubkey::parse(SEED_ACCOUNT).unwrap()));
        assert_eq!(ledger.summary().slots, 1);
    }
}
