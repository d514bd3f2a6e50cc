//! What jsonrpsee 0.26 does when nothing is set. Shared with `examples/minimal.rs`, so that the two stay the same.

use server_kit::{Defaults, Framework, Threads};
use validator_state::MAX_BODY_BYTES;

/// The framework's own defaults, for a server of this name.
pub const fn framework(name: &'static str) -> Framework {
    Framework {
        name,
        shipped: Defaults {
            threads: Threads::Cores,
            backlog: 128,
            tcp_nodelay: true,
            keep_alive_ms: None,
            max_connections: Some(100),
            max_body_bytes: MAX_BODY_BYTES,
        },
        fixed_backlog: None,
        global_queue: true,
        websocket: true,
    }
}
