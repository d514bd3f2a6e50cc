//! How requests reach a server.

use serde::{Deserialize, Serialize};

/// How requests reach a server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// JSON-RPC in the bodies of POST requests, over HTTP/1.1 without TLS.
    #[default]
    Http,
    /// JSON-RPC in the messages of a WebSocket, without TLS and without compression.
    WebSocket,
}

impl Transport {
    /// Every transport.
    pub const ALL: [Self; 2] = [Self::Http, Self::WebSocket];

    /// What its URLs begin with.
    pub const fn scheme(self) -> &'static str {
        match self {
            Self::Http => "http://",
            Self::WebSocket => "ws://",
        }
    }

    /// What a reader calls it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Http => "HTTP",
            Self::WebSocket => "WebSocket",
        }
    }
}

/// Its place in [`Transport::ALL`].
impl From<Transport> for u64 {
    fn from(transport: Transport) -> Self {
        transport as Self
    }
}
