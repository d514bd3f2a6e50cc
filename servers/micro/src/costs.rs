//! The three parts of a request that are timed.

use std::hint::black_box;

use anyhow::{Context, Result};
use server_kit::InProcess;
use validator_state::{Answer, Params, State};

use crate::call::Call;

/// Finds an answer, as no server can do without. The parameters are read; nothing is written.
///
/// # Errors
/// The state answers with an error.
pub fn find(call: &Call, state: &State, params: Params<'_>) -> Result<u64> {
    Ok(match call.ask_with(state, params)? {
        Answer::Blocks(blocks) => black_box(blocks).len() as u64,
        answer => {
            black_box(answer);
            1
        }
    })
}

/// Finds an answer and writes it as JSON text, with room for it made before.
///
/// # Errors
/// The state answers with an error.
pub fn serialise(call: &Call, state: &State, params: Params<'_>, out: &mut Vec<u8>) -> Result<u64> {
    out.clear();
    serde_json::to_writer(&mut *out, &call.ask_with(state, params)?).context("write the answer")?;
    Ok(black_box(&*out).len() as u64)
}

/// A server without its sockets, and the call that it answers.
pub struct Dispatch<P: InProcess> {
    server: P,
    call: Call,
}

impl<P: InProcess> Dispatch<P> {
    /// Calls once, and compares the answer with the state's.
    ///
    /// # Errors
    /// The answer is not the state's.
    pub fn new(mut server: P, state: &State, call: Call) -> Result<Self> {
        let request = server.request(call.body());
        let answer = server.answer(request).context("the server gave no answer with status 200")?;
        call.check(state, answer.as_ref())?;
        Ok(Self { server, call })
    }

    /// A request of the framework's own type.
    pub fn request(&self) -> P::Request {
        self.server.request(self.call.body())
    }

    /// Answers a request, and gives the length of the answer; 0 where there is none.
    pub fn answer(&mut self, request: P::Request) -> u64 {
        self.server.answer(request).map_or(0, |answer| black_box(answer.as_ref()).len() as u64)
    }
}
