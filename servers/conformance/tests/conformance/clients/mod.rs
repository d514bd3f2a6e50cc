//! The clients that people use, unmodified, against each server.
//!
//! They are installed once, at the versions that `clients/` pins, into the target folder. Where npm or Python is missing
//! the clients are skipped with a line that says so; with CI set that is a failure.

mod http;
mod install;
mod websocket;
