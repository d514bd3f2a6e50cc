//! What stands around the methods: /health before JSON-RPC, and the counts of calls that reach no method.

use std::future::{Future, ready};
use std::pin::Pin;
use std::task::{Context, Poll};

use http::Method as HttpMethod;
use http::header::{CONTENT_TYPE, HeaderValue};
use jsonrpsee::core::BoxError;
use jsonrpsee::server::middleware::rpc::{Batch, BatchEntry, Notification, Request, RpcServiceT};
use jsonrpsee::server::{HttpBody, HttpRequest, HttpResponse};
use server_kit::Counters;
use tower::Service;
use validator_state::Method;

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

/// Counts the calls that reach no method of ours, which count themselves: those of an unknown method, and entries of a
/// batch that are no call. What is not JSON-RPC at all never comes here.
#[derive(Debug, Clone)]
pub struct CountUncalled<S> {
    inner: S,
    counters: Counters,
}

impl<S> CountUncalled<S> {
    /// In front of the framework's own service of calls.
    pub fn new(inner: S, counters: Counters) -> Self {
        Self { inner, counters }
    }

    fn count_unless_known(&self, call: &Request<'_>) {
        if Method::from_name(call.method_name()).is_none() {
            self.counters.count(1, 1);
        }
    }
}

impl<S: RpcServiceT> RpcServiceT for CountUncalled<S> {
    type MethodResponse = S::MethodResponse;
    type NotificationResponse = S::NotificationResponse;
    type BatchResponse = S::BatchResponse;

    fn call<'a>(&self, call: Request<'a>) -> impl Future<Output = S::MethodResponse> + Send + 'a {
        self.count_unless_known(&call);
        self.inner.call(call)
    }

    fn batch<'a>(&self, batch: Batch<'a>) -> impl Future<Output = S::BatchResponse> + Send + 'a {
        for entry in batch.iter() {
            match entry {
                Ok(BatchEntry::Call(call)) => self.count_unless_known(call),
                Ok(BatchEntry::Notification(_)) => {}
                Err(_) => self.counters.count(1, 1),
            }
        }
        self.inner.batch(batch)
    }

    fn notification<'a>(
        &self,
        notification: Notification<'a>,
    ) -> impl Future<Output = S::NotificationResponse> + Send + 'a {
        self.inner.notification(notification)
    }
}
