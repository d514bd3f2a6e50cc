//! Between actix-web and the node: HTTP in, the contract's answers out. JSON-RPC itself is validator-state's.

use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

use actix_web::dev::{Payload, ServiceRequest, ServiceResponse, fn_service};
use actix_web::http::header::{self, HeaderValue};
use actix_web::http::{Method, StatusCode};
use actix_web::web::{Bytes, BytesMut, ServiceConfig};
use actix_web::{Error, HttpResponse};
use futures_core::Stream;
use server_kit::{Context, Counters, StartError};
use validator_state::{State, envelope};

use crate::tuning;

const JSON: HeaderValue = HeaderValue::from_static("application/json; charset=utf-8");
const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

/// Answers up to this size are copied out of a buffer that is kept; larger ones take the buffer with them.
const COPIED_BYTES: usize = 65_536;

/// Answers until the end.
///
/// # Errors
/// The server could not start.
pub fn serve(context: Context) -> Result<(), StartError> {
    let (state, counters) = (Arc::clone(&context.state), context.counters.clone());
    tuning::serve(&context, node(state, counters, context.settings.max_body_bytes))
}

/// Puts a node into a worker's app.
pub fn node(
    state: Arc<State>,
    counters: Counters,
    max_body_bytes: usize,
) -> impl Fn(&mut ServiceConfig) + Clone + Send + 'static {
    move |app| {
        // One a worker, counted without atomics: a request must not write to what another core reads.
        let node = Rc::new(Node {
            state: Arc::clone(&state),
            counters: counters.clone(),
            max_body_bytes,
            answer: RefCell::default(),
        });
        app.default_service(fn_service(move |request| answer(Rc::clone(&node), request)));
    }
}

/// What a worker answers with.
struct Node {
    state: Arc<State>,
    counters: Counters,
    max_body_bytes: usize,
    /// Where the next answer is written.
    answer: RefCell<Vec<u8>>,
}

/// Why a body is not given to the node.
enum Refusal {
    ContentType,
    TooLarge,
    Unreadable,
    NotUtf8 { at: usize },
}

async fn answer(node: Rc<Node>, request: ServiceRequest) -> Result<ServiceResponse, Error> {
    let (request, mut payload) = request.into_parts();
    let head = request.head();
    let response = match head.method {
        Method::POST if head.uri.path() != "/health" => {
            match node.answer_rpc(head.headers.get(header::CONTENT_TYPE), &mut payload).await {
                Ok(body) => respond(StatusCode::OK, JSON, body),
                Err(refusal) => refusal.response(),
            }
        }
        Method::GET | Method::POST if head.uri.path() == "/health" => {
            respond(StatusCode::OK, TEXT, Bytes::from_static(b"ok"))
        }
        Method::OPTIONS => respond(StatusCode::OK, JSON, Bytes::new()),
        _ => respond(
            StatusCode::METHOD_NOT_ALLOWED,
            TEXT,
            Bytes::from_static(b"Used HTTP Method is not allowed. POST or OPTIONS is required\n"),
        ),
    };
    Ok(ServiceResponse::new(request, response))
}

impl Node {
    async fn answer_rpc(
        &self,
        content_type: Option<&HeaderValue>,
        payload: &mut Payload,
    ) -> Result<Bytes, Refusal> {
        if !content_type.is_some_and(|value| is_json(value.as_bytes())) {
            return Err(Refusal::ContentType);
        }
        let body = read(payload, self.max_body_bytes).await?;
        let body =
            std::str::from_utf8(&body).map_err(|error| Refusal::NotUtf8 { at: error.valid_up_to() })?;
        let mut answer = self.answer.borrow_mut();
        let tally = envelope::answer(&self.state, body, &mut answer);
        self.counters.count(tally.answered, tally.errors);
        if answer.len() > COPIED_BYTES {
            return Ok(Bytes::from(std::mem::take(&mut *answer)));
        }
        let bytes = Bytes::copy_from_slice(&answer);
        answer.clear();
        Ok(bytes)
    }
}

/// `application/json`, alone or with the one charset that JSON has, in any case; with the white space that the node's own
/// library takes and no other.
fn is_json(content_type: &[u8]) -> bool {
    [&b"application/json"[..], b"application/json; charset=utf-8", b"application/json;charset=utf-8"]
        .iter()
        .any(|json| content_type.eq_ignore_ascii_case(json))
}

/// A body of at most so many bytes. A body that came in one piece is not copied.
async fn read(payload: &mut Payload, max_body_bytes: usize) -> Result<Bytes, Refusal> {
    let mut next = async || poll_fn(|cx| Pin::new(&mut *payload).poll_next(cx)).await.transpose();
    let Some(first) = next().await.map_err(|_| Refusal::Unreadable)? else { return Ok(Bytes::new()) };
    if first.len() > max_body_bytes {
        return Err(Refusal::TooLarge);
    }
    let Some(second) = next().await.map_err(|_| Refusal::Unreadable)? else { return Ok(first) };
    let mut body = BytesMut::from(first);
    let mut part = Some(second);
    while let Some(bytes) = part {
        if body.len() + bytes.len() > max_body_bytes {
            return Err(Refusal::TooLarge);
        }
        body.extend_from_slice(&bytes);
        part = next().await.map_err(|_| Refusal::Unreadable)?;
    }
    Ok(body.freeze())
}

impl Refusal {
    fn response(self) -> HttpResponse {
        let (status, text) = match self {
            Self::ContentType => (
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "Supplied content type is not allowed. Content-Type: application/json is required\n".into(),
            ),
            Self::TooLarge => {
                (StatusCode::PAYLOAD_TOO_LARGE, "request body size exceeds allowed maximum".into())
            }
            Self::Unreadable => (StatusCode::BAD_REQUEST, "request body can't be read".into()),
            Self::NotUtf8 { at } => {
                (StatusCode::BAD_REQUEST, format!("utf-8 encoding error at byte {at} in request body"))
            }
        };
        respond(status, TEXT, Bytes::from(text))
    }
}

fn respond(status: StatusCode, content_type: HeaderValue, body: Bytes) -> HttpResponse {
    HttpResponse::build(status).insert_header((header::CONTENT_TYPE, content_type)).body(body)
}
