//! The framework's request handler as one connection has it, asked without a connection.

use std::sync::Arc;

use jsonrpc_http_server::ServerHandler;
use jsonrpc_http_server::hyper::body::{Bytes, HttpBody};
use jsonrpc_http_server::hyper::header::{CONTENT_LENGTH, HeaderName, HeaderValue};
use jsonrpc_http_server::hyper::service::Service;
use jsonrpc_http_server::hyper::{Body, Method, Request, StatusCode};
use server_kit::{Counters, InProcess, REQUEST_HEADERS, StartError, at_once};
use validator_state::{MAX_BODY_BYTES, State};

use crate::adapter::{Mend, Meta, answering};
use crate::listeners::Answering;

/// The server without its sockets.
pub struct Unsocketed {
    service: ServerHandler<Meta, Mend>,
    /// The framework holds only weak references to it.
    _answering: Answering,
}

impl InProcess for Unsocketed {
    type Request = Request<Body>;
    type Answer = Bytes;

    fn new(state: &Arc<State>) -> Result<Self, StartError> {
        let answering = answering(state, Counters::default(), MAX_BODY_BYTES);
        Ok(Self { service: answering.handler(), _answering: answering })
    }

    fn request(&self, body: &str) -> Request<Body> {
        let mut request = Request::new(Body::from(body.to_owned()));
        *request.method_mut() = Method::POST;
        for (name, value) in REQUEST_HEADERS {
            request.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        request.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
        request
    }

    fn answer(&mut self, request: Request<Body>) -> Option<Bytes> {
        let mut answer = at_once(self.service.call(request))?.ok()?;
        if answer.status() != StatusCode::OK {
            return None;
        }
        // The framework answers in one piece.
        at_once(answer.data())??.ok()
    }
}
