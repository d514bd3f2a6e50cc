//! The framework's service as one connection has it, called without a connection.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, HeaderName, HeaderValue};
use http::{Method, StatusCode};
use http_body_util::{BodyExt, Full};
use jsonrpsee::core::BoxError;
use jsonrpsee::server::{
    HttpBody, HttpRequest, HttpResponse, Server, ServerHandle, TowerServiceNoHttp, stop_channel,
};
use server_kit::{BlocksOn, Counters, InProcess, REQUEST_HEADERS, Settings, SlotFeed, StartError, at_once};
use tower::layer::layer_fn;
use tower::{Service, ServiceBuilder};
use validator_state::State;

use crate::adapter::{config, methods};
use crate::middleware::{Answering, Health};

/// The server without its sockets.
pub struct Unsocketed {
    service:
        Box<dyn Service<HttpRequest, Response = HttpResponse, Error = BoxError, Future = Answering> + Send>,
    /// The service stops when this is dropped.
    _running: ServerHandle,
}

impl Unsocketed {
    /// Set up as the server sets it up with `--tuning equal`.
    ///
    /// # Errors
    /// The framework refuses to be set up.
    pub fn new(state: &Arc<State>) -> Result<Self, StartError> {
        let methods = methods(state, Counters::default(), BlocksOn::Worker, SlotFeed::default())?;
        let settings = Settings::without_sockets();
        let (stop, running) = stop_channel();
        // The framework keeps to itself how it makes the service of a connection, but hands it to the HTTP middleware.
        let made = Arc::new(Mutex::new(None));
        let keep = Arc::clone(&made);
        let take = layer_fn(move |service: TowerServiceNoHttp<_>| {
            *keep.lock().unwrap_or_else(PoisonError::into_inner) = Some(service.clone());
            service
        });
        let mut whole = Server::builder()
            .set_config(config(&settings))
            .set_http_middleware(ServiceBuilder::new().layer(take))
            .to_service_builder()
            .build(methods, stop);
        drop(whole.call(HttpRequest::new(HttpBody::empty())));
        let service = made.lock().unwrap_or_else(PoisonError::into_inner).take();
        let service = service.ok_or_else(|| StartError::failed("set up jsonrpsee", "it made no service"))?;
        Ok(Self { service: Box::new(Health::new(service)), _running: running })
    }
}

impl InProcess for Unsocketed {
    type Request = HttpRequest;
    type Answer = Bytes;

    fn request(&self, body: &str) -> HttpRequest {
        let length = HeaderValue::from(body.len());
        let mut request = HttpRequest::new(HttpBody::new(Full::new(Bytes::from(body.to_owned()))));
        *request.method_mut() = Method::POST;
        for (name, value) in REQUEST_HEADERS {
            request.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        request.headers_mut().insert(CONTENT_LENGTH, length);
        request
    }

    fn answer(&mut self, request: HttpRequest) -> Option<Bytes> {
        let mut answer = at_once(self.service.call(request))?.ok()?;
        if answer.status() != StatusCode::OK {
            return None;
        }
        // The framework answers in one piece.
        at_once(answer.frame())??.ok()?.into_data().ok()
    }
}
