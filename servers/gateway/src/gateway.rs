//! What happens to a request: the limit, the cache, and the way to the node.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderValue, Request, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::future::join_all;
use governor::clock::{Clock, DefaultClock};
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use moka::future::Cache;
use serde_json::value::RawValue;
use tokio::time::timeout;

use crate::counts::Counts;
use crate::options::Options;
use crate::rpc::{Call, Calls, Refusal, Said};
use crate::shared::Shared;

/// The way to the node.
enum Upstream {
    Http { client: Client<HttpConnector, Full<Bytes>>, url: Uri },
    Shared(Shared),
}

/// The gateway.
pub struct Gateway {
    upstream: Upstream,
    limiter: Option<DefaultDirectRateLimiter>,
    cache: Option<Cache<String, Said>>,
    timeout: Duration,
    /// What it counts.
    pub counts: Arc<Counts>,
}

impl Gateway {
    /// A gateway as the options say. To be called on the runtime, on which it starts a task.
    pub fn new(options: &Options) -> Self {
        let counts = Arc::<Counts>::default();
        let upstream = if options.is_websocket() {
            let url = options.upstream.to_string();
            let most = options.max_in_flight as usize;
            Upstream::Shared(Shared::start(url, most, options.timeout(), Arc::clone(&counts)))
        } else {
            let mut connector = HttpConnector::new();
            connector.set_nodelay(true);
            let client = Client::builder(TokioExecutor::new()).build(connector);
            Upstream::Http { client, url: options.upstream.clone() }
        };
        let quota = |limit: u32| {
            let limit = NonZeroU32::new(limit).unwrap_or(NonZeroU32::MIN);
            let burst = options.rate_burst.and_then(NonZeroU32::new).unwrap_or(limit);
            Quota::per_second(limit).allow_burst(burst)
        };
        let kept = |ms| {
            let ttl = Duration::from_millis(ms);
            Cache::builder().max_capacity(options.cache_entries).time_to_live(ttl).build()
        };
        Self {
            upstream,
            limiter: options.rate_limit.map(|limit| RateLimiter::direct(quota(limit))),
            cache: options.cache_ms.map(kept),
            timeout: options.timeout(),
            counts,
        }
    }

    /// Takes one place under the rate limit; where there is none, the time until there is one.
    pub fn take_place(&self) -> Result<(), Duration> {
        let Some(limiter) = &self.limiter else { return Ok(()) };
        limiter.check().map_err(|until| {
            Counts::add(&self.counts.limited);
            until.wait_time_from(DefaultClock::default().now())
        })
    }

    /// Answers the body of an HTTP request.
    pub async fn answer(&self, body: Bytes) -> Response {
        Counts::add(&self.counts.requests);
        if let Err(wait) = self.take_place() {
            // Whole seconds, rounded up: the header has no finer ones.
            let seconds = wait.as_millis().div_ceil(1_000).max(1) as u64;
            let mut response = refused(Refusal::LIMITED, &body);
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
            return response;
        }
        match (&self.upstream, &self.cache) {
            (Upstream::Http { client, url }, None) => self.pass_on(client, url, body).await,
            _ => self.answer_calls(body).await,
        }
    }

    /// Passes a request on as it is, and its answer back as it is.
    async fn pass_on(&self, client: &Client<HttpConnector, Full<Bytes>>, url: &Uri, body: Bytes) -> Response {
        match self.post(client, url, body.clone()).await {
            Ok((status, answer)) => json(status, answer),
            Err(refusal) => refused(refusal, &body),
        }
    }

    async fn post(
        &self,
        client: &Client<HttpConnector, Full<Bytes>>,
        url: &Uri,
        body: Bytes,
    ) -> Result<(StatusCode, Bytes), Refusal> {
        Counts::add(&self.counts.upstream_calls);
        let request = Request::post(url).header(header::CONTENT_TYPE, "application/json");
        let request = request.body(Full::new(body)).map_err(|_| Refusal::UNREACHABLE)?;
        let exchange = async {
            let answer = client.request(request).await.map_err(|_| Refusal::UNREACHABLE)?;
            let status = answer.status();
            let body = answer.into_body().collect().await.map_err(|_| Refusal::UNREACHABLE)?;
            Ok((status, body.to_bytes()))
        };
        timeout(self.timeout, exchange).await.unwrap_or_else(|_| {
            Counts::add(&self.counts.timeouts);
            Err(Refusal::LATE)
        })
    }

    /// Answers each call of a body by itself.
    async fn answer_calls(&self, body: Bytes) -> Response {
        match Calls::of(&body) {
            Calls::One(call) => match self.answer_call(&call).await {
                Ok(answer) => json(StatusCode::OK, answer.unwrap_or_default()),
                Err(refusal) => refused(refusal, &body),
            },
            Calls::Batch(entries) => {
                let answers = join_all(entries.iter().map(|entry| self.answer_entry(entry))).await;
                let answers: Vec<Vec<u8>> = answers.into_iter().flatten().collect();
                if answers.is_empty() {
                    return json(StatusCode::OK, Bytes::new());
                }
                json(StatusCode::OK, [b"[".as_slice(), &answers.join(&b","[..]), b"]"].concat())
            }
            Calls::NoCall => refused(Refusal::NO_CALL, &body),
            Calls::NoJson => refused(Refusal::NO_JSON, &body),
        }
    }

    /// Answers an entry of a batch; a notification gets no answer.
    async fn answer_entry(&self, entry: &RawValue) -> Option<Vec<u8>> {
        let Ok(call) = serde_json::from_str::<Call<'_>>(entry.get()) else {
            return Some(Refusal::NO_CALL.to(None).into_bytes());
        };
        let answered = self.answer_call(&call).await;
        answered.unwrap_or_else(|refusal| call.id.map(|id| refusal.to(Some(id)).into_bytes()))
    }

    /// Answers a call, from the cache where it may be kept; `None` for a notification.
    async fn answer_call(&self, call: &Call<'_>) -> Result<Option<Vec<u8>>, Refusal> {
        let (Some(cache), Some(id)) = (&self.cache, call.id) else { return self.ask(call).await };
        let key = call.key();
        if let Some(said) = cache.get(&key).await {
            Counts::add(&self.counts.cache_hits);
            return Ok(Some(said.to(id)));
        }
        let said = self.said(call).await?.ok_or(Refusal::UNREADABLE)?;
        if said.is_result {
            cache.insert(key, said.clone()).await;
        }
        Ok(Some(said.to(id)))
    }

    async fn ask(&self, call: &Call<'_>) -> Result<Option<Vec<u8>>, Refusal> {
        let said = self.said(call).await?;
        Ok(said.zip(call.id).map(|(said, id)| said.to(id)))
    }

    /// What the node says to a call.
    async fn said(&self, call: &Call<'_>) -> Result<Option<Said>, Refusal> {
        match &self.upstream {
            Upstream::Shared(shared) => shared.ask(call).await,
            Upstream::Http { client, url } => {
                let text = call.with_id(call.id.map(|_| 1));
                let (_, answer) = self.post(client, url, text.into()).await?;
                match call.id {
                    Some(_) => Said::of(&answer).map(Some).ok_or(Refusal::UNREADABLE),
                    None => Ok(None),
                }
            }
        }
    }
}

fn json(status: StatusCode, body: impl Into<axum::body::Body>) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], body.into()).into_response()
}

fn refused(refusal: Refusal, body: &[u8]) -> Response {
    let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::BAD_GATEWAY);
    json(status, refusal.to_body(body))
}
