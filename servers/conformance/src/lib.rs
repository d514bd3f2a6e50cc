//! One table of cases, and every recorded answer of a real node, asked of every server binary over a real socket.
//!
//! The crate is its tests: see `tests/conformance`. `oracle/` holds the recordings and the ledger that they were made over.
