//! Where rooted slots come from when they are not in memory: a block store, behind one trait.
//!
//! Out of scope: any store. `--blocks memory` needs none, because the chain's snapshot holds all slots; the stores on disk are in the
//! crate `block-stores`, so that this one stays free of their dependencies.

use std::fmt::Debug;
use std::path::PathBuf;

/// A block store's rooted slots.
///
/// It is called once for an answer, and walks its slots by itself: no call through a pointer for each slot.
pub trait BlockStore: Debug + Send + Sync {
    /// The first `limit` rooted slots from `first` on, less those above `last`, in order. `first` is at most `last`.
    ///
    /// # Errors
    /// The store can't be read.
    fn roots(&self, first: u64, last: u64, limit: usize) -> Result<Vec<u64>, StoreError>;
}

/// Why a block store can't be opened, read or written: one line with the store, what is wrong, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("block store {path}: {problem}")]
pub struct StoreError {
    /// The store's file or folder.
    pub path: PathBuf,
    /// What is wrong with it, and what to do.
    pub problem: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ledger, Method, Params, SeededSpec, State};

    const SPEC: SeededSpec = SeededSpec { accounts: 4, slots: 900, seed: 1 };

    /// A store that is a list; it fails at slot 13.
    #[derive(Debug)]
    struct List(Vec<u64>);

    impl BlockStore for List {
        fn roots(&self, first: u64, last: u64, limit: usize) -> Result<Vec<u64>, StoreError> {
            if first == 13 {
                return Err(StoreError { path: PathBuf::from("list"), problem: "is unlucky".to_owned() });
            }
            let from = self.0.iter().copied().skip_while(|slot| *slot < first);
            Ok(from.take(limit).take_while(|slot| *slot <= last).collect())
        }
    }

    fn both() -> [State; 2] {
        let ledger = Ledger::seeded(&SPEC);
        let roots: Vec<u64> = ledger.roots().collect();
        assert_eq!((roots.len() as u64, roots.last()), (ledger.summary().slots, Some(&899)));
        [State::new(Ledger::seeded(&SPEC)), State::with_store(ledger, Box::new(List(roots)))]
    }

    #[test]
    fn a_store_answers_like_memory() {
        let [memory, stored] = both();
        let confirmed = r#"{"commitment":"confirmed"}"#;
        let mut calls = 0;
        for first in [0, 1, 500, 880, 898, 899, 900, 925, 929, 930, 5_000] {
            for other in [0, 1, 7, 30, 400, 899, 900, 915, 929, 930, 500_000] {
                for method in [Method::GetBlocks, Method::GetBlocksWithLimit] {
                    for config in ["{}", confirmed] {
                        let text = format!("[{first},{other},{config}]");
                        let answer = |state: &State| {
                            let answer = state.call(method, Params::Raw(&text));
                            answer.map(|answer| serde_json::to_string(&answer).unwrap())
                        };
                        assert_eq!(answer(&stored), answer(&memory), "{method} {text}");
                        calls += 1;
                    }
                }
            }
        }
        assert_eq!(calls, 11 * 11 * 4);
    }

    #[test]
    fn a_store_that_fails_is_an_internal_error() {
        let [_, stored] = both();
        let error = stored.call(Method::GetBlocks, Params::Raw("[13]")).unwrap_err();
        assert_eq!((error.code, error.message.as_ref()), (-32603, "Internal error"));
        assert!(stored.call(Method::GetBlocks, Params::Raw("[14]")).is_ok());
    }

    #[test]
    fn a_chain_can_be_made_of_a_stores_roots() {
        let ledger = Ledger::seeded(&SPEC);
        let roots: Vec<u64> = ledger.roots().collect();
        let again = Ledger::from_roots(&roots).unwrap();
        assert_eq!(again.roots().collect::<Vec<_>>(), roots);
        assert_eq!((again.finalized, again.confirmed, again.processed), (899, 899, 899));
        assert!(Ledger::from_roots(&[]).is_none() && Ledger::from_roots(&[3, 2]).is_none());
    }
}
