//! A connection whose messages are requests and answers in any order, over WebSocket or as lines on a Unix socket: one
//! task, which reads, sends what may be sent, and writes all of that at once.

use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use futures_util::{SinkExt, StreamExt};
use tokio::time::Sleep;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_util::codec::{Framed, LinesCodec};

use crate::bodies::Outcome;
use crate::connect::{Connection, Reconnecting, Socket};
use crate::requests::{Requests, Turn};
use crate::worker::{Alarm, Worker};

/// How the use of a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Nothing more is to be done.
    Finished,
    /// The connection is of no more use.
    Lost,
}

/// What divides a connection's bytes into messages.
#[derive(Debug)]
pub enum Messages {
    /// Frames of a WebSocket.
    WebSocket(WebSocketStream<Socket>),
    /// Lines, as the Unix sockets of nodes have them.
    Lines(Framed<Socket, LinesCodec>),
}

impl Messages {
    /// Of a WebSocket whose handshake is done.
    pub fn websocket(socket: WebSocketStream<Socket>) -> Self {
        Self::WebSocket(socket)
    }

    /// Of any length, a line each.
    pub fn lines(socket: Socket) -> Self {
        Self::Lines(Framed::new(socket, LinesCodec::new()))
    }

    /// The next message; `Err` where the connection is lost.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<Message, End>> {
        match self {
            Self::WebSocket(socket) => {
                socket.poll_next_unpin(cx).map(|next| next.and_then(Result::ok).ok_or(End::Lost))
            }
            Self::Lines(lines) => {
                let next = lines.poll_next_unpin(cx);
                next.map(|next| next.and_then(Result::ok).map(Message::text).ok_or(End::Lost))
            }
        }
    }

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), End>> {
        match self {
            Self::WebSocket(socket) => socket.poll_ready_unpin(cx).map_err(|_| End::Lost),
            // Of any type that can be a line.
            Self::Lines(lines) => SinkExt::<String>::poll_ready_unpin(lines, cx).map_err(|_| End::Lost),
        }
    }

    fn start_send(&mut self, text: String) -> Result<(), End> {
        match self {
            Self::WebSocket(socket) => socket.start_send_unpin(Message::text(text)).map_err(|_| End::Lost),
            Self::Lines(lines) => lines.start_send_unpin(text).map_err(|_| End::Lost),
        }
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), End>> {
        match self {
            Self::WebSocket(socket) => socket.poll_flush_unpin(cx).map_err(|_| End::Lost),
            Self::Lines(lines) => SinkExt::<String>::poll_flush_unpin(lines, cx).map_err(|_| End::Lost),
        }
    }
}

struct Session<'a> {
    worker: &'a Worker,
    alarm: &'a Alarm,
    requests: &'a mut Requests,
    socket: &'a mut Messages,
    /// For timeouts: set once for the oldest request, not for each, because most are answered long before.
    timer: Pin<&'a mut Sleep>,
    timer_runs: bool,
    /// Whether something was sent that may not be written yet.
    unwritten: bool,
}

/// Uses a connection until the run is over.
pub async fn run(worker: Rc<Worker>, alarm: Rc<Alarm>, mut requests: Requests, mut socket: Box<Messages>) {
    let mut reconnecting = Reconnecting::default();
    loop {
        let timer = std::pin::pin!(tokio::time::sleep_until(worker.instant(0).into()));
        let mut session = Session {
            worker: &worker,
            alarm: &alarm,
            requests: &mut requests,
            socket: &mut socket,
            timer,
            timer_runs: false,
            unwritten: false,
        };
        if poll_fn(|cx| session.poll(cx)).await == End::Finished {
            break;
        }
        worker.stats.borrow_mut().lost += 1;
        requests.give_up(worker.now_ns(), Outcome::ConnectionLost);
        if worker.plan.idle {
            break;
        }
        match reconnecting.again(&worker, &alarm, &mut requests).await {
            Some(Connection::Messages(again)) => socket = again,
            _ => break,
        }
    }
    let now_ns = worker.now_ns();
    requests.give_up(now_ns, Outcome::Interrupted);
    requests.finish(now_ns);
}

impl Session<'_> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<End> {
        if self.worker.aborted() {
            return Poll::Ready(End::Finished);
        }
        if self.read(cx) == Err(End::Lost) || self.send(cx) == Err(End::Lost) {
            return Poll::Ready(End::Lost);
        }
        let now_ns = self.worker.now_ns();
        if self.requests.finished(now_ns) {
            return Poll::Ready(End::Finished);
        }
        self.alarm.set(cx);
        self.wait_for_timeouts(cx);
        Poll::Pending
    }

    fn read(&mut self, cx: &mut Context<'_>) -> Result<(), End> {
        while let Poll::Ready(message) = self.socket.poll_next(cx) {
            let now_ns = self.worker.now_ns();
            match message? {
                Message::Text(text) => self.requests.receive(now_ns, &text, false),
                Message::Binary(bytes) => {
                    // What is no text is no answer.
                    let text = std::str::from_utf8(&bytes).unwrap_or_default();
                    self.requests.receive(now_ns, text, false);
                }
                // The library has an answer ready for a ping.
                Message::Ping(_) => self.unwritten = true,
                Message::Pong(_) | Message::Frame(_) => {}
                Message::Close(_) => return Err(End::Lost),
            }
        }
        Ok(())
    }

    /// Sends what may be sent. All that is sent in one turn is written by one call to the system where the socket takes it.
    fn send(&mut self, cx: &mut Context<'_>) -> Result<(), End> {
        let now_ns = self.worker.now_ns();
        self.requests.expire(now_ns);
        while self.requests.turn(now_ns) == Turn::Now {
            match self.socket.poll_ready(cx) {
                Poll::Ready(ready) => ready?,
                Poll::Pending => break,
            }
            let text = self.requests.send(now_ns);
            self.socket.start_send(text)?;
            self.unwritten = true;
        }
        if self.unwritten
            && let Poll::Ready(written) = self.socket.poll_flush(cx)
        {
            written?;
            self.unwritten = false;
        }
        Ok(())
    }

    fn wait_for_timeouts(&mut self, cx: &mut Context<'_>) {
        loop {
            if !self.timer_runs {
                let Some(deadline_ns) = self.requests.deadline_ns() else { return };
                self.timer.as_mut().reset(self.worker.instant(deadline_ns).into());
                self.timer_runs = true;
            }
            if self.timer.as_mut().poll(cx).is_pending() {
                return;
            }
            self.timer_runs = false;
            // A request that has timed out by now is ended, and may make room for another.
            if self.requests.deadline_ns().is_some_and(|deadline_ns| deadline_ns <= self.worker.now_ns()) {
                cx.waker().wake_by_ref();
                return;
            }
        }
    }
}
