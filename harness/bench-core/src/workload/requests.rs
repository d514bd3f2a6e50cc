//! The requests of a workload without end, drawn by a seed or in a file's order; and the true answer to each.
//!
//! Drawing writes a body and nothing else, because a load tool may send a hundred thousand of them a second. A true
//! answer is worked out where it is wanted.
//!
//! The ids of a mix count up from 1, as those of real clients do: so an answer that belongs to another request shows.
//! The one request of a plain workload stays as it was written.

use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use serde_json::Value;
use validator_state::{Pubkey, SeededSpec, State};

use super::mix::Request;
use super::newest::NewestCall;
use super::template::Template;
use super::{Expected, Order, Traffic, Truth, Workload};

/// The most requests of a workload that a server answers before and after each window.
const MOST_KNOWN: usize = 50;

/// The requests of a workload about a ledger.
#[derive(Debug, Clone)]
pub struct RequestSource(Kind);

#[derive(Debug, Clone)]
enum Kind {
    /// One request, and what makes its answer right where that was stated; to the letter, where a person wrote it.
    One { body: String, stated: Option<Truth>, answer: Option<String> },
    /// Several.
    Calls {
        calls: Vec<Call>,
        /// The sum of the weights up to each.
        weights: Vec<u64>,
        /// Whether they are sent in their order.
        in_order: bool,
        /// The ledger's accounts, where one is about them.
        accounts: Vec<Pubkey>,
        /// Where they stand, of a file's.
        file: Option<PathBuf>,
    },
}

/// A request of a corpus or of a mix.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub weight: u64,
    pub method: String,
    pub params: Option<Template>,
    /// What its answer must be; the ledger says it where left out.
    pub expected: Option<Expected>,
    /// Which one it is, from 1: of a file the number of its line.
    pub place: usize,
}

impl RequestSource {
    /// The requests of a workload about a ledger.
    ///
    /// # Errors
    /// The ledger lacks what it is about, or a stated answer is not JSON.
    pub fn new(workload: &Workload, ledger: &SeededSpec) -> Result<Self> {
        let (calls, in_order, file) = match &workload.traffic {
            Traffic::One { body, expected, needs_slots } => {
                ensure!(
                    needs_slots.is_none_or(|slots| ledger.slots >= slots),
                    "field needs_slots: it is about {} slots, and the ledger has {}; raise environment.slots of the \
                     campaign",
                    needs_slots.unwrap_or(0),
                    ledger.slots
                );
                let request: Value = serde_json::from_str(body).context("field body: not JSON")?;
                let (body, stated) = (body.clone(), expected.truth(&request["id"]));
                let answer = match expected {
                    Expected::Answer { answer, .. } => Some(answer.clone()),
                    _ => None,
                };
                return Ok(Self(Kind::One { body, stated, answer }));
            }
            Traffic::Corpus(corpus) => {
                (corpus.calls()?, corpus.order == Order::File, Some(corpus.requests.path.clone()))
            }
            Traffic::Mix(requests) => {
                let call = |(request, place): (&Request, usize)| {
                    Call::new(request, ledger, place).with_context(|| format!("[[request]] {place}"))
                };
                (requests.iter().zip(1..).map(call).collect::<Result<_>>()?, false, None)
            }
        };
        let is_about_accounts = |call: &Call| call.params.as_ref().is_some_and(Template::names_accounts);
        let accounts =
            if calls.iter().any(is_about_accounts) { ledger.pubkeys().collect() } else { Vec::new() };
        let mut weight_through = 0;
        let with_sum = |call: &Call| {
            weight_through += call.weight;
            weight_through
        };
        let weights = calls.iter().map(with_sum).collect();
        Ok(Self(Kind::Calls { calls, weights, in_order, accounts, file }))
    }

    /// One request for ever, whose true answer is known.
    pub fn one(body: String, truth: Truth) -> Self {
        Self(Kind::One { body, stated: Some(truth), answer: None })
    }

    /// The calls that say the newest numbers, which the requests are about, each once.
    pub fn newest_calls(&self) -> Vec<NewestCall> {
        let mut calls: Vec<NewestCall> = Vec::new();
        self.clone().each_newest(|(call, _)| {
            if !calls.contains(call) {
                calls.push(call.clone());
            }
        });
        calls
    }

    /// The same requests where these numbers are the newest.
    #[must_use]
    pub fn with_newest(&self, newest: &[(NewestCall, u64)]) -> Self {
        let mut own = self.clone();
        own.each_newest(|(call, number)| {
            if let Some((_, known)) = newest.iter().find(|(known, _)| known == call) {
                *number = *known;
            }
        });
        own
    }

    fn each_newest(&mut self, each: impl FnMut(&mut (NewestCall, u64))) {
        let Kind::Calls { calls, .. } = &mut self.0 else { return };
        calls.iter_mut().filter_map(|call| call.params.as_mut()).flat_map(Template::newest).for_each(each);
    }

    /// The requests, in an order that the seed decides.
    pub fn stream(self: Arc<Self>, seed: u64) -> Stream {
        // A ledger is drawn with the same generator, whose seed may be the same number: so far ahead, the two never
        // meet, and an address that is drawn here is not in the ledger.
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        random.long_jump();
        Stream { source: self, random, sent: 0 }
    }

    /// One of each request of the workload, with its true answer; of a long one some of them, evenly spread.
    ///
    /// # Errors
    /// The ledger of this state answers one with an error.
    pub fn known(self: &Arc<Self>, state: &State, seed: u64) -> Result<Vec<Known>> {
        let mut stream = Arc::clone(self).stream(seed);
        let weights = match &self.0 {
            Kind::One { .. } => vec![1],
            Kind::Calls { calls, .. } => calls.iter().map(|call| call.weight).collect(),
        };
        let step = weights.len().div_ceil(MOST_KNOWN).max(1);
        let total: u64 = weights.iter().step_by(step).sum();
        let known = |(at, weight): (usize, u64)| {
            let drawn = stream.request_of(at);
            let place = || match &self.0 {
                Kind::One { .. } => "field body".to_owned(),
                Kind::Calls { calls, file: None, .. } => format!("[[request]] {}", calls[at].place),
                Kind::Calls { calls, file: Some(path), .. } => {
                    format!("{}:{}", path.display(), calls[at].place)
                }
            };
            let truth = drawn.truth(state).with_context(place)?;
            let (body, answer) = drawn.into_opening();
            Ok(Known { body, truth, answer, share: weight as f64 / total as f64 })
        };
        weights.into_iter().enumerate().step_by(step).map(known).collect()
    }
}

impl Call {
    fn new(request: &Request, ledger: &SeededSpec, place: usize) -> Result<Self> {
        let Request { weight, method, account, blocks, params, expected } = request.clone();
        let params = match (account, blocks, params) {
            (Some(account), ..) => Some(Template::account(account, ledger)?),
            (_, Some(blocks), _) => Some(Template::slots(blocks, ledger)?),
            (_, _, params) => params.as_ref().map(Template::new).transpose()?,
        };
        Ok(Self { weight, method, params, expected, place })
    }

    fn write(&self, id: u64, accounts: &[Pubkey], random: &mut impl Rng, out: &mut String) {
        // A String takes all that is written to it.
        let _ = write!(out, r#"{{"jsonrpc":"2.0","id":{id},"method":"{}""#, self.method);
        if let Some(params) = &self.params {
            out.push_str(r#","params":"#);
            params.write(accounts, random, out);
        }
        out.push('}');
    }
}

/// Requests without end, drawn as they are sent.
#[derive(Debug)]
pub struct Stream {
    source: Arc<RequestSource>,
    random: Xoshiro256PlusPlus,
    sent: u64,
}

/// A request and its true answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Known {
    /// The request body.
    pub body: String,
    /// What makes an answer right.
    pub truth: Truth,
    /// An answer that is right, where what makes it so is stated and not the ledger's.
    pub answer: Option<String>,
    /// The share of all requests that are this one.
    pub share: f64,
}

/// A request, as it is sent.
#[derive(Debug, Clone)]
pub struct DrawnRequest {
    /// The request body, on one line in a mix.
    pub body: String,
    /// Which request of the workload it is, from 0.
    pub request: usize,
    /// What makes an answer right, where that is stated.
    stated: Option<Truth>,
    /// An answer that is right, where a person wrote it.
    answer: Option<String>,
}

impl Stream {
    /// Appends the next body to `out`. The cheapest way to a body: of what is drawn it allocates nothing where `out`
    /// has room.
    pub fn write_next(&mut self, out: &mut String) {
        let request = self.draw();
        self.write(request, out);
    }

    fn draw(&mut self) -> usize {
        match &self.source.0 {
            Kind::One { .. } => 0,
            Kind::Calls { calls, in_order: true, .. } => self.sent as usize % calls.len(),
            Kind::Calls { weights, .. } => {
                let total = weights.last().copied().unwrap_or(1);
                // The modulo's bias is below 2^-30 for the sums of weights that are allowed.
                let drawn = self.random.next_u64() % total;
                weights.partition_point(|weight_through| *weight_through <= drawn)
            }
        }
    }

    fn request_of(&mut self, request: usize) -> DrawnRequest {
        let mut body = String::with_capacity(128);
        self.write(request, &mut body);
        let (stated, answer) = match &self.source.0 {
            Kind::One { stated, answer, .. } => (stated.clone(), answer.clone()),
            Kind::Calls { calls, .. } => {
                let expected = calls[request].expected.as_ref();
                (expected.and_then(|expected| expected.truth(&self.sent.into())), None)
            }
        };
        DrawnRequest { body, request, stated, answer }
    }

    fn write(&mut self, request: usize, out: &mut String) {
        self.sent += 1;
        match &self.source.0 {
            Kind::One { body, .. } => out.push_str(body),
            Kind::Calls { calls, accounts, .. } => {
                calls[request].write(self.sent, accounts, &mut self.random, out);
            }
        }
    }
}

impl Iterator for Stream {
    type Item = DrawnRequest;

    fn next(&mut self) -> Option<DrawnRequest> {
        let request = self.draw();
        Some(self.request_of(request))
    }
}

impl DrawnRequest {
    /// The body, and an answer that is right, where what makes it so is stated.
    pub fn into_opening(self) -> (String, Option<String>) {
        let example = || self.stated.map(|truth| truth.example().to_string());
        (self.body, self.answer.or_else(example))
    }

    /// What makes an answer right: what was stated, or the answer of this state's ledger.
    ///
    /// # Errors
    /// The ledger answers with an error.
    pub fn truth(&self, state: &State) -> Result<Truth> {
        if let Some(truth) = &self.stated {
            return Ok(truth.clone());
        }
        let mut out = Vec::new();
        typed_rpc::answer(state, &self.body, &mut out);
        let answer: Value = serde_json::from_slice(&out).context("the ledger does not answer it in JSON")?;
        ensure!(
            answer.get("result").is_some(),
            "the ledger answers it with an error: {answer} to {}",
            self.body
        );
        Ok(answer.into())
    }
}
