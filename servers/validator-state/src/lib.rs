//! The ledger and the meaning of every RPC method, written once for all servers.
//!
//! What is here: accounts, produced slots and their commitments ([`Ledger`], [`State`]); the seven methods with their
//! parameters, limits and errors ([`Method`], [`Params`], [`RpcError`]).
//!
//! Out of scope: HTTP, the framing of JSON-RPC, async, threads, any RPC framework.
//!
//! The behaviour is that of an Agave 2.3.13 node, whose recorded answers are the tests of this crate.

#![forbid(unsafe_code)]
#![deny(
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::unreachable,
    reason = "the network reaches this"
)]

mod error;
mod ledger;
mod methods;
mod params;
mod pubkey;
mod seeded;
mod slots;
mod state;
mod store;
mod walk;
mod write;

pub use error::RpcError;
pub use ledger::{Ledger, LedgerError, LedgerSummary};
pub use methods::{Answer, Balance, Method, SlotBudget, Version};
pub use params::Params;
pub use pubkey::{ParsePubkeyError, Pubkey};
pub use seeded::{SEED_ACCOUNT, SeededSpec};
pub use state::{Commitment, SlotInfo, State};
pub use store::{BlockStore, StoreError};

/// Slots that one getBlocks may span, and the most that getBlocksWithLimit may ask for (Agave's
/// `MAX_GET_CONFIRMED_BLOCKS_RANGE`).
pub const MAX_BLOCKS_RANGE: u64 = 500_000;

/// Entries that one batch may hold.
pub const MAX_BATCH_ENTRIES: usize = 100;

/// Bytes that one request body may hold, unless a server has another limit.
pub const MAX_BODY_BYTES: usize = 51_200;
