//! The framework's request handler as one connection has it, called without a connection.

use std::sync::Arc;

use core_rpc::{Limits, Meta, handler};
use jsonrpc_http_server::hyper::body::{Bytes, HttpBody};
use jsonrpc_http_server::hyper::header::{CONTENT_LENGTH, HeaderName, HeaderValue};
use jsonrpc_http_server::hyper::service::Service;
use jsonrpc_http_server::hyper::{Body, Method, Request, StatusCode};
use jsonrpc_http_server::{AccessControlAllowOrigin, RestApi, Rpc, ServerHandler, cors};
use server_kit::{Counters, InProcess, REQUEST_HEADERS, StartError, at_once};
use validator_state::{MAX_BODY_BYTES, State};

use crate::adapter::health;

/// The server without its sockets.
pub struct Unsocketed {
    service: ServerHandler<Meta, Limits>,
    /// The framework holds only weak references to it.
    _rpc: Rpc<Meta, Limits>,
}

impl Unsocketed {
    /// Set up as the server sets it up with `--tuning equal`.
    ///
    /// # Errors
    /// The framework refuses to be set up.
    pub fn new(state: &Arc<State>) -> Result<Self, StartError> {
        let extractor = |_: &Request<Body>| Meta::default();
        let handler = Arc::new(handler(state, Counters::default(), None));
        let rpc = Rpc { handler, extractor: Arc::new(extractor) };
        // As the framework's server makes it for a connection.
        let service = ServerHandler::new(
            rpc.downgrade(),
            Some(vec![AccessControlAllowOrigin::Any]),
            Some(86_400),
            cors::AccessControlAllowHeaders::Any,
            None,
            Arc::new(health),
            RestApi::Disabled,
            None,
            MAX_BODY_BYTES,
            true,
        );
        Ok(Self { service, _rpc: rpc })
    }
}

impl InProcess for Unsocketed {
    type Request = Request<Body>;
    type Answer = Bytes;

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
