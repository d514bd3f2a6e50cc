//! Middleware before the methods: /health before JSON-RPC.

use std::future::{Future, ready};
use std::pin::Pin;
use std::task::{Context, Poll};

use http::Method as HttpMethod;
use http::header::{CONTENT_TYPE, HeaderValue};
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
