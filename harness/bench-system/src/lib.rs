//! What the machine tells: `/proc` and clocks (`probe`), control groups (`cgroup`), git, Ctrl-C.
//!
//! The lowest of the harness's crates: it knows no server, no campaign and no load tool. A
//! counter that the machine lacks is `None`, never 0.
//!
//! - [`probe`]: processes, threads, sockets and the machine itself, read from outside.
//! - [`cargo`]: a build that this program starts.
//! - [`cgroup`]: a limited part of the machine for a process.
//! - [`repository`]: what git says of the sources.
//! - [`interrupt`]: whether a person has asked to stop.
//! - [`foreign_text`] and [`readable_numbers`]: text of other programs within bounds, and numbers for a person; [`say`]
//!   prints it.
//! - [`text_files`]: files of text, with errors that name them.

#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr))]

pub mod cargo;
pub mod cgroup;
pub mod foreign_text;
pub mod interrupt;
mod kernel_files;
pub mod probe;
pub mod readable_numbers;
pub mod repository;
pub mod say;
pub mod text_files;
