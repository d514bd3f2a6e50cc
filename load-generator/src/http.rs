//! HTTP/1.1 on a persistent connection, one request in flight at a time.
//!
//! No client library: the CPU time that a generator uses is missing to what it measures, and a general client uses more.

use std::io;
use std::rc::Rc;
use std::time::Instant;

use anyhow::Result;
use bytes::{BufMut, BytesMut};
use header_values::TOKEN_LASTS;
use http::header::{CONNECTION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};
use tokio_util::codec::{Decoder, Encoder};

use crate::answers::{Answer, Answers, has};
use crate::options::Target;
use crate::worker::Worker;

/// Divides a connection's bytes into answers, and writes requests.
#[derive(Debug)]
pub struct Http {
    worker: Rc<Worker>,
    answers: Answers,
}

impl Http {
    /// Of a new connection.
    pub fn new(worker: Rc<Worker>) -> Self {
        Self { worker, answers: Answers::default() }
    }

    /// Whether what was read is whole answers, with these bytes behind the last.
    pub fn between_answers(&self, behind: &[u8]) -> bool {
        self.answers.between_answers() && behind.trim_ascii().is_empty()
    }
}

impl Encoder<String> for Http {
    type Error = io::Error;

    fn encode(&mut self, body: String, to: &mut BytesMut) -> io::Result<()> {
        let length = body.len().to_string();
        self.worker.with_head(|head| {
            to.reserve(head.len() + length.len() + 4 + body.len());
            to.put_slice(head);
        });
        to.put_slice(length.as_bytes());
        to.put_slice(b"\r\n\r\n");
        to.put_slice(body.as_bytes());
        Ok(())
    }
}

impl Decoder for Http {
    type Item = Answer;
    type Error = io::Error;

    fn decode(&mut self, from: &mut BytesMut) -> io::Result<Option<Answer>> {
        let answer = self.answers.next(from)?;
        // Who has said that a connection closes sends nothing more on it (RFC 9112, 9.6).
        Ok(answer.map(|answer| Answer { last: answer.last || self.worker.closes_each(), ..answer }))
    }

    fn decode_eof(&mut self, from: &mut BytesMut) -> io::Result<Option<Answer>> {
        self.answers.last(from)
    }
}

/// What every request begins with, up to its length, and since when it is so: a token in it grows old.
#[derive(Debug)]
pub struct KeptHead {
    text: Vec<u8>,
    closes: bool,
    changes: bool,
    since: Instant,
}

impl KeptHead {
    /// As it is now. A header that was given replaces ours.
    ///
    /// # Errors
    /// The environment lacks what a header names.
    pub fn new(target: &Target) -> Result<Self> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.extend(target.headers()?);
        let mut text = format!("POST {} HTTP/1.1\r\n", target.path).into_bytes();
        for (name, value) in &headers {
            for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
                text.extend_from_slice(part);
            }
        }
        text.extend_from_slice(b"content-length: ");
        let closes = headers.get_all(CONNECTION).iter().any(|value| has(value.as_bytes(), "close"));
        Ok(Self { text, closes, changes: target.headers.change(), since: Instant::now() })
    }

    /// Whether it says that the connection closes behind the answer.
    pub fn closes(&self) -> bool {
        self.closes
    }

    /// Its text. A token that is old is made again.
    pub fn text(&mut self, target: &Target) -> &[u8] {
        if self.changes
            && self.since.elapsed() >= TOKEN_LASTS
            && let Ok(again) = Self::new(target)
        {
            *self = again;
        }
        &self.text
    }
}
