//! A workload: its requests, and where the true answers come from. One request to the letter, or a mix of requests.

pub mod mix;
pub mod requests;

use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use validator_state::{Ledger, SeededSpec, State};

pub use mix::{Account, BlockRange, Place, Request};
use requests::{RequestSource, Stream};

/// Requests, and where their true answers come from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Workload {
    /// The file's name without its ending.
    pub name: String,
    /// Its requests.
    pub traffic: Traffic,
    /// One paragraph: what this workload shows.
    pub why: String,
}

/// The requests of a workload.
#[derive(Debug, Clone, PartialEq)]
pub enum Traffic {
    /// The same request each time.
    One {
        /// The request body, to the letter.
        body: String,
        /// Where the true answer comes from.
        expected: Expected,
        /// Slots that the ledger must have.
        needs_slots: Option<u64>,
    },
    /// Requests drawn by their weights. Their true answers come from the ledger.
    Mix(Vec<Request>),
}

/// Where the true answer comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Expected {
    /// Worked out from the campaign's seeded ledger.
    Ledger,
    /// This JSON, to be compared by value.
    Answer(String),
}

/// A workload as it stands in a file: `body` with `expected`, or a list of `[[request]]`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<Expected>,
    #[serde(skip_serializing_if = "Option::is_none")]
    needs_slots: Option<u64>,
    #[serde(default, rename = "request", skip_serializing_if = "Vec::is_empty")]
    requests: Vec<Request>,
    why: String,
}

/// What a server is started for: a request and, where its workload states it, the answer.
#[derive(Debug, Clone, Copy)]
pub struct Opening<'a> {
    /// The request's body.
    pub body: &'a str,
    /// The stated answer.
    pub answer: Option<&'a str>,
}

impl<'a> From<&'a str> for Opening<'a> {
    fn from(body: &'a str) -> Self {
        Self { body, answer: None }
    }
}

impl<'a> From<&'a String> for Opening<'a> {
    fn from(body: &'a String) -> Self {
        body.as_str().into()
    }
}

impl TryFrom<Written> for Workload {
    type Error = &'static str;

    fn try_from(written: Written) -> Result<Self, Self::Error> {
        let Written { name, body, expected, needs_slots, requests, why } = written;
        let traffic = match (body, expected) {
            (Some(_), _) if !requests.is_empty() => {
                return Err("has a body and [[request]]; give one of them");
            }
            (Some(body), Some(expected)) => Traffic::One { body, expected, needs_slots },
            (Some(_), None) => {
                return Err(
                    "field expected: is missing; give \"ledger\", or { answer = '…' } with the true answer",
                );
            }
            (None, _) if requests.is_empty() => {
                return Err("has no body and no [[request]]; give one of them");
            }
            (None, Some(_)) => return Err("field expected: the ledger answers a mix; leave it out"),
            (None, None) if needs_slots.is_some() => {
                return Err("field needs_slots: goes with a body; a mix needs what its field blocks says");
            }
            (None, None) => Traffic::Mix(requests),
        };
        Ok(Self { name, traffic, why })
    }
}

impl From<Workload> for Written {
    fn from(workload: Workload) -> Self {
        let Workload { name, traffic, why } = workload;
        match traffic {
            Traffic::One { body, expected, needs_slots } => {
                let (body, expected, requests) = (Some(body), Some(expected), Vec::new());
                Self { name, body, expected, needs_slots, requests, why }
            }
            Traffic::Mix(requests) => {
                Self { name, body: None, expected: None, needs_slots: None, requests, why }
            }
        }
    }
}

impl Workload {
    /// Whether it is a mix.
    pub fn is_mix(&self) -> bool {
        matches!(self.traffic, Traffic::Mix(_))
    }

    /// Slots that a ledger must have for it, as far as it says; 0 for a mix.
    pub fn needs_slots(&self) -> u64 {
        match &self.traffic {
            Traffic::One { needs_slots, .. } => needs_slots.unwrap_or(0),
            Traffic::Mix(_) => 0,
        }
    }

    /// The JSON-RPC method of its one request; the workload's name in a mix.
    pub fn method(&self) -> String {
        let Traffic::One { body, .. } = &self.traffic else { return self.name.clone() };
        let body: Option<Value> = serde_json::from_str(body).ok();
        body.and_then(|body| body["method"].as_str().map(str::to_owned)).unwrap_or_else(|| self.name.clone())
    }

    /// The body of its one request, for whoever can send one only.
    ///
    /// # Errors
    /// It is a mix.
    pub fn body(&self) -> Result<&str> {
        match &self.traffic {
            Traffic::One { body, .. } => Ok(body),
            Traffic::Mix(requests) => bail!(
                "workload {} is a mix of {} requests, and bombardier sends one body only; give a workload with a body, or put \
                 the mix in a campaign with [open]",
                self.name,
                requests.len()
            ),
        }
    }

    /// Its requests, in a few words.
    pub fn words(&self) -> String {
        let Traffic::Mix(requests) = &self.traffic else { return self.method() };
        let total: u64 = requests.iter().map(|request| request.weight).sum();
        let share = |weight: u64| (weight as f64 / total as f64 * 1e3).round() / 10.0;
        let words: Vec<String> = requests
            .iter()
            .map(|request| format!("{} ({} %)", request.words(), share(request.weight)))
            .collect();
        words.join(", ")
    }

    /// Its requests about a ledger.
    ///
    /// # Errors
    /// The ledger lacks what it is about.
    pub fn requests(&self, ledger: &SeededSpec) -> Result<RequestSource> {
        let requests = self.check_ledger(ledger).and_then(|()| RequestSource::new(self, ledger));
        requests.with_context(|| format!("workload {}", self.name))
    }

    /// Its requests without end: the same for the same ledger and seed.
    ///
    /// # Errors
    /// The ledger lacks what it is about.
    pub fn stream(&self, ledger: &SeededSpec, seed: u64) -> Result<Stream> {
        Ok(Arc::new(self.requests(ledger)?).stream(seed))
    }

    /// A request of it, to show or to start a server with: its one request, or the first that a mix draws.
    ///
    /// # Errors
    /// The ledger lacks what it is about.
    pub fn opening(&self, ledger: &SeededSpec) -> Result<String> {
        match &self.traffic {
            Traffic::One { body, .. } => Ok(body.clone()),
            Traffic::Mix(_) => {
                self.stream(ledger, 0)?.next().map(|request| request.body).context("sends no request")
            }
        }
    }

    /// A request of it, with the answer that it states.
    pub fn opening_with<'a>(&'a self, body: &'a str) -> Opening<'a> {
        let answer = match &self.traffic {
            Traffic::One { expected: Expected::Answer(answer), .. } => Some(answer.as_str()),
            Traffic::One { .. } | Traffic::Mix(_) => None,
        };
        Opening { body, answer }
    }

    /// The true answer to its one request, parsed.
    ///
    /// # Errors
    /// It is a mix, the ledger lacks slots or answers with an error, or the stated answer is not JSON.
    pub fn truth(&self, ledger: &SeededSpec) -> Result<Value> {
        self.body()?;
        let requests = Arc::new(self.requests(ledger)?);
        let known = requests.known(&State::new(Ledger::seeded(ledger)), 0);
        let known = known.with_context(|| format!("workload {}", self.name))?;
        known.into_iter().next().map(|known| known.truth).context("sends no request")
    }

    /// Whether the ledger has the slots that its one request is about.
    fn check_ledger(&self, ledger: &SeededSpec) -> Result<()> {
        let Traffic::One { needs_slots: Some(slots), .. } = &self.traffic else { return Ok(()) };
        ensure!(
            ledger.slots >= *slots,
            "field needs_slots: it is about {slots} slots, and the ledger has {}; raise environment.slots of the campaign",
            ledger.slots
        );
        Ok(())
    }

    pub(crate) fn check(&self) -> Result<()> {
        match &self.traffic {
            Traffic::One { body, expected, .. } => {
                let body: Value =
                    serde_json::from_str(body).map_err(|error| anyhow!("field body: not JSON: {error}"))?;
                ensure!(body["method"].is_string(), "field body: has no method");
                ensure!(!body["id"].is_null(), "field body: has no id, so no server would answer it");
                if let Expected::Answer(text) = expected {
                    serde_json::from_str::<Value>(text)
                        .map_err(|error| anyhow!("field expected: not JSON: {error}"))?;
                }
            }
            Traffic::Mix(requests) => {
                for (position, request) in requests.iter().enumerate() {
                    request.check().with_context(|| format!("[[request]] {}", position + 1))?;
                }
            }
        }
        Ok(())
    }
}
