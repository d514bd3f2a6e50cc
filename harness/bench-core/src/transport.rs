//! How requests reach a server.

use serde::{Deserialize, Serialize};

/// How requests reach a server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// JSON-RPC in the bodies of POST requests, over HTTP/1.1.
    #[default]
    Http,
    /// JSON-RPC in the messages of a WebSocket, without compression.
    WebSocket,
    /// JSON-RPC in the lines of a Unix socket (IPC).
    Ipc,
}

impl Transport {
    /// Every transport.
    pub const ALL: [Self; 3] = [Self::Http, Self::WebSocket, Self::Ipc];

    /// Whether a connection carries several requests at once, whose answers are found by their ids.
    pub const fn shares_connections(self) -> bool {
        !matches!(self, Self::Http)
    }

    /// What a reader calls it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Http => "HTTP",
            Self::WebSocket => "WebSocket",
            Self::Ipc => "a Unix socket",
        }
    }
}

/// Its place in [`Transport::ALL`].
impl From<Transport> for u64 {
    fn from(transport: Transport) -> Self {
        transport as Self
    }
}
