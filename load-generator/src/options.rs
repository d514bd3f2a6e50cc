//! What is to be done, from the command line.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderName, HeaderValue, Uri};

use crate::bodies::Bodies;

/// Sends JSON-RPC over WebSocket or HTTP/1.1 on persistent connections, and measures latency.
///
/// Without --rate, each connection keeps a number of requests in flight (closed loop). With it, requests are due at even times over
/// all connections, and latency counts from when a request was due, also where it had to wait for a slot (open loop).
#[derive(Debug, Clone, Parser)]
#[command(name = "rpc-load", version)]
pub struct Options {
    /// Where to: ws://HOST:PORT/ or http://HOST:PORT/.
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
    /// Send bodies as they are, ids included, and take every answer with status 200 for right; HTTP only.
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
    /// A header of each request, or of each WebSocket's handshake; ${NAME} in its value is a variable of the environment.
    #[arg(long = "header", value_name = "NAME: VALUE")]
    pub headers: Vec<String>,
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
}

/// A server.
#[derive(Debug, Clone)]
pub struct Target {
    /// Its URL.
    pub url: String,
    /// The URL's scheme.
    pub transport: Transport,
    /// Where it listens.
    pub address: SocketAddr,
    /// The URL's path.
    pub path: Uri,
    /// The URL's host and port.
    pub authority: HeaderValue,
    /// What each request, or the handshake of a WebSocket, has besides.
    pub headers: HeaderMap,
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
    fn parse(url: &str) -> Result<Self> {
        let parsed: Uri = url.parse().with_context(|| format!("--url {url}: it is no URL"))?;
        let transport = match parsed.scheme_str() {
            Some("ws") => Transport::WebSocket,
            Some("http") => Transport::Http,
            _ => bail!("--url {url}: begin it with ws:// or http://"),
        };
        let authority = parsed.authority().with_context(|| format!("--url {url}: it has no host"))?;
        let host = authority.host().trim_matches(['[', ']']);
        let port = authority.port_u16().unwrap_or(80);
        let mut addresses =
            (host, port).to_socket_addrs().with_context(|| format!("--url {url}: no address"))?;
        let path = parsed.path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
        Ok(Self {
            url: url.to_owned(),
            transport,
            address: addresses.next().with_context(|| format!("--url {url}: no address"))?,
            path: Uri::from(path),
            authority: HeaderValue::from_str(authority.as_str())?,
            headers: HeaderMap::new(),
        })
    }
}

/// Headers from `NAME: VALUE` texts.
fn headers(texts: &[String]) -> Result<HeaderMap> {
    let mut headers = HeaderMap::new();
    for text in texts {
        let (name, value) =
            text.split_once(':').with_context(|| format!("--header {text}: give NAME: VALUE"))?;
        // What is secret is not to be shown.
        let context = || format!("--header {name}: no header may be so");
        let value = from_environment(value.trim()).with_context(|| format!("--header {name}"))?;
        let name = HeaderName::try_from(name.trim()).with_context(context)?;
        headers.append(name, HeaderValue::try_from(value).with_context(context)?);
    }
    Ok(headers)
}

/// A text with the environment's variables in the place of `${NAME}`.
fn from_environment(text: &str) -> Result<String> {
    let mut parts = text.split("${");
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once('}').context("a ${ has no }")?;
        filled.push_str(&std::env::var(name).with_context(|| format!("the environment has no {name}"))?);
        filled.push_str(rest);
    }
    Ok(filled)
}

impl Options {
    /// The plan and the calls.
    ///
    /// # Errors
    /// What is wrong with which option, or can't be read.
    pub fn plan(&self) -> Result<(Plan, Bodies)> {
        let target = Target { headers: headers(&self.headers)?, ..Target::parse(&self.url)? };
        ensure!(
            self.in_flight == 1 || target.transport == Transport::WebSocket,
            "--in-flight {}: a connection of HTTP/1.1 carries one request at a time; use 1, or ws://",
            self.in_flight
        );
        ensure!(
            !self.as_is || target.transport == Transport::Http,
            "--as-is: over WebSocket only ids say which request an answer belongs to; leave it out, or use http://"
        );
        let bodies = match (&self.bodies, &self.body) {
            (Some(file), _) => {
                let name = file.display().to_string();
                let text = std::fs::read_to_string(file).with_context(|| format!("can't read {name}"))?;
                Bodies::new(&text, &name, self.expect.as_deref(), self.batch)?
            }
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
