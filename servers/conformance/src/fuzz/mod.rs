//! Fuzzing: the same generated requests to every server. A well-formed one has one right answer; what a server says to any
//! other is its framework's, within the bounds of [`crate::judge`].
//!
//! [`bodies`] writes JSON-RPC bodies, [`heads`] and [`odd`] write HTTP; [`wire`] sends and reads, and [`websocket`] does so over
//! WebSocket; [`shrink`] makes a failing case small; [`run`] drives all of it. A case is made by its seed and its number alone.

pub mod bodies;
pub mod heads;
pub mod json;
pub mod odd;
pub mod random;
pub mod run;
pub mod shrink;
pub mod websocket;
pub mod wire;

use random::Random;
use websocket::Conversation;
use wire::{Request, Script};

/// One case: a body for the usual POST, HTTP of its own making, or messages over WebSocket.
#[derive(Debug, Clone)]
pub enum Case {
    /// Sent among others on a kept connection.
    Body(Request),
    /// Sent on a connection of its own.
    Raw(Script),
    /// Sent on a WebSocket connection of its own.
    WebSocket(Conversation),
}

impl Case {
    /// The case of that number.
    pub fn new(seed: u64, number: u64) -> Self {
        let mut random = Random::new(seed, number);
        if random.one_in(25) {
            Self::Raw(heads::script(&mut random))
        } else if random.one_in(25) {
            Self::WebSocket(websocket::conversation(&mut random))
        } else {
            Self::Body(heads::plain(&mut random))
        }
    }

    /// How many requests or messages it sends.
    pub fn requests(&self) -> u64 {
        match self {
            Self::Body(_) => 1,
            Self::Raw(script) => script.requests.len() as u64,
            Self::WebSocket(conversation) => conversation.messages.len() as u64,
        }
    }
}
