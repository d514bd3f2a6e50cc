//! Times calls, in a build with the feature `calls` alone: in the framework's place for it, which sees each call's method and answer.

use std::task::{Context, Poll};

use http::header::UPGRADE;
use jsonrpsee::core::middleware::{Batch, BatchEntry, Notification, RpcServiceT};
use jsonrpsee::core::server::BatchResponseBuilder;
use jsonrpsee::server::{HttpRequest, MethodResponse};
use jsonrpsee::types::Request;
use server_kit::{CallCounters, Transport};
use tower::Service;

/// Notes in each HTTP request what it brings calls by: the framework keeps that for the calls of a WebSocket too.
#[derive(Debug, Clone)]
pub struct NameTransport<S> {
    inner: S,
}

impl<S> NameTransport<S> {
    /// In front of the framework's service of a connection.
    pub fn new(inner: S) -> Self {
        Self { inner }
    }
}

impl<S: Service<HttpRequest>> Service<HttpRequest> for NameTransport<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: HttpRequest) -> S::Future {
        let is_upgrade = request.headers().contains_key(UPGRADE);
        let transport = if is_upgrade { Transport::WebSocket } else { Transport::Http };
        request.extensions_mut().insert(transport);
        self.inner.call(request)
    }
}

/// Bytes of the longest answer to a batch: the framework's own limit, which the servers here leave as it is.
const MOST_ANSWER_BYTES: usize = 10 << 20;

/// Times the calls of the service inside.
#[derive(Debug, Clone)]
pub struct Timed<S> {
    inner: S,
    calls: CallCounters,
}

impl<S> Timed<S> {
    /// In front of the framework's service of methods.
    pub fn new(inner: S) -> Self {
        Self { inner, calls: CallCounters::of_process() }
    }
}

impl<S> RpcServiceT for Timed<S>
where
    S: RpcServiceT<
            MethodResponse = MethodResponse,
            NotificationResponse = MethodResponse,
            BatchResponse = MethodResponse,
        > + Clone
        + Send
        + Sync
        + 'static,
{
    type MethodResponse = MethodResponse;
    type NotificationResponse = MethodResponse;
    type BatchResponse = MethodResponse;

    fn call<'a>(&self, request: Request<'a>) -> impl Future<Output = MethodResponse> + Send + 'a {
        let (calls, method) = (self.calls, request.method.to_string());
        let transport = request.extensions.get().copied().unwrap_or(Transport::Http);
        let begun = calls.begin();
        let answered = self.inner.call(request);
        async move {
            let answer = answered.await;
            calls.end(begun, transport, &method, !answer.is_success());
            answer
        }
    }

    /// Each call by itself, as the framework's own service has it: that one does not pass them through what is in front of it.
    fn batch<'a>(&self, batch: Batch<'a>) -> impl Future<Output = MethodResponse> + Send + 'a {
        let service = self.clone();
        async move {
            let (mut answers, mut notified) =
                (BatchResponseBuilder::new_with_limit(MOST_ANSWER_BYTES), false);
            for entry in batch {
                let answer = match entry {
                    Ok(BatchEntry::Call(request)) => service.call(request).await,
                    Ok(BatchEntry::Notification(notification)) => {
                        service.notification(notification).await;
                        notified = true;
                        continue;
                    }
                    Err(error) => {
                        let (error, id) = error.into_parts();
                        MethodResponse::error(id, error)
                    }
                };
                if let Err(too_long) = answers.append(answer) {
                    return too_long;
                }
            }
            if answers.is_empty() && notified {
                return MethodResponse::notification();
            }
            MethodResponse::from_batch(answers.finish())
        }
    }

    fn notification<'a>(
        &self,
        notification: Notification<'a>,
    ) -> impl Future<Output = MethodResponse> + Send + 'a {
        self.inner.notification(notification)
    }
}
