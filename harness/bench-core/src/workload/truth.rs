//! What makes an answer right: what a person states of it, and what an answer is compared with.

#[cfg(test)]
mod tests;

use std::path::Path;

use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use serde_with::skip_serializing_none;

use super::leeway::{self, Leeway};
use super::schema::Schema;
use crate::headers::Access;

/// Where an answer says in which context it holds (slot and version).
const CONTEXT: &str = "/result/context";

/// What a person states of the answers to a request.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "give \"ledger\", \"no error\", { answer = '…' } or { result = … } (each with ignore and within), \
        { rises = \"/result\" }, { schema = \"FILE\" }, or { reference = \"SERVER\" } (with differences, ignore and \
        within)"
)]
pub enum Expected {
    /// The answer of the campaign's seeded ledger.
    #[serde(rename = "ledger")]
    Ledger,
    /// Any answer with a result.
    #[serde(rename = "no error")]
    NoError,
    /// This answer.
    #[serde(untagged)]
    Answer {
        /// The text of its JSON, its id included.
        answer: String,
        /// What may differ.
        #[serde(flatten)]
        leeway: Leeway,
    },
    /// An answer with this result.
    #[serde(untagged)]
    Result {
        /// The result.
        result: Value,
        /// What may differ, by pointers that begin with `/result`.
        #[serde(flatten)]
        leeway: Leeway,
    },
    /// A result with a number that never falls from one answer to the next.
    #[serde(untagged)]
    Rises {
        /// Where the number is: a JSON pointer.
        rises: String,
    },
    /// Any answer whose result fits this JSON Schema.
    #[serde(untagged)]
    Schema {
        /// The schema.
        schema: Schema,
    },
    /// What another server answers to the same request at the same time.
    #[serde(untagged)]
    Reference {
        /// The server.
        reference: Reference,
        /// What an answer is that differs.
        #[serde(default, skip_serializing_if = "crate::is_default")]
        differences: Differing,
        /// What may differ.
        #[serde(flatten)]
        leeway: Leeway,
    },
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

/// A server whose answers others are compared with: in a workload its name, in a plan where it answers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "WrittenReference")]
pub struct Reference {
    /// Its name in `servers.toml`.
    pub server: String,
    /// Where it answers; empty where the harness is to start it.
    pub url: String,
    /// What reaching it takes.
    #[serde(flatten)]
    pub access: Access,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum WrittenReference {
    Name(String),
    Found {
        server: String,
        url: String,
        #[serde(flatten)]
        access: Access,
    },
}

impl From<WrittenReference> for Reference {
    fn from(written: WrittenReference) -> Self {
        match written {
            WrittenReference::Name(server) => Self { server, ..Self::default() },
            WrittenReference::Found { server, url, access } => Self { server, url, access },
        }
    }
}

impl Expected {
    /// What makes the answer to a request with this id right, where that is stated; `None` where the ledger says it.
    pub(super) fn truth(&self, id: &Value) -> Option<Truth> {
        let is = |answer: Value, leeway: &Leeway| Truth::Is { answer, leeway: leeway.clone() };
        Some(match self {
            Self::Ledger => return None,
            Self::Answer { answer, leeway } => is(serde_json::from_str(answer).unwrap_or_default(), leeway),
            Self::Result { result, leeway } => {
                is(json!({ "jsonrpc": "2.0", "id": id, "result": result }), leeway)
            }
            stated => Truth::Stated { id: id.clone(), stated: stated.clone() },
        })
    }

    /// Finds the schema that it names, from the workload's folder.
    pub(super) fn locate(&mut self, folder: &Path) -> Result<()> {
        let Self::Schema { schema } = self else { return Ok(()) };
        schema.locate(folder)
    }

    /// Whether its pointers are some.
    pub(super) fn check(&self) -> Result<()> {
        let (leeway, rises) = match self {
            Self::Answer { leeway, .. } | Self::Result { leeway, .. } | Self::Reference { leeway, .. } => {
                (Some(leeway), None)
            }
            Self::Rises { rises } => (None, Some(rises)),
            Self::Ledger | Self::NoError | Self::Schema { .. } => (None, None),
        };
        let mut pointers = leeway.into_iter().flat_map(Leeway::pointers).chain(rises);
        match pointers.find(|pointer| !pointer.starts_with('/')) {
            Some(pointer) => {
                bail!("field expected: {pointer:?} is no JSON pointer; begin it with /, such as /result/at")
            }
            None => Ok(()),
        }
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
    /// It has this id, and is as a person states it without saying what it is. Of a reference: that server must be
    /// requested first.
    Stated {
        /// The id.
        id: Value,
        /// Neither the ledger's, nor an answer or a result.
        stated: Expected,
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
        if let Self::Is { leeway, .. } | Self::Stated { stated: Expected::Reference { leeway, .. }, .. } =
            &mut self
        {
            leeway.ignore.push(CONTEXT.to_owned());
        }
        self
    }

    /// The server that must be requested first, and then what its answer makes of this.
    pub fn reference(&self) -> Option<(&Reference, impl FnOnce(Value) -> Self + use<>)> {
        let Self::Stated { stated: Expected::Reference { reference, leeway, .. }, .. } = self else {
            return None;
        };
        let leeway = leeway.clone();
        Some((reference, move |answer| Self::Is { answer, leeway }))
    }

    /// Whether an answer that differs is counted, and not wrong.
    pub const fn counts_differences(&self) -> bool {
        let Self::Stated { stated: Expected::Reference { differences, .. }, .. } = self else { return false };
        matches!(differences, Differing::Counted)
    }

    /// The answer and what it is compared with, without what may differ; `None` where no whole answer is known.
    pub fn both(&self, answer: &Value) -> Option<(Value, Value)> {
        let Self::Is { answer: truth, leeway } = self else { return None };
        let (truth, answer) = leeway.without(truth, answer);
        Some((answer, truth))
    }

    /// Whether an answer is right; of another server's, whether it may be.
    pub fn accepts(&self, answer: &Value) -> bool {
        let (id, stated) = match self {
            Self::Is { answer: truth, leeway } => return leeway.is_same(truth, answer),
            Self::Stated { id, stated } => (id, stated),
        };
        match stated {
            Expected::Reference { .. } => answer.get("id") == Some(id),
            Expected::Schema { .. } => self.misfit(answer).is_none(),
            Expected::Rises { .. } => result_of(answer, id).is_some() && self.number(answer).is_some(),
            _ => result_of(answer, id).is_some(),
        }
    }

    /// Where an answer's result does not fit its schema, and why.
    pub fn misfit(&self, answer: &Value) -> Option<String> {
        let Self::Stated { id, stated: Expected::Schema { schema } } = self else { return None };
        match result_of(answer, id) {
            Some(result) => schema.misfit(result),
            None => Some("no result with the request's id".to_owned()),
        }
    }

    /// The number that never falls, where an answer has it: a number, or the text of one, also in hexadecimal (`0x1a`).
    pub fn number(&self, answer: &Value) -> Option<u64> {
        let Self::Stated { stated: Expected::Rises { rises }, .. } = self else { return None };
        leeway::number(answer.pointer(rises)?)
    }

    /// An answer that is right.
    pub fn example(&self) -> Value {
        let (id, stated) = match self {
            Self::Is { answer, .. } => return answer.clone(),
            Self::Stated { id, stated } => (id, stated),
        };
        let pointer = if let Expected::Rises { rises } = stated { rises } else { "/result" };
        let names = pointer.strip_prefix('/').unwrap_or_default().rsplit('/');
        let within = |inner: Value, name: &str| json!({ name.replace("~1", "/").replace("~0", "~"): inner });
        let mut answer = names.fold(json!(1), within);
        answer["jsonrpc"] = "2.0".into();
        answer["id"] = id.clone();
        answer
    }

    /// The answer, where it is known.
    pub const fn answer(&self) -> Option<&Value> {
        match self {
            Self::Is { answer, .. } => Some(answer),
            Self::Stated { .. } => None,
        }
    }

    /// The answer, where it is known to the last value.
    pub fn exact(&self) -> Option<&Value> {
        let is_exact = matches!(self, Self::Is { leeway, .. } if leeway.is_none());
        self.answer().filter(|_| is_exact)
    }

    /// It in words, for whoever reads what came instead.
    pub fn words(&self) -> String {
        let (id, stated) = match self {
            Self::Is { answer, .. } => return answer.to_string(),
            Self::Stated { id, stated } => (id, stated),
        };
        match stated {
            Expected::Reference { reference, .. } => format!("what {} answers", reference.server),
            Expected::Schema { schema } => {
                format!("an answer with the id {id} and a result that fits {}", schema.name())
            }
            Expected::Rises { rises } => {
                format!("an answer with the id {id} and a number at {rises} that does not fall")
            }
            _ => format!("an answer with the id {id} and a result"),
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
