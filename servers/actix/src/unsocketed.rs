//! The app of one worker, called without a connection.

use std::sync::Arc;

use actix_http::Request;
use actix_web::body::MessageBody;
use actix_web::dev::{Payload, Service};
use actix_web::http::header::{CONTENT_LENGTH, HeaderName, HeaderValue};
use actix_web::http::{Method, StatusCode};
use actix_web::web::Bytes;
use actix_web::{App, test};
use server_kit::{Counters, InProcess, REQUEST_HEADERS, Rpc, SlotFeed, StartError, at_once};
use validator_state::{MAX_BODY_BYTES, State};

use crate::rpc::routes;

/// The server without its sockets.
pub struct Unsocketed {
    /// The app's service: its type has no name, so it is called through this.
    ask: Box<dyn Fn(Request) -> Option<Bytes>>,
}

impl Unsocketed {
    /// Set up as the server sets it up with `--tuning equal`.
    ///
    /// # Errors
    /// The framework refuses to be set up.
    pub fn new(rpc: Rpc, state: &Arc<State>) -> Result<Self, StartError> {
        let slots = SlotFeed::default();
        let routes = routes(rpc, state, Counters::default(), None, MAX_BODY_BYTES, &slots);
        let app = App::new().configure(routes);
        let service = at_once(test::init_service(app))
            .ok_or_else(|| StartError::failed("set up actix-web", "its app has to wait for something"))?;
        let ask = move |request| {
            let answer = at_once(service.call(request))?.ok()?;
            if answer.status() != StatusCode::OK {
                return None;
            }
            // The node answers in one piece.
            answer.into_body().try_into_bytes().ok()
        };
        Ok(Self { ask: Box::new(ask) })
    }
}

impl InProcess for Unsocketed {
    type Request = Request;
    type Answer = Bytes;

    fn request(&self, body: &str) -> Request {
        let mut request = Request::with_payload(Payload::from(Bytes::from(body.to_owned())));
        let head = request.head_mut();
        head.method = Method::POST;
        for (name, value) in REQUEST_HEADERS {
            head.headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        head.headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
        request
    }

    fn answer(&mut self, request: Request) -> Option<Bytes> {
        (self.ask)(request)
    }
}
