//! What a trial measures: where a server answers, and by which transport. A server that the harness starts has such a
//! place, and so has one that runs already, on this machine or elsewhere.

use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};

use anyhow::{Context, Result, anyhow, ensure};

use crate::headers::Headers;
use crate::transport::Transport;

/// Where a server answers, and by which transport. This is the one place that builds a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    transport: Transport,
    /// `HOST:PORT`.
    addr: String,
    /// What follows the address, with its leading slash.
    path: String,
    headers: Headers,
}

impl Target {
    /// The root of an HTTP server at `HOST:PORT`.
    pub fn http(addr: &str) -> Self {
        let (addr, path) = (addr.to_owned(), "/".to_owned());
        Self { transport: Transport::Http, addr, path, headers: Headers::default() }
    }

    /// The root of a WebSocket server at `HOST:PORT`.
    pub fn websocket(addr: &str) -> Self {
        Self { transport: Transport::WebSocket, ..Self::http(addr) }
    }

    /// Reads a URL that a person or a server wrote.
    ///
    /// # Errors
    /// It is not of the form `http://HOST:PORT` or `ws://HOST:PORT`, with or without a path.
    pub fn parse(url: &str) -> Result<Self> {
        let parts = || {
            let has_scheme = |transport: &Transport| url.starts_with(transport.scheme());
            let transport = Transport::ALL.into_iter().find(has_scheme)?;
            let rest = url.strip_prefix(transport.scheme())?;
            let (addr, path) = rest.split_once('/').unwrap_or((rest, ""));
            let (host, port) = addr.rsplit_once(':')?;
            let port: u16 = port.parse().ok()?;
            (!host.is_empty() && port > 0).then(|| (transport, addr.to_owned(), format!("/{path}")))
        };
        // Load tools get it as an argument and inside of JSON; whoever is named before an @ is nobody's business in a
        // report.
        let is_plain = |c: char| c.is_ascii_graphic() && !"\"'\\<>@#".contains(c);
        let parts = parts().filter(|_| url.chars().all(is_plain));
        let (transport, addr, path) = parts.with_context(|| {
            format!("{url:?} is not of the form http://HOST:PORT or ws://HOST:PORT (TLS is not supported)")
        })?;
        Ok(Self { transport, addr, path, headers: Headers::default() })
    }

    /// `HOST:PORT`.
    pub fn addr(&self) -> &str {
        &self.addr
    }

    /// How requests reach it.
    pub const fn transport(&self) -> Transport {
        self.transport
    }

    /// The path of its requests, from its leading slash.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Another path of the same server.
    #[must_use]
    pub fn with_path(&self, path: &str) -> Self {
        Self { path: path.to_owned(), ..self.clone() }
    }

    /// The same with headers for each request.
    #[must_use]
    pub fn with_headers(self, headers: &Headers) -> Self {
        Self { headers: headers.clone(), ..self }
    }

    /// What each request has besides.
    pub const fn headers(&self) -> &Headers {
        &self.headers
    }

    /// The same with a socket's address in place of a name.
    #[must_use]
    pub fn resolved(&self, addr: SocketAddr) -> Self {
        Self { addr: addr.to_string(), ..self.clone() }
    }

    /// Where requests are sent.
    pub fn url(&self) -> String {
        self.to_string()
    }

    /// The addresses that its host stands for; at least one.
    ///
    /// # Errors
    /// The name is not known.
    pub fn addresses(&self) -> Result<Vec<SocketAddr>> {
        let found =
            self.addr.to_socket_addrs().map_err(|error| anyhow!("{self}: no such address: {error}"))?;
        let found: Vec<SocketAddr> = found.collect();
        ensure!(!found.is_empty(), "{self}: no such address");
        Ok(found)
    }

    /// Refuses to put load on a machine that nobody has called their own.
    ///
    /// # Errors
    /// It is not on loopback and `is_own` is false, or its name is not known.
    pub fn check_allowed(&self, is_own: bool) -> Result<()> {
        ensure!(
            is_own || self.is_loopback()?,
            "{self} is not on loopback, and this puts load on it: if that machine is yours to load, say so with --i-own-this-target \
             (in servers.toml: i_own_this_target = true)"
        );
        Ok(())
    }

    /// Whether all that is sent to it stays on this machine (loopback).
    ///
    /// # Errors
    /// The name is not known.
    pub fn is_loopback(&self) -> Result<bool> {
        Ok(self.addresses()?.iter().all(|addr| addr.ip().is_loopback()))
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{}", self.transport.scheme(), self.addr, self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_taken_apart_and_built_again() {
        for (url, addr, built) in [
            ("http://127.0.0.1:8899", "127.0.0.1:8899", "http://127.0.0.1:8899/"),
            ("http://node:80/rpc?key=1", "node:80", "http://node:80/rpc?key=1"),
            ("http://[::1]:8899/", "[::1]:8899", "http://[::1]:8899/"),
            ("ws://127.0.0.1:8900", "127.0.0.1:8900", "ws://127.0.0.1:8900/"),
        ] {
            let target = Target::parse(url).unwrap();
            assert_eq!((target.addr(), target.url().as_str()), (addr, built));
        }
        assert_eq!(Target::http("a:1").with_path("/metrics").url(), "http://a:1/metrics");
    }

    #[test]
    fn other_text_is_refused_in_one_line() {
        for url in [
            "",
            "8899",
            "127.0.0.1:8899",
            "https://127.0.0.1:8899",
            "wss://127.0.0.1:8899",
            "http://127.0.0.1",
            "http://:8899",
            "http://a:0",
            "http://a:70000",
            "http://me:secret@a:1",
            "http://a:1/\"",
            "http://a:1/b c",
        ] {
            let error = Target::parse(url).unwrap_err().to_string();
            assert!(error.contains("http://HOST:PORT") && error.lines().count() == 1, "{error}");
        }
    }

    #[test]
    fn only_this_machine_is_loopback() {
        let is_loopback = |url| Target::parse(url).unwrap().is_loopback().unwrap();
        assert!(is_loopback("http://127.0.0.1:1") && is_loopback("http://[::1]:1"));
        assert!(!is_loopback("http://192.0.2.1:1") && !is_loopback("http://0.0.0.0:1"));
    }
}
