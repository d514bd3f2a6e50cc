//! What every server has to answer as recorded: a well-formed request.
//!
//! One JSON-RPC 2.0 call that wants an answer, or a batch of 1 to 100 of them, within the size limit; nested at most
//! 100 deep, every number a finite double, every string Unicode, no member twice, at most 127 blanks before it. HTTP (POST, a
//! JSON content type, no Content-Encoding) is [`is_json`]'s and its callers' to check.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use validator_state::{MAX_BATCH_ENTRIES, MAX_BODY_BYTES};

/// The deepest nesting of a well-formed body; a scalar has depth 1.
const MAX_DEPTH: usize = 100;

/// The most white space before a well-formed body, in bytes.
const MAX_BLANKS: usize = 127;

/// A well-formed call.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// The text "2.0".
    jsonrpc: String,
    /// Null, a string, or a whole number of 64 bits.
    #[serde(deserialize_with = "present")]
    pub id: Value,
    /// The name of the method.
    pub method: String,
    /// An array or an object.
    #[serde(default, deserialize_with = "given")]
    pub params: Option<Box<RawValue>>,
}

/// A well-formed body.
#[derive(Debug)]
pub enum Body {
    /// One call.
    Single(Call),
    /// 1 to 100 calls.
    Batch(Vec<Call>),
}

/// The calls of a body; `None` where it is not well-formed.
pub fn parse(body: &[u8]) -> Option<Body> {
    let text = std::str::from_utf8(body).ok().filter(|text| text.len() <= MAX_BODY_BYTES)?;
    let Depth(depth) = serde_json::from_str(text).ok()?;
    let blanks = text.len() - text.trim_ascii_start().len();
    if depth > MAX_DEPTH || blanks > MAX_BLANKS {
        return None;
    }
    if text.trim_start().starts_with('[') {
        let calls: Vec<&RawValue> = serde_json::from_str(text).ok()?;
        let calls: Option<Vec<Call>> = calls.into_iter().map(|text| call(text.get())).collect();
        let calls = calls.filter(|calls| (1..=MAX_BATCH_ENTRIES).contains(&calls.len()))?;
        return Some(Body::Batch(calls));
    }
    call(text).map(Body::Single)
}

/// Whether a Content-Type is one that every server takes for JSON.
pub fn is_json(content_type: &str) -> bool {
    let types = ["application/json", "application/json; charset=utf-8", "application/json;charset=utf-8"];
    types.contains(&content_type.to_ascii_lowercase().as_str())
}

fn call(text: &str) -> Option<Call> {
    // By position, as serde would take it too, it is no JSON-RPC.
    if !text.trim_start().starts_with('{') {
        return None;
    }
    let call: Call = serde_json::from_str(text).ok()?;
    let has_id = call.id.is_null() || call.id.is_string() || call.id.is_u64();
    let has_params = call.params.as_ref().is_none_or(|params| params.get().starts_with(['[', '{']));
    (call.jsonrpc == "2.0" && has_id && has_params).then_some(call)
}

/// A value that has to be there, though it may be null.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
    Value::deserialize(deserializer)
}

/// Parameters, where null is no absence.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::<RawValue>::deserialize(deserializer).map(Some)
}

/// How deep a value is nested; one with a member twice can't be read.
struct Depth(usize);

impl<'de> Deserialize<'de> for Depth {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(DepthVisitor)
    }
}

struct DepthVisitor;

impl<'de> Visitor<'de> for DepthVisitor {
    type Value = Depth;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Depth, E> {
        Ok(Depth(1))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Depth, E> {
        Ok(Depth(1))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Depth, E> {
        Ok(Depth(1))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Depth, E> {
        Ok(Depth(1))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Depth, E> {
        Ok(Depth(1))
    }

    fn visit_str<E>(self, _: &str) -> Result<Depth, E> {
        Ok(Depth(1))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Depth, A::Error> {
        let mut deepest = 0;
        while let Some(Depth(depth)) = items.next_element()? {
            deepest = deepest.max(depth);
        }
        Ok(Depth(deepest + 1))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Depth, A::Error> {
        let (mut deepest, mut names) = (0, HashSet::new());
        while let Some((name, Depth(depth))) = members.next_entry::<String, Depth>()? {
            deepest = deepest.max(depth);
            if !names.insert(name) {
                return Err(A::Error::custom("a member twice"));
            }
        }
        Ok(Depth(deepest + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(body: &str) -> bool {
        parse(body.as_bytes()).is_some()
    }

    fn with(member: &str) -> String {
        format!(r#"{{"jsonrpc":"2.0","method":"getHealth",{member}}}"#)
    }

    fn nested(depth: usize) -> String {
        with(&format!(r#""id":1,"params":{}{}"#, "[".repeat(depth), "]".repeat(depth)))
    }

    #[test]
    fn calls_are_well_formed() {
        for id in ["null", "0", "18446744073709551615", r#""""#, r#""\u00e9 \"x\"""#, r#""\ud83d\ude00""#] {
            assert!(holds(&with(&format!(r#""id":{id}"#))), "{id}");
        }
        for params in ["[]", "{}", "[1e308]", r#"[{"a":{"a":1}}]"#, " [ 1 ] "] {
            assert!(holds(&with(&format!(r#""id":1,"params":{params}"#))), "{params}");
        }
        assert!(holds(&format!(" \r\n\t{}\n", with(r#""id":1"#))));
        assert!(holds(&with(r#""\u0069d":1"#)));
        assert!(holds(&nested(99)) && !holds(&nested(100)));
    }

    #[test]
    fn anything_else_is_not() {
        for id in ["-1", "1.0", "1e3", "true", "[]", "{}", "18446744073709551616", r#""\ud800""#] {
            assert!(!holds(&with(&format!(r#""id":{id}"#))), "{id}");
        }
        for params in ["null", "1", r#""x""#, "[1e400]", r#"[{"a":1,"a":1}]"#, "[01]", r#"["\udc00"]"#] {
            assert!(!holds(&with(&format!(r#""id":1,"params":{params}"#))), "{params}");
        }
        for body in ["", " ", "{", "{}", "[]", "1", "null", r#"["2.0",1,"getHealth",[]]"#, "[1]"] {
            assert!(!holds(body), "{body}");
        }
        let call = with(r#""id":1"#);
        for body in [
            format!("{call}{call}"),
            format!("\u{feff}{call}"),
            format!("\u{c}{call}"),
            format!("[[{call}]]"),
            call.replace("2.0", "1.0"),
            call.replace(r#""2.0""#, "2.0"),
            call.replace(r#""getHealth""#, "1"),
            call.replace(r#","id":1"#, ""),
            with(r#""id":1,"x":1"#),
            with(r#""id":1,"id":1"#),
            with("\"id\":\"\t\""),
        ] {
            assert!(!holds(&body), "{body}");
        }
        assert!(parse(&[call.as_bytes(), b"\xff"].concat()).is_none());
    }

    #[test]
    fn batches_and_bodies_have_a_largest_size() {
        let call = with(r#""id":1"#);
        let batch = |count: usize| format!("[{}]", vec![call.as_str(); count].join(","));
        assert!(holds(&batch(1)) && holds(&batch(100)));
        assert!(!holds(&batch(0)) && !holds(&batch(101)));
        assert!(!holds(&format!("[{call},{{}}]")));
        let padded = |length: usize| format!("{call}{}", " ".repeat(length - call.len()));
        assert!(holds(&padded(51_200)) && !holds(&padded(51_201)));
        let blanks = |count: usize| format!("{}{call}", "\n".repeat(count));
        assert!(holds(&blanks(127)) && !holds(&blanks(128)));
    }

    #[test]
    fn content_types_of_json() {
        assert!(is_json("Application/JSON") && is_json("application/json;charset=UTF-8"));
        for other in ["", "text/plain", "application/json-rpc", "application/json ; charset=utf-8"] {
            assert!(!is_json(other), "{other}");
        }
    }
}
