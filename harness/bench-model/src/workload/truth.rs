//! What makes an answer right: what a person states of it, and what an answer is compared with.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::leeway::{self, Leeway};
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
    /// What another server answers to the same request at the same time.
    Reference(Reference, Leeway),
}

/// A server whose answers others are compared with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "WrittenReference")]
pub struct Reference {
    /// Its name in `servers.toml`.
    pub server: String,
    /// Where it answers; empty as long as it is not found.
    pub url: String,
    /// What reaching it takes.
    #[serde(flatten)]
    pub access: Access,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "give the name of a server that runs already")]
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
            WrittenReference::Name(server) => Self { server, url: String::new(), access: Access::default() },
            WrittenReference::Found { server, url, access } => Self { server, url, access },
        }
    }
}

/// The same as it stands in a file.
#[derive(Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "give \"ledger\", \"no error\", { answer = '…' }, { result = … }, { rises = \"/result\" } or { reference = \"SERVER\" }"
)]
enum Written {
    Word(Word),
    Table(Box<Table>),
}

#[derive(Serialize, Deserialize)]
enum Word {
    #[serde(rename = "ledger")]
    Ledger,
    #[serde(rename = "no error")]
    NoError,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answer: Option<String>,
    // A result of null is one, so it is not left out by being null.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    result: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rises: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reference: Option<Reference>,
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
            Written::Word(Word::Ledger) => return Ok(Self::Ledger),
            Written::Word(Word::NoError) => return Ok(Self::NoError),
            Written::Table(table) => *table,
        };
        let Table { answer, result, rises, reference, leeway } = table;
        let wrong = leeway.pointers().chain(&rises).find(|pointer| !pointer.starts_with('/'));
        if let Some(pointer) = wrong {
            return Err(format!(
                "{pointer:?} is no JSON pointer; begin it with /, such as /result/timestamp"
            ));
        }
        match (answer, result, rises, reference) {
            (Some(answer), None, None, None) => Ok(Self::Answer(answer, leeway)),
            (None, Some(result), None, None) => Ok(Self::Result(result, leeway)),
            (None, None, Some(pointer), None) if leeway.is_none() => Ok(Self::Rises(pointer)),
            (None, None, Some(_), None) => {
                Err("ignore and within go with answer, result or reference; leave them out".to_owned())
            }
            (None, None, None, Some(reference)) => Ok(Self::Reference(reference, leeway)),
            _ => Err("give one of answer, result, rises and reference".to_owned()),
        }
    }
}

impl From<Expected> for Written {
    fn from(expected: Expected) -> Self {
        Self::Table(Box::new(match expected {
            Expected::Ledger => return Self::Word(Word::Ledger),
            Expected::NoError => return Self::Word(Word::NoError),
            Expected::Answer(answer, leeway) => Table { answer: Some(answer), leeway, ..Table::default() },
            Expected::Result(result, leeway) => Table { result: Some(result), leeway, ..Table::default() },
            Expected::Rises(pointer) => Table { rises: Some(pointer), ..Table::default() },
            Expected::Reference(reference, leeway) => {
                Table { reference: Some(reference), leeway, ..Table::default() }
            }
        }))
    }
}

impl Expected {
    /// What makes the answer to a request with this id right, where that is stated; `None` where the ledger says it.
    pub(super) fn truth(&self, id: &Value) -> Option<Truth> {
        Some(match self {
            Self::Ledger => return None,
            Self::Answer(text, leeway) => Truth::Is {
                answer: serde_json::from_str(text).unwrap_or(Value::Null),
                leeway: leeway.clone(),
            },
            Self::Result(result, leeway) => Truth::Is {
                answer: json!({ "jsonrpc": "2.0", "id": id, "result": result }),
                leeway: leeway.clone(),
            },
            Self::NoError => Truth::Result { id: id.clone(), rises: None },
            Self::Rises(pointer) => Truth::Result { id: id.clone(), rises: Some(pointer.clone()) },
            Self::Reference(reference, leeway) => {
                Truth::AsOf { id: id.clone(), reference: reference.clone(), leeway: leeway.clone() }
            }
        })
    }

    /// The server that it names, where it does.
    pub fn reference(&mut self) -> Option<&mut Reference> {
        match self {
            Self::Reference(reference, _) => Some(reference),
            _ => None,
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
    /// It has this id, a result and no error.
    Result {
        /// The id.
        id: Value,
        /// Where its result has a number that never falls.
        rises: Option<String>,
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

    /// Whether an answer is right; of another server's, whether it may be.
    pub fn accepts(&self, answer: &Value) -> bool {
        match self {
            Self::Is { answer: truth, leeway } => leeway.is_same(truth, answer),
            Self::Result { id, rises } => {
                answer.get("id") == Some(id)
                    && answer.get("result").is_some()
                    && answer.get("error").is_none()
                    && (rises.is_none() || self.number(answer).is_some())
            }
            Self::AsOf { id, .. } => answer.get("id") == Some(id),
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
            Self::AsOf { id, .. } => json!({ "jsonrpc": "2.0", "id": id, "result": 1 }),
            Self::Result { id, rises } => {
                let mut answer = json!(1);
                for name in rises.as_deref().unwrap_or("/result").rsplit('/').filter(|name| !name.is_empty())
                {
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
            Self::Result { .. } | Self::AsOf { .. } => None,
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
            Self::AsOf { reference, .. } => format!("what {} answers", reference.server),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected(json: Value) -> Expected {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn what_is_written_is_written_again() {
        for written in [
            json!("ledger"),
            json!("no error"),
            json!({ "answer": "{\"id\":1,\"result\":2}" }),
            json!({ "result": null }),
            json!({ "result": { "a": 1, "at": 7 }, "ignore": ["/result/at"] }),
            json!({ "rises": "/result" }),
            json!({ "result": "0x1a", "within": { "/result": 2 } }),
            json!({ "reference": { "server": "a", "url": "http://a:1/" } }),
        ] {
            assert_eq!(serde_json::to_value(expected(written.clone())).unwrap(), written);
        }
        for (written, named) in [
            (json!("nothing"), "give \"ledger\""),
            (json!({}), "give one of answer, result, rises and reference"),
            (json!({ "result": 1, "rises": "/result" }), "give one of"),
            (json!({ "result": 1, "ignore": ["at"] }), "\"at\" is no JSON pointer"),
            (json!({ "rises": "/result", "ignore": ["/result/a"] }), "ignore and within go with"),
            (json!({ "result": 1, "within": { "at": 1 } }), "\"at\" is no JSON pointer"),
            (json!({ "results": 1 }), "give \"ledger\""),
        ] {
            let error = serde_json::from_value::<Expected>(written.clone()).unwrap_err().to_string();
            assert!(error.contains(named), "{written}: {error}");
        }
    }

    #[test]
    fn what_is_ignored_may_differ_and_nothing_else() {
        let written = json!({ "result": { "price": "12", "at": 7 }, "ignore": ["/result/at"] });
        let truth = expected(written).truth(&json!(3)).unwrap();
        let answer = |result: Value| json!({ "jsonrpc": "2.0", "id": 3, "result": result });
        assert!(truth.accepts(&answer(json!({ "price": "12", "at": 8 }))));
        for wrong in [json!({ "price": "13", "at": 7 }), json!({ "price": "12" }), json!(null)] {
            assert!(!truth.accepts(&answer(wrong.clone())), "{wrong}");
        }
        assert!(!truth.accepts(&json!({ "jsonrpc": "2.0", "id": 4, "result": { "price": "12", "at": 7 } })));
    }

    #[test]
    fn no_error_is_a_result_with_the_id() {
        let truth = expected(json!("no error")).truth(&json!("a")).unwrap();
        assert!(truth.accepts(&json!({ "id": "a", "result": null })) && truth.accepts(&truth.example()));
        for wrong in [
            json!({ "id": "b", "result": 1 }),
            json!({ "id": "a" }),
            json!({ "id": "a", "error": { "code": -1 } }),
            json!({ "id": "a", "result": 1, "error": { "code": -1 } }),
        ] {
            assert!(!truth.accepts(&wrong), "{wrong}");
        }
    }

    #[test]
    fn a_number_is_read_however_it_is_written() {
        let truth = expected(json!({ "rises": "/result/number" })).truth(&json!(1)).unwrap();
        let answer = |number: Value| json!({ "id": 1, "result": { "number": number } });
        assert!(truth.accepts(&truth.example()), "{}", truth.example());
        for (written, number) in
            [(json!(26), Some(26)), (json!("26"), Some(26)), (json!("0x1a"), Some(26)), (json!("x"), None)]
        {
            assert_eq!(truth.number(&answer(written.clone())), number);
            assert_eq!(truth.accepts(&answer(written)), number.is_some());
        }
    }
}
