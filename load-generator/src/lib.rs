#![doc = include_str!("../README.md")]

pub mod bodies;
mod connect;
mod http;
pub mod options;
pub mod output;
mod requests;
pub mod run;
pub mod stats;
mod websocket;
mod worker;
