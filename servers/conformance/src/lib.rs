//! What the tests of the contract share: where the servers are, and the differential fuzzer.
//!
//! The table of cases and the recorded answers are in `tests/conformance`; `oracle/` holds the recordings and the ledger
//! that they were made over. Out of scope: speed (the harness), what a method means (`validator-state`).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "test code may fail loudly")]

pub mod fuzz;
pub mod judge;
pub mod malformed;
pub mod pressure;
pub mod servers;
pub mod well_formed;
