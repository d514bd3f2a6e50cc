//! JSON after JSON on a Unix socket. Most nodes end each message by a line break, and some have line breaks or blank
//! lines elsewhere, so a message ends where its JSON does.

use std::io;

use bytes::{Buf, BufMut, BytesMut};
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};
use tokio_util::codec::{Decoder, Encoder};

/// Divides a connection's bytes into messages, and writes each as a line.
#[derive(Debug, Default)]
pub struct JsonStream {
    /// Bytes of the message that comes which were looked at.
    seen: usize,
    /// Arrays and objects that are open there.
    depth: usize,
    in_text: bool,
    is_escaped: bool,
}

impl JsonStream {
    /// How long the first message is, where that is known. What is no array or object ends with its line.
    fn length(&mut self, from: &[u8]) -> Option<usize> {
        if !matches!(from.first(), Some(b'{' | b'[')) {
            return from.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
        }
        for (at, byte) in from.iter().enumerate().skip(self.seen) {
            match (self.in_text, byte) {
                _ if self.is_escaped => self.is_escaped = false,
                (true, b'\\') => self.is_escaped = true,
                (_, b'"') => self.in_text = !self.in_text,
                // No text of JSON has one, so this is no JSON: the next line may be some.
                (true, b'\n') => return Some(at + 1),
                (false, b'{' | b'[') => self.depth += 1,
                (false, b'}' | b']') => self.depth -= 1,
                _ => {}
            }
            if self.depth == 0 {
                return Some(at + 1);
            }
        }
        self.seen = from.len();
        None
    }
}

impl Decoder for JsonStream {
    type Item = Message;
    type Error = io::Error;

    fn decode(&mut self, from: &mut BytesMut) -> io::Result<Option<Message>> {
        if self.seen == 0 {
            from.advance(from.len() - from.trim_ascii_start().len());
        }
        let Some(length) = self.length(from) else { return Ok(None) };
        *self = Self::default();
        let bytes = from.split_to(length).freeze();
        Ok(Some(Utf8Bytes::try_from(bytes.clone()).map_or(Message::Binary(bytes), Message::Text)))
    }
}

impl Encoder<String> for JsonStream {
    type Error = io::Error;

    fn encode(&mut self, text: String, to: &mut BytesMut) -> io::Result<()> {
        to.reserve(text.len() + 1);
        to.put_slice(text.as_bytes());
        to.put_u8(b'\n');
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_ends_where_its_json_does() {
        let pretty = "{\n  \"id\": 1,\r\n\r\n  \"result\": [\n    \"]}\\\"\\\\\"\n  ]\n}";
        let messages =
            ["{}", "{\"a\":\"{\\\"[\"}", pretty, "[1,{\"b\":[]}]", "hello", "\"x\"", "{\"half\":\"a", "[2]"];
        for between in ["\n", "\r\n", "\n\n \r\n"] {
            let text: String = messages.iter().map(|message| format!("{message}{between}")).collect();
            for length in [1, 7, text.len()] {
                let (mut stream, mut bytes, mut found) = (JsonStream::default(), BytesMut::new(), Vec::new());
                for part in text.as_bytes().chunks(length) {
                    bytes.extend_from_slice(part);
                    while let Some(message) = stream.decode(&mut bytes).unwrap() {
                        found.push(message.into_text().unwrap().trim().to_owned());
                    }
                }
                assert_eq!(found, messages, "{between:?} {length}");
            }
        }
        let (mut stream, mut joined) = (JsonStream::default(), BytesMut::from("{}[]{\"a\":1}"));
        let mut next = || stream.decode(&mut joined).unwrap().map(|message| message.into_text().unwrap());
        assert_eq!([next().unwrap(), next().unwrap(), next().unwrap()], ["{}", "[]", "{\"a\":1}"]);
    }
}
