#![doc = include_str!("../README.md")]

mod answers;
pub mod bodies;
pub mod cli;
mod connect;
pub mod headers;
mod http;
mod json_stream;
mod messages;
pub mod options;
pub mod outcome;
pub mod output;
mod requests;
pub mod run;
mod shape;
pub mod stats;
mod tls;
mod worker;
