//! WebSocket on the port and the paths of HTTP: a message in, a JSON-RPC answer out, one after the other on each socket.

use actix_web::web::{Data, Payload};
use actix_web::{Error, HttpRequest, HttpResponse, rt};
use actix_ws::{AggregatedMessage, AggregatedMessageStream, CloseCode, CloseReason, ProtocolError, Session};
use core_rpc::{Handler, Meta};
use server_kit::NoResult;

use crate::rpc::Node;

/// What answers the text of a message.
pub trait Answers: 'static {
    /// The answer, which is empty where none is wanted, as to a notification.
    async fn answer(&self, text: &str) -> Result<String, NoResult>;
}

impl Answers for Data<Node> {
    async fn answer(&self, text: &str) -> Result<String, NoResult> {
        let answer = match &self.offload {
            Some(offload) if typed_rpc::may_list_blocks(text) => {
                let (node, text) = (self.clone(), text.to_owned());
                offload.run(move || node.as_ref().answer(&text)).await?
            }
            _ => self.as_ref().answer(text),
        };
        String::from_utf8(answer).map_err(|_| NoResult)
    }
}

impl Answers for Data<Handler> {
    async fn answer(&self, text: &str) -> Result<String, NoResult> {
        Ok(self.handle_request(text, Meta::default()).await.unwrap_or_default())
    }
}

/// Turns a request into a WebSocket whose messages have at most `max_bytes`.
pub async fn upgrade(
    request: HttpRequest,
    payload: Payload,
    answers: impl Answers,
    max_bytes: usize,
) -> Result<HttpResponse, Error> {
    let (response, mut session, messages) = actix_ws::handle(&request, payload)?;
    let mut messages =
        messages.max_frame_size(max_bytes).aggregate_continuations().max_continuation_size(max_bytes);
    rt::spawn(async move {
        let reason = converse(&mut session, &mut messages, &answers).await;
        // An error says that the client is gone already.
        let _gone = session.close(reason).await;
    });
    Ok(response)
}

/// Answers a socket's messages until either side ends it; gives the reason that the client is to be told.
async fn converse(
    session: &mut Session,
    messages: &mut AggregatedMessageStream,
    answers: &impl Answers,
) -> Option<CloseReason> {
    while let Some(message) = messages.recv().await {
        let message = match message {
            Ok(message) => message,
            Err(ProtocolError::Overflow) => return Some(CloseCode::Size.into()),
            Err(_) => return Some(CloseCode::Protocol.into()),
        };
        // JSON-RPC has one text, whatever the type of its frame; only what is text by type has been checked to be text.
        let text = match &message {
            AggregatedMessage::Text(text) => text.as_ref(),
            AggregatedMessage::Binary(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => text,
                Err(_) => return Some(CloseCode::Invalid.into()),
            },
            AggregatedMessage::Ping(bytes) => {
                session.pong(bytes).await.ok()?;
                continue;
            }
            AggregatedMessage::Pong(_) => continue,
            AggregatedMessage::Close(reason) => return reason.clone(),
        };
        match answers.answer(text).await {
            Ok(answer) if answer.is_empty() => {}
            Ok(answer) => session.text(answer).await.ok()?,
            Err(NoResult) => return Some(CloseCode::Error.into()),
        }
    }
    None
}
