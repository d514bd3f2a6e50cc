//! The clients that people use, unmodified, against each server.
//!
//! They are installed once, at the versions that `clients/` pins, into the target folder. Where npm or Python is missing
//! the clients are skipped with a line that says so; with CI set that is a failure.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail loudly")]

mod http;
mod install;
mod websocket;
