//! Which message answers a request on a connection that carries others too: the one with its id and without a method.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde_json::Value;

use super::causes::{self, NoAnswer};
use super::messages::Messages;
use bench_core::foreign_text::shown;
use bench_core::readable_numbers::counted;

/// Characters of another message that a reader is shown.
const SHOWN: usize = 200;

/// What answers a request.
#[derive(Debug, PartialEq)]
pub(super) enum Awaited {
    /// Nothing: it has no id, or is a batch of such.
    Nothing,
    /// An answer with this id, or an array of answers with one of these.
    Of(Vec<Value>),
    /// It is no JSON-RPC, which a server may say of it without an id.
    Anything,
}

impl Awaited {
    /// What answers this body.
    pub fn of(body: &str) -> Self {
        let calls = match serde_json::from_str(body) {
            Ok(Value::Array(calls)) if !calls.is_empty() => calls,
            Ok(call @ Value::Object(_)) => vec![call],
            _ => return Self::Anything,
        };
        let ids: Vec<Value> = calls.iter().filter_map(|call| call.get("id").cloned()).collect();
        let are_calls = calls.iter().all(|call| call.get("method").is_some_and(Value::is_string));
        match ids.is_empty() {
            false => Self::Of(ids),
            true if are_calls => Self::Nothing,
            true => Self::Anything,
        }
    }

    /// Sends a body and gives its answer; `None` where it has none. Other messages are passed over.
    ///
    /// # Errors
    /// The connection ends, or no answer comes in time: [`NoAnswer`] where other messages did.
    pub fn exchange(
        &self,
        connection: &mut dyn Messages,
        body: &str,
        timeout: Duration,
    ) -> Result<Option<String>> {
        let until = Instant::now() + timeout;
        connection.send(body).map_err(|error| causes::of_wait(error, timeout))?;
        if *self == Self::Nothing {
            *connection.has_unanswered() = true;
            return Ok(None);
        }
        let (mut others, mut last) = (0_u64, String::new());
        let late = |others: u64, last: &str| {
            NoAnswer(format!(
                "no answer with the id of the request came within {} s, but {}, the last of them: {last}",
                timeout.as_secs_f64(),
                counted(others, "other message")
            ))
        };
        loop {
            match connection.next() {
                Ok(text) if self.is_answer(&text, *connection.has_unanswered()) => return Ok(Some(text)),
                Ok(text) => (others, last) = (others + 1, shown(&text, SHOWN)),
                Err(error) if others > 0 && causes::is_wait(&error) => bail!(late(others, &last)),
                Err(error) => return Err(causes::of_wait(error, timeout)),
            }
            if Instant::now() >= until {
                bail!(late(others, &last));
            }
        }
    }

    /// Whether a message answers it. An error without an id answers the one request that waits, unless it may be about
    /// an earlier one.
    fn is_answer(&self, text: &str, has_unanswered: bool) -> bool {
        let Ok(message) = serde_json::from_str::<Value>(text) else { return false };
        let answers = match &message {
            Value::Array(answers) => answers.as_slice(),
            one => std::slice::from_ref(one),
        };
        let has = |answer: &Value, name: &str| answer.get(name).is_some_and(|value| !value.is_null());
        if answers.iter().any(|answer| !answer.is_object() || has(answer, "method")) {
            return false;
        }
        let is_ours = |answer: &Value| match self {
            Self::Of(ids) => answer.get("id").is_some_and(|id| ids.contains(id)),
            Self::Anything => has(answer, "result") || has(answer, "error"),
            Self::Nothing => false,
        };
        let is_of_none = |answer: &Value| has(answer, "error") && !has(answer, "id") && !has_unanswered;
        answers.iter().any(|answer| is_ours(answer) || is_of_none(answer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_awaited_follows_from_the_body() {
        let of = |ids: &[Value]| Awaited::Of(ids.to_vec());
        for (body, awaited) in [
            (r#"{"id":1,"method":"a"}"#, of(&[1.into()])),
            (r#"{"id":"x","method":"a"}"#, of(&["x".into()])),
            (r#"{"id":null,"method":"a"}"#, of(&[Value::Null])),
            (r#"{"method":"a"}"#, Awaited::Nothing),
            (r#"[{"method":"a"},{"method":"b"}]"#, Awaited::Nothing),
            (r#"[{"method":"a"},{"id":2,"method":"b"}]"#, of(&[2.into()])),
            ("[]", Awaited::Anything),
            ("{}", Awaited::Anything),
            (r#"{"id":1}"#, of(&[1.into()])),
            ("no JSON", Awaited::Anything),
        ] {
            assert_eq!(Awaited::of(body), awaited, "{body}");
        }
    }

    #[test]
    fn an_answer_has_the_id_and_no_method() {
        let one = Awaited::of(r#"{"id":7,"method":"a"}"#);
        for (text, answers) in [
            (r#"{"id":7,"result":1}"#, true),
            (r#"{"id":7,"error":{"code":1}}"#, true),
            (r#"{"id":7,"method":"ping"}"#, false),
            (r#"{"id":7,"method":null,"result":1}"#, true),
            (r#"{"id":"7","result":1}"#, false),
            (r#"{"id":8,"result":1}"#, false),
            (r#"{"id":null,"error":{"code":-32700}}"#, true),
            (r#"{"error":"busy"}"#, true),
            (r#"{"id":null,"result":1}"#, false),
            (r#"{"method":"news","params":{"id":7}}"#, false),
            (r#"[{"id":7,"result":1}]"#, true),
            ("", false),
            ("hello", false),
            ("7", false),
            ("[]", false),
        ] {
            assert_eq!(one.is_answer(text, false), answers, "{text}");
        }
        assert!(!one.is_answer(r#"{"id":null,"error":{"code":-32700}}"#, true), "it may be an earlier one's");
        let batch = Awaited::of(r#"[{"id":1,"method":"a"},{"id":2,"method":"b"}]"#);
        assert!(batch.is_answer(r#"[{"id":2,"result":1},{"id":1,"result":1}]"#, false));
        assert!(!batch.is_answer(r#"[{"id":1,"method":"ping"}]"#, false));
        assert!(Awaited::Anything.is_answer(r#"{"id":null,"error":{"code":-32700}}"#, false));
    }
}
