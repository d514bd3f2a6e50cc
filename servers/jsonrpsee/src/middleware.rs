//! Middleware before the methods: /health before JSON-RPC, and white space taken off the front of bodies.

use std::future::{Future, ready};
use std::pin::Pin;
use std::task::{Context, Poll, ready as wait_for};

use bytes::{Buf, Bytes};
use http::Method as HttpMethod;
use http::header::{CONTENT_TYPE, HeaderValue};
use http_body::{Body, Frame, SizeHint};
use jsonrpsee::core::BoxError;
use jsonrpsee::server::{HttpBody, HttpRequest, HttpResponse};
use tower::Service;

/// What the framework's HTTP service answers with.
pub type Answering = Pin<Box<dyn Future<Output = Result<HttpResponse, BoxError>> + Send>>;

/// Answers GET and POST /health, and hands everything else on.
#[derive(Debug, Clone)]
pub struct Health<S> {
    inner: S,
}

impl<S> Health<S> {
    /// In front of the framework's service of a connection.
    pub fn new(inner: S) -> Self {
        Self { inner }
    }
}

impl<S> Service<HttpRequest> for Health<S>
where
    S: Service<HttpRequest, Response = HttpResponse, Error = BoxError, Future = Answering>,
{
    type Response = HttpResponse;
    type Error = BoxError;
    type Future = Answering;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: HttpRequest) -> Answering {
        if request.uri().path() != "/health"
            || !matches!(*request.method(), HttpMethod::GET | HttpMethod::POST)
        {
            return self.inner.call(request);
        }
        let mut answer = HttpResponse::new(HttpBody::from("ok"));
        answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        Box::pin(ready(Ok(answer)))
    }
}

/// Takes JSON's white space off the front of each body. The framework looks for a call in the first 128 bytes that arrive,
/// and answers 400 where they are all white space; a recorded request has 5,000 of them. The framework's documentation has no
/// such layer, and `adapter-cost` measures it: the minimal server does without.
#[derive(Debug, Clone)]
pub struct TrimBody<S> {
    inner: S,
}

impl<S> TrimBody<S> {
    /// In front of the framework's service of a connection.
    pub fn new(inner: S) -> Self {
        Self { inner }
    }
}

impl<S: Service<HttpRequest<Trimmed>>> Service<HttpRequest> for TrimBody<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: HttpRequest) -> S::Future {
        self.inner.call(request.map(|body| Trimmed { body, begun: false }))
    }
}

/// A body without the white space at its front.
pub struct Trimmed {
    body: HttpBody,
    /// Whether something else than white space has come.
    begun: bool,
}

impl Body for Trimmed {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        loop {
            let frame = wait_for!(Pin::new(&mut self.body).poll_frame(context));
            let Some(Ok(mut frame)) = frame else { return Poll::Ready(frame) };
            if let (false, Some(data)) = (self.begun, frame.data_mut()) {
                let is_space = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
                let Some(start) = data.iter().position(|byte| !is_space(byte)) else { continue };
                data.advance(start);
                self.begun = true;
            }
            return Poll::Ready(Some(Ok(frame)));
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
