//! What makes an answer right: what a person states of it, and what an answer is compared with.

#[cfg(test)]
mod tests;

use std::path::Path;

use anyhow::Result;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use serde_with::skip_serializing_none;

use super::leeway::{self, Leeway};
use super::schema::Schema;
use crate::config::Server;
use crate::headers::Access;

/// Where an answer says in which context it holds (slot and version).
const CONTEXT: &str = "/result/context";

/// What a person states of the answers to a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub enum Expected {
    /// The answer of the campaign's seeded ledger.
    Ledger,
    /// This answer, its id included: the text of its JSON.
    Answer(String, Leeway),
    /// An answer with this result. The pointers of what may differ begin with `/result`.
    Result(Value, Leeway),
    /// Any answer with a result.
    NoError,
    /// A result with a number at this JSON pointer that never falls from one answer to the next.
    Rises(String),
    /// Any answer whose result fits this JSON Schema.
    Schema(Schema),
    /// What another server answers to the same request at the same time.
    Reference(Reference, Leeway),
}

/// What an answer is that differs from that of a reference.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Differing {
    /// Wrong, so that its trial gives no figure.
    #[default]
    Wrong,
    /// Counted, and listed in the report: to find where two servers differ.
    Counted,
}

/// A server whose answers others are compared with.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "WrittenReference")]
pub struct Reference {
    /// Its name in `servers.toml`.
    pub server: String,
    /// What an answer is that differs from its own. Written next to its name.
    #[serde(skip)]
    pub differences: Differing,
    /// Its entry, where the harness starts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<Box<Server>>,
    /// Where it answers; empty as long as it is not found.
    pub url: String,
    /// What reaching it takes.
    #[serde(flatten)]
    pub access: Access,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "give the name of a server")]
enum WrittenReference {
    Name(String),
    Found {
        server: String,
        entry: Option<Box<Server>>,
        url: String,
        #[serde(flatten)]
        access: Access,
    },
}

impl From<WrittenReference> for Reference {
    fn from(written: WrittenReference) -> Self {
        match written {
            WrittenReference::Name(server) => Self { server, ..Self::default() },
            WrittenReference::Found { server, entry, url, access } => {
                Self { server, entry, url, access, ..Self::default() }
            }
        }
    }
}

/// The same as it stands in a file.
#[derive(Serialize, Deserialize)]
#[serde(
    expecting = "give \"ledger\", \"no error\", { answer = '…' }, { result = … }, { rises = \"/result\" }, { schema \
        = \"FILE\" } or { reference = \"SERVER\" }"
)]
enum Written {
    #[serde(rename = "ledger")]
    Ledger,
    #[serde(rename = "no error")]
    NoError,
    #[serde(untagged)]
    Table(Box<Table>),
}

#[skip_serializing_none]
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    answer: Option<String>,
    // A result of null is one, so it is not left out by being null.
    #[serde(default, deserialize_with = "present")]
    result: Option<Value>,
    rises: Option<String>,
    schema: Option<Schema>,
    reference: Option<Reference>,
    #[serde(default, skip_serializing_if = "crate::is_default")]
    differences: Differing,
    #[serde(flatten)]
    leeway: Leeway,
}

fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl TryFrom<Written> for Expected {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let table = match written {
            Written::Ledger => return Ok(Self::Ledger),
            Written::NoError => return Ok(Self::NoError),
            Written::Table(table) => *table,
        };
        let Table { answer, result, rises, schema, reference, differences, leeway } = table;
        if reference.is_none() && !crate::is_default(&differences) {
            return Err("differences goes with reference; leave it out".to_owned());
        }
        let wrong = leeway.pointers().chain(&rises).find(|pointer| !pointer.starts_with('/'));
        if let Some(pointer) = wrong {
            return Err(format!(
                "{pointer:?} is no JSON pointer; begin it with /, such as /result/timestamp"
            ));
        }
        match (answer, result, rises, schema, reference) {
            (Some(answer), None, None, None, None) => Ok(Self::Answer(answer, leeway)),
            (None, Some(result), None, None, None) => Ok(Self::Result(result, leeway)),
            (None, None, Some(pointer), None, None) if leeway.is_none() => Ok(Self::Rises(pointer)),
            (None, None, None, Some(schema), None) if leeway.is_none() => Ok(Self::Schema(schema)),
            (None, None, Some(_), None, None) | (None, None, None, Some(_), None) => {
                Err("ignore and within go with answer, result or reference; leave them out".to_owned())
            }
            (None, None, None, None, Some(reference)) => {
                Ok(Self::Reference(Reference { differences, ..reference }, leeway))
            }
            _ => Err("give one of answer, result, rises, schema and reference".to_owned()),
        }
    }
}

impl From<Expected> for Written {
    fn from(expected: Expected) -> Self {
        Self::Table(Box::new(match expected {
            Expected::Ledger => return Self::Ledger,
            Expected::NoError => return Self::NoError,
            Expected::Answer(answer, leeway) => Table { answer: Some(answer), leeway, ..Table::default() },
            Expected::Result(result, leeway) => Table { result: Some(result), leeway, ..Table::default() },
            Expected::Rises(pointer) => Table { rises: Some(pointer), ..Table::default() },
            Expected::Schema(schema) => Table { schema: Some(schema), ..Table::default() },
            Expected::Reference(reference, leeway) => {
                let differences = reference.differences;
                Table { reference: Some(reference), differences, leeway, ..Table::default() }
            }
        }))
    }
}

impl Expected {
    /// What makes the answer to a request with this id right, where that is stated; `None` where the ledger says it.
    pub(super) fn truth(&self, id: &Value) -> Option<Truth> {
        let is = |answer: Value, leeway: &Leeway| Truth::Is { answer, leeway: leeway.clone() };
        let id = id.clone();
        Some(match self {
            Self::Ledger => return None,
            Self::Answer(text, leeway) => is(serde_json::from_str(text).unwrap_or_default(), leeway),
            Self::Result(result, leeway) => {
                is(json!({ "jsonrpc": "2.0", "id": id, "result": result }), leeway)
            }
            Self::NoError => Truth::Result { id, rises: None },
            Self::Rises(pointer) => Truth::Result { id, rises: Some(pointer.clone()) },
            Self::Schema(schema) => Truth::Fits { id, schema: schema.clone() },
            Self::Reference(reference, leeway) => {
                Truth::AsOf { id, reference: reference.clone(), leeway: leeway.clone() }
            }
        })
    }

    /// Finds the schema that it names, from the workload's folder.
    pub(super) fn locate(&mut self, folder: &Path) -> Result<()> {
        let Self::Schema(schema) = self else { return Ok(()) };
        schema.locate(folder)
    }

    /// The server that it names, where it does.
    pub fn reference(&mut self) -> Option<&mut Reference> {
        let Self::Reference(reference, _) = self else { return None };
        Some(reference)
    }
}

/// What an answer is compared with.
#[derive(Debug, Clone, PartialEq)]
pub enum Truth {
    /// It is this one, but for what may differ.
    Is {
        /// The answer.
        answer: Value,
        /// What may differ.
        leeway: Leeway,
    },
    /// It has this id, a result and no error.
    Result {
        /// The id.
        id: Value,
        /// Where its result has a number that never falls.
        rises: Option<String>,
    },
    /// It has this id, no error, and a result that fits.
    Fits {
        /// The id.
        id: Value,
        /// What its result fits.
        schema: Schema,
    },
    /// It is that of another server, which must be requested first.
    AsOf {
        /// The id.
        id: Value,
        /// The server.
        reference: Reference,
        /// What may differ from its answer.
        leeway: Leeway,
    },
}

impl From<Value> for Truth {
    fn from(answer: Value) -> Self {
        Self::Is { answer, leeway: Leeway::default() }
    }
}

impl Truth {
    /// The same with the answer's context left open (slot and version): that of a server whose chain grows.
    #[must_use]
    pub fn without_context(mut self) -> Self {
        if let Self::Is { leeway, .. } | Self::AsOf { leeway, .. } = &mut self {
            leeway.ignore.push(CONTEXT.to_owned());
        }
        self
    }

    /// The server that must be requested first, and then what its answer makes of this.
    pub fn reference(&self) -> Option<(&Reference, impl FnOnce(Value) -> Self + use<>)> {
        let Self::AsOf { reference, leeway, .. } = self else { return None };
        let leeway = leeway.clone();
        Some((reference, move |answer| Self::Is { answer, leeway }))
    }

    /// Whether an answer that differs is counted, and not wrong.
    pub fn counts_differences(&self) -> bool {
        matches!(self, Self::AsOf { reference, .. } if reference.differences == Differing::Counted)
    }

    /// The answer and what it is compared with, without what may differ; `None` where no whole answer is known.
    pub fn both(&self, answer: &Value) -> Option<(Value, Value)> {
        let Self::Is { answer: truth, leeway } = self else { return None };
        let (truth, answer) = leeway.without(truth, answer);
        Some((answer, truth))
    }

    /// Whether an answer is right; of another server's, whether it may be.
    pub fn accepts(&self, answer: &Value) -> bool {
        match self {
            Self::Is { answer: truth, leeway } => leeway.is_same(truth, answer),
            Self::Result { id, rises } => {
                result_of(answer, id).is_some() && (rises.is_none() || self.number(answer).is_some())
            }
            Self::Fits { .. } => self.misfit(answer).is_none(),
            Self::AsOf { id, .. } => answer.get("id") == Some(id),
        }
    }

    /// Where an answer's result does not fit its schema, and why.
    pub fn misfit(&self, answer: &Value) -> Option<String> {
        let Self::Fits { id, schema } = self else { return None };
        match result_of(answer, id) {
            Some(result) => schema.misfit(result),
            None => Some("no result with the request's id".to_owned()),
        }
    }

    /// The number that never falls, where an answer has it: a number, or the text of one, also in hexadecimal (`0x1a`).
    pub fn number(&self, answer: &Value) -> Option<u64> {
        let Self::Result { rises: Some(pointer), .. } = self else { return None };
        leeway::number(answer.pointer(pointer)?)
    }

    /// An answer that is right.
    pub fn example(&self) -> Value {
        match self {
            Self::Is { answer, .. } => answer.clone(),
            Self::Fits { id, .. } | Self::AsOf { id, .. } => {
                json!({ "jsonrpc": "2.0", "id": id, "result": 1 })
            }
            Self::Result { id, rises } => {
                let mut answer = json!(1);
                let pointer = rises.as_deref().unwrap_or("/result");
                for name in pointer.strip_prefix('/').unwrap_or_default().rsplit('/') {
                    answer = json!({ name.replace("~1", "/").replace("~0", "~"): answer });
                }
                answer["jsonrpc"] = "2.0".into();
                answer["id"] = id.clone();
                answer
            }
        }
    }

    /// The answer, where it is known.
    pub const fn answer(&self) -> Option<&Value> {
        match self {
            Self::Is { answer, .. } => Some(answer),
            Self::Result { .. } | Self::Fits { .. } | Self::AsOf { .. } => None,
        }
    }

    /// The answer, where it is known to the last value.
    pub fn exact(&self) -> Option<&Value> {
        let is_exact = matches!(self, Self::Is { leeway, .. } if leeway.is_none());
        self.answer().filter(|_| is_exact)
    }

    /// It in words, for whoever reads what came instead.
    pub fn words(&self) -> String {
        match self {
            Self::Is { answer, .. } => answer.to_string(),
            Self::Result { id, rises: None } => format!("an answer with the id {id} and a result"),
            Self::Result { id, rises: Some(pointer) } => {
                format!("an answer with the id {id} and a number at {pointer} that does not fall")
            }
            Self::Fits { id, schema } => {
                format!("an answer with the id {id} and a result that fits {}", schema.name())
            }
            Self::AsOf { reference, .. } => format!("what {} answers", reference.server),
        }
    }
}

/// Whether an answer has an error. One of null is none: services of JSON-RPC 1.x send it next to a result.
pub fn has_error(answer: &Value) -> bool {
    answer.get("error").is_some_and(|error| !error.is_null())
}

/// The result of an answer with this id and no error.
fn result_of<'a>(answer: &'a Value, id: &Value) -> Option<&'a Value> {
    let is_right = answer.get("id") == Some(id) && !has_error(answer);
    answer.get("result").filter(|_| is_right)
}
