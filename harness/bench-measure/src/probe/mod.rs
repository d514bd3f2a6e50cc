//! What the system knows of processes, the network and itself. Most is read from `/proc` and clocks, which costs a
//! measured process nothing. `callgrind` does cost one, and is for trials of
//! their own.
//!
//! A counter that the machine lacks is `None`, never 0.

pub mod callgrind;
pub mod free_space;
pub mod harness_usage;
pub mod host;
pub mod listen_queue;
pub mod listening_process;
pub mod network;
pub mod other_processes;
mod proc_reader;
pub mod process_usage;
pub mod processor;
pub mod resources;
pub mod threads;
pub mod watcher;
