//! WebSocket on the port and the paths of HTTP: a message in, a JSON-RPC answer out, one after the other on each socket, and
//! between them the slots that it has subscribed to.

use std::convert::Infallible;

use actix_web::web::{Data, Payload};
use actix_web::{Error, HttpRequest, HttpResponse, rt};
use actix_ws::{
    AggregatedMessage, AggregatedMessageStream, CloseCode, CloseReason, Closed, ProtocolError, Session,
};
use core_rpc::{Handler, Meta};
use server_kit::{NoResult, Overrun, SlotQueue, Subscriptions};
use tokio::select;

use crate::rpc::Node;

/// What answers the text of a message.
pub trait Answers: 'static {
    /// The answer, which is empty where none is wanted, as to a notification.
    async fn answer(&self, text: &str, subscriptions: &Subscriptions) -> Result<String, NoResult>;
}

impl Answers for Data<Node> {
    async fn answer(&self, text: &str, subscriptions: &Subscriptions) -> Result<String, NoResult> {
        let answer = match &self.offload {
            Some(offload) if typed_rpc::may_list_blocks(text) => {
                let (node, text, subscriptions) = (self.clone(), text.to_owned(), subscriptions.clone());
                offload.run(move || node.answer_message(&text, &subscriptions)).await?
            }
            _ => self.answer_message(text, subscriptions),
        };
        String::from_utf8(answer).map_err(|_| NoResult)
    }
}

impl Answers for Data<Handler> {
    async fn answer(&self, text: &str, subscriptions: &Subscriptions) -> Result<String, NoResult> {
        let meta = Meta::with_subscriptions(subscriptions);
        Ok(self.handle_request(text, meta).await.unwrap_or_default())
    }
}

/// Turns a request into a WebSocket whose messages have at most `max_bytes`.
pub async fn upgrade(
    request: HttpRequest,
    payload: Payload,
    answers: impl Answers,
    max_bytes: usize,
    mut slots: SlotQueue,
) -> Result<HttpResponse, Error> {
    let (response, mut session, messages) = actix_ws::handle(&request, payload)?;
    let mut messages =
        messages.max_frame_size(max_bytes).aggregate_continuations().max_continuation_size(max_bytes);
    rt::spawn(async move {
        let Err(End(reason)) = converse(&mut session, &mut messages, &answers, &mut slots).await;
        // Waits for a client that reads nothing, until the system ends its connection. An error says that it is gone already.
        let _gone = session.close(reason).await;
    });
    Ok(response)
}

/// The end of a connection, and the reason that the client is to be told.
struct End(Option<CloseReason>);

impl From<CloseCode> for End {
    fn from(code: CloseCode) -> Self {
        Self(Some(code.into()))
    }
}

/// The client is gone.
impl From<Closed> for End {
    fn from(_: Closed) -> Self {
        Self(None)
    }
}

/// The client has fallen behind.
impl From<Overrun> for End {
    fn from(_: Overrun) -> Self {
        CloseCode::Policy.into()
    }
}

/// Answers a socket's messages until either side ends it.
async fn converse(
    session: &mut Session,
    messages: &mut AggregatedMessageStream,
    answers: &impl Answers,
    slots: &mut SlotQueue,
) -> Result<Infallible, End> {
    loop {
        let message = select! {
            // Slots first: they come at their own pace, and messages may come without a pause.
            biased;
            notifications = slots.next() => {
                for notification in notifications? {
                    send(session, notification, slots).await?;
                }
                continue;
            }
            message = messages.recv() => message,
        };
        let message = match message {
            Some(Ok(message)) => message,
            Some(Err(ProtocolError::Overflow)) => return Err(CloseCode::Size.into()),
            Some(Err(_)) => return Err(CloseCode::Protocol.into()),
            None => return Err(End(None)),
        };
        // JSON-RPC has one text, whatever the type of its frame; only what is text by type has been checked to be text.
        let text = match &message {
            AggregatedMessage::Text(text) => text.as_ref(),
            AggregatedMessage::Binary(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => text,
                Err(_) => return Err(CloseCode::Invalid.into()),
            },
            AggregatedMessage::Ping(bytes) => {
                session.pong(bytes).await?;
                continue;
            }
            AggregatedMessage::Pong(_) => continue,
            AggregatedMessage::Close(reason) => return Err(End(reason.clone())),
        };
        let answer = answers.answer(text, slots.subscriptions()).await;
        slots.follow();
        match answer {
            Ok(answer) if answer.is_empty() => {}
            Ok(answer) => send(session, answer, slots).await?,
            Err(NoResult) => return Err(CloseCode::Error.into()),
        }
    }
}

/// Sends a text. A subscriber who takes nothing for so long that its queue of slots runs over is given up; any other client may
/// take its time.
async fn send(session: &mut Session, text: String, slots: &SlotQueue) -> Result<(), End> {
    select! {
        biased;
        sent = session.text(text) => Ok(sent?),
        () = slots.overrun() => Err(Overrun.into()),
    }
}
