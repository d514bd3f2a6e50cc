//! What a trial measures: where a server answers, and by which transport. A server that the harness starts has such a
//! place, and so has one that runs already, on this machine or elsewhere.

use std::fmt;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

use anyhow::{Context, Result, anyhow, ensure};

use crate::headers::Access;
use crate::transport::Transport;

/// What URLs begin with, in any case: of which transport, whether there is TLS, and the port where a URL has none.
const SCHEMES: [(&str, Transport, bool, u16); 4] = [
    ("http://", Transport::Http, false, 80),
    ("https://", Transport::Http, true, 443),
    ("ws://", Transport::WebSocket, false, 80),
    ("wss://", Transport::WebSocket, true, 443),
];

/// What the address of a Unix socket begins with.
const UNIX: &str = "unix:";

/// Where a server answers, and by which transport. This is the one place that builds a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    transport: Transport,
    tls: bool,
    /// `HOST:PORT`, or the path of a Unix socket.
    addr: String,
    /// Which of the host's addresses requests go to; `None`: any that answers.
    socket: Option<SocketAddr>,
    /// What follows the address, with its leading slash; of a Unix socket nothing.
    path: String,
    access: Access,
}

impl Target {
    /// The root of an HTTP server at `HOST:PORT`.
    pub fn http(addr: &str) -> Self {
        let (addr, path) = (addr.to_owned(), "/".to_owned());
        Self { transport: Transport::Http, tls: false, addr, socket: None, path, access: Access::default() }
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
    /// It is neither of the form `http://HOST:PORT` (`https`, `ws`, `wss`), with or without a port and a path, nor
    /// `unix:PATH`; or it names a user, whose password the error does not show.
    pub fn parse(url: &str) -> Result<Self> {
        let shown = header_values::without_password(url);
        let other = || {
            format!("{shown:?} is not of the form http://HOST:PORT/PATH (or https, ws, wss) or unix:/PATH")
        };
        if let Some(path) = url.strip_prefix(UNIX) {
            ensure!(path.starts_with('/') && !path.contains(char::is_control), other());
            // As the system names it: unix:///run/node.ipc is /run/node.ipc.
            return Ok(Self::unix(&format!("/{}", path.trim_start_matches('/'))));
        }
        let parsed = Self::parts(url).filter(|_| url.chars().all(|c| c.is_ascii_graphic()));
        // A password may have a slash, so what looks like a path may be one.
        let has_user = url.contains('@') && parsed.as_ref().is_none_or(|parsed| !parsed.path.contains('@'));
        ensure!(
            !has_user,
            "{shown:?}: a user or a password in a URL is not sent; give it as a header: Authorization: Basic \
             ${{NAME}}, with --header or as headers in servers.toml"
        );
        // Load tools get it as an argument and inside of JSON.
        let parsed =
            parsed.filter(|_| !url.contains(['"', '\'', '\\', '<', '>', '#'])).with_context(other)?;
        header_values::check(&parsed.path).with_context(|| format!("{url:?}"))?;
        let is_constant = !header_values::changes(&parsed.path);
        ensure!(is_constant, "{url:?}: a token of the Engine API goes into a header; give headers");
        Ok(parsed)
    }

    fn parts(url: &str) -> Option<Self> {
        let is_of =
            |scheme: &str| url.get(..scheme.len()).is_some_and(|own| own.eq_ignore_ascii_case(scheme));
        let (scheme, transport, tls, usual) = SCHEMES.into_iter().find(|(scheme, ..)| is_of(scheme))?;
        let rest = url.get(scheme.len()..)?;
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (addr, path) = rest.split_at(end);
        let (host, port) = match addr.rsplit_once(':').filter(|_| !addr.ends_with(']')) {
            Some((host, port)) => (host, port.parse().ok()?),
            None => (addr, usual),
        };
        // An address of IPv6 has colons, and stands in brackets.
        let is_v6 = host.starts_with('[') && host.ends_with(']');
        let is_name = !host.contains([':', '@', '$']);
        let is_whole = !host.is_empty() && (is_v6 || is_name) && port > 0;
        let path = format!("/{}", path.strip_prefix('/').unwrap_or(path));
        is_whole.then(|| Self { transport, tls, path, ..Self::http(&format!("{host}:{port}")) })
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

    /// The same, with one of its host's addresses that requests go to. They name its host as before.
    #[must_use]
    pub fn resolved(&self, addr: SocketAddr) -> Self {
        Self { socket: Some(addr), ..self.clone() }
    }

    /// What is connected to: `HOST:PORT` with the address that was found where there is one, or the path of a Unix
    /// socket.
    pub fn socket(&self) -> String {
        self.socket.map_or_else(|| self.addr.clone(), |socket| socket.to_string())
    }

    /// The header `Host` of its requests: the one that was given, or its host, with the port where that is another than
    /// the scheme's; none of a Unix socket.
    pub fn host(&self) -> Option<&str> {
        let usual = self.scheme().map(|(.., usual)| usual)?;
        let own = self.addr.strip_suffix(&format!(":{usual}")).unwrap_or(&self.addr);
        Some(self.access.headers.host().unwrap_or(own))
    }

    /// Where requests are sent, with the address that was found in place of a name: they name the host in a header.
    pub fn socket_url(&self) -> String {
        Self { addr: self.socket(), ..self.clone() }.to_string()
    }

    /// Where requests are sent, as a person writes it.
    pub fn url(&self) -> String {
        self.to_string()
    }

    fn scheme(&self) -> Option<(&'static str, u16)> {
        let mut schemes = SCHEMES.into_iter();
        let own = schemes.find(|(_, transport, tls, _)| (*transport, *tls) == (self.transport, self.tls));
        own.map(|(scheme, .., usual)| (scheme, usual))
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
        let found = self.socket().to_socket_addrs();
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

    /// Whether a URL names this machine: by a loopback address, as `localhost` or by a socket's path. No name is looked
    /// up, so that a report of it is the same everywhere.
    pub fn is_of_this_machine(url: &str) -> bool {
        let Ok(target) = Self::parse(url) else { return false };
        let host = target.addr.rsplit_once(':').map_or("", |(host, _)| host).trim_matches(['[', ']']);
        let is_loopback = || host.parse::<IpAddr>().is_ok_and(|ip| ip.to_canonical().is_loopback());
        target.transport == Transport::Ipc || host == "localhost" || is_loopback()
    }

    /// Whether all that is sent to it stays on this machine (loopback).
    ///
    /// # Errors
    /// The name is not known.
    pub fn is_loopback(&self) -> Result<bool> {
        Ok(self.transport == Transport::Ipc
            || self.addresses()?.iter().all(|addr| addr.ip().to_canonical().is_loopback()))
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = self.scheme().map_or(UNIX, |(scheme, _)| scheme);
        write!(f, "{scheme}{}{}", self.addr, self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::headers::Headers;
    use crate::tests::each_is_refused;

    #[test]
    fn a_url_is_taken_apart_and_built_again() {
        for (url, addr, built) in [
            ("http://127.0.0.1:8899", "127.0.0.1:8899", "http://127.0.0.1:8899/"),
            ("http://node:80/rpc?key=1", "node:80", "http://node:80/rpc?key=1"),
            ("http://[::1]:8899/", "[::1]:8899", "http://[::1]:8899/"),
            ("ws://127.0.0.1:8900", "127.0.0.1:8900", "ws://127.0.0.1:8900/"),
            ("https://node/rpc", "node:443", "https://node:443/rpc"),
            ("wss://[::1]", "[::1]:443", "wss://[::1]:443/"),
            ("http://127.0.0.1", "127.0.0.1:80", "http://127.0.0.1:80/"),
            ("HTTP://localhost:80/A", "localhost:80", "http://localhost:80/A"),
            ("Ws://[::1]/", "[::1]:80", "ws://[::1]:80/"),
            ("http://node?key=1", "node:80", "http://node:80/?key=1"),
            ("http://a:1/@me", "a:1", "http://a:1/@me"),
            ("unix:/run/node.ipc", "/run/node.ipc", "unix:/run/node.ipc"),
            ("unix:/run/my node's ü.ipc", "/run/my node's ü.ipc", "unix:/run/my node's ü.ipc"),
            ("unix:///run/node.ipc", "/run/node.ipc", "unix:/run/node.ipc"),
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
        each_is_refused("targets", "{}", Target::parse);
        assert!(Target::parse("unix:/run/\u{1b}[2J").unwrap_err().to_string().contains("http://HOST:PORT"));
    }

    #[test]
    fn a_user_is_refused_with_what_to_do_and_without_the_password() {
        for url in [
            "http://me:secret@a:1",
            "ws://me:se/cret@a:1/x",
            "https://me:se?c#ret@a",
            "HTTP://secret@a/",
            "me:secret@a:1",
        ] {
            let error = Target::parse(url).unwrap_err().to_string();
            assert!(error.contains("Authorization: Basic ${NAME}") && !error.contains("ret"), "{error}");
        }
    }

    #[test]
    fn requests_name_the_host_of_the_url_whatever_is_connected_to() {
        let host = |url: &str, header: &str| {
            let headers = if header.is_empty() { vec![] } else { vec![format!("Host: {header}")] };
            let access = Access { headers: Headers::parse(&headers).unwrap(), ..Access::default() };
            let target = Target::parse(url).unwrap().with_access(&access);
            let found = target.resolved("127.0.0.1:8899".parse().unwrap());
            assert_eq!(found.url(), target.url());
            assert_eq!(found.socket(), "127.0.0.1:8899");
            assert!(found.socket_url().contains("127.0.0.1:8899"));
            found.host().unwrap().to_owned()
        };
        assert_eq!(host("http://node:8899/rpc", ""), "node:8899");
        assert_eq!(host("http://node/", ""), "node");
        assert_eq!(host("ws://[::1]:80/", ""), "[::1]");
        assert_eq!(host("http://node:443/", ""), "node:443");
        assert_eq!(host("https://node:443/", ""), "node");
        assert_eq!(host("http://127.0.0.1:8899/", "node.example"), "node.example");
        assert_eq!(Target::unix("/a").host(), None);
    }

    #[test]
    fn only_this_machine_is_loopback() {
        let is_loopback = |url| Target::parse(url).unwrap().is_loopback().unwrap();
        assert!(is_loopback("http://127.0.0.1:1") && is_loopback("http://[::1]:1"));
        assert!(is_loopback("http://[::ffff:127.0.0.1]:1"));
        assert!(is_loopback("unix:/run/node.ipc"));
        assert!(!is_loopback("http://192.0.2.1:1") && !is_loopback("http://0.0.0.0:1"));
    }
}
