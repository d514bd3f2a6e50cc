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
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use moka::future::Cache;
use serde_json::value::RawValue;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::counts::Counts;
use crate::options::Options;
use crate::rpc::{Call, Calls, Refusal, Said, calls_of};
use crate::shared::{Node, Shared};

/// How long a connection to the node is kept without a request.
const POOL_IDLE: Duration = Duration::from_secs(4);

/// The way to the node.
enum Upstream {
    Http { client: Box<Client<HttpConnector, Full<Bytes>>>, url: Uri },
    Shared(Box<Shared>),
}

/// The gateway.
pub struct Gateway {
    upstream: Upstream,
    limiter: Option<DefaultDirectRateLimiter>,
    cache: Option<Cache<String, Said>>,
    /// Places for requests that wait for the node over HTTP.
    free: Semaphore,
    timeout: Duration,
    /// The longest answer of the node over HTTP, in bytes.
    most_answer_bytes: usize,
    /// What it counts.
    pub counts: Arc<Counts>,
}

impl Gateway {
    /// A gateway as the options say. To be called on the runtime, on which it starts a task.
    pub fn new(options: &Options) -> Self {
        let counts = Arc::<Counts>::default();
        let upstream = if options.is_websocket() {
            let most = options.max_in_flight as usize;
            Upstream::Shared(Box::new(Shared::start(Node::of(options), most, Arc::clone(&counts))))
        } else {
            let mut connector = HttpConnector::new();
            connector.set_nodelay(true);
            // Shorter than any server here keeps an idle connection, so that none is used that the node has just closed.
            let mut client = Client::builder(TokioExecutor::new());
            let client = client.pool_timer(TokioTimer::new()).pool_idle_timeout(POOL_IDLE).build(connector);
            Upstream::Http { client: Box::new(client), url: options.upstream.clone() }
        };
        let quota = |limit: u32| {
            let limit = NonZeroU32::new(limit).unwrap_or(NonZeroU32::MIN);
            let burst = options.rate_burst.and_then(NonZeroU32::new).unwrap_or(limit);
            Quota::per_second(limit).allow_burst(burst)
        };
        let kept = |ms| {
            let ttl = Duration::from_millis(ms);
            let size = |key: &String, said: &Said| u32::try_from(key.len() + said.len()).unwrap_or(u32::MAX);
            Cache::builder().weigher(size).max_capacity(options.cache_mib << 20).time_to_live(ttl).build()
        };
        Self {
            upstream,
            limiter: options.rate_limit.map(|limit| RateLimiter::direct(quota(limit))),
            cache: options.cache_ms.map(kept),
            free: Semaphore::new(options.max_in_flight as usize),
            timeout: options.timeout(),
            most_answer_bytes: options.max_answer_bytes as usize,
            counts,
        }
    }

    /// Takes a place under the rate limit for each call of a body; where there are not as many, the time until there are.
    pub fn take_places(&self, body: &[u8]) -> Result<(), Duration> {
        let Some(limiter) = &self.limiter else { return Ok(()) };
        let calls = NonZeroU32::new(calls_of(body)).unwrap_or(NonZeroU32::MIN);
        let wait = match limiter.check_n(calls) {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(until)) => until.wait_time_from(DefaultClock::default().now()),
            // More than may ever come at once.
            Err(_) => Duration::ZERO,
        };
        Counts::add(&self.counts.limited);
        Err(wait)
    }

    /// Answers the body of an HTTP request.
    pub async fn answer(&self, body: Bytes) -> Response {
        Counts::add(&self.counts.requests);
        if let Err(wait) = self.take_places(&body) {
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
        let _place = self.free.try_acquire().map_err(|_| Refusal::BUSY)?;
        Counts::add(&self.counts.upstream_calls);
        let request = Request::post(url).header(header::CONTENT_TYPE, "application/json");
        let request = request.body(Full::new(body)).map_err(|_| Refusal::UNREACHABLE)?;
        let exchange = async {
            let answer = client.request(request).await.map_err(|_| Refusal::UNREACHABLE)?;
            let status = answer.status();
            let body = Limited::new(answer.into_body(), self.most_answer_bytes);
            let body = body.collect().await.map_err(|_| Refusal::UNREADABLE)?;
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
        let Some(call) = Call::of(entry.get().as_bytes()) else {
            return Some(Refusal::NO_CALL.to(None).into_bytes());
        };
        let answered = self.answer_call(&call).await;
        answered.unwrap_or_else(|refusal| call.id.map(|id| refusal.to(Some(id)).into_bytes()))
    }

    /// Answers a call, from the cache where it may be kept; `None` for a notification.
    async fn answer_call(&self, call: &Call<'_>) -> Result<Option<Vec<u8>>, Refusal> {
        if !call.is_valid() {
            return Err(Refusal::NO_CALL);
        }
        let kept = self.cache.as_ref().filter(|_| call.only_reads());
        let (Some(cache), Some(id)) = (kept, call.id) else { return self.ask(call).await };
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
