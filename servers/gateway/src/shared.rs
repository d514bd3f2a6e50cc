//! One WebSocket to the node that all HTTP callers share.
//!
//! One task owns the socket: it alone writes, and it alone reads. Each call gets an id of the gateway's own, by which its answer is found,
//! in whatever order answers come. A connection that is lost is made again; who waited for an answer gets an error at once.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use serde::Deserialize;
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::time::{sleep, timeout};
use tokio_tungstenite::tungstenite::Message as WsMessage;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async_with_config};

use crate::counts::Counts;
use crate::options::Options;
use crate::rpc::{Call, Outcome, Refusal, Said};

/// Between two tries to connect: the first time, and at most. It doubles each time. A node that is back waits so long for its calls.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(50), Duration::from_millis(500));

/// Messages that are written before they are flushed, at most.
const MOST_UNFLUSHED: usize = 64;

/// After how long without a call the node is pinged, so that a connection that is dead is noticed.
const PING_EVERY: Duration = Duration::from_secs(5);

/// A connection on which nothing comes for so long is lost.
const SILENT_FOR: Duration = Duration::from_secs(20);

/// A connection to the node.
pub type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Where the node takes WebSockets.
#[derive(Debug, Clone)]
pub struct Node {
    /// Its URL.
    pub url: Arc<str>,
    /// How long connecting, and an answer, may take.
    pub patience: Duration,
    /// The longest answer, in bytes. A longer one ends the connection.
    pub most_answer_bytes: usize,
}

impl Node {
    /// The node of the options.
    pub fn of(options: &Options) -> Self {
        Self {
            url: options.upstream.to_string().into(),
            patience: options.timeout(),
            most_answer_bytes: options.max_answer_bytes as usize,
        }
    }

    /// Connects, with TCP_NODELAY; `None` where the node can't be reached in time, or takes no WebSocket.
    pub async fn connect(&self) -> Option<Socket> {
        let limit = Some(self.most_answer_bytes);
        let config = WebSocketConfig::default().max_message_size(limit).max_frame_size(limit);
        let connecting = connect_async_with_config(&*self.url, Some(config), true);
        Some(timeout(self.patience, connecting).await.ok()?.ok()?.0)
    }
}

type Waiting = Arc<Mutex<HashMap<u64, oneshot::Sender<Outcome>>>>;

/// A call on its way to the node: its id, where somebody waits for its answer, and its text.
type Message = (Option<u64>, String);

/// The shared WebSocket.
#[derive(Debug)]
pub struct Shared {
    next_id: AtomicU64,
    waiting: Waiting,
    messages: mpsc::Sender<Message>,
    free: Semaphore,
    timeout: Duration,
    counts: Arc<Counts>,
}

/// Forgets a call whose caller no longer waits, so that a node that never answers fills no memory.
struct Forget<'a>(&'a Waiting, u64);

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        lock(self.0).remove(&self.1);
    }
}

fn lock(waiting: &Waiting) -> MutexGuard<'_, HashMap<u64, oneshot::Sender<Outcome>>> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// Starts the task that owns the socket. It connects by itself, and again where the connection is lost.
    pub fn start(node: Node, most_in_flight: usize, counts: Arc<Counts>) -> Self {
        let (messages, incoming) = mpsc::channel(most_in_flight);
        let (waiting, timeout) = (Waiting::default(), node.patience);
        tokio::spawn(own(node, incoming, Arc::clone(&waiting), Arc::clone(&counts)));
        let free = Semaphore::new(most_in_flight);
        Self { next_id: AtomicU64::new(1), waiting, messages, free, timeout, counts }
    }

    /// Sends a call and waits for its answer; a notification is sent and not waited for.
    ///
    /// # Errors
    /// Too many wait already, the node can't be reached, or it does not answer in time.
    pub async fn ask(&self, call: &Call<'_>) -> Result<Option<Said>, Refusal> {
        let _place = self.free.try_acquire().map_err(|_| Refusal::BUSY)?;
        Counts::add(&self.counts.upstream_calls);
        // A node that reads no more fills the queue, whose length is bounded too.
        let send = |message| self.messages.try_send(message).map_err(|_| Refusal::BUSY);
        if call.id.is_none() {
            return send((None, call.with_id(None))).map(|()| None);
        }
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        lock(&self.waiting).insert(id, sender);
        let _forget = Forget(&self.waiting, id);
        send((Some(id), call.with_id(Some(id))))?;
        match timeout(self.timeout, answer).await {
            Ok(Ok(outcome)) => outcome.map(Some),
            // The task that owns the socket let it go: the connection was lost.
            Ok(Err(_)) => Err(Refusal::UNREACHABLE),
            Err(_) => {
                Counts::add(&self.counts.timeouts);
                Err(Refusal::LATE)
            }
        }
    }
}

/// Owns the socket, until nobody can send any more.
async fn own(node: Node, mut messages: mpsc::Receiver<Message>, waiting: Waiting, counts: Arc<Counts>) {
    let mut pause = BACKOFF.0;
    let mut was_connected = false;
    loop {
        match node.connect().await {
            Some(socket) => {
                if was_connected {
                    Counts::add(&counts.reconnects);
                }
                (pause, was_connected) = (BACKOFF.0, true);
                if exchange(socket, &mut messages, &waiting).await.is_none() {
                    return;
                }
            }
            None => pause = (pause * 2).min(BACKOFF.1),
        }
        // Their answers can't come any more; dropping the senders says so. Whoever calls in the pause is refused at once too, and a node
        // that takes connections and ends them is not tried again and again without one.
        lock(&waiting).clear();
        if refuse_for(pause, &mut messages, &waiting).await.is_none() {
            return;
        }
    }
}

/// Refuses calls for a while; `None` once nobody can send any more.
async fn refuse_for(
    pause: Duration,
    messages: &mut mpsc::Receiver<Message>,
    waiting: &Waiting,
) -> Option<()> {
    let over = sleep(pause);
    tokio::pin!(over);
    loop {
        tokio::select! {
            () = &mut over => return Some(()),
            message = messages.recv() => {
                let (id, _) = message?;
                drop(id.map(|id| lock(waiting).remove(&id)));
            }
        }
    }
}

/// Carries messages until the connection is lost; `None` once nobody can send any more. Both directions run at the same time: a node
/// that waits for its answers to be read may read no further call.
async fn exchange(socket: Socket, messages: &mut mpsc::Receiver<Message>, waiting: &Waiting) -> Option<()> {
    let (sink, stream) = socket.split();
    tokio::select! {
        written = write(sink, messages, waiting) => written,
        () = read(stream, waiting) => Some(()),
    }
}

async fn write(
    mut sink: SplitSink<Socket, WsMessage>,
    messages: &mut mpsc::Receiver<Message>,
    waiting: &Waiting,
) -> Option<()> {
    let mut batch = Vec::with_capacity(MOST_UNFLUSHED);
    loop {
        match timeout(PING_EVERY, messages.recv_many(&mut batch, MOST_UNFLUSHED)).await {
            Ok(0) => return None,
            Ok(_) => {}
            Err(_) if sink.feed(WsMessage::Ping(Bytes::new())).await.is_err() => return Some(()),
            Err(_) => {}
        }
        for (id, text) in batch.drain(..) {
            // A call that was given up meanwhile is not sent: its caller may have sent it again.
            let is_wanted = id.is_none_or(|id| lock(waiting).contains_key(&id));
            if is_wanted && sink.feed(WsMessage::text(text)).await.is_err() {
                return Some(());
            }
        }
        if sink.flush().await.is_err() {
            return Some(());
        }
    }
}

/// Reads answers until the connection ends, or nothing comes for so long that not even pings are answered.
async fn read(mut stream: SplitStream<Socket>, waiting: &Waiting) {
    while let Ok(Some(Ok(message))) = timeout(SILENT_FOR, stream.next()).await {
        match message {
            WsMessage::Text(text) => hand_over(text.as_bytes(), waiting),
            WsMessage::Binary(bytes) => hand_over(&bytes, waiting),
            WsMessage::Ping(_) | WsMessage::Pong(_) | WsMessage::Frame(_) => {}
            WsMessage::Close(_) => return,
        }
    }
}

/// The id of an answer, where it is one of the gateway's.
#[derive(Deserialize)]
struct Answered {
    id: u64,
}

/// Gives an answer to its caller. One that nobody waits for, or that is none, is dropped.
fn hand_over(text: &[u8], waiting: &Waiting) {
    let Ok(Answered { id }) = serde_json::from_slice(text) else { return };
    if let Some(caller) = lock(waiting).remove(&id) {
        // The caller may have given up in this very moment.
        let _gone = caller.send(Said::of(text).ok_or(Refusal::UNREADABLE));
    }
}
