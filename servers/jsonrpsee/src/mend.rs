//! Mends jsonrpsee where the contract asks for something else, at next to no cost for a clean call.
//!
//! The body is kept while the framework answers. An answer that carries the mark of a clean call passes; any other is
//! replaced by what `validator_state::envelope` says to the same body. So there is one truth of framing and of errors,
//! whatever the framework would have said, and a clean call pays for a mark and a look at its body.
//!
//! Not for: which call is clean (`clean`), what a method means, or which error it is.

use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context as TaskContext, Poll};

use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use http::{Method as HttpMethod, StatusCode};
use http_body_util::{BodyExt, Full};
use jsonrpsee::core::BoxError;
use jsonrpsee::server::{HttpBody, HttpRequest, HttpResponse};
use server_kit::Counters;
use tower::{Layer, Service};
use validator_state::{State, envelope};

use crate::clean::Clean;

const JSON: &str = "application/json; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";

/// What answers need beside their body, for the life of the process, so that no request counts references to it.
#[derive(Debug)]
struct Shared {
    state: Arc<State>,
    counters: Counters,
    max_body_bytes: usize,
}

/// Puts a [`Mend`] in front of each connection's service.
#[derive(Debug, Clone, Copy)]
pub struct MendLayer {
    shared: &'static Shared,
}

impl MendLayer {
    /// Mends with the state that the methods answer from.
    pub fn new(state: &Arc<State>, counters: Counters, max_body_bytes: usize) -> Self {
        let shared = Shared { state: Arc::clone(state), counters, max_body_bytes };
        Self { shared: Box::leak(Box::new(shared)) }
    }
}

impl<S> Layer<S> for MendLayer {
    type Service = Mend<S>;

    fn layer(&self, inner: S) -> Mend<S> {
        Mend { inner: Arc::new(Mutex::new(inner)), shared: self.shared }
    }
}

/// The framework's HTTP service of one connection, mended.
#[derive(Debug)]
pub struct Mend<S> {
    /// Used after the body is read, which outlives the call; a connection has one request at a time, so nobody waits.
    inner: Arc<Mutex<S>>,
    shared: &'static Shared,
}

impl<S> Clone for Mend<S> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner), shared: self.shared }
    }
}

impl<S> Service<HttpRequest> for Mend<S>
where
    S: Service<HttpRequest<Full<Bytes>>, Response = HttpResponse, Error = BoxError> + Send + 'static,
    S::Future: Send,
{
    type Response = HttpResponse;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<HttpResponse, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut TaskContext<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: HttpRequest) -> Self::Future {
        if let Some(answer) = without_body(&request) {
            return Box::pin(ready(Ok(answer)));
        }
        let Self { inner, shared } = self.clone();
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let Some(body) = read(body, shared.max_body_bytes).await? else {
                return Ok(too_large());
            };
            let request = HttpRequest::from_parts(parts, Full::new(body.clone()));
            let answering = inner.lock().unwrap_or_else(PoisonError::into_inner).call(request);
            let answer = answering.await?;
            Ok(shared.pass_or_replace(&body, answer))
        })
    }
}

impl Shared {
    fn pass_or_replace(&self, body: &[u8], answer: HttpResponse) -> HttpResponse {
        match answer.extensions().get::<Clean>() {
            Some(clean) if clean.is_all_of(body) => {
                self.counters.count(clean.answered, 0);
                answer
            }
            // The limit on concurrent requests, which only `--tuning shipped` has: there it is what is measured.
            None if answer.status() == StatusCode::TOO_MANY_REQUESTS => answer,
            _ => self.answer(body),
        }
    }

    /// What the contract says to a body.
    fn answer(&self, body: &[u8]) -> HttpResponse {
        let body = match std::str::from_utf8(body) {
            Ok(body) => body,
            Err(error) => {
                let position = error.valid_up_to();
                let message = format!("utf-8 encoding error at byte {position} in request body");
                return response(StatusCode::BAD_REQUEST, TEXT, message);
            }
        };
        let mut out = Vec::new();
        let tally = envelope::answer(&self.state, body, &mut out);
        self.counters.count(tally.answered, tally.errors);
        response(StatusCode::OK, JSON, out)
    }
}

/// The whole body; `None` where it is longer than the limit. Copies nothing where it came in one piece.
async fn read(mut body: HttpBody, limit: usize) -> Result<Option<Bytes>, BoxError> {
    use http_body::Body as _;
    let Some(first) = body.frame().await else { return Ok(Some(Bytes::new())) };
    let first = first?.into_data().unwrap_or_default();
    if body.is_end_stream() {
        return Ok(Some(first).filter(|whole| whole.len() <= limit));
    }
    let mut whole = BytesMut::from(first);
    while whole.len() <= limit {
        let Some(frame) = body.frame().await else { return Ok(Some(whole.freeze())) };
        // Trailers say nothing that a call could use.
        whole.extend_from_slice(&frame?.into_data().unwrap_or_default());
    }
    Ok(None)
}

/// The answer to a request whose body does not matter; `None` where it holds calls.
fn without_body(request: &HttpRequest) -> Option<HttpResponse> {
    let method = request.method();
    if request.uri().path() == "/health" && matches!(*method, HttpMethod::GET | HttpMethod::POST) {
        return Some(response(StatusCode::OK, TEXT, "ok"));
    }
    match *method {
        HttpMethod::POST if is_json(request.headers()) => None,
        HttpMethod::POST => Some(response(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            TEXT,
            "Supplied content type is not allowed. Content-Type: application/json is required\n",
        )),
        HttpMethod::OPTIONS => Some(response(StatusCode::OK, JSON, "")),
        _ => Some(response(
            StatusCode::METHOD_NOT_ALLOWED,
            TEXT,
            "Used HTTP Method is not allowed. POST or OPTIONS is required\n",
        )),
    }
}

/// The framework takes `application/json-rpc` too.
fn is_json(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).is_some_and(|value| {
        ["application/json", "application/json; charset=utf-8", "application/json;charset=utf-8"]
            .iter()
            .any(|json| value.eq_ignore_ascii_case(json))
    })
}

fn too_large() -> HttpResponse {
    response(StatusCode::PAYLOAD_TOO_LARGE, TEXT, "request body size exceeds allowed maximum")
}

fn response(status: StatusCode, content_type: &'static str, body: impl Into<Bytes>) -> HttpResponse {
    let mut response = HttpResponse::new(HttpBody::new(Full::new(body.into())));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}
