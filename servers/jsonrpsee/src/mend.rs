//! Mends jsonrpsee where the contract asks for something else, at next to no cost for a clean call.
//!
//! Two hooks work together. [`MarkClean`] sees calls: it marks the answer of a call that succeeded. [`Mend`] sees HTTP: it
//! keeps the body while the framework answers, lets a marked answer pass, and replaces any other by what
//! `validator_state::envelope` says to the same body. So there is one truth of framing and of errors, whatever the
//! framework would have said, and a clean call pays for a mark and a look at its body.
//!
//! What a marked answer may still hide is a request that the framework reads more kindly than the contract: members that
//! no request has, or a call in a batch written as an array. [`Shape`] finds those by counting.
//!
//! Not for: what a method means, or which error it is.

use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context as TaskContext, Poll};

use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use http::{Method as HttpMethod, StatusCode};
use http_body_util::{BodyExt, Full};
use jsonrpsee::core::BoxError;
use jsonrpsee::server::middleware::rpc::{
    Batch, BatchEntry, MethodResponse, Notification, Request, RpcServiceT,
};
use jsonrpsee::server::{BatchResponseBuilder, HttpBody, HttpRequest, HttpResponse};
use jsonrpsee::types::Id;
use server_kit::{Context, Counters};
use tower::{Layer, Service};
use validator_state::{SlotBudget, State, envelope};

const JSON: &str = "application/json; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";

/// Characters that tell how many members and arrays a body has beside its parameters.
///
/// A member beyond those of a request brings the two quotes of its name at least, and a call that is written as an array
/// brings a bracket. Nothing else that the framework accepts can have fewer of either than the request it was read as. So
/// where both counts agree, nothing was overlooked; where they don't (an id that holds a quote), the general way answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Shape {
    quotes: usize,
    brackets: usize,
}

impl Shape {
    fn of(text: &[u8]) -> Self {
        let count = |wanted: u8| text.iter().filter(|byte| **byte == wanted).count();
        Self { quotes: count(b'"'), brackets: count(b'[') }
    }

    /// The least that this call was written with: three or four names, the version, the method, and a textual id.
    fn of_call(request: &Request<'_>) -> Self {
        let mut shape = Self { quotes: 2 * (3 + 2), brackets: 0 };
        if let Some(params) = &request.params {
            shape = shape + Self::of(params.get().as_bytes()) + Self { quotes: 2, brackets: 0 };
        }
        if let Id::Str(_) = request.id {
            shape.quotes += 2;
        }
        shape
    }
}

impl std::ops::Add for Shape {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { quotes: self.quotes + other.quotes, brackets: self.brackets + other.brackets }
    }
}

/// The mark of an answer whose calls have all succeeded.
#[derive(Debug, Clone, Copy)]
struct Clean {
    shape: Shape,
    answered: u64,
}

/// Marks the answers of calls that succeed, alone or all in a batch.
#[derive(Debug, Clone)]
pub struct MarkClean<S> {
    inner: S,
}

impl<S> MarkClean<S> {
    /// Wraps the framework's own service.
    pub fn new(inner: S) -> Self {
        Self { inner }
    }
}

impl<S> RpcServiceT for MarkClean<S>
where
    S: RpcServiceT<MethodResponse = MethodResponse> + Clone + Send + Sync + 'static,
{
    type MethodResponse = MethodResponse;
    type NotificationResponse = MethodResponse;
    type BatchResponse = MethodResponse;

    fn call<'a>(&self, request: Request<'a>) -> impl Future<Output = MethodResponse> + Send + 'a {
        let clean = Clean { shape: Shape::of_call(&request), answered: 1 };
        let answering = self.inner.call(request);
        async move {
            let mut answer = answering.await;
            if answer.is_success() {
                answer.extensions_mut().insert(clean);
            }
            answer
        }
    }

    fn batch<'a>(&self, batch: Batch<'a>) -> impl Future<Output = MethodResponse> + Send + 'a {
        let inner = self.inner.clone();
        async move { clean_batch(&inner, batch).await.unwrap_or_else(MethodResponse::notification) }
    }

    /// Executes nothing, and is not marked: only the general way can tell a notification from a call with a bad id.
    fn notification<'a>(&self, _: Notification<'a>) -> impl Future<Output = MethodResponse> + Send + 'a {
        ready(MethodResponse::notification())
    }
}

/// The marked answer of a batch that holds nothing but calls that succeed.
async fn clean_batch<S>(inner: &S, batch: Batch<'_>) -> Option<MethodResponse>
where
    S: RpcServiceT<MethodResponse = MethodResponse>,
{
    let budget = Arc::<SlotBudget>::default();
    let mut answers = BatchResponseBuilder::new_with_limit(usize::MAX);
    let mut clean = Clean { shape: Shape { quotes: 0, brackets: 1 }, answered: 0 };
    for entry in batch {
        let Ok(BatchEntry::Call(mut request)) = entry else { return None };
        clean.shape = clean.shape + Shape::of_call(&request);
        clean.answered += 1;
        request.extensions_mut().insert(Arc::clone(&budget));
        let answer = inner.call(request).await;
        if !answer.is_success() {
            return None;
        }
        answers.append(answer).ok()?;
    }
    if answers.is_empty() {
        return None;
    }
    let mut answer = MethodResponse::from_batch(answers.finish());
    answer.extensions_mut().insert(clean);
    Some(answer)
}

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
    pub fn new(context: &Context) -> Self {
        let shared = Shared {
            state: Arc::clone(&context.state),
            counters: context.counters.clone(),
            max_body_bytes: context.settings.max_body_bytes,
        };
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
            Some(clean) if clean.shape == Shape::of(body) && begins_as_json(body) => {
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

/// Whether no form feed, which JSON does not have, is among the white space that the framework takes off the front.
fn begins_as_json(body: &[u8]) -> bool {
    !body.iter().take_while(|byte| byte.is_ascii_whitespace()).any(|byte| *byte == b'\x0c')
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
