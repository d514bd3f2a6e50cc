//! Judges answers: a well-formed request has one right answer; to any other a server may say what its framework says, but
//! never with a status of 500 or above, and never with a `result` that is not what the method answers.

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use validator_state::{Ledger, MAX_BODY_BYTES, Method, Params, State};

use crate::fuzz::wire::{Answer, Request};
use crate::servers::{JSONRPSEE, oracle_dir};
use crate::well_formed::{Body, Call, parse};

/// The recorded node's ledger, read without a server.
#[derive(Debug)]
pub struct Node(State);

impl Node {
    /// Over the same ledger as the servers.
    ///
    /// # Panics
    /// The ledger of the recordings is not there.
    pub fn load() -> Self {
        Self(State::new(Ledger::load(&oracle_dir().join("ledger")).expect("the recordings' ledger is there")))
    }

    /// The right answer to a well-formed body.
    pub fn answer(&self, body: &Body) -> Value {
        match body {
            Body::Single(call) => self.answer_to(call),
            Body::Batch(calls) => calls.iter().map(|call| self.answer_to(call)).collect(),
        }
    }

    fn answer_to(&self, call: &Call) -> Value {
        let params = call.params.as_ref().map_or(Params::None, |params| Params::Raw(params.get()));
        let Some(method) = Method::from_name(&call.method) else {
            let error = json!({"code": -32601, "message": "Method not found"});
            return json!({"jsonrpc": "2.0", "error": error, "id": call.id});
        };
        match self.0.call(method, params) {
            Ok(result) => json!({"jsonrpc": "2.0", "result": result, "id": call.id}),
            Err(error) => json!({"jsonrpc": "2.0", "error": error, "id": call.id}),
        }
    }

    /// What is wrong with a server's answer to a request, if anything is.
    pub fn fault(&self, server: &str, request: &Request, answer: &Answer) -> Option<String> {
        let usual = request.oddity.is_none();
        if let Some(body) = usual.then(|| parse(&request.payload)).flatten() {
            let expected = self.answer(&body);
            let is_right = answer.status == 200
                && answer.media == "application/json"
                && serde_json::from_slice::<Value>(&answer.body).is_ok_and(|got| got == expected);
            return (!is_right).then(|| format!("not {expected}"));
        }
        if answer.status >= 500 && !is_known(server, request, answer.status) {
            return Some(format!("status {}", answer.status));
        }
        self.wrong_result(&[&request.payload], &answer.body)
    }

    /// The first `result` of an answer that no reading of these bodies gives.
    pub fn wrong_result(&self, payloads: &[&[u8]], answer: &[u8]) -> Option<String> {
        let answer = serde_json::from_slice::<Value>(answer).ok()?;
        let entries = answer.as_array().map_or(std::slice::from_ref(&answer), Vec::as_slice);
        let mut results = entries.iter().filter(|entry| entry.get("result").is_some()).peekable();
        results.peek()?;
        let readings: Vec<Reading> = payloads.iter().flat_map(|payload| readings(payload)).collect();
        let wrong = results.find(|entry| !readings.iter().any(|reading| self.gives(reading, entry)));
        wrong.map(|entry| format!("a wrong result: {entry}"))
    }

    fn gives(&self, reading: &Reading, entry: &Value) -> bool {
        let methods = || reading.methods.iter().filter_map(|name| Method::from_name(name));
        let gives = |params: Params<'_>, method| {
            let result =
                self.0.call(method, params).ok().and_then(|result| serde_json::to_value(result).ok());
            result.as_ref() == entry.get("result")
        };
        reading.ids.iter().any(|id| Some(id) == entry.get("id"))
            && methods().any(|method| {
                gives(Params::None, method)
                    || reading.params.iter().any(|params| gives(Params::Raw(params), method))
            })
    }
}

/// Whether a status is the only one of 500 or above that is expected: jsonrpsee's own answer to a body that it can't read to
/// its end, be it chunks that are broken or exceed its limit, a length that is too long for its check of the header, or a
/// connection that ends within the body.
pub fn is_known(server: &str, request: &Request, status: u16) -> bool {
    let is_chunked = |header: &Vec<u8>| header.to_ascii_lowercase().starts_with(b"transfer-encoding:");
    let too_large = request.payload.len() > MAX_BODY_BYTES && request.headers.iter().any(is_chunked);
    let broken = request
        .oddity
        .is_some_and(|oddity| oddity.starts_with("chunk") || ["half-close", "length-huge"].contains(&oddity));
    server == JSONRPSEE && status == 500 && (too_large || broken)
}

/// What a lenient reader may take a part of a body for: a framework may ignore what JSON-RPC does not allow, and take
/// either of a member that is there twice.
#[derive(Debug, Default)]
struct Reading {
    ids: Vec<Value>,
    methods: Vec<String>,
    params: Vec<String>,
}

fn readings(payload: &[u8]) -> Vec<Reading> {
    let text = String::from_utf8_lossy(payload);
    let text = text.trim();
    let mut found: Vec<Reading> = reading(text).into_iter().collect();
    if let Ok(entries) = serde_json::from_str::<Vec<&RawValue>>(text) {
        found.extend(entries.into_iter().filter_map(|entry| reading(entry.get())));
    }
    found
}

fn reading(text: &str) -> Option<Reading> {
    let mut reading = Reading::default();
    if text.starts_with('{') {
        let Members(members) = serde_json::from_str(text).ok()?;
        for (name, value) in members {
            match name.as_str() {
                "id" => reading.ids.extend(serde_json::from_str::<Value>(value.get())),
                "method" => reading.methods.extend(serde_json::from_str::<String>(value.get())),
                "params" => reading.params.push(value.get().to_owned()),
                _ => {}
            }
        }
    } else {
        // A call by position, in whatever order the framework has its members.
        for value in serde_json::from_str::<Vec<&RawValue>>(text).ok()? {
            reading.ids.extend(serde_json::from_str::<Value>(value.get()));
            reading.methods.extend(serde_json::from_str::<String>(value.get()));
            reading.params.push(value.get().to_owned());
        }
    }
    Some(reading)
}

/// All members of an object, also those that are there twice.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = Vec<(String, &'de RawValue)>;
            fn expecting(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
                let mut all = Vec::new();
                while let Some(member) = members.next_entry()? {
                    all.push(member);
                }
                Ok(all)
            }
        }
        deserializer.deserialize_map(All).map(Members)
    }
}

#[cfg(test)]
mod tests {
    use server_kit::testing::sockets::HEALTH;

    use super::*;
    use crate::fuzz::shrink::usual;
    use crate::servers::LEGACY;

    fn answer(status: u16, body: &str) -> Answer {
        Answer { status, media: "application/json".to_owned(), body: body.into() }
    }

    #[test]
    fn a_well_formed_request_has_one_right_answer() {
        let node = Node::load();
        let fault = |status, body: &str| node.fault(LEGACY, &usual(HEALTH.as_bytes()), &answer(status, body));
        assert_eq!(fault(200, "{\"id\": 1, \"result\": \"ok\", \"jsonrpc\": \"2.0\"}\n"), None);
        for wrong in
            [r#"{"jsonrpc":"2.0","id":1,"result":"ill"}"#, r#"{"jsonrpc":"2.0","id":2,"result":"ok"}"#, ""]
        {
            assert!(fault(200, wrong).is_some(), "{wrong}");
        }
        assert!(fault(400, r#"{"jsonrpc":"2.0","id":1,"result":"ok"}"#).is_some());
        let text = Answer {
            media: "text/plain".to_owned(),
            ..answer(200, r#"{"jsonrpc":"2.0","id":1,"result":"ok"}"#)
        };
        assert!(node.fault(LEGACY, &usual(HEALTH.as_bytes()), &text).is_some());
        let batch = format!("[{HEALTH},{}]", HEALTH.replace("getHealth", "nope"));
        let right = r#"[{"jsonrpc":"2.0","id":1,"result":"ok"},
                        {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}]"#;
        assert_eq!(node.fault(LEGACY, &usual(batch.as_bytes()), &answer(200, right)), None);
        assert!(
            node.fault(LEGACY, &usual(batch.as_bytes()), &answer(200, &right.replace("-32601", "-1")))
                .is_some()
        );
    }

    #[test]
    fn to_a_malformed_request_only_some_answers_are_wrong() {
        let node = Node::load();
        let fault = |request: &str, status, body: &str| {
            node.fault(LEGACY, &usual(request.as_bytes()), &answer(status, body)).is_some()
        };
        let (extra, twice) = (
            r#"{"jsonrpc":"2.0","id":1,"method":"getHealth","x":"\ud800"}"#,
            r#"{"id":1,"id":2,"method":"getSlot","method":"getHealth","params":[1]}"#,
        );
        let ok = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"ok"}}"#);
        for refusal in ["", "null", "text", r#"{"error":{"code":-32600,"message":"x"},"id":null}"#] {
            assert!(!fault("{", 200, refusal) && !fault("{", 400, refusal) && fault("{", 500, refusal));
        }
        assert!(!fault(extra, 200, &ok("1")) && fault(extra, 200, &ok("2")));
        assert!(fault(extra, 200, &ok("1").replace("ok", "ill")));
        assert!(!fault(twice, 200, &ok("1")) && !fault(twice, 200, &ok("2")) && fault(twice, 200, &ok("3")));
        assert!(fault("{", 200, &ok("1")) && fault("[]", 200, &format!("[{}]", ok("1"))));
        assert!(!fault(r#"["2.0","getHealth",[],1]"#, 200, &ok("1")));
        assert!(!fault(&format!("[{extra},1]"), 200, &format!("[{}]", ok("1"))));
        assert!(fault(&extra.replace("getHealth", "getSlot"), 200, &ok("1")));
    }

    #[test]
    fn one_status_of_500_is_known() {
        let node = Node::load();
        let mut large = usual(&[b' '; 51_201]);
        let fault = |request: &Request, server: &str| node.fault(server, request, &answer(500, "")).is_some();
        assert!(fault(&large, JSONRPSEE));
        large.headers[2] = b"Transfer-Encoding: chunked\r\n".to_vec();
        assert!(!fault(&large, JSONRPSEE) && fault(&large, LEGACY));
        large.payload.clear();
        assert!(fault(&large, JSONRPSEE));
        let huge = Request { oddity: Some("length-huge"), ..usual(HEALTH.as_bytes()) };
        assert!(!fault(&huge, JSONRPSEE) && fault(&huge, LEGACY));
        let blanks = Request { oddity: Some("blanks-alone"), ..usual(HEALTH.as_bytes()) };
        assert!(fault(&blanks, JSONRPSEE), "a parse error has another status");
    }
}
