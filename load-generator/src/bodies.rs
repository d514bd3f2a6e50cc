//! The calls that are sent, and what is checked of their answers.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::outcome::{Outcome, Words};
use crate::shape::Shape;

/// A call as text, in two parts with its id between them.
#[derive(Debug, Clone)]
struct Call {
    before: String,
    after: String,
    text: String,
    /// The place of its method among all.
    method: usize,
}

/// The result that an answer must equal.
#[derive(Debug, Clone)]
struct Expected {
    value: Value,
    /// The text of a result that was equal. Most servers write it the same way every time, so few are parsed.
    seen: RefCell<String>,
}

/// The calls of a run, used in order and then again from the first.
#[derive(Debug, Clone)]
pub struct Bodies {
    /// Shared by all threads: recorded calls may be many.
    calls: Arc<[Call]>,
    /// One for each call, one for all, or none.
    expected: Vec<Expected>,
    batch: u64,
    /// That of the last answer with a result that was read.
    shape: RefCell<Shape>,
    /// The methods that the calls name, each once.
    methods: Arc<[String]>,
}

/// What a message from the server is.
#[derive(Debug, PartialEq, Eq)]
pub enum Message {
    /// The answer to the request with this number.
    Answer(u64, Outcome),
    /// A notification or a call of the server, of a subscription for instance.
    Notification,
    /// Nothing that names a request: how a request ended that this is the only possible answer to.
    Unmatched(Outcome),
}

#[derive(Deserialize)]
struct Answer<'a> {
    /// A server may number calls of its own, by texts too.
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    /// An error of null, as JSON-RPC 1.0 has next to a result, is none.
    error: Option<Value>,
    #[serde(borrow)]
    method: Option<&'a RawValue>,
}

impl Answer<'_> {
    /// The id, where it can be one of ours.
    fn id(&self) -> Option<u64> {
        self.id?.get().parse().ok()
    }

    /// How a request ended that has this answer, and no id of ours: `None` where no error says it.
    fn fault(&self) -> Option<Outcome> {
        let error = self.error.as_ref()?;
        let member = |name: &str| error.get(name).filter(|value| !value.is_null());
        let said = member("code").or_else(|| member("message")).unwrap_or(error);
        Some(match (said, said.as_i64()) {
            (_, Some(code)) => Outcome::RpcError(code),
            (Value::String(text), _) => Outcome::ErrorText(Words::of(text)),
            (other, _) => Outcome::ErrorText(Words::of(&other.to_string())),
        })
    }
}

#[derive(Deserialize)]
struct Named {
    method: String,
}

/// A result of null is a result.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

impl Call {
    /// A JSON-RPC call, with an id or without.
    fn parse(text: &str) -> Result<Self> {
        ensure!(!text.starts_with('['), "it is an array: give a call a line, and --batch for arrays");
        let members: BTreeMap<String, &RawValue> =
            serde_json::from_str(text).context("it is no JSON object")?;
        ensure!(members.get("method").is_some_and(|name| name.get().starts_with('"')), "it has no method");
        let (before, after) = match members.get("id") {
            Some(id) => {
                let at = id.get().as_ptr() as usize - text.as_ptr() as usize;
                (text[..at].to_owned(), text[at + id.get().len()..].to_owned())
            }
            None => {
                let (open, rest) = text.split_once('{').context("it is no JSON object")?;
                (format!("{open}{{\"id\":"), format!(",{rest}"))
            }
        };
        Ok(Self { before, after, text: text.to_owned(), method: 0 })
    }
}

impl Expected {
    fn parse(text: &str) -> Result<Self> {
        let value = serde_json::from_str(text).context("it is no JSON")?;
        Ok(Self { value, seen: RefCell::new(text.trim().to_owned()) })
    }

    fn equals(&self, result: &str) -> bool {
        if *self.seen.borrow() == result {
            return true;
        }
        let equal = serde_json::from_str::<Value>(result).is_ok_and(|value| value == self.value);
        if equal {
            result.clone_into(&mut self.seen.borrow_mut());
        }
        equal
    }
}

/// The text of a file. A byte order mark, which editors of Windows write, is not in it.
///
/// # Errors
/// It can't be read, or is no UTF-8.
pub fn read_text(file: &Path) -> Result<String> {
    let bytes = std::fs::read(file).with_context(|| format!("can't read {}", file.display()))?;
    let is_utf_16 = bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff");
    ensure!(!is_utf_16, "{}: it is UTF-16; write it as UTF-8", file.display());
    let text = String::from_utf8(bytes).with_context(|| format!("{}: it is no UTF-8", file.display()))?;
    Ok(text.strip_prefix('\u{feff}').map_or(text.clone(), str::to_owned))
}

/// The lines of a text that are not empty, each parsed; the error names the line.
fn lines<T>(text: &str, name: &str, parse: impl Fn(&str) -> Result<T>) -> Result<Vec<T>> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let parsed = lines.map(|(i, line)| parse(line.trim()).with_context(|| format!("{name}, line {}", i + 1)));
    let parsed: Vec<T> = parsed.collect::<Result<_>>()?;
    ensure!(!parsed.is_empty(), "{name} is empty");
    Ok(parsed)
}

impl Bodies {
    /// Calls from a text with one a line, and the results to expect: one for each of them, or one for all. `expected` is the name
    /// of a file with one a line, or one result's JSON itself. `batch` calls are sent as one request.
    ///
    /// # Errors
    /// What is wrong, and in which line of what.
    pub fn new(text: &str, name: &str, expected: Option<&str>, batch: u32) -> Result<Self> {
        let mut calls = lines(text, name, Call::parse)?;
        let expected = match expected {
            None => Vec::new(),
            Some(file) if Path::new(file).is_file() => {
                let text = read_text(Path::new(file))?;
                lines(&text, file, Expected::parse)?
            }
            Some(text) => {
                let parsed = Expected::parse(text);
                vec![parsed.with_context(|| format!("--expect {text}: there is no such file"))?]
            }
        };
        if expected.len() > 1 && expected.len() != calls.len() {
            bail!("--expect has {} results for {} bodies", expected.len(), calls.len());
        }
        let mut methods: Vec<String> = Vec::new();
        for call in &mut calls {
            let Named { method } = serde_json::from_str(&call.text)?;
            call.method = methods.iter().position(|known| *known == method).unwrap_or(methods.len());
            if call.method == methods.len() {
                methods.push(method);
            }
        }
        let (calls, methods, shape) = (calls.into(), methods.into(), RefCell::default());
        Ok(Self { calls, expected, batch: u64::from(batch), shape, methods })
    }

    /// The methods that the calls name.
    pub fn methods(&self) -> &[String] {
        &self.methods
    }

    /// The place of the method that a request calls among all; of a batch that of its first call.
    pub fn method_of(&self, number: u64) -> usize {
        self.calls[((number * self.batch) % self.calls.len() as u64) as usize].method
    }

    /// The text of the request with this number. Ids follow from that: they are unique in a run, and an answer's id says which
    /// request it belongs to.
    pub fn request(&self, number: u64) -> String {
        let first = number * self.batch;
        let call = |id: u64| &self.calls[(id % self.calls.len() as u64) as usize];
        let length = |id| call(id).before.len() + call(id).after.len() + 21;
        let mut text = String::with_capacity((first..first + self.batch).map(length).sum::<usize>() + 2);
        for id in first..first + self.batch {
            let Call { before, after, .. } = call(id);
            if self.batch > 1 {
                text.push(if id == first { '[' } else { ',' });
            }
            // Writing into a string does not fail.
            let _ = write!(text, "{before}{id}{after}");
        }
        if self.batch > 1 {
            text.push(']');
        }
        text
    }

    /// The body of the request with this number as it was given.
    pub fn as_is(&self, number: u64) -> String {
        self.calls[(number % self.calls.len() as u64) as usize].text.clone()
    }

    /// Reads a message from the server.
    pub fn read(&self, text: &str) -> Message {
        if self.batch == 1 || !text.trim_start().starts_with('[') {
            if let Some((id, result)) = self.shape.borrow().parts(text).filter(|_| self.batch == 1) {
                return Message::Answer(id, self.compared(id, result));
            }
            return match serde_json::from_str::<Answer<'_>>(text) {
                Ok(answer) => self.single(text, &answer),
                Err(_) => Message::Unmatched(Outcome::Malformed),
            };
        }
        let Ok(answers) = serde_json::from_str::<Vec<Answer<'_>>>(text) else {
            return Message::Unmatched(Outcome::Malformed);
        };
        if answers.iter().any(|answer| answer.method.is_some()) {
            return Message::Notification;
        }
        let Some(first) = answers.iter().find_map(Answer::id) else {
            return Message::Unmatched(Outcome::Malformed);
        };
        let number = first / self.batch;
        let mut seen = vec![false; self.batch as usize];
        let mut outcome = Outcome::Answered;
        for answer in &answers {
            let id = answer.id();
            let place = id.and_then(|id| id.checked_sub(number * self.batch));
            match (id, place.and_then(|place| seen.get_mut(place as usize))) {
                (Some(id), Some(seen)) if !*seen => {
                    *seen = true;
                    if outcome == Outcome::Answered {
                        outcome = self.outcome(answer, id);
                    }
                }
                _ => return Message::Answer(number, Outcome::Malformed),
            }
        }
        let whole = seen.into_iter().all(|seen| seen);
        Message::Answer(number, if whole { outcome } else { Outcome::Malformed })
    }

    fn single(&self, text: &str, answer: &Answer<'_>) -> Message {
        match (answer.id(), answer.id) {
            _ if answer.method.is_some() => Message::Notification,
            // One error for a whole batch has no id of its own.
            (Some(number), Some(id)) if self.batch == 1 => {
                if let (Some(result), None) = (answer.result, &answer.error) {
                    *self.shape.borrow_mut() = Shape::of(text, id, result);
                }
                Message::Answer(number, self.outcome(answer, number))
            }
            (None, Some(_)) if answer.error.is_none() => Message::Unmatched(Outcome::OtherCall),
            _ => Message::Unmatched(answer.fault().unwrap_or(Outcome::Malformed)),
        }
    }

    fn outcome(&self, answer: &Answer<'_>, id: u64) -> Outcome {
        // Next to a result of null an error is one; next to any other nobody knows which of the two holds.
        match (answer.result.filter(|result| result.get() != "null"), answer.fault()) {
            (None, Some(fault)) => fault,
            (_, None) => answer.result.map_or(Outcome::Malformed, |result| self.compared(id, result.get())),
            (Some(_), Some(_)) => Outcome::Malformed,
        }
    }

    /// How a call with this id ended that has a result.
    fn compared(&self, id: u64, result: &str) -> Outcome {
        // One for all has place 0 whatever the id.
        let expected = self.expected.get((id % self.expected.len().max(1) as u64) as usize);
        let is_right = expected.is_none_or(|expected| expected.equals(result));
        if is_right { Outcome::Answered } else { Outcome::WrongAnswer }
    }
}

#[cfg(test)]
mod tests;
