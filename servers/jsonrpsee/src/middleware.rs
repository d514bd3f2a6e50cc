//! What stands around the methods: /health before JSON-RPC, white space taken off the front of bodies, and the counts of
//! calls that reach no method.

use std::future::{Future, ready};
use std::pin::Pin;
use std::task::{Context, Poll, ready as wait_for};

use bytes::{Buf, Bytes};
use http::Method as HttpMethod;
use http::header::{CONTENT_TYPE, HeaderValue};
use http_body::{Body, Frame};
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

/// Takes JSON's white space off the front of each body. The framework looks for a call in the first 128 bytes that arrive,
/// and answers 400 where they are all white space; the contract sets no such limit.
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
