//! What a trial measures: where a server answers, and by which transport. A server that the harness starts has such a
//! place, and so has one that runs already, on this machine or elsewhere.

use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};

use anyhow::{Context, Result, anyhow, ensure};

use crate::headers::Access;
use crate::transport::Transport;

/// What URLs begin with: of which transport, and whether there is TLS.
const SCHEMES: [(&str, Transport, bool); 4] = [
    ("http://", Transport::Http, false),
    ("https://", Transport::Http, true),
    ("ws://", Transport::WebSocket, false),
    ("wss://", Transport::WebSocket, true),
];

/// What the address of a Unix socket begins with.
const UNIX: &str = "unix:";

/// The port of TLS where a URL has none.
const TLS_PORT: u16 = 443;

/// Where a server answers, and by which transport. This is the one place that builds a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    transport: Transport,
    tls: bool,
    /// `HOST:PORT`, or the path of a Unix socket.
    addr: String,
    /// What follows the address, with its leading slash; of a Unix socket nothing.
    path: String,
    access: Access,
}

impl Target {
    /// The root of an HTTP server at `HOST:PORT`.
    pub fn http(addr: &str) -> Self {
        let (addr, path) = (addr.to_owned(), "/".to_owned());
        Self { transport: Transport::Http, tls: false, addr, path, access: Access::default() }
    }

    /// The root of a WebSocket server at `HOST:PORT`.
    pub fn websocket(addr: &str) -> Self {
        Self { transport: Transport::WebSocket, ..Self::http(addr) }
    }

    /// A Unix socket at a path.
    pub fn unix(path: &str) -> Self {
        Self { transport: Transport::Ipc, path: String::new(), ..Self::http(path) }
    }

    /// Reads a URL that a person or a server wrote.
    ///
    /// # Errors
    /// It is neither of the form `http://HOST:PORT` (`https`, `ws`, `wss`), with or without a path, nor `unix:PATH`.
    pub fn parse(url: &str) -> Result<Self> {
        // Load tools get it as an argument and inside of JSON; whoever is named before an @ is nobody's business in a
        // report.
        let is_plain = |c: char| c.is_ascii_graphic() && !"\"'\\<>@#".contains(c);
        let other =
            || format!("{url:?} is not of the form http://HOST:PORT (or https, ws, wss) or unix:/PATH");
        let parsed = Self::parts(url).filter(|_| url.chars().all(is_plain)).with_context(other)?;
        header_values::check(&parsed.path).with_context(|| format!("{url:?}"))?;
        let is_constant = !header_values::changes(&parsed.path);
        ensure!(is_constant, "{url:?}: a token of the Engine API goes into a header; give headers");
        Ok(parsed)
    }

    fn parts(url: &str) -> Option<Self> {
        if let Some(path) = url.strip_prefix(UNIX) {
            return path.starts_with('/').then(|| Self::unix(path));
        }
        let (scheme, transport, tls) = SCHEMES.into_iter().find(|(scheme, ..)| url.starts_with(scheme))?;
        let rest = url.strip_prefix(scheme)?;
        let (addr, path) = rest.split_once('/').unwrap_or((rest, ""));
        let addr = match addr.rsplit_once(':').filter(|_| !addr.ends_with(']')) {
            Some(_) => addr.to_owned(),
            None if tls => format!("{addr}:{TLS_PORT}"),
            None => return None,
        };
        let (host, port) = addr.rsplit_once(':')?;
        let port: u16 = port.parse().ok()?;
        // An address of IPv6 has colons, and stands in brackets.
        let is_v6 = host.starts_with('[') && host.ends_with(']');
        let is_whole = !host.is_empty() && !host.contains('$') && (is_v6 || !host.contains(':')) && port > 0;
        is_whole.then(|| Self { transport, tls, path: format!("/{path}"), ..Self::http(&addr) })
    }

    /// The same with TLS.
    #[must_use]
    pub fn encrypted(self) -> Self {
        Self { tls: true, ..self }
    }

    /// Whether it is reached with TLS.
    pub const fn is_encrypted(&self) -> bool {
        self.tls
    }

    /// `HOST:PORT`, or the path of a Unix socket.
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

    /// The same with what reaching it takes.
    #[must_use]
    pub fn with_access(self, access: &Access) -> Self {
        Self { access: access.clone(), ..self }
    }

    /// What reaching it takes: its headers, and the certificates that are trusted.
    pub const fn access(&self) -> &Access {
        &self.access
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

    /// Whether its path names a secret that the environment has, as `${NAME}`.
    pub fn has_secret(&self) -> bool {
        self.path.contains("${")
    }

    /// The path with what the environment has: for sending, and never to be shown or kept.
    ///
    /// # Errors
    /// The environment lacks a variable, or its value can't stand in a URL.
    pub fn filled_path(&self) -> Result<String> {
        let filled = header_values::filled(&self.path).with_context(|| self.to_string())?;
        let is_plain = filled.chars().all(|c| c.is_ascii_graphic() && !"\"<>#".contains(c));
        ensure!(is_plain, "{self}: a variable's value has a sign that no URL may have");
        Ok(filled)
    }

    /// The addresses that its host stands for; at least one.
    ///
    /// # Errors
    /// The name is not known, or it is a Unix socket.
    pub fn addresses(&self) -> Result<Vec<SocketAddr>> {
        let found = self.addr.to_socket_addrs();
        let found: Vec<_> = found.map_err(|error| anyhow!("{self}: no such address: {error}"))?.collect();
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
            "{self} is not on loopback, and this puts load on it: if that machine is yours to load, say so with \
             --i-own-this-target (in servers.toml: i_own_this_target = true)"
        );
        Ok(())
    }

    /// Whether all that is sent to it stays on this machine (loopback).
    ///
    /// # Errors
    /// The name is not known.
    pub fn is_loopback(&self) -> Result<bool> {
        Ok(self.transport == Transport::Ipc || self.addresses()?.iter().all(|addr| addr.ip().is_loopback()))
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut schemes = SCHEMES.into_iter();
        let own = schemes.find(|(_, transport, tls)| (*transport, *tls) == (self.transport, self.tls));
        let scheme = own.map_or(UNIX, |(scheme, ..)| scheme);
        write!(f, "{scheme}{}{}", self.addr, self.path)
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
            ("https://node/rpc", "node:443", "https://node:443/rpc"),
            ("wss://[::1]", "[::1]:443", "wss://[::1]:443/"),
            ("unix:/run/node.ipc", "/run/node.ipc", "unix:/run/node.ipc"),
        ] {
            let target = Target::parse(url).unwrap();
            assert_eq!((target.addr(), target.url().as_str()), (addr, built));
        }
        assert_eq!(Target::http("a:1").with_path("/metrics").url(), "http://a:1/metrics");
    }

    #[test]
    fn a_secret_of_a_path_is_named_and_filled_in_only_where_it_is_sent() {
        let target = Target::parse("http://a:1/v3/${NO_SUCH_VARIABLE_HERE}").unwrap();
        assert!(target.has_secret() && !Target::http("a:1").has_secret());
        assert_eq!(target.url(), "http://a:1/v3/${NO_SUCH_VARIABLE_HERE}");
        let lacks = format!("{:#}", target.filled_path().unwrap_err());
        assert!(lacks.ends_with("the environment has no NO_SUCH_VARIABLE_HERE; set it"), "{lacks}");
        assert!(Target::parse("http://a:1/${PATH}").unwrap().filled_path().unwrap().starts_with("//"));
        for (url, named) in [("http://a:1/${B", "a ${ has no }"), ("http://a:1/${jwt:B}", "give headers")] {
            assert!(format!("{:#}", Target::parse(url).unwrap_err()).contains(named), "{url}");
        }
    }

    #[test]
    fn other_text_is_refused_in_one_line() {
        for url in [
            "",
            "8899",
            "127.0.0.1:8899",
            "ftp://127.0.0.1:8899",
            "https://",
            "unix:node.ipc",
            "http://127.0.0.1",
            "http://[::1]",
            "http://:8899",
            "http://a:80:90/",
            "http://a:0",
            "http://a:70000",
            "http://me:secret@a:1",
            "http://a:1/\"",
            "http://a${B}:1/",
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
        assert!(is_loopback("unix:/run/node.ipc"));
        assert!(!is_loopback("http://192.0.2.1:1") && !is_loopback("http://0.0.0.0:1"));
    }
}
