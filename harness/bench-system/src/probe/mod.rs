//! What the system knows of processes, the network and itself. Read from `/proc` and clocks; nothing here costs a
//! measured process anything.
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
pub mod syscalls;
pub mod threads;
pub mod watcher;
pub mod wire;
