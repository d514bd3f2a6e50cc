//! A caller's WebSocket: one of its own to the node, and every message passed on as it is.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{self, WebSocket};
use futures_util::{Sink, SinkExt, StreamExt};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use crate::counts::Counts;
use crate::gateway::Gateway;
use crate::rpc::Refusal;
use crate::shared::connect;

/// The close code for a node that can't be reached: Try Again Later. That of Bad Gateway, 1014, is refused by clients that know only
/// RFC 6455.
const TRY_AGAIN: u16 = 1_013;

/// Passes messages between a caller and the node until either of them ends.
pub async fn pass_on(mut caller: WebSocket, url: &str, patience: Duration, gateway: Arc<Gateway>) {
    let Ok(Ok(node)) = timeout(patience, connect(url)).await else {
        let frame = ws::CloseFrame { code: TRY_AGAIN, reason: "upstream unreachable".into() };
        // An error says that the caller is gone already.
        let _gone = caller.send(ws::Message::Close(Some(frame))).await;
        return;
    };
    let (mut to_caller, mut from_caller) = caller.split();
    let (mut to_node, mut from_node) = node.split();
    let (refuse, mut refusals) = mpsc::channel(1);
    // Both directions go on at the same time: a side that waits for its own messages to be read may read none itself.
    let forwards = async {
        while let Some(Ok(message)) = from_caller.next().await {
            if forward(message, &gateway, &mut to_node, &refuse).await.is_none() {
                return;
            }
        }
    };
    let back = async {
        loop {
            let is_open = tokio::select! {
                Some(refusal) = refusals.recv() => to_caller.send(ws::Message::text(refusal)).await.ok(),
                message = from_node.next() => back(message.and_then(Result::ok), &mut to_caller).await,
            };
            if is_open.is_none() {
                return;
            }
        }
    };
    tokio::select! {
        () = forwards => {}
        () = back => {}
    }
    // Whichever side is still there gets the close frame that it has not had.
    let _node_gone = to_node.close().await;
    let _caller_gone = to_caller.close().await;
}

/// Passes a caller's message on; `None` where either side has ended.
async fn forward(
    message: ws::Message,
    gateway: &Gateway,
    to_node: &mut (impl Sink<Message> + Unpin),
    refuse: &mpsc::Sender<String>,
) -> Option<()> {
    let message = match message {
        ws::Message::Text(text) => Message::text(text.as_str()),
        ws::Message::Binary(bytes) => Message::Binary(bytes),
        // Each side answers pings by itself.
        ws::Message::Ping(_) | ws::Message::Pong(_) => return Some(()),
        ws::Message::Close(frame) => {
            let frame = frame.map(|frame| CloseFrame {
                code: CloseCode::from(frame.code),
                reason: frame.reason.as_str().into(),
            });
            let _gone = to_node.send(Message::Close(frame)).await;
            return None;
        }
    };
    Counts::add(&gateway.counts.requests);
    let data = message.clone().into_data();
    if gateway.take_places(&data).is_err() {
        let refusal = Refusal::LIMITED.to_body(&data);
        // A notification gets no answer.
        return if refusal.is_empty() { Some(()) } else { refuse.send(refusal).await.ok() };
    }
    Counts::add(&gateway.counts.upstream_calls);
    to_node.send(message).await.ok()
}

/// Passes a message of the node back; `None` where either side has ended.
async fn back(message: Option<Message>, to_caller: &mut (impl Sink<ws::Message> + Unpin)) -> Option<()> {
    let message = match message? {
        Message::Text(text) => ws::Message::text(text.as_str()),
        Message::Binary(bytes) => ws::Message::Binary(bytes),
        Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => return Some(()),
        Message::Close(frame) => {
            let frame = frame.map(|frame| ws::CloseFrame {
                code: frame.code.into(),
                reason: frame.reason.as_str().into(),
            });
            let _gone = to_caller.send(ws::Message::Close(frame)).await;
            return None;
        }
    };
    to_caller.send(message).await.ok()
}
