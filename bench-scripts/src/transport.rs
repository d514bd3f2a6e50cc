//! How requests reach a server.

/// How requests reach a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// JSON-RPC in the bodies of POST requests, over HTTP/1.1 without TLS.
    Http,
}

impl Transport {
    /// What its URLs begin with.
    pub const fn scheme(self) -> &'static str {
        match self {
            Self::Http => "http://",
        }
    }
}
