//! One WebSocket to the node that all HTTP callers share.
//!
//! One task owns the socket: it alone writes, and it alone reads. Each call gets an id of the gateway's own, by which its answer is found,
//! in whatever order answers come. A connection that is lost is made again; who waited for it gets an error at once.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use serde::Deserialize;
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::time::{sleep, timeout};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async_with_config};

use crate::counts::Counts;
use crate::rpc::{Call, Refusal, Said};

/// The longest answer, in bytes: one with half a million slots has about 5 MB.
const MOST_ANSWER_BYTES: usize = 64 << 20;

/// Between two tries to connect: the first time, and at most. It doubles each time.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(2));

/// Messages that are written before they are flushed, at most.
const MOST_UNFLUSHED: usize = 64;

/// A connection to the node.
pub type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Connects to the node, with TCP_NODELAY.
///
/// # Errors
/// It can't be reached, or takes no WebSocket.
pub async fn connect(url: &str) -> Result<Socket, Error> {
    let limit = Some(MOST_ANSWER_BYTES);
    let config = WebSocketConfig::default().max_message_size(limit).max_frame_size(limit);
    let (socket, _) = connect_async_with_config(url, Some(config), true).await?;
    Ok(socket)
}

type Waiting = Arc<Mutex<HashMap<u64, oneshot::Sender<Said>>>>;

/// The shared WebSocket.
#[derive(Debug)]
pub struct Shared {
    next_id: AtomicU64,
    waiting: Waiting,
    messages: mpsc::UnboundedSender<(Option<u64>, String)>,
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

fn lock(waiting: &Waiting) -> std::sync::MutexGuard<'_, HashMap<u64, oneshot::Sender<Said>>> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// Starts the task that owns the socket. It connects by itself, and again where the connection is lost.
    pub fn start(url: String, most_in_flight: usize, timeout: Duration, counts: Arc<Counts>) -> Self {
        let (messages, incoming) = mpsc::unbounded_channel();
        let waiting = Waiting::default();
        tokio::spawn(own(url, incoming, Arc::clone(&waiting), timeout, Arc::clone(&counts)));
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
        if call.id.is_none() {
            let sent = self.messages.send((None, call.with_id(None)));
            return sent.map(|()| None).map_err(|_| Refusal::UNREACHABLE);
        }
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        lock(&self.waiting).insert(id, sender);
        let _forget = Forget(&self.waiting, id);
        self.messages.send((Some(id), call.with_id(Some(id)))).map_err(|_| Refusal::UNREACHABLE)?;
        match timeout(self.timeout, answer).await {
            Ok(Ok(said)) => Ok(Some(said)),
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
async fn own(
    url: String,
    mut messages: mpsc::UnboundedReceiver<(Option<u64>, String)>,
    waiting: Waiting,
    patience: Duration,
    counts: Arc<Counts>,
) {
    let mut pause = BACKOFF.0;
    let mut was_connected = false;
    loop {
        match timeout(patience, connect(&url)).await {
            Ok(Ok(socket)) => {
                if was_connected {
                    Counts::add(&counts.reconnects);
                }
                (pause, was_connected) = (BACKOFF.0, true);
                if exchange(socket, &mut messages, &waiting).await.is_none() {
                    return;
                }
            }
            Ok(Err(_)) | Err(_) => {
                let over = sleep(pause);
                tokio::pin!(over);
                pause = (pause * 2).min(BACKOFF.1);
                // Whoever calls meanwhile gets an error at once.
                loop {
                    tokio::select! {
                        () = &mut over => break,
                        message = messages.recv() => match message {
                            Some((id, _)) => drop(id.map(|id| lock(&waiting).remove(&id))),
                            None => return,
                        },
                    }
                }
            }
        }
        // Their answers can't come any more; dropping the senders says so.
        lock(&waiting).clear();
    }
}

/// Carries messages until the connection is lost; `None` once nobody can send any more. Both directions go on at the same time: a node
/// that waits for its answers to be read may read no further call.
async fn exchange(
    socket: Socket,
    messages: &mut mpsc::UnboundedReceiver<(Option<u64>, String)>,
    waiting: &Waiting,
) -> Option<()> {
    let (sink, stream) = socket.split();
    tokio::select! {
        written = write(sink, messages) => written,
        () = read(stream, waiting) => Some(()),
    }
}

async fn write(
    mut sink: SplitSink<Socket, Message>,
    messages: &mut mpsc::UnboundedReceiver<(Option<u64>, String)>,
) -> Option<()> {
    let mut batch = Vec::with_capacity(MOST_UNFLUSHED);
    while messages.recv_many(&mut batch, MOST_UNFLUSHED).await > 0 {
        for (_, text) in batch.drain(..) {
            if sink.feed(Message::text(text)).await.is_err() {
                return Some(());
            }
        }
        if sink.flush().await.is_err() {
            return Some(());
        }
    }
    None
}

async fn read(mut stream: SplitStream<Socket>, waiting: &Waiting) {
    while let Some(Ok(message)) = stream.next().await {
        match message {
            Message::Text(text) => hand_over(text.as_bytes(), waiting),
            Message::Binary(bytes) => hand_over(&bytes, waiting),
            Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
            Message::Close(_) => return,
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
    let Some(said) = Said::of(text) else { return };
    if let Some(caller) = lock(waiting).remove(&id) {
        // The caller may have given up in this very moment.
        let _gone = caller.send(said);
    }
}
