//! What the system knows of processes, the network and itself. Read from `/proc` and clocks; nothing here costs a
//! measured process anything.
//!
//! A counter that the machine lacks is `None`, never 0.

pub mod foreign;
pub mod host;
pub mod listen;
pub mod listener;
pub mod network;
pub mod own;
pub mod process;
mod reader;
pub mod resources;
pub mod syscalls;
pub mod threads;
pub mod wire;
