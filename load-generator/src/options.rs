//! What is to be done, from the command line.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use http::header::{CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderValue, Uri};

use crate::bodies::{Bodies, read_text};
use crate::headers::Headers;
use crate::tls::Tls;

/// Sends JSON-RPC over HTTP/1.1, WebSocket or a Unix socket on persistent connections, and measures latency.
///
/// Without --rate, each connection keeps a number of requests in flight (closed loop). With it, requests are due at even times over
/// all connections, and latency counts from when a request was due, also where it had to wait for a slot (open loop).
#[derive(Debug, Clone, Parser)]
#[command(name = "rpc-load", version)]
pub struct Options {
    /// Where to: http://, https://, ws:// or wss://HOST:PORT/, or unix:PATH.
    #[arg(long)]
    pub url: String,
    /// Connections; all are established before the first request.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub connections: u32,
    /// Requests in flight on each connection; HTTP has no more than 1.
    #[arg(long, default_value_t = 1, value_name = "D", value_parser = clap::value_parser!(u32).range(1..))]
    pub in_flight: u32,
    /// How long requests are sent, in milliseconds.
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..))]
    pub duration: u64,
    /// Requests due in a second, over all connections.
    #[arg(long, value_name = "R", value_parser = clap::value_parser!(u32).range(1..))]
    pub rate: Option<u32>,
    /// When a request is given up, in milliseconds from when it was sent.
    #[arg(long, default_value_t = 10_000, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..))]
    pub timeout: u64,
    /// When an attempt to connect is given up, in milliseconds.
    #[arg(long, default_value_t = 10_000, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..))]
    pub connect_timeout: u64,
    /// The most connections that are being established at once; all of them where left out.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub connect_at_once: Option<u32>,
    /// A file with one JSON-RPC call a line. They are used in order, and then again from the first; their ids are replaced.
    #[arg(long, value_name = "FILE", conflicts_with = "body")]
    pub bodies: Option<PathBuf>,
    /// One JSON-RPC call.
    #[arg(long, value_name = "TEXT")]
    pub body: Option<String>,
    /// Calls in one request; more than one are sent as an array.
    #[arg(long, default_value_t = 1, value_name = "B", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub batch: u32,
    /// The result that answers must equal: a file with one for each body, or one for all; or the JSON itself.
    #[arg(long, value_name = "FILE|JSON")]
    pub expect: Option<String>,
    /// Send bodies as they are, ids included, and take every answer with status 200 for right, for a server that answers
    /// the same text to all; HTTP only.
    #[arg(long, conflicts_with_all = ["expect", "batch"])]
    pub as_is: bool,
    /// No more requests than these are due; only with --rate.
    #[arg(long, value_name = "N", requires = "rate", value_parser = clap::value_parser!(u64).range(1..))]
    pub requests: Option<u64>,
    /// Hold the connections without a request.
    #[arg(long, conflicts_with_all = ["bodies", "body", "rate", "expect", "records", "in_flight", "batch", "as_is"])]
    pub hold: bool,
    /// Write every request into this file, as CSV.
    #[arg(long, value_name = "FILE")]
    pub records: Option<PathBuf>,
    /// A header of each request, or of each WebSocket's handshake; ${NAME} in its value is a variable of the environment, and
    /// ${jwt:NAME} a token of the Engine API, signed with the secret in that variable.
    #[arg(long = "header", value_name = "NAME: VALUE")]
    pub headers: Vec<String>,
    /// Certificates that are trusted in the place of the system's, as PEM; of https and wss.
    #[arg(long, value_name = "FILE")]
    pub ca: Option<PathBuf>,
    /// Make each TLS handshake a whole one: nothing of an earlier connection is resumed.
    #[arg(long)]
    pub no_resumption: bool,
    /// Threads, each with its share of the connections; one for each processor where left out.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_024))]
    pub threads: Option<u32>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// How requests reach the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// A message a request.
    WebSocket,
    /// A POST request a request.
    Http,
    /// A line a request, on a Unix socket.
    Ipc,
}

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// TCP: the addresses of its host, of which the first that answers is taken.
    Tcp(Vec<SocketAddr>),
    /// A Unix socket.
    Unix(PathBuf),
}

/// A server.
#[derive(Debug, Clone)]
pub struct Target {
    /// Its URL.
    pub url: String,
    /// How requests reach it.
    pub transport: Transport,
    /// Where it listens.
    pub address: Address,
    /// How connections are encrypted; `None` where they are not.
    pub tls: Option<Tls>,
    /// The URL's path.
    pub path: Uri,
    /// The URL's host, and its port where that is another than the scheme's.
    pub authority: HeaderValue,
    /// What each request, or the handshake of a WebSocket, has besides.
    pub headers: Headers,
}

/// What each thread needs to know. Times are in nanoseconds.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The server.
    pub target: Target,
    /// The most requests in flight on a connection.
    pub in_flight: u32,
    /// How long the window is.
    pub duration_ns: u64,
    /// Requests due in a second; `None` in a closed loop.
    pub rate: Option<u32>,
    /// The most requests of an open loop.
    pub requests: u64,
    /// Whether bodies are sent as they are, and answers not read.
    pub as_is: bool,
    /// When a request is given up, from when it was sent.
    pub timeout_ns: u64,
    /// When an attempt to connect is given up.
    pub connect_timeout: Duration,
    /// Whether nothing is sent.
    pub idle: bool,
    /// Whether every request is kept.
    pub keeps_records: bool,
}

impl Plan {
    /// When a request with this number is due: never, where that is more than there are; `None` in a closed loop.
    pub fn due_ns(&self, number: u64) -> Option<u64> {
        let rate = u128::from(self.rate?);
        if number >= self.requests {
            return Some(u64::MAX);
        }
        // Not a whole number of nanoseconds added up, which would be another rate.
        Some((u128::from(number) * 1_000_000_000 / rate) as u64)
    }
}

impl Target {
    fn parse(url: &str, ca: Option<&Path>, resumption: bool) -> Result<Self> {
        if let Some(path) = url.strip_prefix("unix:") {
            ensure!(!path.is_empty(), "--url {url}: give the socket's path, as unix:PATH");
            ensure!(ca.is_none(), "--ca: a Unix socket has no TLS; leave it out");
            return Ok(Self {
                url: url.to_owned(),
                transport: Transport::Ipc,
                address: Address::Unix(PathBuf::from(path)),
                tls: None,
                path: Uri::from_static("/"),
                authority: HeaderValue::from_static("localhost"),
                headers: Headers::default(),
            });
        }
        let shown = header_values::without_password(url);
        let filled = header_values::filled(url).with_context(|| format!("--url {shown}"))?;
        let own = filled.split('/').nth(2).unwrap_or_default();
        let has_port = |own: &str| own.rsplit_once(':').is_none_or(|(_, port)| port.parse::<u16>().is_ok());
        // A password may have a slash.
        let has_user = own.contains('@') || (filled.contains('@') && !own.ends_with(']') && !has_port(own));
        ensure!(
            !has_user,
            "--url {shown}: a user or a password in a URL is not sent; give --header 'Authorization: Basic ${{NAME}}'"
        );
        let parsed: Uri = filled.parse().with_context(|| format!("--url {shown}: it is no URL"))?;
        let (transport, is_tls) = match parsed.scheme_str() {
            Some("ws") => (Transport::WebSocket, false),
            Some("wss") => (Transport::WebSocket, true),
            Some("http") => (Transport::Http, false),
            Some("https") => (Transport::Http, true),
            _ => bail!("--url {shown}: begin it with http://, https://, ws://, wss:// or unix:"),
        };
        let authority = parsed.authority().with_context(|| format!("--url {shown}: it has no host"))?;
        let host = authority.host().trim_matches(['[', ']']);
        let usual = if is_tls { 443 } else { 80 };
        let port = authority.port_u16().unwrap_or(usual);
        let own = if port == usual { authority.host() } else { authority.as_str() };
        let addresses =
            (host, port).to_socket_addrs().with_context(|| format!("--url {shown}: no address"))?;
        let addresses: Vec<SocketAddr> = addresses.collect();
        ensure!(!addresses.is_empty(), "--url {shown}: no address");
        let path = parsed.path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
        ensure!(is_tls || ca.is_none(), "--ca: {shown} has no TLS; use https:// or wss://, or leave it out");
        Ok(Self {
            url: filled,
            transport,
            address: Address::Tcp(addresses),
            tls: is_tls.then(|| Tls::new(host, ca, resumption)).transpose()?,
            path: Uri::from(path),
            authority: HeaderValue::from_str(own)?,
            headers: Headers::default(),
        })
    }

    /// What each request has besides its own, or the handshake of a WebSocket: the host and what was given, which may
    /// name another host.
    ///
    /// # Errors
    /// The environment lacks what a header names.
    pub fn headers(&self) -> Result<HeaderMap> {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, self.authority.clone());
        headers.extend(self.headers.filled()?);
        Ok(headers)
    }
}

impl Options {
    /// The plan and the calls.
    ///
    /// # Errors
    /// What is wrong with which option, or can't be read.
    pub fn plan(&self) -> Result<(Plan, Bodies)> {
        let target = Target::parse(&self.url, self.ca.as_deref(), !self.no_resumption)?;
        let target = Target { headers: Headers::parse(&self.headers)?, ..target };
        ensure!(
            !self.no_resumption || target.tls.is_some(),
            "--no-resumption: {} has no TLS; use https:// or wss://, or leave it out",
            self.url
        );
        ensure!(
            target.headers.is_empty() || target.transport != Transport::Ipc,
            "--header: a Unix socket has no headers; leave it out"
        );
        for name in [CONTENT_LENGTH, TRANSFER_ENCODING] {
            ensure!(!target.headers.has(&name), "--header {name}: it follows from the body; leave it out");
        }
        ensure!(
            self.in_flight == 1 || target.transport != Transport::Http,
            "--in-flight {}: a connection of HTTP/1.1 carries one request at a time; use 1, ws:// or unix:",
            self.in_flight
        );
        ensure!(
            !self.as_is || target.transport == Transport::Http,
            "--as-is: over WebSocket and a Unix socket only ids say which request an answer belongs to; leave it out, or use http://"
        );
        let bodies = match (&self.bodies, &self.body) {
            (Some(file), _) => Bodies::new(
                &read_text(file)?,
                &file.display().to_string(),
                self.expect.as_deref(),
                self.batch,
            )?,
            (None, Some(text)) => {
                ensure!(!text.contains('\n'), "--body: it has more than one line; use --bodies FILE");
                Bodies::new(text, "--body", self.expect.as_deref(), self.batch)?
            }
            // Not used.
            (None, None) if self.hold => Bodies::new(r#"{"method":""}"#, "", None, 1)?,
            (None, None) => bail!("nothing to send: give --bodies FILE or --body TEXT, or --hold"),
        };
        let plan = Plan {
            target,
            in_flight: self.in_flight,
            duration_ns: self.duration.saturating_mul(1_000_000),
            rate: self.rate,
            requests: self.requests.unwrap_or(u64::MAX),
            as_is: self.as_is,
            timeout_ns: self.timeout.saturating_mul(1_000_000),
            connect_timeout: Duration::from_millis(self.connect_timeout),
            idle: self.hold,
            keeps_records: self.records.is_some(),
        };
        Ok((plan, bodies))
    }

    /// How many threads there are: no more than connections.
    pub fn threads(&self) -> u32 {
        let processors = || std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
        self.threads.unwrap_or_else(processors).min(self.connections)
    }
}
