//! The harness's own client: for requests to one server, one at a time, by either transport. Never for load.

mod answering;
mod causes;
mod messages;
#[cfg(test)]
mod tests;

use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;
use ureq::tls::TlsConfig;

use self::answering::Awaited;
pub use self::causes::{NoAnswer, Refused, connect_tcp};
pub use self::messages::connect;
use self::messages::{Messages, open, open_socket};
use crate::certificates;

use bench_core::config::ReadyCall;
use bench_core::foreign_text::shown;
use bench_core::headers::Headers;
use bench_core::target::Target;
use bench_core::transport::Transport;
use bench_core::workload::Truth;

/// The statuses of HTTP by which a service asks to come later.
const REFUSALS: [u16; 2] = [429, 503];

/// How long one request may take.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Bytes that an answer may have.
pub const MOST_BYTES: usize = 64 << 20;

/// Characters of an answer that a reader is shown.
const SHOWN: usize = 200;

/// An answer to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status; `None` of a WebSocket and of a Unix socket, whose messages have none.
    pub status: Option<u16>,
    /// The body, or the message.
    pub text: String,
}

impl Answer {
    /// Whether it has the status of a JSON-RPC answer.
    pub fn is_ok(&self) -> bool {
        self.status.is_none_or(|status| status == 200)
    }

    /// What it says as JSON-RPC; `None` of another status and of what is not JSON.
    pub fn json(&self) -> Option<Value> {
        serde_json::from_str(&self.text).ok().filter(|_| self.is_ok())
    }

    /// It in one line, cut off where it is long, with how much of it.
    pub fn shown(&self) -> String {
        let kind = self.status.map_or("message".to_owned(), |status| format!("HTTP {status}"));
        format!("{kind}: {}", shown(&self.text, SHOWN))
    }
}

/// A connection for one request after the other, kept between them and made again where it was lost.
pub struct Connection {
    target: Target,
    timeout: Duration,
    client: Client,
}

enum Client {
    Http { agent: ureq::Agent, closes: bool },
    Messages(Option<Box<dyn Messages>>),
}

impl Connection {
    /// To a server that gets requests; one is given up after `timeout`.
    ///
    /// # Errors
    /// There are no certificates to verify the server's with.
    pub fn new(target: &Target, timeout: Duration) -> Result<Self> {
        let client = match target.transport() {
            Transport::Http => {
                let tls = || certificates::for_http(target.access().ca.as_deref());
                let tls = if target.is_encrypted() { Some(tls()?) } else { None };
                Client::Http { agent: configured(tls, timeout), closes: false }
            }
            Transport::WebSocket | Transport::Ipc => Client::Messages(None),
        };
        Ok(Self { target: target.clone(), timeout, client })
    }

    /// Sends a JSON-RPC request and gives the answer.
    ///
    /// # Errors
    /// There was no whole answer in time.
    pub fn request(&mut self, body: &str) -> Result<Answer> {
        match &mut self.client {
            Client::Http { agent, closes } => {
                post(&self.target, agent, *closes, body).map_err(|error| causes::of_wait(error, self.timeout))
            }
            Client::Messages(kept) => {
                let is_ipc = self.target.transport() == Transport::Ipc;
                let place = if is_ipc { self.target.to_string() } else { self.target.addr().to_owned() };
                let context = || format!("no answer from {place}");
                let mut socket = match kept.take() {
                    Some(socket) => socket,
                    None if is_ipc => open_socket(&self.target, self.timeout).with_context(context)?,
                    None => open(&self.target, self.timeout)?,
                };
                let awaited = Awaited::of(body);
                let answer = awaited.exchange(&mut *socket, body, self.timeout).with_context(context)?;
                *kept = Some(socket);
                Ok(Answer { status: None, text: answer.unwrap_or_default() })
            }
        }
    }
}

/// Sends a JSON-RPC request on a connection of its own and gives the answer.
///
/// # Errors
/// There was no whole answer in time.
pub fn request(target: &Target, body: &str) -> Result<Answer> {
    let mut connection = Connection::new(target, TIMEOUT)?;
    if let Client::Http { closes, .. } = &mut connection.client {
        *closes = true;
    }
    connection.request(body)
}

/// An HTTP client whose requests take at most `timeout`; an answer of any status is one.
pub fn agent(timeout: Duration) -> ureq::Agent {
    configured(None, timeout)
}

fn configured(tls: Option<TlsConfig>, timeout: Duration) -> ureq::Agent {
    // A proxy of the environment would be measured with the service, and the load does not go through it.
    let builder = ureq::Agent::config_builder().tls_config(tls.unwrap_or_default()).proxy(None);
    // A redirect is an answer of its own: nobody's token goes elsewhere.
    let builder = builder.timeout_global(Some(timeout)).http_status_as_error(false).max_redirects(0);
    builder.max_redirects_will_error(false).build().into()
}

/// The headers of each request: those that were given, and the host.
fn headers(target: &Target) -> Result<Headers> {
    let host = target.host().with_context(|| format!("{target} has no host"))?;
    Ok(target.access().headers.clone().with_host(host))
}

fn post(target: &Target, agent: &ureq::Agent, closes: bool, body: &str) -> Result<Answer> {
    let filled = target.filled_path()?;
    let url = target.with_path(&filled).socket_url();
    let mut request = agent.post(url).header("content-type", "application/json");
    for (name, value) in headers(target)?.filled()? {
        request = request.header(name, value);
    }
    if closes {
        request = request.header("connection", "close");
    }
    let answer = request.send(body).map_err(|error| causes::of_plain_http(error.into(), target));
    let mut answer = answer.with_context(|| format!("no answer from {}", target.addr()))?;
    let bytes = answer.body_mut().with_config().limit(MOST_BYTES as u64).read_to_vec();
    let bytes = bytes.with_context(|| format!("half an answer from {}", target.addr()))?;
    let encoding = answer.headers().get("content-encoding").and_then(|value| value.to_str().ok());
    let kind = format!("HTTP {}", answer.status().as_u16());
    let mut text = NoAnswer::or_text(&kind, bytes, encoding)?;
    if target.has_secret() {
        // A server may answer with the path that it does not know, and that would be kept.
        text = text.replace(&filled, target.path());
    }
    Ok(Answer { status: Some(answer.status().as_u16()), text })
}

/// What makes an answer to a request right, once the server was requested whose answer that is.
///
/// # Errors
/// That server gives no JSON-RPC answer in time.
pub fn settled(truth: &Truth, body: &str) -> Result<Truth> {
    let Some((reference, made_of)) = truth.reference() else { return Ok(truth.clone()) };
    let context = || format!("the reference, server {}", reference.server);
    let target = Target::parse(&reference.url).with_context(context)?.with_access(&reference.access);
    let answer = request(&target, body).with_context(context)?;
    let json =
        answer.json().with_context(|| format!("{}: no JSON-RPC answer: {}", context(), answer.shown()))?;
    Ok(made_of(json))
}

/// An answer that is right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Right {
    /// Bytes of its body.
    pub bytes: usize,
    /// The number in it that never falls, where its truth says that there is one.
    pub number: Option<u64>,
    /// It and the reference's answer, where differences are counted.
    pub both: Option<(Value, Value)>,
}

/// A right answer, or what was answered instead.
pub type Verdict = Result<Right, String>;

/// Whether a server's answer is right; where not, what it answered instead.
///
/// # Errors
/// There was no whole answer in time.
pub fn verify(target: &Target, body: &str, truth: &Truth) -> Result<Verdict> {
    compare(target, body, truth.counts_differences(), &settled(truth, body)?)
}

/// The same with a truth that is [`settled`].
///
/// # Errors
/// There was no whole answer in time, or it was [`Refused`].
pub fn compare(target: &Target, body: &str, counts_differences: bool, truth: &Truth) -> Result<Verdict> {
    let answer = match request(target, body) {
        Err(error) => match error.downcast_ref::<NoAnswer>() {
            Some(wrong) => return Ok(Err(wrong.to_string())),
            None => return Err(error),
        },
        Ok(answer) if answer.status.is_some_and(|status| REFUSALS.contains(&status)) => {
            return Err(Refused(answer.shown()).into());
        }
        Ok(answer) => answer,
    };
    let json = answer.json();
    if let Some(misfit) = json.as_ref().and_then(|json| truth.misfit(json)) {
        return Ok(Err(format!("{} ({misfit})", answer.shown())));
    }
    let right = json.filter(|answer| counts_differences || truth.accepts(answer));
    let right = right.map(|json| {
        let both = if counts_differences { truth.both(&json) } else { None };
        Right { bytes: answer.text.len(), number: truth.number(&json), both }
    });
    Ok(right.ok_or_else(|| answer.shown()))
}

/// Whether a server answers a request as it does when it is ready; not while it can't be reached.
///
/// # Errors
/// Its certificate is not trusted, or what reaching it takes is not there: waiting would not help.
pub fn says_ready(target: &Target, call: &ReadyCall) -> Result<bool> {
    certificates::check(target.access().ca.as_deref())?;
    match request(target, &call.request) {
        Err(error) if certificates::are_refused(&error) => Err(error),
        answer => Ok(answer.is_ok_and(|answer| answer.json().is_some_and(|json| call.is_said_by(&json)))),
    }
}
