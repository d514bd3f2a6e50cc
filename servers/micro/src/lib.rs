//! What a request costs without sockets, in time.
//!
//! Three parts, each with all that is below it: `state` finds the answer, `serialise` writes it as JSON text once, and
//! `dispatch` goes the whole way of a server from a request that HTTP has been read into to the answer that HTTP would
//! write ([`server_kit::InProcess`]). What is above them (sockets, the text of HTTP, the runtime, the system) is the
//! harness's to measure.
//!
//! Used by `benches/times.rs` (criterion). Out of scope: comparing servers under load.

mod call;
mod costs;
mod workloads;

pub use call::{Call, Given};
pub use costs::{Dispatch, find, serialise};
pub use workloads::{BLOCKS_SLOTS, get_balance, get_blocks};
