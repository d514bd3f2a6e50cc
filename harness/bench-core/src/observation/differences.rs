//! Answers that were compared under load: with the truth, and with those of the server that is the reference, of which
//! each place at which they differ is named once, and counted.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;

use super::Sample;

/// Places that are kept of one trial. What differs elsewhere still counts as an answer that differs.
const MOST_KEPT: usize = 100;

/// Characters of a value or a request that are kept.
const SHOWN: usize = 120;

/// How a value is written that one of the answers has and the other has not.
const ABSENT: &str = "absent";

/// Requests of the harness under load, on a connection of its own. The server counts them too.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checked {
    /// Requests sent.
    pub asked: u64,
    /// Those answered with HTTP 200, but not with the truth.
    pub wrong: u64,
    /// Those without an answer in time, or with another HTTP status.
    pub unanswered: u64,
    /// The first wrong answer: the request, its answer, and the true one.
    #[serde(default, serialize_with = "crate::foreign_text::kept_maybe")]
    pub first_wrong: Option<String>,
}

/// The answers of several samples that were compared with the truth, where any were.
pub fn checked_answers<'a>(samples: impl Iterator<Item = &'a Sample>) -> Option<Checked> {
    samples.filter_map(|sample| sample.checked.clone()).reduce(|sum, checked| Checked {
        asked: sum.asked + checked.asked,
        wrong: sum.wrong + checked.wrong,
        unanswered: sum.unanswered + checked.unanswered,
        first_wrong: sum.first_wrong.or(checked.first_wrong),
    })
}

/// Answers that were compared with a reference's.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Differences {
    /// Answers that were compared.
    pub compared: u64,
    /// Those that differ.
    pub differing: u64,
    /// Where, in the order in which they were found.
    pub places: Vec<Difference>,
}

/// A place at which answers to one method differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// The method.
    pub method: String,
    /// A JSON pointer; `*` stands for any item of an array.
    pub pointer: String,
    /// Answers that differ there.
    pub answers: u64,
    /// The first request whose answer did.
    pub request: String,
    /// What stood there in the server's answer, as JSON.
    pub here: String,
    /// What stood there in the reference's.
    pub there: String,
}

/// Two values at one place.
type Pair<'a> = (String, Option<&'a Value>, Option<&'a Value>);

impl Differences {
    /// Counts an answer, whose parts that may differ were left out of both sides.
    pub fn add(&mut self, request: &str, answer: &Value, reference: &Value) {
        self.compared += 1;
        if answer == reference {
            return;
        }
        self.differing += 1;
        let method = method_of(request);
        let mut found = Vec::new();
        differing(String::new(), Some(answer), Some(reference), &mut found);
        // Items of one array may differ at the same place; the answer counts once.
        let mut counted: Vec<String> = Vec::new();
        for (pointer, here, there) in found {
            if counted.contains(&pointer) {
                continue;
            }
            counted.push(pointer.clone());
            self.count(Difference {
                method: method.clone(),
                pointer: beginning_of(&pointer),
                answers: 1,
                request: beginning_of(request),
                here: shown(here),
                there: shown(there),
            });
        }
    }

    /// They, where any answer was compared.
    pub fn found(self) -> Option<Self> {
        (self.compared > 0).then_some(self)
    }

    /// Those of several trials, where there are any.
    pub fn of_all<'a>(all: impl Iterator<Item = &'a Self>) -> Option<Self> {
        let mut sum = Self::default();
        all.for_each(|of| sum.merge(of));
        sum.found()
    }

    /// Adds those of another trial.
    pub fn merge(&mut self, other: &Self) {
        self.compared += other.compared;
        self.differing += other.differing;
        other.places.iter().for_each(|place| self.count(place.clone()));
    }

    fn count(&mut self, place: Difference) {
        let is_same = |known: &Difference| known.method == place.method && known.pointer == place.pointer;
        match self.places.iter().position(is_same) {
            Some(known) => self.places[known].answers += place.answers,
            None if self.places.len() < MOST_KEPT => self.places.push(place),
            None => {}
        }
    }
}

/// As much of a text as is kept.
fn beginning_of(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The method that a request calls; in a batch that of its first call.
fn method_of(request: &str) -> String {
    let request: Value = serde_json::from_str(request).unwrap_or_default();
    let call = request.as_array().and_then(|calls| calls.first()).unwrap_or(&request);
    beginning_of(call["method"].as_str().unwrap_or("?"))
}

/// The places at which two values differ, as deep as both have the same kind of value; not many more than are kept.
fn differing<'a>(
    at: String,
    answer: Option<&'a Value>,
    reference: Option<&'a Value>,
    found: &mut Vec<Pair<'a>>,
) {
    match (answer, reference) {
        (here, there) if here == there || found.len() > MOST_KEPT => {}
        (Some(Value::Object(here)), Some(Value::Object(there))) => {
            let only_there = there.keys().filter(|name| !here.contains_key(*name));
            for name in here.keys().chain(only_there) {
                let escaped = name.replace('~', "~0").replace('/', "~1");
                differing(format!("{at}/{escaped}"), here.get(name), there.get(name), found);
            }
        }
        (Some(Value::Array(here)), Some(Value::Array(there))) if here.len() == there.len() => {
            for (here, there) in here.iter().zip(there) {
                differing(format!("{at}/*"), Some(here), Some(there), found);
            }
        }
        (here, there) => found.push((at, here, there)),
    }
}

fn shown(value: Option<&Value>) -> String {
    match value {
        None => ABSENT.to_owned(),
        Some(Value::Array(items)) if items.len() == 1 => "1 item".to_owned(),
        Some(Value::Array(items)) => format!("{} items", items.len()),
        Some(value) => beginning_of(&value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const REQUEST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"getThing"}"#;

    fn found(pairs: &[(Value, Value)]) -> Differences {
        let mut differences = Differences::default();
        pairs.iter().for_each(|(answer, reference)| differences.add(REQUEST, answer, reference));
        differences
    }

    fn places(of: &Differences) -> Vec<(&str, u64, &str, &str)> {
        let place = |place: &'_ Difference| (place.answers, place.here.len());
        assert!(of.places.iter().map(place).all(|(answers, shown)| answers > 0 && shown > 0));
        let all = of.places.iter();
        all.map(|of| (of.pointer.as_str(), of.answers, of.here.as_str(), of.there.as_str())).collect()
    }

    #[test]
    fn each_place_is_kept_once_with_its_first_values() {
        let answer = |fee: u64, names: Value| json!({ "id": 1, "result": { "fee": fee, "a/b": names } });
        let same = answer(1, json!(["x"]));
        let of = found(&[
            (same.clone(), same.clone()),
            (answer(2, json!(["x"])), same.clone()),
            (answer(3, json!(["y"])), same.clone()),
            (answer(1, json!(["x", "y"])), same),
        ]);
        assert_eq!((of.compared, of.differing), (4, 3));
        let expected = [
            ("/result/fee", 2, "2", "1"),
            ("/result/a~1b/*", 1, "\"y\"", "\"x\""),
            ("/result/a~1b", 1, "2 items", "1 item"),
        ];
        assert_eq!(places(&of), expected);
        assert!(of.places.iter().all(|place| place.method == "getThing" && place.request == REQUEST));
    }

    #[test]
    fn an_answer_with_several_items_that_differ_alike_counts_once() {
        let of = found(&[(json!([{ "v": 1 }, { "v": 2 }]), json!([{ "v": 3 }, { "v": 4 }]))]);
        assert_eq!(places(&of), [("/*/v", 1, "1", "3")]);
    }

    #[test]
    fn what_one_side_lacks_is_absent() {
        let of = found(&[(json!({ "error": "no" }), json!({ "result": null }))]);
        assert_eq!(places(&of), [("/error", 1, "\"no\"", ABSENT), ("/result", 1, ABSENT, "null")]);
    }

    #[test]
    fn trials_add_up_and_no_more_places_are_kept_than_fit() {
        let wide = |value: u64| {
            Value::Object((0..MOST_KEPT + 5).map(|at| (format!("f{at}"), json!(value))).collect())
        };
        let of = found(&[(wide(1), wide(2))]);
        let mut both = of.clone();
        both.merge(&of);
        assert_eq!((both.compared, both.differing, both.places.len()), (2, 2, MOST_KEPT));
        assert!(both.places.iter().all(|place| place.answers == 2));
    }
}
