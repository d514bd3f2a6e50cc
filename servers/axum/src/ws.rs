//! WebSocket on the port and the paths of HTTP: a message in, a JSON-RPC answer out, one after the other on each socket, and
//! between them the slots that it has subscribed to.

use std::sync::Arc;

use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection as NoUpgrade;
use axum::extract::ws::{CloseCode, CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade, close_code};
use axum::http::StatusCode;
use axum::http::header::ALLOW;
use axum::response::{IntoResponse, Response};
use core_rpc::{Handler, Meta};
use server_kit::{NoResult, SlotQueue, Subscriptions};
use tokio::select;

use crate::rpc::{Node, Shared};

/// What answers the text of a message.
pub trait Answers: Send + Sync + 'static {
    /// The answer, which is empty where none is wanted, as to a notification.
    fn answer(
        self: &Arc<Self>,
        text: &str,
        subscriptions: &Subscriptions,
    ) -> impl Future<Output = Result<String, NoResult>> + Send;
}

impl Answers for Shared<Node> {
    async fn answer(self: &Arc<Self>, text: &str, subscriptions: &Subscriptions) -> Result<String, NoResult> {
        let answer = match &self.methods.offload {
            Some(offload) if typed_rpc::may_list_blocks(text) => {
                let (shared, text) = (Arc::clone(self), text.to_owned());
                let subscriptions = subscriptions.clone();
                offload.run(move || shared.methods.answer_message(&text, &subscriptions)).await?
            }
            _ => self.methods.answer_message(text, subscriptions),
        };
        String::from_utf8(answer).map_err(|_| NoResult)
    }
}

impl Answers for Shared<Handler> {
    async fn answer(self: &Arc<Self>, text: &str, subscriptions: &Subscriptions) -> Result<String, NoResult> {
        let meta = Meta::with_subscriptions(subscriptions);
        Ok(self.methods.handle_request(text, meta).await.unwrap_or_default())
    }
}

/// Turns a request for it into a WebSocket; any other GET gets the 405 of the other HTTP methods.
pub async fn upgrade<M>(
    State(shared): State<Arc<Shared<M>>>,
    upgrade: Result<WebSocketUpgrade, NoUpgrade>,
) -> Response
where
    Shared<M>: Answers,
{
    let most = shared.max_body_bytes;
    match upgrade {
        Ok(upgrade) => upgrade
            .max_message_size(most)
            .max_frame_size(most)
            .on_upgrade(move |socket| converse(socket, shared)),
        Err(NoUpgrade::MethodNotGet(_) | NoUpgrade::InvalidConnectionHeader(_)) => {
            (StatusCode::METHOD_NOT_ALLOWED, [(ALLOW, "GET,POST,OPTIONS")]).into_response()
        }
        Err(no_upgrade) => no_upgrade.into_response(),
    }
}

/// Answers a socket's messages until either side ends it. The framework answers pings and the client's close by itself.
async fn converse<M>(mut socket: WebSocket, shared: Arc<Shared<M>>)
where
    Shared<M>: Answers,
{
    let mut slots = SlotQueue::new(&shared.slots);
    loop {
        let message = select! {
            // Slots first: they come at their own pace, and messages may come without a pause.
            biased;
            notifications = slots.next() => {
                // An error is a client that has fallen behind.
                let Ok(notifications) = notifications else { return };
                for notification in notifications {
                    if send(&mut socket, notification, &slots).await.is_err() {
                        return;
                    }
                }
                continue;
            }
            message = socket.recv() => message,
        };
        // An error is a broken connection, or a message that is too long or breaks the protocol.
        let Some(Ok(message)) = message else { return };
        // JSON-RPC has one text, whatever the type of its frame; only what is text by type has been checked to be text.
        let text = match message {
            Message::Text(text) => Ok(text),
            Message::Binary(bytes) => Utf8Bytes::try_from(bytes),
            Message::Ping(_) | Message::Pong(_) | Message::Close(_) => continue,
        };
        let Ok(text) = text else { return close(socket, close_code::INVALID).await };
        let answer = shared.answer(&text, slots.subscriptions()).await;
        slots.follow();
        match answer {
            Ok(answer) if answer.is_empty() => {}
            Ok(answer) => {
                if send(&mut socket, answer, &slots).await.is_err() {
                    return;
                }
            }
            Err(NoResult) => return close(socket, close_code::ERROR).await,
        }
    }
}

/// Sends a text. A subscriber who takes nothing for so long that its queue of slots runs over is given up; any other client may
/// take its time.
async fn send(socket: &mut WebSocket, text: String, slots: &SlotQueue) -> Result<(), Gone> {
    select! {
        biased;
        sent = socket.send(Message::Text(text.into())) => sent.map_err(|_| Gone),
        () = slots.overrun() => Err(Gone),
    }
}

/// The connection is broken, or is to be ended.
struct Gone;

async fn close(mut socket: WebSocket, code: CloseCode) {
    let frame = CloseFrame { code, reason: Utf8Bytes::default() };
    // An error says that the client is gone already.
    let _gone = socket.send(Message::Close(Some(frame))).await;
}
