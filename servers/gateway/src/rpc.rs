//! JSON-RPC as far as a gateway must read it: ids, and the request that an answer may be kept for.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

/// Methods of Ethereum's nodes that only read, beyond those whose names say so.
const READING: [&str; 5] = ["blockNumber", "call", "chainId", "estimateGas", "gasPrice"];

/// What a caller sent. Other members than these are not passed on over a shared WebSocket.
#[derive(Debug, Deserialize, Serialize)]
pub struct Call<'a> {
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    jsonrpc: Option<&'a RawValue>,
    /// As the caller wrote it; `None` of a notification, which gets no answer.
    #[serde(borrow, default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    params: Option<&'a RawValue>,
}

/// An `id` of null is one, and not a missing one.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// What a body holds.
#[derive(Debug)]
pub enum Calls<'a> {
    /// One call.
    One(Call<'a>),
    /// The entries of an array, each as it came. Some may be no calls.
    Batch(Vec<&'a RawValue>),
    /// JSON that is no call.
    NoCall,
    /// No JSON.
    NoJson,
}

impl<'a> Calls<'a> {
    /// Reads a body.
    pub fn of(body: &'a [u8]) -> Self {
        if let Some(call) = Call::of(body) {
            return Self::One(call);
        }
        match serde_json::from_slice::<Vec<&RawValue>>(body) {
            Ok(entries) if entries.is_empty() => Self::NoCall,
            Ok(entries) => Self::Batch(entries),
            Err(_) if serde_json::from_slice::<IgnoredAny>(body).is_ok() => Self::NoCall,
            Err(_) => Self::NoJson,
        }
    }
}

impl<'a> Call<'a> {
    /// Reads a call; `None` of what is none. An array is none, though serde would read its entries as a call's members.
    pub fn of(text: &'a [u8]) -> Option<Self> {
        text.trim_ascii_start().starts_with(b"{").then(|| serde_json::from_slice(text).ok())?
    }

    /// The name of its method.
    pub fn method(&self) -> &str {
        &self.method
    }

    /// Whether a node can answer it to an id: over a shared WebSocket, an answer to id null is nobody's.
    pub fn is_valid(&self) -> bool {
        let begins = |value: Option<&RawValue>, with: &[u8]| {
            value.is_none_or(|value| value.get().as_bytes().first().is_some_and(|first| with.contains(first)))
        };
        self.jsonrpc.is_some_and(|version| version.get() == "\"2.0\"")
            && begins(self.id, b"\"-0123456789n")
            && begins(self.params, b"[{n")
    }

    /// Whether the same call may have the same answer for a while: those that only read, by the names of a node's methods.
    pub fn only_reads(&self) -> bool {
        // Of Ethereum's methods the name follows the namespace.
        let (namespace, name) = self.method.split_once('_').unwrap_or(("", &self.method));
        let is_named = |verb: &&str| {
            let noun = name.strip_prefix(verb).and_then(|noun| noun.chars().next());
            noun.is_some_and(char::is_uppercase)
        };
        ["get", "is"].iter().any(is_named) || (namespace == "eth" && READING.contains(&name))
    }

    /// The call with another id, in JSON.
    pub fn with_id(&self, id: Option<u64>) -> String {
        let id = id.and_then(|id| serde_json::value::to_raw_value(&id).ok());
        let (jsonrpc, params) = (self.jsonrpc, self.params);
        let call = Call { jsonrpc, id: id.as_deref(), method: Cow::Borrowed(&self.method), params };
        serde_json::to_string(&call).unwrap_or_default()
    }

    /// What two calls share that have the same answer: all but the id.
    pub fn key(&self) -> String {
        self.with_id(None)
    }
}

/// How many calls a body has, for the rate limit.
pub fn calls_of(body: &[u8]) -> u32 {
    match Calls::of(body) {
        Calls::Batch(entries) => u32::try_from(entries.len()).unwrap_or(u32::MAX),
        Calls::One(_) | Calls::NoCall | Calls::NoJson => 1,
    }
}

/// Whether a node answers a message at all: a notification, or a batch of them, gets no answer.
pub fn is_answered(message: &[u8]) -> bool {
    match Calls::of(message) {
        Calls::One(call) => call.id.is_some(),
        // An entry that is no call is answered with an error.
        Calls::Batch(entries) => {
            entries.iter().any(|entry| Call::of(entry.get().as_bytes()).is_none_or(|call| call.id.is_some()))
        }
        Calls::NoCall | Calls::NoJson => true,
    }
}

/// Whether a message of a node is a notification, such as that of a subscription: its first member besides `jsonrpc` is `method`. No
/// more of it is read than that, as an answer may have megabytes.
pub fn is_notification(message: &[u8]) -> bool {
    struct First<'a>(&'a mut bool);
    impl<'de> Visitor<'de> for First<'_> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a message")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
            while let Some(name) = members.next_key::<Cow<'de, str>>()? {
                if name != "jsonrpc" {
                    *self.0 = name == "method";
                    break;
                }
                members.next_value::<IgnoredAny>()?;
            }
            Ok(())
        }
    }
    let mut is_one = false;
    // The rest of the message is left unread, which is an error to the parser.
    let _unread = serde_json::Deserializer::from_slice(message).deserialize_map(First(&mut is_one));
    is_one
}

/// An answer, as far as it is read.
#[derive(Debug, Deserialize)]
struct Answer<'a> {
    /// A result of null is one.
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// What an answer says, without its id: kept, and given to each caller with the caller's own.
#[derive(Debug, Clone)]
pub struct Said {
    /// `"result":…` or `"error":…`.
    member: Bytes,
    /// Whether it is a result.
    pub is_result: bool,
}

/// An answer, or why there is none.
pub type Outcome = Result<Said, Refusal>;

impl Said {
    /// Reads an answer; `None` of what is none.
    pub fn of(text: &[u8]) -> Option<Self> {
        let answer: Answer<'_> = serde_json::from_slice(text).ok()?;
        let (name, value) = match (answer.result, answer.error) {
            (Some(result), None) => ("result", result),
            (None, Some(error)) => ("error", error),
            _ => return None,
        };
        Some(Self { member: format!("\"{name}\":{}", value.get()).into(), is_result: answer.error.is_none() })
    }

    /// Its length, in bytes.
    pub fn len(&self) -> usize {
        self.member.len()
    }

    /// The answer to a caller's id.
    pub fn to(&self, id: &RawValue) -> Vec<u8> {
        let id = id.get();
        [br#"{"jsonrpc":"2.0","#, self.member.as_ref(), br#","id":"#, id.as_bytes(), b"}"].concat()
    }
}

/// An error of the gateway's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal {
    /// The status of HTTP.
    pub status: u16,
    /// The code of JSON-RPC.
    pub code: i32,
    /// What a person reads.
    pub message: &'static str,
}

impl Refusal {
    /// The body is no JSON.
    pub const NO_JSON: Self = Self { status: 200, code: -32_700, message: "Parse error" };
    /// The body is no call.
    pub const NO_CALL: Self = Self { status: 200, code: -32_600, message: "Invalid request" };
    /// More requests a second than `--rate-limit`.
    pub const LIMITED: Self = Self { status: 429, code: -32_005, message: "Gateway: too many requests" };
    /// More requests wait than `--max-in-flight`.
    pub const BUSY: Self =
        Self { status: 503, code: -32_005, message: "Gateway: too many requests in flight" };
    /// The node can't be reached, or the connection to it was lost.
    pub const UNREACHABLE: Self =
        Self { status: 502, code: -32_006, message: "Gateway: upstream unreachable" };
    /// The node's answer is no JSON-RPC.
    pub const UNREADABLE: Self =
        Self { status: 502, code: -32_006, message: "Gateway: upstream gave no answer" };
    /// The node did not answer in time.
    pub const LATE: Self = Self { status: 504, code: -32_007, message: "Gateway: upstream timed out" };

    /// The answer to one id.
    pub fn to(self, id: Option<&RawValue>) -> String {
        let Self { code, message, .. } = self;
        let id = id.map_or("null", RawValue::get);
        format!(r#"{{"jsonrpc":"2.0","error":{{"code":{code},"message":"{message}"}},"id":{id}}}"#)
    }

    /// The answer to a body: to its call, or to each call of its batch; none to notifications.
    pub fn to_body(self, body: &[u8]) -> String {
        match Calls::of(body) {
            Calls::One(call) => call.id.map_or_else(String::new, |id| self.to(Some(id))),
            Calls::Batch(entries) => {
                let answer = |entry: &&RawValue| match Call::of(entry.get().as_bytes()) {
                    Some(call) => call.id.map(|id| self.to(Some(id))),
                    None => Some(self.to(None)),
                };
                let each: Vec<String> = entries.iter().filter_map(answer).collect();
                if each.is_empty() { String::new() } else { format!("[{}]", each.join(",")) }
            }
            Calls::NoCall | Calls::NoJson => self.to(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(text: &str) -> Call<'_> {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_call_gets_another_id_and_keeps_the_rest() {
        let call = call(r#"{"jsonrpc":"2.0","id":"a","method":"m","params":[1,{"b":2.50}]}"#);
        assert_eq!(call.with_id(Some(7)), r#"{"jsonrpc":"2.0","id":7,"method":"m","params":[1,{"b":2.50}]}"#);
        assert_eq!(call.key(), r#"{"jsonrpc":"2.0","method":"m","params":[1,{"b":2.50}]}"#);
    }

    #[test]
    fn an_id_of_null_is_no_notification() {
        assert_eq!(call(r#"{"id":null,"method":"m"}"#).id.map(RawValue::get), Some("null"));
        assert!(call(r#"{"method":"m"}"#).id.is_none());
    }

    #[test]
    fn a_body_is_a_call_a_batch_or_neither() {
        assert!(matches!(Calls::of(br#"{"method":"m"}"#), Calls::One(_)));
        assert!(matches!(Calls::of(br#"[{"method":"m"},1]"#), Calls::Batch(entries) if entries.len() == 2));
        assert!(matches!(Calls::of(br#"["2.0",1,"m"]"#), Calls::Batch(entries) if entries.len() == 3));
        assert!(matches!(Calls::of(b"[]"), Calls::NoCall));
        assert!(matches!(Calls::of(b"3"), Calls::NoCall));
        assert!(matches!(Calls::of(b"{"), Calls::NoJson));
    }

    #[test]
    fn an_answer_is_given_to_another_id() {
        let said = Said::of(br#"{"jsonrpc":"2.0","result":{"value": 3},"id":9}"#).unwrap();
        let id = RawValue::from_string("\"x\"".to_owned()).unwrap();
        assert_eq!(said.to(&id), br#"{"jsonrpc":"2.0","result":{"value": 3},"id":"x"}"#);
        assert!(said.is_result && !Said::of(br#"{"error":{"code":1},"id":1}"#).unwrap().is_result);
        assert!(Said::of(br#"{"result":null,"id":1}"#).unwrap().is_result);
        assert!(Said::of(b"{}").is_none() && Said::of(b"no").is_none());
    }

    #[test]
    fn what_no_answer_could_be_matched_to_is_no_call() {
        let is_valid = |text: &str| call(text).is_valid();
        assert!(is_valid(r#"{"jsonrpc":"2.0","id":"a","method":"m","params":[]}"#));
        assert!(is_valid(r#"{"jsonrpc":"2.0","method":"m"}"#));
        for text in [
            r#"{"id":1,"method":"m"}"#,
            r#"{"jsonrpc":"1.0","id":1,"method":"m"}"#,
            r#"{"jsonrpc":"2.0","id":{},"method":"m"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":3}"#,
        ] {
            assert!(!is_valid(text), "{text}");
        }
    }

    #[test]
    fn it_is_known_which_messages_are_answered_and_which_are_answers() {
        for (message, expected) in [
            (r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#, true),
            (r#"{"jsonrpc":"2.0","id":null,"method":"m"}"#, true),
            (r#"{"jsonrpc":"2.0","method":"m"}"#, false),
            (r#"[{"method":"m"},{"method":"m"}]"#, false),
            (r#"[{"method":"m"},{"method":"m","id":1}]"#, true),
            (r#"[{"method":"m"},3]"#, true),
            ("{", true),
        ] {
            assert_eq!(is_answered(message.as_bytes()), expected, "{message}");
        }
        for (message, expected) in [
            (r#"{"jsonrpc":"2.0","method":"slotNotification","params":{}}"#, true),
            (r#" {"method":"slotNotification","params":{}}"#, true),
            (r#"{"jsonrpc":"2.0","result":{"method":"m"},"id":1}"#, false),
            (r#"{"id":1,"jsonrpc":"2.0","result":3}"#, false),
            (r#"[{"jsonrpc":"2.0","method":"m"}]"#, false),
            (r#"{"jsonrpc":"2.0"}"#, false),
            ("", false),
        ] {
            assert_eq!(is_notification(message.as_bytes()), expected, "{message}");
        }
    }

    #[test]
    fn only_what_reads_may_be_kept() {
        for (method, is_kept) in [
            ("getBalance", true),
            ("isBlockhashValid", true),
            ("sendTransaction", false),
            ("issue", false),
            ("eth_getBalance", true),
            ("eth_call", true),
            ("eth_sendRawTransaction", false),
            ("eth_calls", false),
            ("call", false),
        ] {
            assert_eq!(call(&format!(r#"{{"method":"{method}"}}"#)).only_reads(), is_kept, "{method}");
        }
    }

    #[test]
    fn a_refusal_answers_every_call_of_a_batch_and_no_notification() {
        assert_eq!(Refusal::LATE.to_body(br#"{"method":"m"}"#), "");
        let body = br#"[{"id":1,"method":"m"},{"method":"m"},{"id":"b","method":"m"}]"#;
        let answers: Vec<serde_json::Value> = serde_json::from_str(&Refusal::LATE.to_body(body)).unwrap();
        assert_eq!((&answers[0]["id"], &answers[1]["id"]), (&1.into(), &"b".into()));
        assert_eq!(answers[1]["error"]["code"], -32_007);
    }
}
