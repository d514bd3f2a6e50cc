//! A caller's WebSocket: one of its own to the node, and every message passed on as it is.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use axum::extract::ws::{self, WebSocket};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{Sink, SinkExt, StreamExt};
use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, timeout};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use crate::counts::Counts;
use crate::gateway::Gateway;
use crate::rpc::{Refusal, is_answered, is_notification};
use crate::shared::{Node, Socket};

/// Why the gateway closes a caller's WebSocket by itself.
#[derive(Clone, Copy)]
enum Closing {
    /// The node can't be reached: Try Again Later. The code of Bad Gateway, 1014, is refused by clients that know only RFC 6455.
    Unreachable,
    /// The gateway is ending: Going Away.
    Ending,
}

impl Closing {
    fn frame(self) -> ws::CloseFrame {
        let (code, reason) = match self {
            Self::Unreachable => (1_013, "upstream unreachable"),
            Self::Ending => (1_001, "gateway is ending"),
        };
        ws::CloseFrame { code, reason: reason.into() }
    }
}

/// How long a gateway that is ending waits for the node's answers to calls that it has passed on.
const ANSWERED_WITHIN: Duration = Duration::from_secs(3);

/// How long either side may take to read a close frame, and a caller to answer it. A socket that is dropped with something unread is reset,
/// which may take the close frame from the caller.
const CLOSED_WITHIN: Duration = Duration::from_millis(500);

/// Passes messages between a caller and the node until either of them ends. Where the gateway is ending, calls that were passed on are
/// still answered, no more are taken, and the caller gets a close frame.
pub async fn pass_on(caller: WebSocket, node: Node, gateway: Arc<Gateway>, is_ending: watch::Receiver<bool>) {
    let connected = tokio::select! {
        connected = node.connect() => connected.ok_or(Closing::Unreachable),
        () = ended(is_ending.clone()) => Err(Closing::Ending),
    };
    let node = match connected {
        Ok(node) => node,
        Err(closing) => return close(caller, closing).await,
    };
    let (to_caller, mut from_caller) = caller.split();
    let (mut to_node, from_node) = node.split();
    let (refuse, refusals) = mpsc::channel(1);
    let unanswered = AtomicI64::new(0);
    let mut back = Back { to_caller, from_node, refusals, unanswered: &unanswered };
    // Both directions go on at the same time: a side that waits for its own messages to be read may read none itself.
    let forwards = async {
        let ends = ended(is_ending.clone());
        tokio::pin!(ends);
        loop {
            let message = tokio::select! {
                message = from_caller.next() => message,
                () = &mut ends => pending().await,
            };
            let Some(Ok(message)) = message else { return };
            if forward(message, &gateway, &unanswered, &mut to_node, &refuse).await.is_none() {
                return;
            }
        }
    };
    let patience = async {
        ended(is_ending.clone()).await;
        sleep(ANSWERED_WITHIN).await;
    };
    let closing = tokio::select! {
        () = forwards => None,
        closing = back.run(is_ending.clone()) => closing,
        () = patience => Some(Closing::Ending),
    };
    // Whichever side is still there gets the close frame that it has not had.
    let _node_gone = timeout(CLOSED_WITHIN, to_node.close()).await;
    match (closing, back.to_caller) {
        (None, mut to_caller) => drop(timeout(CLOSED_WITHIN, to_caller.close()).await),
        (Some(closing), to_caller) => {
            if let Ok(caller) = to_caller.reunite(from_caller) {
                close(caller, closing).await;
            }
        }
    }
}

/// Waits until the gateway is ending.
async fn ended(mut is_ending: watch::Receiver<bool>) {
    // An error says that it has ended.
    let _ended = is_ending.wait_for(|is_ending| *is_ending).await;
}

/// Closes a caller's WebSocket, and waits a little for the caller to do the same.
async fn close(mut caller: WebSocket, closing: Closing) {
    let handshake = async {
        caller.send(ws::Message::Close(Some(closing.frame()))).await?;
        while let Some(Ok(_)) = caller.next().await {}
        Ok::<_, axum::Error>(())
    };
    // An error says that the caller is gone already.
    let _gone = timeout(CLOSED_WITHIN, handshake).await;
}

/// Passes a caller's message on; `None` where either side has ended.
async fn forward(
    message: ws::Message,
    gateway: &Gateway,
    unanswered: &AtomicI64,
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
    if is_answered(&data) {
        unanswered.fetch_add(1, Ordering::Relaxed);
    }
    if gateway.take_places(&data).is_err() {
        let refusal = Refusal::LIMITED.to_body(&data);
        // A notification gets no answer.
        return if refusal.is_empty() { Some(()) } else { refuse.send(refusal).await.ok() };
    }
    Counts::add(&gateway.counts.upstream_calls);
    to_node.send(message).await.ok()
}

/// The way back to a caller.
struct Back<'a> {
    to_caller: SplitSink<WebSocket, ws::Message>,
    from_node: SplitStream<Socket>,
    /// Answers of the gateway's own.
    refusals: mpsc::Receiver<String>,
    /// Messages of the caller that an answer is to come to.
    unanswered: &'a AtomicI64,
}

impl Back<'_> {
    /// Passes messages back until either side has ended, or the gateway is ending and all is answered.
    async fn run(&mut self, is_ending: watch::Receiver<bool>) -> Option<Closing> {
        let ends = ended(is_ending);
        tokio::pin!(ends);
        let mut is_over = false;
        while !is_over || self.unanswered.load(Ordering::Relaxed) > 0 {
            let is_open = tokio::select! {
                Some(refusal) = self.refusals.recv() => self.answer(ws::Message::text(refusal)).await,
                message = self.from_node.next() => self.pass(message.and_then(Result::ok)?).await,
                () = &mut ends, if !is_over => {
                    is_over = true;
                    Some(())
                }
            };
            is_open?;
        }
        Some(Closing::Ending)
    }

    /// Passes a message of the node back; `None` where either side has ended.
    async fn pass(&mut self, message: Message) -> Option<()> {
        let (message, is_answer) = match message {
            Message::Text(text) => (ws::Message::text(text.as_str()), !is_notification(text.as_bytes())),
            Message::Binary(bytes) => {
                let is_answer = !is_notification(&bytes);
                (ws::Message::Binary(bytes), is_answer)
            }
            Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => return Some(()),
            Message::Close(frame) => {
                let frame = frame.map(|frame| ws::CloseFrame {
                    code: frame.code.into(),
                    reason: frame.reason.as_str().into(),
                });
                let _gone = self.to_caller.send(ws::Message::Close(frame)).await;
                return None;
            }
        };
        if is_answer { self.answer(message).await } else { self.to_caller.send(message).await.ok() }
    }

    async fn answer(&mut self, message: ws::Message) -> Option<()> {
        let sent = self.to_caller.send(message).await.ok();
        self.unanswered.fetch_sub(1, Ordering::Relaxed);
        sent
    }
}
