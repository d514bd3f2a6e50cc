//! The requests of a workload without end, drawn by a seed or in a file's order; and the true answer to each.
//!
//! Drawing writes a body and nothing else, because a load tool may send a hundred thousand of them a second. A true
//! answer is worked out where it is wanted.
//!
//! The ids of a mix count up from 1, as those of real clients do: so an answer that belongs to another request shows.
//! The one request of a plain workload stays as it was written.

use std::fmt::Write;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, ensure};
use rand_distr::Zipf;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use serde_json::Value;
use validator_state::{Pubkey, SeededSpec, State};

use super::corpus::{Call, Corpus, InOrder};
use super::drawn_params::Params;
use super::mix::{Account, BlockRange, Parameters, Request, fixed_params};
use super::newest::NewestCall;
use super::parameters::Template;
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
    /// Requests, each with the sum of the weights up to its own, and the ledger's accounts where one is about them.
    Mix { requests: Vec<(u64, Call)>, accounts: Vec<Pubkey> },
    /// The requests of a file, in its order.
    File(Corpus),
}

impl RequestSource {
    /// The requests of a workload about a ledger.
    ///
    /// # Errors
    /// The ledger lacks what it is about, or a stated answer is not JSON.
    pub fn new(workload: &Workload, ledger: &SeededSpec) -> Result<Self> {
        let calls = match &workload.traffic {
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
                    Expected::Answer(text, _) => Some(text.clone()),
                    _ => None,
                };
                return Ok(Self(Kind::One { body, stated, answer }));
            }
            Traffic::Corpus(corpus) if corpus.order == Order::File => {
                corpus.requests.check_unchanged()?;
                return Ok(Self(Kind::File(corpus.clone())));
            }
            Traffic::Corpus(corpus) => corpus.calls()?,
            Traffic::Mix(requests) => {
                let call = |(position, request): (usize, &Request)| {
                    Call::new(request, ledger).with_context(|| format!("[[request]] {}", position + 1))
                };
                requests.iter().enumerate().map(call).collect::<Result<_>>()?
            }
        };
        let is_known = |call: &Call| matches!(call.params, Params::AnyAccount | Params::ZipfAccount(_));
        let accounts = if calls.iter().any(is_known) { ledger.pubkeys().collect() } else { Vec::new() };
        let mut weight_through = 0;
        let with_sum = |call: Call| {
            weight_through += call.weight;
            (weight_through, call)
        };
        Ok(Self(Kind::Mix { requests: calls.into_iter().map(with_sum).collect(), accounts }))
    }

    /// One request for ever, whose true answer is known.
    pub fn one(body: String, truth: Truth) -> Self {
        Self(Kind::One { body, stated: Some(truth), answer: None })
    }

    /// The calls that say the newest numbers, which the requests are about, each once.
    pub fn newest_calls(&self) -> Vec<NewestCall> {
        let Kind::Mix { requests, .. } = &self.0 else { return Vec::new() };
        let mut calls: Vec<NewestCall> = Vec::new();
        for (_, Call { params, .. }) in requests {
            let Params::Drawn(template) = params else { continue };
            for call in template.newest_calls() {
                if !calls.contains(call) {
                    calls.push(call.clone());
                }
            }
        }
        calls
    }

    /// The same requests where these numbers are the newest.
    #[must_use]
    pub fn with_newest(&self, newest: &[(NewestCall, u64)]) -> Self {
        let mut own = self.clone();
        if let Kind::Mix { requests, .. } = &mut own.0 {
            for (_, Call { params, .. }) in requests {
                let Params::Drawn(template) = params else { continue };
                newest.iter().for_each(|(call, number)| template.set_newest(call, *number));
            }
        }
        own
    }

    /// The requests, in an order that the seed decides.
    pub fn stream(self: Arc<Self>, seed: u64) -> Stream {
        // A ledger is drawn with the same generator, whose seed may be the same number: so far ahead, the two never
        // meet, and an address that is drawn here is not in the ledger.
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        random.long_jump();
        Stream { source: self, random, sent: 0, file: None }
    }

    /// One of each request of the workload, with its true answer; of a long one some of them, evenly spread or, in a
    /// file's order, the first.
    ///
    /// # Errors
    /// The ledger of this state answers one with an error.
    pub fn known(self: &Arc<Self>, state: &State, seed: u64) -> Result<Vec<Known>> {
        let mut stream = Arc::clone(self).stream(seed);
        let drawn: Vec<(DrawnRequest, f64)> = match &self.0 {
            Kind::File(corpus) => {
                let count = corpus.requests.lines.min(MOST_KNOWN as u64);
                stream.take(count as usize).map(|drawn| (drawn, 1.0 / count as f64)).collect()
            }
            Kind::One { .. } | Kind::Mix { .. } => {
                let shares = self.shares();
                let step = shares.len().div_ceil(MOST_KNOWN).max(1);
                let some: Vec<(usize, f64)> = shares.into_iter().enumerate().step_by(step).collect();
                let total: f64 = some.iter().map(|(_, share)| share).sum();
                some.into_iter().map(|(at, share)| (stream.request_of(at), share / total)).collect()
            }
        };
        let known = |(drawn, share): (DrawnRequest, f64)| {
            let place = || match &self.0 {
                Kind::One { .. } => "field body".to_owned(),
                Kind::Mix { .. } => format!("[[request]] {}", drawn.request + 1),
                Kind::File(corpus) => format!("{}:{}", corpus.requests.path.display(), drawn.request),
            };
            let truth = drawn.truth(state).with_context(place)?;
            let (body, answer) = drawn.into_opening();
            Ok(Known { body, truth, answer, share })
        };
        drawn.into_iter().map(known).collect()
    }

    /// Each request's share of all that are sent.
    fn shares(&self) -> Vec<f64> {
        let Kind::Mix { requests, .. } = &self.0 else { return vec![1.0] };
        let total = requests.last().map_or(1, |(total, _)| *total) as f64;
        requests.iter().map(|(_, call)| call.weight as f64 / total).collect()
    }
}

impl Call {
    fn new(request: &Request, ledger: &SeededSpec) -> Result<Self> {
        let Request { weight, method, account, blocks, params, expected } = request;
        let params = match (account, blocks, params) {
            (Some(Account::Uniform), ..) => Params::AnyAccount,
            (Some(Account::Absent), ..) => Params::AbsentAccount,
            (Some(Account::Zipf { zipf: exponent }), ..) => Params::ZipfAccount(
                Zipf::new(ledger.accounts.max(1) as f64, *exponent)
                    .map_err(|error| anyhow!("field account: {error}"))?,
            ),
            (_, Some(BlockRange { slots, from, limit }), _) => {
                let first_above = ledger.finalized() + 1;
                ensure!(
                    *slots <= first_above,
                    "field blocks: {slots} slots are requested, and the ledger has {first_above}; request fewer, or \
                     raise environment.slots of the campaign"
                );
                let last_start = first_above - slots;
                Params::Slots { slots: *slots, last_start, from: *from, is_limit: *limit }
            }
            (_, _, Some(Parameters::Text(text))) => Params::Fixed(fixed_params(text)?),
            (_, _, Some(Parameters::Drawn(values))) => Params::Drawn(Template::new(values)?),
            (None, None, None) => Params::None,
        };
        Ok(Self { weight: *weight, method: method.clone(), params, expected: expected.clone() })
    }

    fn write(&self, id: u64, accounts: &[Pubkey], random: &mut impl Rng, out: &mut String) {
        // A String takes all that is written to it.
        let _ = write!(out, r#"{{"jsonrpc":"2.0","id":{id},"method":"{}""#, self.method);
        self.params.write(accounts, random, out);
        out.push('}');
    }
}

/// Requests without end, drawn as they are sent.
#[derive(Debug)]
pub struct Stream {
    source: Arc<RequestSource>,
    random: Xoshiro256PlusPlus,
    sent: u64,
    /// Of a file's requests: where it is read.
    file: Option<InOrder>,
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
    /// Which request of the workload it is, from 0; of a file the number of its line.
    pub request: usize,
    /// What makes an answer right, where that is stated.
    stated: Option<Truth>,
    /// An answer that is right, where a person wrote it.
    answer: Option<String>,
}

impl Stream {
    /// Appends the next body to `out`. The cheapest way to a body: of what is drawn it allocates nothing where `out`
    /// has room. False where a file can't be read any longer.
    pub fn write_next(&mut self, out: &mut String) -> bool {
        match &self.source.0 {
            Kind::File(_) => self.write_line(out).is_some(),
            Kind::One { .. } | Kind::Mix { .. } => {
                let request = self.draw();
                self.write(request, out);
                true
            }
        }
    }

    fn draw(&mut self) -> usize {
        let Kind::Mix { requests, .. } = &self.source.0 else { return 0 };
        let total = requests.last().map_or(1, |(total, _)| *total);
        // The modulo's bias is below 2^-30 for the sums of weights that are allowed.
        let drawn = self.random.next_u64() % total;
        requests.partition_point(|(weight_through, _)| *weight_through <= drawn)
    }

    /// Writes the next request of a file, and gives it and its line; `None` where that can't be read.
    fn write_line(&mut self, out: &mut String) -> Option<(u64, Call)> {
        let Kind::File(corpus) = &self.source.0 else { return None };
        if self.file.is_none() {
            self.file = InOrder::open(corpus).ok();
        }
        let (line, call) = self.file.as_mut()?.next_call().ok()?;
        self.sent += 1;
        call.write(self.sent, &[], &mut self.random, out);
        Some((line, call))
    }

    fn request_of(&mut self, request: usize) -> DrawnRequest {
        let mut body = String::with_capacity(128);
        self.write(request, &mut body);
        let (stated, answer) = match &self.source.0 {
            Kind::One { stated, answer, .. } => (stated.clone(), answer.clone()),
            Kind::Mix { requests, .. } => {
                let expected = requests.get(request).and_then(|(_, call)| call.expected.as_ref());
                (expected.and_then(|expected| expected.truth(&self.sent.into())), None)
            }
            Kind::File(_) => (None, None),
        };
        DrawnRequest { body, request, stated, answer }
    }

    fn write(&mut self, request: usize, out: &mut String) {
        self.sent += 1;
        match &self.source.0 {
            Kind::One { body, .. } => out.push_str(body),
            Kind::Mix { requests, accounts } => {
                if let Some((_, call)) = requests.get(request) {
                    call.write(self.sent, accounts, &mut self.random, out);
                }
            }
            Kind::File(_) => {}
        }
    }
}

impl Iterator for Stream {
    type Item = DrawnRequest;

    fn next(&mut self) -> Option<DrawnRequest> {
        if !matches!(self.source.0, Kind::File(_)) {
            let request = self.draw();
            return Some(self.request_of(request));
        }
        let mut body = String::with_capacity(128);
        let (line, call) = self.write_line(&mut body)?;
        let stated = call.expected.and_then(|expected| expected.truth(&self.sent.into()));
        Some(DrawnRequest { body, request: line as usize, stated, answer: None })
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
