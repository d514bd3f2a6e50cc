//! What is the same in every answer of a server that is a result: all but the id and the result itself. An answer of the
//! shape of one that was read before needs not be read again, which would cost more than all else that is done for it.

use std::ops::Range;

use serde_json::value::RawValue;

/// An answer's text, but for its id and its result.
#[derive(Debug, Clone, Default)]
pub struct Shape {
    before: String,
    between: String,
    after: String,
    id_is_first: bool,
}

/// The place of a part in the text that it is a part of.
fn place(part: &RawValue, text: &str) -> Range<usize> {
    let from = part.get().as_ptr() as usize - text.as_ptr() as usize;
    from..from + part.get().len()
}

impl Shape {
    /// That of an answer which was read: its text, and its id and its result in there.
    pub fn of(text: &str, id: &RawValue, result: &RawValue) -> Self {
        let (id, result) = (place(id, text), place(result, text));
        let id_is_first = id.start < result.start;
        let (first, second) = if id_is_first { (id, result) } else { (result, id) };
        let (before, between) = (text[..first.start].to_owned(), text[first.end..second.start].to_owned());
        Self { before, between, after: text[second.end..].to_owned(), id_is_first }
    }

    /// The id and the result of an answer of this shape; `None` of any other, which is to be read. A result that begins
    /// with null may hide an error behind it, so it is `None` unless it is only that.
    pub fn parts<'a>(&self, text: &'a str) -> Option<(u64, &'a str)> {
        if self.before.is_empty() {
            return None;
        }
        let inner = text.strip_prefix(self.before.as_str())?.strip_suffix(self.after.as_str())?;
        let (id, result) = if self.id_is_first {
            let digits = inner.bytes().take_while(u8::is_ascii_digit).count();
            (&inner[..digits], inner[digits..].strip_prefix(self.between.as_str())?)
        } else {
            let digits = inner.bytes().rev().take_while(u8::is_ascii_digit).count();
            let (rest, id) = inner.split_at(inner.len() - digits);
            (id, rest.strip_suffix(self.between.as_str())?)
        };
        let is_result = !result.is_empty() && (!result.starts_with("null") || result == "null");
        Some((id.parse().ok()?, result)).filter(|_| is_result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize)]
    struct Parts<'a> {
        #[serde(borrow)]
        id: &'a RawValue,
        #[serde(borrow)]
        result: &'a RawValue,
    }

    fn shape(text: &str) -> Shape {
        let parts: Parts<'_> = serde_json::from_str(text).unwrap();
        Shape::of(text, parts.id, parts.result)
    }

    #[test]
    fn answers_of_a_shape_are_taken_apart_and_others_are_not() {
        let first = shape(r#"{"jsonrpc":"2.0","id":7,"result":{"a":1}}"#);
        assert_eq!(first.parts(r#"{"jsonrpc":"2.0","id":81,"result":[2]}"#), Some((81, "[2]")));
        let last = shape(r#"{"result":1,"error":null,"id":7}"#);
        assert_eq!(last.parts(r#"{"result":12,"error":null,"id":34}"#), Some((34, "12")));
        assert_eq!(last.parts(r#"{"result":null,"error":null,"id":3}"#), Some((3, "null")));
        for other in [
            r#"{"jsonrpc":"2.0","id":8,"error":{"code":1}}"#,
            r#"{"jsonrpc":"2.0","id":"8","result":1}"#,
            r#"{"jsonrpc":"2.0","id":8,"result":}"#,
            "<html>",
            "",
        ] {
            assert_eq!((first.parts(other), last.parts(other)), (None, None), "{other}");
        }
        let bare = shape(r#"{"result":1,"id":7}"#);
        assert_eq!(bare.parts(r#"{"result":null,"error":{"code":-8},"id":7}"#), None, "it hides an error");
        assert_eq!(Shape::default().parts(r#"{"id":7,"result":1}"#), None);
    }
}
