//! The requests of a workload, drawn without end from a ledger by a seed; and the true answer to each.
//!
//! Drawing writes a body and nothing else, because a load tool may send a hundred thousand of them a second. A true
//! answer is worked out where it is wanted.
//!
//! The ids of a mix count up from 1, as those of real clients do: so an answer that belongs to another request shows.
//! The one request of a plain workload stays as it was written.

use std::fmt::Write;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, ensure};
use rand_distr::{Distribution, Zipf};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use serde_json::Value;
use validator_state::{Method, Pubkey, SeededSpec, State};

use super::mix::{Account, BlockRange, Place, Request, fixed_params};
use super::{Expected, Traffic, Workload};

/// The requests of a workload about a ledger.
#[derive(Debug)]
pub struct RequestSource(Kind);

#[derive(Debug)]
enum Kind {
    /// One request, and the true answer where it was stated.
    One { body: String, stated: Option<Value> },
    /// Requests, in their order, and the ledger's accounts where one is about them.
    Mix { requests: Vec<Drawn>, accounts: Vec<Pubkey> },
}

/// A request of a mix, ready to be drawn.
#[derive(Debug)]
struct Drawn {
    /// The sum of the weights up to this one, its own included.
    weight_through: u64,
    method: Method,
    params: Params,
}

/// Where parameters come from.
#[derive(Debug)]
enum Params {
    None,
    /// The text of an array.
    Fixed(String),
    AnyAccount,
    ZipfAccount(Zipf<f64>),
    AbsentAccount,
    /// A number of slots from a start up to `last_start`, or always from there; the second parameter is their number or
    /// the last.
    Slots {
        slots: u64,
        last_start: u64,
        from: Place,
        is_limit: bool,
    },
}

impl RequestSource {
    /// The requests of a workload about a ledger.
    ///
    /// # Errors
    /// The ledger lacks what it is about, or a stated answer is not JSON.
    pub fn new(workload: &Workload, ledger: &SeededSpec) -> Result<Self> {
        let requests = match &workload.traffic {
            Traffic::One { body, expected: Expected::Ledger, .. } => {
                return Ok(Self(Kind::One { body: body.clone(), stated: None }));
            }
            Traffic::One { body, expected: Expected::Answer(text), .. } => {
                let stated = Some(serde_json::from_str(text).context("field expected: not JSON")?);
                return Ok(Self(Kind::One { body: body.clone(), stated }));
            }
            Traffic::Mix(requests) => requests,
        };
        let mut drawn: Vec<Drawn> = Vec::new();
        for (position, request) in requests.iter().enumerate() {
            let before = drawn.last().map_or(0, |last| last.weight_through);
            let one = Drawn::new(request, before, ledger);
            drawn.push(one.with_context(|| format!("[[request]] {}", position + 1))?);
        }
        let is_known = |params: &Params| matches!(params, Params::AnyAccount | Params::ZipfAccount(_));
        let accounts = match drawn.iter().any(|request| is_known(&request.params)) {
            true => ledger.pubkeys().collect(),
            false => Vec::new(),
        };
        Ok(Self(Kind::Mix { requests: drawn, accounts }))
    }

    /// One request for ever, whose true answer is known.
    pub const fn one(body: String, truth: Value) -> Self {
        Self(Kind::One { body, stated: Some(truth) })
    }

    /// The requests, in an order that the seed decides.
    pub fn stream(self: Arc<Self>, seed: u64) -> Stream {
        // A ledger is drawn with the same generator, whose seed may be the same number: so far ahead, the two never
        // meet, and an address that is drawn here is not in the ledger.
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        random.long_jump();
        Stream { source: self, random, sent: 0 }
    }

    /// One of each request of the workload, with its true answer.
    ///
    /// # Errors
    /// The ledger of this state answers one with an error.
    pub fn known(self: &Arc<Self>, state: &State, seed: u64) -> Result<Vec<Known>> {
        let mut stream = Arc::clone(self).stream(seed);
        let mut known = Vec::new();
        for (request, share) in self.shares().into_iter().enumerate() {
            let drawn = stream.request_of(request);
            let place = || match &self.0 {
                Kind::One { .. } => "field body".to_owned(),
                Kind::Mix { .. } => format!("[[request]] {}", request + 1),
            };
            let truth = drawn.truth(state).with_context(place)?;
            known.push(Known { body: drawn.body, truth, share });
        }
        Ok(known)
    }

    /// Each request's share of all that are sent.
    fn shares(&self) -> Vec<f64> {
        let Kind::Mix { requests, .. } = &self.0 else { return vec![1.0] };
        let total = requests.last().map_or(1, |last| last.weight_through) as f64;
        let before = std::iter::once(0).chain(requests.iter().map(|request| request.weight_through));
        let shares = requests.iter().zip(before);
        shares.map(|(request, before)| (request.weight_through - before) as f64 / total).collect()
    }
}

impl Drawn {
    fn new(request: &Request, weight_before: u64, ledger: &SeededSpec) -> Result<Self> {
        let Request { weight, method, account, blocks, params } = request;
        let method = Method::from_name(method).with_context(|| format!("field method: no {method:?}"))?;
        let params = match (account, blocks, params) {
            (Some(Account::Uniform), ..) => Params::AnyAccount,
            (Some(Account::Absent), ..) => Params::AbsentAccount,
            (Some(Account::Zipf(exponent)), ..) => Params::ZipfAccount(
                Zipf::new(ledger.accounts.max(1) as f64, *exponent)
                    .map_err(|error| anyhow!("field account: {error}"))?,
            ),
            (_, Some(BlockRange { slots, from }), _) => {
                let first_above = ledger.finalized() + 1;
                ensure!(
                    *slots <= first_above,
                    "field blocks: {slots} slots are requested, and the ledger has {first_above}; request fewer, or raise \
                     environment.slots of the campaign"
                );
                let is_limit = method == Method::GetBlocksWithLimit;
                Params::Slots { slots: *slots, last_start: first_above - slots, from: *from, is_limit }
            }
            (_, _, Some(text)) => Params::Fixed(fixed_params(text)?),
            (None, None, None) => Params::None,
        };
        Ok(Self { weight_through: weight_before + weight, method, params })
    }
}

/// Requests without end, drawn as they are sent.
#[derive(Debug, Clone)]
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
    /// The true answer.
    pub truth: Value,
    /// The share of all requests that are this one.
    pub share: f64,
}

/// Whether an answer is the true one. A truth [`without_context`] leaves open in which context the answer holds.
pub fn is_true(answer: &Value, truth: &Value) -> bool {
    if answer == truth {
        return true;
    }
    let open = truth.pointer("/result/context") == Some(&Value::Null);
    open && answer.pointer("/result/context").is_some_and(Value::is_object)
        && without_context(answer.clone()) == *truth
}

/// A true answer that leaves its context open (slot and version): that of a server whose chain grows.
#[must_use]
pub fn without_context(mut truth: Value) -> Value {
    if let Some(context) = truth.pointer_mut("/result/context") {
        *context = Value::Null;
    }
    truth
}

/// A request, as it is sent.
#[derive(Debug, Clone)]
pub struct DrawnRequest {
    /// The request body, on one line in a mix.
    pub body: String,
    /// Which request of the workload it is, from 0.
    pub request: usize,
    source: Arc<RequestSource>,
}

impl Stream {
    /// Appends the next body to `out`, and says which request of the workload it is, from 0. The cheapest way to a
    /// body: it allocates nothing where `out` has room.
    pub fn write_next(&mut self, out: &mut String) -> usize {
        let request = match &self.source.0 {
            Kind::One { .. } => 0,
            Kind::Mix { requests, .. } => {
                let total = requests.last().map_or(1, |last| last.weight_through);
                // The modulo's bias is below 2^-30 for the sums of weights that are allowed.
                let drawn = self.random.next_u64() % total;
                requests.partition_point(|request| request.weight_through <= drawn)
            }
        };
        self.write(request, out);
        request
    }

    fn request_of(&mut self, request: usize) -> DrawnRequest {
        let mut body = String::new();
        self.write(request, &mut body);
        DrawnRequest { body, request, source: Arc::clone(&self.source) }
    }

    fn write(&mut self, request: usize, out: &mut String) {
        self.sent += 1;
        let (requests, accounts) = match &self.source.0 {
            Kind::One { body, .. } => return out.push_str(body),
            Kind::Mix { requests, accounts } => (requests, accounts),
        };
        let Some(Drawn { method, params, .. }) = requests.get(request) else { return };
        // A String takes all that is written to it.
        let _ = write!(out, r#"{{"jsonrpc":"2.0","id":{},"method":"{method}""#, self.sent);
        let _ = params.write(accounts, &mut self.random, out);
        out.push('}');
    }
}

impl Params {
    fn write(&self, accounts: &[Pubkey], random: &mut impl Rng, out: &mut String) -> std::fmt::Result {
        let pubkey = match self {
            Self::None => return Ok(()),
            Self::Fixed(text) => return write!(out, r#","params":{text}"#),
            Self::Slots { slots, last_start, from, is_limit } => {
                let start = match from {
                    Place::Tip => *last_start,
                    Place::Random => random.next_u64() % (last_start + 1),
                };
                let second = if *is_limit { *slots } else { start + slots - 1 };
                return write!(out, r#","params":[{start},{second}]"#);
            }
            Self::AnyAccount => accounts[(random.next_u64() % accounts.len() as u64) as usize],
            // Ranks count from 1.
            Self::ZipfAccount(law) => accounts[law.sample(random) as usize - 1],
            Self::AbsentAccount => {
                let mut key = [0; 32];
                random.fill_bytes(&mut key);
                Pubkey(key)
            }
        };
        write!(out, r#","params":["{pubkey}"]"#)
    }
}

impl Iterator for Stream {
    type Item = DrawnRequest;

    fn next(&mut self) -> Option<DrawnRequest> {
        let mut body = String::with_capacity(128);
        let request = self.write_next(&mut body);
        Some(DrawnRequest { body, request, source: Arc::clone(&self.source) })
    }
}

impl DrawnRequest {
    /// The true answer: the stated one, or what the ledger of this state answers.
    ///
    /// # Errors
    /// The ledger answers with an error.
    pub fn truth(&self, state: &State) -> Result<Value> {
        let answer = match &self.source.0 {
            Kind::One { stated: Some(stated), .. } => stated.clone(),
            Kind::One { .. } | Kind::Mix { .. } => {
                let mut out = Vec::new();
                typed_rpc::answer(state, &self.body, &mut out);
                serde_json::from_slice(&out).context("the ledger does not answer it in JSON")?
            }
        };
        ensure!(
            answer.get("result").is_some(),
            "the ledger answers it with an error: {answer} to {}",
            self.body
        );
        Ok(answer)
    }
}
