//! The framing of JSON-RPC 2.0: from the text of a body to the text of an answer.
//!
//! A server whose framework brings no JSON-RPC of its own answers with this. A single request of the four usual members
//! takes a fast way that borrows from the body; everything else (batches, notifications, mistakes) is read the way the
//! node's own library reads it, through types of the same shape, so that what is accepted and what is not follows.

use serde::de::{Deserializer, Visitor};
use serde::{Deserialize, Serialize, de};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::MAX_BATCH_ENTRIES;
use crate::error::RpcError;
use crate::methods::{Answer, Method, SlotBudget};
use crate::params::Params;
use crate::state::State;

/// What was answered to the calls of one body: for a server's counters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Calls that were answered, with a result or an error.
    pub answered: u64,
    /// Those of them that were answered with an error.
    pub errors: u64,
}

/// Answers a body: appends the answer to `out`, or nothing where the body holds only notifications.
pub fn answer(state: &State, body: &str, out: &mut Vec<u8>) -> Tally {
    let mut answers = Answers { out, tally: Tally::default() };
    if let Some((id, result)) = fast(state, body) {
        answers.write(&id, &result);
    } else {
        general(state, body, &mut answers);
    }
    answers.tally
}

/// Answers a single plain request; `None` is "read it the general way", never an answer.
fn fast<'a>(state: &State, body: &'a str) -> Option<(FastId<'a>, Result<Answer, RpcError>)> {
    let request: FastRequest<'a> = serde_json::from_str(body).ok()?;
    if request.jsonrpc != "2.0" {
        return None;
    }
    let params = request.params.map_or(Params::None, |params| Params::Raw(params.get()));
    match state.call(Method::from_name(request.method)?, params) {
        // Whether an error is the node's own depends on more than the parameters, such as depth of nesting.
        Err(_) => None,
        answer => Some((request.id, answer)),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FastRequest<'a> {
    jsonrpc: &'a str,
    method: &'a str,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    id: FastId<'a>,
}

/// An id without escapes in it.
#[derive(Serialize)]
#[serde(untagged)]
enum FastId<'a> {
    Null,
    Number(u64),
    Text(&'a str),
}

impl<'de: 'a, 'a> Deserialize<'de> for FastId<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = FastId<'de>;

            fn expecting(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.write_str("null, a number or a string")
            }

            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(FastId::Null)
            }

            fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
                Ok(FastId::Number(number))
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(FastId::Text(text))
            }
        }
        deserializer.deserialize_any(Any)
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Body {
    Single(Call),
    Batch(Vec<Call>),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Call {
    Method(MethodCall),
    Notification(Notification),
    Invalid {
        #[serde(default)]
        id: Id,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MethodCall {
    jsonrpc: Option<V2>,
    method: String,
    #[serde(default)]
    params: OwnedParams,
    id: Id,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Notification {
    jsonrpc: Option<V2>,
    #[serde(rename = "method")]
    _method: String,
    #[serde(default, rename = "params")]
    _params: OwnedParams,
}

#[derive(Deserialize, Default)]
#[serde(untagged)]
enum OwnedParams {
    #[default]
    None,
    Array(Vec<Value>),
    Map(Map<String, Value>),
}

#[derive(Deserialize, Serialize, Default)]
#[serde(untagged)]
enum Id {
    #[default]
    Null,
    Number(u64),
    Text(String),
}

/// The text "2.0".
struct V2;

impl<'de> Deserialize<'de> for V2 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match String::deserialize(deserializer)?.as_str() {
            "2.0" => Ok(Self),
            _ => Err(de::Error::custom("not version 2.0")),
        }
    }
}

fn general(state: &State, body: &str, answers: &mut Answers<'_>) {
    match serde_json::from_str(body) {
        Err(_) => answers.write(&Id::Null, &Err(RpcError::parse_error())),
        Ok(Body::Single(call)) => {
            if let Some((id, result)) = call.answer(state) {
                answers.write(&id, &result);
            }
        }
        Ok(Body::Batch(calls)) => batch(state, calls, answers),
    }
}

fn batch(state: &State, calls: Vec<Call>, answers: &mut Answers<'_>) {
    if calls.is_empty() {
        return answers.write(&Id::Null, &Err(RpcError::invalid_request()));
    }
    if calls.len() > MAX_BATCH_ENTRIES {
        return answers.write(&Id::Null, &Err(RpcError::batch_too_large()));
    }
    let budget = SlotBudget::default();
    let mut separator = b'[';
    for (id, result) in calls.into_iter().filter_map(|call| call.answer(state)) {
        answers.out.push(separator);
        separator = b',';
        answers.write(&id, &result.and_then(|answer| budget.charge(answer)));
    }
    if separator == b',' {
        answers.out.push(b']');
    }
}

impl Call {
    /// The id and the answer; `None` for a notification, which is never executed.
    fn answer(self, state: &State) -> Option<(Id, Result<Answer, RpcError>)> {
        match self {
            Self::Method(MethodCall { jsonrpc: None, id, .. }) | Self::Invalid { id } => {
                Some((id, Err(RpcError::invalid_request())))
            }
            Self::Notification(Notification { jsonrpc: None, .. }) => {
                Some((Id::Null, Err(RpcError::invalid_request())))
            }
            Self::Notification(_) => None,
            Self::Method(call) => {
                let result = Method::from_name(&call.method)
                    .ok_or_else(RpcError::method_not_found)
                    .and_then(|method| state.call(method, call.params.into()));
                Some((call.id, result))
            }
        }
    }
}

impl From<OwnedParams> for Params<'_> {
    fn from(params: OwnedParams) -> Self {
        match params {
            OwnedParams::None => Self::None,
            OwnedParams::Array(values) => Self::Array(values),
            OwnedParams::Map(map) => Self::Map(map),
        }
    }
}

/// Where answers are written and counted.
struct Answers<'a> {
    out: &'a mut Vec<u8>,
    tally: Tally,
}

impl Answers<'_> {
    fn write(&mut self, id: &impl Serialize, result: &Result<Answer, RpcError>) {
        self.tally.answered += 1;
        self.out.extend_from_slice(br#"{"jsonrpc":"2.0","#);
        match result {
            Ok(answer) => self.member("result", answer),
            Err(error) => {
                self.tally.errors += 1;
                self.member("error", error);
            }
        }
        self.out.push(b',');
        self.member("id", id);
        self.out.push(b'}');
    }

    fn member(&mut self, name: &str, value: &impl Serialize) {
        self.out.push(b'"');
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
        let written = serde_json::to_writer(&mut *self.out, value);
        debug_assert!(written.is_ok(), "answers hold nothing that JSON can't, and a Vec takes every byte");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ledger, SeededSpec};

    fn ask(body: &str) -> (String, Tally) {
        let state = State::new(Ledger::seeded(&SeededSpec { accounts: 4, slots: 900_000, seed: 1 }));
        let mut out = Vec::new();
        let tally = answer(&state, body, &mut out);
        (String::from_utf8(out).unwrap(), tally)
    }

    #[test]
    fn the_request_of_the_original_test_takes_the_fast_way() {
        let state = State::new(Ledger::seeded(&SeededSpec::default()));
        let balance = r#"{"jsonrpc": "2.0", "id": 1, "method": "getBalance", "params": ["4EVAJ81v9fLjz2wp44SZmxgTbvYB8dBRZ6s1SAqP99eZ"]}"#;
        let blocks = r#"{"jsonrpc": "2.0", "id": 1,"method": "getBlocks","params": [0, 1000000]}"#;
        assert!(fast(&state, balance).is_some());
        assert!(fast(&state, blocks).is_some());
    }

    #[test]
    fn an_id_with_escapes_is_echoed() {
        let (out, _) = ask(r#"{"jsonrpc":"2.0","id":"a\"\u00e9","method":"getHealth"}"#);
        assert_eq!(out, "{\"jsonrpc\":\"2.0\",\"result\":\"ok\",\"id\":\"a\\\"é\"}");
    }

    #[test]
    fn batches_count_each_answer_and_skip_notifications() {
        let call = r#"{"jsonrpc":"2.0","id":1,"method":"getHealth"}"#;
        let note = r#"{"jsonrpc":"2.0","method":"getHealth"}"#;
        let (out, tally) = ask(&format!("[{note},{call},{{}},{note}]"));
        assert_eq!(tally, Tally { answered: 2, errors: 1 });
        assert!(
            out.starts_with(r#"[{"jsonrpc":"2.0","result":"ok","id":1},{"#) && out.ends_with("}]"),
            "{out}"
        );
        assert_eq!(ask(&format!("[{note}]")), (String::new(), Tally::default()));
        assert_eq!(ask(note), (String::new(), Tally::default()));
    }

    #[test]
    fn a_batch_has_a_largest_size() {
        let many = |count| {
            format!("[{}]", vec![r#"{"jsonrpc":"2.0","id":1,"method":"getHealth"}"#; count].join(","))
        };
        assert_eq!(ask(&many(100)).1, Tally { answered: 100, errors: 0 });
        let (out, tally) = ask(&many(101));
        assert_eq!(tally, Tally { answered: 1, errors: 1 });
        assert!(out.contains("Batch too large; max 100"), "{out}");
    }

    #[test]
    fn one_body_gives_at_most_one_largest_answer_of_slots() {
        let call = r#"{"jsonrpc":"2.0","id":1,"method":"getBlocks","params":[0,400000]}"#;
        let (_, tally) = ask(&format!("[{call},{call},{call}]"));
        assert_eq!(tally, Tally { answered: 3, errors: 2 });
    }
}
