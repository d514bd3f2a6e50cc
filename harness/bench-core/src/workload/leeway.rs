//! What of an answer need not be what it is compared with: parts that are not compared, and numbers that may differ.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What of an answer may differ, by JSON pointers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Leeway {
    /// What is not compared. Where the truth has such a value, so has the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<String>,
    /// Numbers, and by how much each may be above or below.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub within: BTreeMap<String, u64>,
}

impl Leeway {
    /// Whether all is compared, to the last value.
    pub fn is_none(&self) -> bool {
        self.ignore.is_empty() && self.within.is_empty()
    }

    /// Its JSON pointers.
    pub fn pointers(&self) -> impl Iterator<Item = &String> {
        self.ignore.iter().chain(self.within.keys())
    }

    /// Whether two answers are the same but for what may differ.
    pub fn is_same(&self, truth: &Value, answer: &Value) -> bool {
        let is_same_without = || {
            let (truth, answer) = self.without(truth, answer);
            truth == answer
        };
        truth == answer || (!self.is_none() && is_same_without())
    }

    /// Both without what may differ: the truth and the answer.
    pub fn without(&self, truth: &Value, answer: &Value) -> (Value, Value) {
        let (mut left, mut right) = (truth.clone(), answer.clone());
        let is_near = |(pointer, most): &(&String, &u64)| {
            let numbers = [truth, answer].map(|value| value.pointer(pointer).and_then(number));
            matches!(numbers, [Some(number), Some(other)] if number.abs_diff(other) <= **most)
        };
        let near = self.within.iter().filter(is_near).map(|(pointer, _)| pointer);
        for pointer in self.ignore.iter().chain(near) {
            // Where the truth has such a value, so has the answer.
            if remove(&mut right, pointer) || truth.pointer(pointer).is_none() {
                remove(&mut left, pointer);
            }
        }
        (left, right)
    }
}

/// A number, or the text of one, also in hexadecimal (`0x1a`).
pub fn number(value: &Value) -> Option<u64> {
    match value {
        Value::String(text) => match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        },
        number => number.as_u64(),
    }
}

/// Takes a value out; in an array another value in its place stands for it. False where there is none.
fn remove(value: &mut Value, pointer: &str) -> bool {
    let Some((parent, key)) = pointer.rsplit_once('/') else { return false };
    let key = key.replace("~1", "/").replace("~0", "~");
    match value.pointer_mut(parent) {
        Some(Value::Object(members)) => members.remove(&key).is_some(),
        Some(Value::Array(items)) => {
            let item = key.parse().ok().and_then(|index: usize| items.get_mut(index));
            item.map(|item| *item = Value::Null).is_some()
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_may_differ_by_as_much_as_is_said() {
        let leeway: Leeway = serde_json::from_value(json!({ "within": { "/result/height": 2 } })).unwrap();
        let answer = |height: Value, hash: &str| json!({ "result": { "height": height, "hash": hash } });
        let truth = answer(json!("0x64"), "a");
        for (height, is_same) in
            [("0x62", true), ("0x66", true), ("102", true), ("0x67", false), ("x", false)]
        {
            assert_eq!(leeway.is_same(&truth, &answer(json!(height), "a")), is_same, "{height}");
        }
        assert!(!leeway.is_same(&truth, &answer(json!("0x64"), "b")));
        assert!(!leeway.is_same(&truth, &json!({ "result": { "hash": "a" } })));
        let error = json!({ "error": 1 });
        assert!(leeway.is_same(&error, &error) && !leeway.is_same(&error, &truth));
    }

    #[test]
    fn a_place_of_an_array_may_be_left_out() {
        let leeway = Leeway { ignore: vec!["/1".to_owned(), "/9".to_owned()], ..Leeway::default() };
        assert!(leeway.is_same(&json!([1, 2]), &json!([1, 5])));
        assert!(!leeway.is_same(&json!([1, 2]), &json!([2, 2])));
    }
}
