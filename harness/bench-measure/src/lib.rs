//! Carries a plan out: servers are started, loads are put on them, and what the system counts is read.
//!
//! - [`run`]: trials, searches, campaigns and gates, from plan to results folder.
//! - [`subject`]: a server is a process that says when it is ready. [`client`] sends it single requests.
//! - [`owned_process`]: a process that ends with its owner, whatever happens.
//! - [`probe`]: processes, threads, sockets and the machine, read from `/proc` and clocks. What the machine lacks is `None`,
//!   never 0. [`cgroup`]: a limited part of the machine for a process. [`interrupt`]: whether a person has asked to stop.
//! - [`link`]: a network between load tool and server. [`watch`] and [`metrics`]: what a server and the harness expose.
//!
//! It takes decisions (which trial next, when a search ends) from `bench-core`, and never sees `bench-report`.

#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr))]

mod certificates;
pub mod cgroup;
pub mod client;
pub mod interrupt;
mod kernel_files;
pub mod link;
pub mod metrics;
pub mod owned_process;
pub mod probe;
pub mod run;
pub mod subject;
pub mod watch;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Whoever panicked with the lock in hand has left whole values behind.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
