//! Metrics over HTTP, on a thread and a port of their own, as OpenMetrics' text.
//!
//! Out of scope: what is counted, and TLS.

#![forbid(unsafe_code)]
#![deny(
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::unreachable,
    reason = "the network reaches this"
)]

mod process;
mod server;
mod write;

pub use process::Process;
pub use prometheus_client;
pub use prometheus_client::collector::Collector;
pub use prometheus_client::encoding::DescriptorEncoder;
pub use prometheus_client::registry::{Registry, Unit};
pub use server::{Exposed, serve};
pub use write::Writer;
