//! The router, called without a connection.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{CONTENT_LENGTH, HeaderName, HeaderValue};
use axum::http::{Method, StatusCode};
use bytes::Bytes;
use http_body_util::BodyExt;
use server_kit::{Counters, InProcess, REQUEST_HEADERS, Rpc, SlotFeed, at_once};
use tower::Service;
use validator_state::{MAX_BODY_BYTES, State};

use crate::rpc::router;

/// The server without its sockets.
pub struct Unsocketed {
    router: Router,
}

impl Unsocketed {
    /// Set up as the server sets it up with `--tuning equal`.
    pub fn new(rpc: Rpc, state: &Arc<State>) -> Self {
        let slots = SlotFeed::default();
        Self { router: router(rpc, state, Counters::default(), None, MAX_BODY_BYTES, &slots) }
    }
}

impl InProcess for Unsocketed {
    type Request = Request;
    type Answer = Bytes;

    fn request(&self, body: &str) -> Request {
        let mut request = Request::new(Body::from(body.to_owned()));
        *request.method_mut() = Method::POST;
        for (name, value) in REQUEST_HEADERS {
            request.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        request.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
        request
    }

    fn answer(&mut self, request: Request) -> Option<Bytes> {
        let mut answer = at_once(self.router.call(request))?.ok()?;
        if answer.status() != StatusCode::OK {
            return None;
        }
        // The framework answers in one piece.
        at_once(answer.frame())??.ok()?.into_data().ok()
    }
}
