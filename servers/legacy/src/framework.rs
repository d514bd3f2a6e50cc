//! What jsonrpc-http-server 18 does when nothing is set. Shared with `examples/minimal.rs`, so that the two stay the same.

use server_kit::{Defaults, Framework, Threads};
use validator_state::MAX_BODY_BYTES;

/// The framework's own defaults, for a server of this name.
pub const fn framework(name: &'static str) -> Framework {
    Framework {
        name,
        shipped: Defaults {
            threads: Threads::One,
            backlog: 1_024,
            tcp_nodelay: true,
            keep_alive_ms: None,
            max_connections: None,
            max_body_bytes: MAX_BODY_BYTES,
        },
        fixed_backlog: Some(1_024),
        global_queue: true,
        // jsonrpc-ws-server has a port of its own.
        websocket: false,
    }
}
