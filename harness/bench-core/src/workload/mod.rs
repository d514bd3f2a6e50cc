//! A workload: its requests (one to the letter, a mix, or those of a file), and where the true answers come from.

pub mod corpus;
mod from_ledger;
pub mod leeway;
pub mod mix;
mod newest;
pub mod requests;
pub mod schema;
mod template;
mod text_file;
pub mod truth;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use serde_with::skip_serializing_none;
use validator_state::{Ledger, SeededSpec, State};

pub use corpus::{Corpus, Order};
pub use from_ledger::{Account, BlockRange, Place};
pub use leeway::Leeway;
pub use mix::Request;
pub use newest::NewestCall;
use requests::{Known, RequestSource, Stream};
pub use text_file::TextFile;
pub use truth::{Differing, Expected, Reference, Truth};

/// Requests, and where their true answers come from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Written")]
pub struct Workload {
    /// The file's name without its ending.
    pub name: String,
    /// Its requests.
    #[serde(flatten)]
    pub traffic: Traffic,
    /// One paragraph: what this workload shows.
    pub why: String,
}

/// The requests of a workload.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
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
    /// Requests drawn by their weights.
    #[serde(serialize_with = "as_tables")]
    Mix(Vec<Request>),
    /// The requests of a file.
    Corpus(Corpus),
}

fn as_tables<S: Serializer>(mix: &[Request], serializer: S) -> Result<S::Ok, S::Error> {
    BTreeMap::from([("request", mix)]).serialize(serializer)
}

/// A workload as it stands in a file: `body` or `requests` with `expected`, or a list of `[[request]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    name: String,
    body: Option<String>,
    #[serde(alias = "expect")]
    expected: Option<Expected>,
    needs_slots: Option<u64>,
    #[serde(default, rename = "request")]
    mix: Vec<Request>,
    requests: Option<TextFile>,
    order: Option<Order>,
    why: String,
}

/// What a server is started for: a request and, where its workload states it, an answer that is right.
#[derive(Debug, Clone, Default)]
pub struct Opening {
    /// The request's body.
    pub body: String,
    /// The answer.
    pub answer: Option<String>,
}

impl<Body: AsRef<str> + ?Sized> From<&Body> for Opening {
    fn from(body: &Body) -> Self {
        Self { body: body.as_ref().to_owned(), answer: None }
    }
}

impl From<&Known> for Opening {
    fn from(known: &Known) -> Self {
        Self { body: known.body.clone(), answer: known.answer.clone() }
    }
}

impl TryFrom<Written> for Workload {
    type Error = &'static str;

    fn try_from(written: Written) -> Result<Self, Self::Error> {
        const NO_EXPECTED: &str = "field expected: is missing; give \"ledger\", \"no error\", or { answer = '…' } \
            with the true answer";
        let Written { name, body, expected, needs_slots, mut mix, requests, order, why } = written;
        let traffic = match (body, requests, mix.is_empty()) {
            (Some(_), Some(_), _) | (Some(_), _, false) => {
                Err("has a body and [[request]] or requests; give one of them")
            }
            (None, Some(_), false) => Err("has requests and [[request]]; give one of them"),
            (None, ..) if needs_slots.is_some() => {
                Err("field needs_slots: goes with a body; a mix needs what its field blocks says")
            }
            (_, None, _) if order.is_some() => Err("field order: goes with requests, the name of a file"),
            (Some(body), ..) => {
                Ok(Traffic::One { body, expected: expected.ok_or(NO_EXPECTED)?, needs_slots })
            }
            (_, Some(requests), _) => {
                let (expected, order) = (expected.ok_or(NO_EXPECTED)?, order.unwrap_or_default());
                Ok(Traffic::Corpus(Corpus { requests, order, expected }))
            }
            (_, _, true) => {
                Err("has no body and no [[request]], and names no file in requests; give one of them")
            }
            _ if expected == Some(Expected::Ledger) => {
                Err("field expected: the ledger answers a mix; leave it out")
            }
            _ => {
                for request in mix.iter_mut().filter(|request| request.expected.is_none()) {
                    request.expected.clone_from(&expected);
                }
                Ok(Traffic::Mix(mix))
            }
        };
        Ok(Self { name, traffic: traffic?, why })
    }
}

impl Workload {
    /// Whether its requests are about the newest numbers of a server.
    pub fn is_about_newest(&self) -> bool {
        matches!(&self.traffic, Traffic::Mix(requests) if requests.iter().any(|request| request.draws("newest")))
    }

    /// Whether it sends several requests.
    pub fn is_mix(&self) -> bool {
        !matches!(self.traffic, Traffic::One { .. })
    }

    /// The body of its one request, for whoever can send one only.
    ///
    /// # Errors
    /// It is a mix.
    pub fn body(&self) -> Result<&str> {
        match &self.traffic {
            Traffic::One { body, .. } => Ok(body),
            Traffic::Mix(_) | Traffic::Corpus(_) => bail!(
                "workload {} has several requests, and this sends one body only; give a workload with a body, or put \
                 the mix in a campaign with tool = \"rpc-load\" or [open]",
                self.name
            ),
        }
    }

    /// Its requests, in a few words.
    pub fn words(&self) -> String {
        let requests = match &self.traffic {
            Traffic::One { .. } => return self.method(),
            Traffic::Corpus(corpus) => return corpus.words(),
            Traffic::Mix(requests) => requests,
        };
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
        RequestSource::new(self, ledger).with_context(|| format!("workload {}", self.name))
    }

    /// Its requests without end: the same for the same ledger and seed.
    ///
    /// # Errors
    /// The ledger lacks what it is about.
    pub fn stream(&self, ledger: &SeededSpec, seed: u64) -> Result<Stream> {
        Ok(Arc::new(self.requests(ledger)?).stream(seed))
    }

    /// A request of it, to show or to start a server with: its one request, or the first that is drawn.
    ///
    /// # Errors
    /// The ledger or the file lacks what it is about.
    pub fn opening(&self, ledger: &SeededSpec) -> Result<Opening> {
        let request = self.stream(ledger, 0)?.next().context("sends no request")?;
        let (body, answer) = request.into_opening();
        Ok(Opening { body, answer })
    }

    /// What makes an answer to its one request right.
    ///
    /// # Errors
    /// It is a mix, the ledger lacks slots or answers with an error, or the stated answer is not JSON.
    pub fn truth(&self, ledger: &SeededSpec) -> Result<Truth> {
        self.body()?;
        let requests = Arc::new(self.requests(ledger)?);
        let known = requests.known(&State::new(Ledger::seeded(ledger)), 0);
        let known = known.with_context(|| format!("workload {}", self.name))?;
        known.into_iter().next().map(|known| known.truth).context("sends no request")
    }

    /// Finds the files that it names, from the folder that it stands in, and looks at every line of them.
    ///
    /// # Errors
    /// A file can't be read, or a line of it is wrong: with its number.
    pub(crate) fn locate(&mut self, folder: &Path) -> Result<()> {
        match &mut self.traffic {
            Traffic::One { expected, .. } => expected.locate(folder).context("field expected"),
            Traffic::Corpus(corpus) => corpus.locate(folder),
            Traffic::Mix(requests) => requests.iter_mut().try_for_each(|request| {
                let expected = request.expected.as_mut().map(|expected| expected.locate(folder));
                expected.transpose().context("field expected")?;
                request.locate(folder).context("field params")
            }),
        }
    }

    /// Whether each of its answers is known to the last value. Lines of a file may state other values.
    pub fn knows_whole_answers(&self) -> bool {
        self.clone().stated().into_iter().all(|expected| match expected {
            Expected::Ledger => true,
            Expected::Answer { leeway, .. } | Expected::Result { leeway, .. } => leeway.is_none(),
            _ => false,
        })
    }

    /// Refuses to resume a run whose schemas have changed since it was planned.
    ///
    /// # Errors
    /// One line with the schema's file.
    pub fn check_schemas_unchanged(&self) -> Result<()> {
        self.clone().stated().into_iter().try_for_each(|expected| match expected {
            Expected::Schema { schema } => schema.check_unchanged(),
            _ => Ok(()),
        })
    }

    /// The servers that its answers are compared with.
    pub fn references_mut(&mut self) -> impl Iterator<Item = &mut Reference> {
        self.stated().into_iter().filter_map(|expected| match expected {
            Expected::Reference { reference, .. } => Some(reference),
            _ => None,
        })
    }

    /// The servers whose answers it counts differences to.
    pub fn counted_references(&self) -> Vec<String> {
        let mut own = self.clone();
        let counted = own.stated().into_iter().filter_map(|expected| match expected {
            Expected::Reference { reference, differences: Differing::Counted, .. } => {
                Some(reference.server.clone())
            }
            _ => None,
        });
        counted.collect::<BTreeSet<String>>().into_iter().collect()
    }

    /// What is stated of its answers: of all, and of each request of a mix. Lines of a file may say otherwise of
    /// theirs.
    fn stated(&mut self) -> Vec<&mut Expected> {
        match &mut self.traffic {
            Traffic::One { expected, .. } | Traffic::Corpus(Corpus { expected, .. }) => vec![expected],
            Traffic::Mix(requests) => {
                requests.iter_mut().filter_map(|request| request.expected.as_mut()).collect()
            }
        }
    }

    /// Whether its fields make sense.
    ///
    /// # Errors
    /// One line with the field.
    pub fn check(&self) -> Result<()> {
        match &self.traffic {
            Traffic::One { body, expected, .. } => {
                let body: Value =
                    serde_json::from_str(body).map_err(|error| anyhow!("field body: not JSON: {error}"))?;
                ensure!(body["method"].is_string(), "field body: has no method");
                ensure!(!body["id"].is_null(), "field body: has no id, so no server would answer it");
                expected.check()?;
                if let Expected::Answer { answer, .. } = expected {
                    serde_json::from_str::<Value>(answer)
                        .map_err(|error| anyhow!("field expected: not JSON: {error}"))?;
                }
            }
            Traffic::Corpus(corpus) => corpus.expected.check()?,
            Traffic::Mix(requests) => {
                for (position, request) in requests.iter().enumerate() {
                    request.check().with_context(|| format!("[[request]] {}", position + 1))?;
                }
            }
        }
        Ok(())
    }
}
