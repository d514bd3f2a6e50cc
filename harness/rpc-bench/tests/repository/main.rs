//! What the repository ships next to its programs: the action, pages, modules, words, manifests and images, reports in
//! a browser; and its history, by which `gate` finds changed servers. One program, since each has to be linked with the
//! whole harness, and most tests of it wait.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail loudly")]

mod action;
mod browser;
mod containers;
mod gate;
mod git;
mod kubernetes;
mod readme;
mod recipes;
mod words;

use std::path::{Path, PathBuf};

/// The repository's folder.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}
