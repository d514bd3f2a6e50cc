//! Differential fuzzing: the same request to every server, and nothing but the same answer will do.
//!
//! [`bodies`] writes JSON-RPC bodies, [`heads`] and [`odd`] write HTTP; [`wire`] sends and reads; [`compare`] weighs the answers,
//! against `typed_rpc` too; [`rows`] lists the differences that are known; [`shrink`] makes a failing case
//! small; [`run`] drives all of it. A case is made by its seed and its number alone.

pub mod bodies;
pub mod compare;
pub mod heads;
pub mod json;
pub mod odd;
pub mod random;
pub mod rows;
pub mod run;
pub mod shrink;
pub mod wire;

use random::Random;
use wire::{Request, Script};

/// One case: a body for the usual POST, or HTTP of its own making.
#[derive(Debug, Clone)]
pub enum Case {
    /// Sent among others on a kept connection.
    Body(Request),
    /// Sent on a connection of its own.
    Raw(Script),
}

impl Case {
    /// The case of that number.
    pub fn new(seed: u64, number: u64) -> Self {
        let mut random = Random::new(seed, number);
        if random.one_in(25) {
            Self::Raw(heads::script(&mut random))
        } else {
            Self::Body(heads::plain(&mut random))
        }
    }

    /// How many HTTP requests it sends.
    pub fn requests(&self) -> u64 {
        match self {
            Self::Body(_) => 1,
            Self::Raw(script) => script.requests.len() as u64,
        }
    }
}
