//! Times the calls of HTTP requests, with `--metrics-calls` alone: the gateway itself reads no method of a request that it passes
//! on as it is.

use std::collections::HashSet;
use std::time::Instant;

use axum::body::{Body, to_bytes};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use server_kit::{CallCounters, Transport};

use crate::rpc::{Call, Calls};

/// The calls of a request that has begun.
pub struct Timed {
    counters: CallCounters,
    body: Bytes,
    begun: Vec<Instant>,
}

/// As much of an answer as says whether it is an error, and to which call.
#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    error: Option<IgnoredAny>,
}

impl Timed {
    /// The calls of a body begin; notifications and what is no call are not timed.
    pub fn begin(counters: CallCounters, body: Bytes) -> Self {
        let begun = with_ids(&body).iter().map(|_| counters.begin()).collect();
        Self { counters, body, begun }
    }

    /// They are answered. Those without an answer of their own, as of a refused request, count as errors.
    pub async fn end(self, response: Response) -> Response {
        let (head, body) = response.into_parts();
        // The gateway bounds answers itself. One that breaks off has no result, and its caller is to see that.
        let answer = to_bytes(body, usize::MAX).await.ok();
        let is_whole = answer.is_some();
        let answer = answer.unwrap_or_default();
        let answered = succeeded(&answer);
        for (call, begun) in with_ids(&self.body).iter().zip(self.begun) {
            let id = call.id.map(RawValue::get);
            let is_error = !head.status.is_success() || !id.is_some_and(|id| answered.contains(id));
            self.counters.end(begun, Transport::Http, call.method(), is_error);
        }
        if !is_whole {
            return StatusCode::BAD_GATEWAY.into_response();
        }
        Response::from_parts(head, Body::from(answer))
    }
}

/// The calls of a body that get an answer.
fn with_ids(body: &[u8]) -> Vec<Call<'_>> {
    let calls = match Calls::of(body) {
        Calls::One(call) => vec![call],
        Calls::Batch(entries) => {
            entries.iter().filter_map(|entry| Call::of(entry.get().as_bytes())).collect()
        }
        Calls::NoCall | Calls::NoJson => Vec::new(),
    };
    calls.into_iter().filter(|call| call.id.is_some() && call.is_valid()).collect()
}

/// The ids of the calls that an answer has a result for.
fn succeeded(answer: &[u8]) -> HashSet<&str> {
    let answers: Vec<Answer<'_>> = match answer.trim_ascii_start().first() {
        Some(b'[') => serde_json::from_slice(answer).unwrap_or_default(),
        _ => serde_json::from_slice(answer).into_iter().collect(),
    };
    answers.iter().filter(|one| one.error.is_none()).filter_map(|one| one.id.map(RawValue::get)).collect()
}
