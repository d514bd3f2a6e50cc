//! JSON-RPC 2.0 by serde types, for a server whose framework has none: from the text of a body to the text of its answer.
//!
//! Parameters stay text until the method reads them, and the answer is written straight into a buffer. Out of scope: HTTP, and
//! what the methods mean (`validator-state`).

#![forbid(unsafe_code)]
#![deny(
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::unreachable,
    reason = "the network reaches this"
)]

use std::borrow::Cow;

use serde::de::{Deserializer, IgnoredAny};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use validator_state::{Answer, MAX_BATCH_ENTRIES, Method, Params, RpcError, SlotBudget, State};

const VERSION: &str = "2.0";

/// How many calls of one body reached a method and were answered: for a server's counters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Calls that were answered, with a result or an error.
    pub answered: u64,
    /// Those of them that were answered with an error.
    pub errors: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request<'a> {
    #[serde(borrow)]
    jsonrpc: Cow<'a, str>,
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    /// `None` is a notification; an id of null is an id.
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<Id<'a>>,
}

#[derive(Deserialize, Serialize)]
#[serde(untagged)]
enum Id<'a> {
    // The first, for each variant that does not fit costs an error that serde allocates.
    Number(u64),
    Null,
    #[serde(borrow)]
    Text(Cow<'a, str>),
    /// No id that could be sent back unchanged, such as a fraction. The node calls it a parse error.
    #[serde(skip_serializing)]
    Unusable(IgnoredAny),
}

#[derive(Serialize)]
#[serde(untagged)]
enum Response<'a> {
    Result { jsonrpc: &'static str, result: Reply, id: Id<'a> },
    Error { jsonrpc: &'static str, error: RpcError, id: Id<'a> },
}

#[derive(Serialize)]
#[serde(untagged)]
enum Reply {
    Answer(Answer),
    Other(Value),
}

/// Methods beyond the seven, such as a connection's subscriptions: the answer to a method of that name, or `None` where there is
/// none. They are not counted.
pub type OtherMethods<'a> = dyn Fn(&str, Params<'_>) -> Option<Result<Value, RpcError>> + 'a;

/// Whether a body may hold a call that lists blocks, for a server that answers those on another thread. Looks for the name and
/// reads no JSON, so a body that merely mentions it counts too, and so does one with an escape, which may spell it.
pub fn may_list_blocks(body: &str) -> bool {
    body.contains("getBlocks") || body.contains('\\')
}

/// Answers a body: appends the answer to `out`, or nothing where the body holds only notifications.
pub fn answer(state: &State, body: &str, out: &mut Vec<u8>) -> Tally {
    answer_with(state, None, body, out)
}

/// [`answer`], with other methods for the names that the contract has not. With other methods, the body is a WebSocket's message.
pub fn answer_with(state: &State, others: Option<&OtherMethods<'_>>, body: &str, out: &mut Vec<u8>) -> Tally {
    let mut tally = Tally::default();
    let node = Node { state, others };
    if body.trim_start().starts_with('[') {
        batch(&node, body, out, &mut tally);
    } else if let Some(response) = call(&node, body, &mut tally) {
        response.write(out);
    }
    tally
}

/// What calls are answered with.
struct Node<'a> {
    state: &'a State,
    others: Option<&'a OtherMethods<'a>>,
}

impl Node<'_> {
    #[cfg(not(feature = "calls"))]
    fn reply(&self, name: &str, params: Params<'_>, tally: &mut Tally) -> Result<Reply, RpcError> {
        self.untimed_reply(name, params, tally)
    }

    #[cfg(feature = "calls")]
    fn reply(&self, name: &str, params: Params<'_>, tally: &mut Tally) -> Result<Reply, RpcError> {
        use server_kit::{CallCounters, Transport};

        let calls = CallCounters::of_process();
        let transport = if self.others.is_some() { Transport::WebSocket } else { Transport::Http };
        let begun = calls.begin();
        let reply = self.untimed_reply(name, params, tally);
        calls.end(begun, transport, name, reply.is_err());
        reply
    }

    fn untimed_reply(&self, name: &str, params: Params<'_>, tally: &mut Tally) -> Result<Reply, RpcError> {
        let Some(method) = Method::from_name(name) else {
            let reply = self.others.and_then(|others| others(name, params));
            return reply.unwrap_or_else(|| Err(RpcError::method_not_found())).map(Reply::Other);
        };
        let answer = self.state.call(method, params);
        tally.answered += 1;
        tally.errors += u64::from(answer.is_err());
        answer.map(Reply::Answer)
    }
}

/// Answers one request; `None` where it is a notification, which is not executed.
fn call<'a>(node: &Node<'_>, text: &'a str, tally: &mut Tally) -> Option<Response<'a>> {
    // Derived types also read an array, member by member.
    if text.trim_start().starts_with('[') {
        return Some(Response::error(RpcError::invalid_request(), Id::Null));
    }
    let request: Request<'a> = match serde_json::from_str(text) {
        Ok(request) => request,
        // A fault of type ends the reading before the end of the text, which may be no JSON further on.
        Err(error) if error.is_data() && serde_json::from_str::<IgnoredAny>(text).is_ok() => {
            return Some(Response::error(RpcError::invalid_request(), Id::Null));
        }
        Err(_) => return Some(Response::error(RpcError::parse_error(), Id::Null)),
    };
    // First of all, for such an id can't be sent back with any other error either.
    if let Some(Id::Unusable(_)) = request.id {
        return Some(Response::error(RpcError::parse_error(), Id::Null));
    }
    if request.jsonrpc != VERSION {
        return Some(Response::error(RpcError::invalid_request(), request.id.unwrap_or(Id::Null)));
    }
    let id = request.id?;
    let params = request.params.map_or(Params::None, |params| Params::Raw(params.get()));
    Some(match node.reply(&request.method, params, tally) {
        Ok(result) => Response::Result { jsonrpc: VERSION, result, id },
        Err(error) => Response::error(error, id),
    })
}

fn batch(node: &Node<'_>, body: &str, out: &mut Vec<u8>, tally: &mut Tally) {
    let refusal = match serde_json::from_str::<Vec<&RawValue>>(body) {
        Err(_) => RpcError::parse_error(),
        Ok(calls) if calls.is_empty() => RpcError::invalid_request(),
        Ok(calls) if calls.len() > MAX_BATCH_ENTRIES => RpcError::batch_too_large(),
        Ok(calls) => {
            let budget = SlotBudget::default();
            let mut separator = b'[';
            for one in calls {
                let Some(response) = call(node, one.get(), tally) else { continue };
                out.push(separator);
                separator = b',';
                response.charged(&budget, tally).write(out);
            }
            if separator == b',' {
                out.push(b']');
            }
            return;
        }
    };
    Response::error(refusal, Id::Null).write(out);
}

impl<'a> Response<'a> {
    const fn error(error: RpcError, id: Id<'a>) -> Self {
        Self::Error { jsonrpc: VERSION, error, id }
    }

    /// An error instead, where the answers of its batch hold too many slots already.
    fn charged(self, budget: &SlotBudget, tally: &mut Tally) -> Self {
        match self {
            Self::Result { jsonrpc, result: Reply::Answer(answer), id } => match budget.charge(answer) {
                Ok(answer) => Self::Result { jsonrpc, result: Reply::Answer(answer), id },
                Err(error) => {
                    tally.errors += 1;
                    Self::error(error, id)
                }
            },
            other => other,
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        let written = serde_json::to_writer(out, self);
        debug_assert!(written.is_ok(), "every answer is JSON, and a Vec takes every byte");
    }
}

/// Distinguishes a member that is null from one that is absent.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Id<'de>>, D::Error> {
    Id::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use validator_state::{Ledger, SeededSpec};

    const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"getHealth"}"#;
    const NOTIFICATION: &str = r#"{"jsonrpc":"2.0","method":"getHealth"}"#;

    fn ask(body: &str) -> (String, Tally) {
        let state = State::new(Ledger::seeded(&SeededSpec { accounts: 4, slots: 900_000, seed: 1 }));
        let mut out = Vec::new();
        let tally = answer(&state, body, &mut out);
        (String::from_utf8(out).unwrap(), tally)
    }

    #[test]
    fn plain_text_is_borrowed_from_the_body() {
        let request: Request<'_> =
            serde_json::from_str(r#"{"jsonrpc":"2.0","id":"a","method":"getHealth","params":[]}"#).unwrap();
        assert!(matches!((request.jsonrpc, request.method), (Cow::Borrowed(_), Cow::Borrowed(_))));
        assert!(matches!(request.id, Some(Id::Text(Cow::Borrowed(_)))));
    }

    #[test]
    fn escapes_are_undone_wherever_they_stand() {
        let (out, tally) =
            ask(r#"{"json\u0072pc":"2\u002e0","id":"a\"\u00e9","m\u0065thod":"get\u0048ealth"}"#);
        assert_eq!(out, "{\"jsonrpc\":\"2.0\",\"result\":\"ok\",\"id\":\"a\\\"é\"}");
        assert_eq!(tally, Tally { answered: 1, errors: 0 });
    }

    #[test]
    fn an_id_is_sent_back_as_it_came_or_not_at_all() {
        let ask = |id| ask(&CALL.replace(":1,", &format!(":{id},"))).0;
        for id in ["null", "0", "18446744073709551615", r#""""#, r#""18446744073709551616""#] {
            assert_eq!(ask(id), format!(r#"{{"jsonrpc":"2.0","result":"ok","id":{id}}}"#));
        }
        for id in ["-1", "1.5", "1e3", "18446744073709551616", "true", "[1]", r#"{"a":null}"#] {
            assert!(ask(id).contains("-32700") && ask(id).ends_with(r#""id":null}"#), "{id}: {}", ask(id));
        }
        let two_faults = r#"{"jsonrpc":"1.0","id":1.5,"method":"getHealth"}"#;
        let (out, tally) = self::ask(two_faults);
        assert!(
            out.contains("-32700") && out.ends_with(r#""id":null}"#) && tally == Tally::default(),
            "{out}"
        );
    }

    #[test]
    fn no_call_that_lists_blocks_is_overlooked() {
        for method in Method::ALL {
            let call = CALL.replace("getHealth", method.name());
            assert_eq!(may_list_blocks(&call), method.lists_blocks(), "{method}");
            assert_eq!(may_list_blocks(&format!("[{CALL},{call}]")), method.lists_blocks(), "{method}");
        }
        let escaped = CALL.replace("getHealth", "get\\u0042locks");
        assert!(may_list_blocks(&escaped) && ask(&escaped).0.contains("should have at least"), "{escaped}");
    }

    #[test]
    fn no_request_and_no_json_are_different_errors() {
        let invalid =
            ["{}", "1", "null", r#"{"jsonrpc":"2.0","id":1,"method":1}"#, &CALL.replace("2.0", "1.0"), "[]"];
        for body in invalid {
            assert!(ask(body).0.contains(r#"{"code":-32600,"message":"Invalid request"}"#), "{body}");
        }
        for body in [
            "",
            "{",
            "1 x",
            r#"{"jsonrpc":"2.0","id":1,"x""#,
            &format!("{CALL}{{}}"),
            "[{},",
            r#"{"jsonrpc":"2.0","id":1,"method":"\ud800"}"#,
        ] {
            let parse_error =
                r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"},"id":null}"#;
            assert_eq!(ask(body), (parse_error.to_owned(), Tally::default()), "{body}");
        }
    }

    #[test]
    fn batches_count_each_answer_and_skip_notifications() {
        let (out, tally) = ask(&format!(" [{NOTIFICATION},{CALL},{{}},{NOTIFICATION}]"));
        assert_eq!(tally, Tally { answered: 1, errors: 0 });
        assert!(
            out.starts_with(r#"[{"jsonrpc":"2.0","result":"ok","id":1},{"#) && out.ends_with("}]"),
            "{out}"
        );
        assert!(ask(r#"[["2.0","getHealth",null,1]]"#).0.contains("-32600"), "an array is no call");
        assert_eq!(ask(&format!("[{NOTIFICATION}]")), (String::new(), Tally::default()));
        assert_eq!(ask(NOTIFICATION), (String::new(), Tally::default()));
    }

    #[test]
    fn other_methods_are_called_by_the_names_that_the_contract_has_not() {
        let state = State::new(Ledger::seeded(&SeededSpec { accounts: 4, slots: 100, seed: 1 }));
        let others = |name: &str, params: Params<'_>| match name {
            "double" => Some(params.subscription().map(|number| Value::from(2 * number))),
            "getHealth" => Some(Ok(Value::Null)),
            _ => None,
        };
        let named = |name: &str| CALL.replace("getHealth", name);
        let double = named("double").replace("}", r#","params":[4]}"#);
        let body = format!("[{CALL},{double},{},{}]", named("double"), named("nope"));
        let mut out = Vec::new();
        let tally = answer_with(&state, Some(&others), &body, &mut out);
        assert_eq!(tally, Tally { answered: 1, errors: 0 });
        let answers: Vec<Value> = serde_json::from_slice(&out).unwrap();
        assert_eq!((&answers[0]["result"], &answers[1]["result"]), (&Value::from("ok"), &Value::from(8)));
        assert_eq!(
            (&answers[2]["error"]["code"], &answers[3]["error"]["code"]),
            (&(-32602).into(), &(-32601).into())
        );
        assert!(ask(&double).0.contains("-32601"), "over HTTP there are none");
    }

    #[test]
    fn a_batch_has_a_largest_size() {
        let many = |count| format!("[{}]", vec![CALL; count].join(","));
        assert_eq!(ask(&many(100)).1, Tally { answered: 100, errors: 0 });
        let (out, tally) = ask(&many(101));
        assert_eq!(tally, Tally::default());
        assert!(out.contains("Batch too large; max 100"), "{out}");
    }

    #[test]
    fn one_body_gives_at_most_one_largest_answer_of_slots() {
        let call = r#"{"jsonrpc":"2.0","id":1,"method":"getBlocks","params":[0,400000]}"#;
        let (_, tally) = ask(&format!("[{call},{call},{call}]"));
        assert_eq!(tally, Tally { answered: 3, errors: 2 });
    }
}
