//! A connection: one task, which reads answers, sends what may be sent, and writes all of that at once. Over WebSocket and on
//! a Unix socket answers come in any order; over HTTP only one request is in flight.

use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use futures_util::{SinkExt, StreamExt};
use http::StatusCode;
use tokio::time::Sleep;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::error::ProtocolError;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_util::codec::Framed;

use crate::answers::{Answer, Unreadable};
use crate::connect::{Reconnecting, Socket};
use crate::http::Http;
use crate::json_stream::JsonStream;
use crate::outcome::Outcome;
use crate::requests::{Requests, Turn};
use crate::worker::{Alarm, Worker};

/// How the use of a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Nothing more is to be done.
    Finished,
    /// The connection is of no more use.
    Lost,
    /// The same, because of what came: why it is no answer.
    Unreadable(&'static str),
}

/// What divides a connection's bytes into messages.
#[derive(Debug)]
pub enum Messages {
    /// Frames of a WebSocket.
    WebSocket(WebSocketStream<Socket>),
    /// JSON after JSON, as the Unix sockets of nodes have it.
    Json(Framed<Socket, JsonStream>),
    /// HTTP/1.1 with keep-alive.
    Http(Framed<Socket, Http>),
}

/// What a server sends.
#[derive(Debug)]
enum Received {
    /// A message of its own.
    Message(Message),
    /// An answer of HTTP, which can only be the oldest request's.
    Answer(Answer),
}

impl Messages {
    /// Of a WebSocket whose handshake is done.
    pub fn websocket(socket: WebSocketStream<Socket>) -> Self {
        Self::WebSocket(socket)
    }

    /// Of any length; those that are sent are a line each.
    pub fn json(socket: Socket) -> Self {
        Self::Json(Framed::new(socket, JsonStream::default()))
    }

    /// HTTP/1.1 with keep-alive.
    pub fn http(socket: Socket, worker: Rc<Worker>) -> Self {
        Self::Http(Framed::new(socket, Http::new(worker)))
    }

    /// The next message; `Err` where the connection is lost, or brought what can't be read.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<Received, End>> {
        fn next<T, E>(
            polled: Poll<Option<Result<T, E>>>,
            received: impl Fn(T) -> Received,
            end: impl Fn(&E) -> End,
        ) -> Poll<Result<Received, End>> {
            polled.map(|next| {
                next.map_or(Err(End::Lost), |next| next.map(received).map_err(|error| end(&error)))
            })
        }
        match self {
            Self::WebSocket(socket) => next(socket.poll_next_unpin(cx), Received::Message, end_of_websocket),
            Self::Json(values) => next(values.poll_next_unpin(cx), Received::Message, |_| End::Lost),
            Self::Http(answers) => next(answers.poll_next_unpin(cx), Received::Answer, end_of_http),
        }
    }

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), End>> {
        match self {
            Self::WebSocket(socket) => socket.poll_ready_unpin(cx).map_err(|_| End::Lost),
            Self::Json(lines) => lines.poll_ready_unpin(cx).map_err(|_| End::Lost),
            Self::Http(requests) => requests.poll_ready_unpin(cx).map_err(|_| End::Lost),
        }
    }

    fn start_send(&mut self, text: String) -> Result<(), End> {
        match self {
            Self::WebSocket(socket) => socket.start_send_unpin(Message::text(text)).map_err(|_| End::Lost),
            Self::Json(lines) => lines.start_send_unpin(text).map_err(|_| End::Lost),
            Self::Http(requests) => requests.start_send_unpin(text).map_err(|_| End::Lost),
        }
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), End>> {
        match self {
            Self::WebSocket(socket) => socket.poll_flush_unpin(cx).map_err(|_| End::Lost),
            Self::Json(lines) => lines.poll_flush_unpin(cx).map_err(|_| End::Lost),
            Self::Http(requests) => requests.poll_flush_unpin(cx).map_err(|_| End::Lost),
        }
    }
}

fn end_of_http(error: &std::io::Error) -> End {
    let why = error.get_ref().and_then(|inner| inner.downcast_ref::<Unreadable>());
    why.map_or(End::Lost, |Unreadable(why)| End::Unreadable(why))
}

fn end_of_websocket(error: &Error) -> End {
    match error {
        Error::Protocol(ProtocolError::ResetWithoutClosingHandshake) => End::Lost,
        Error::Protocol(_) => End::Unreadable("a frame that WebSocket does not allow"),
        Error::Utf8(_) => End::Unreadable("a text that is no UTF-8"),
        Error::Capacity(_) => End::Unreadable("a message that is too long"),
        _ => End::Lost,
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
        let outcome = match poll_fn(|cx| session.poll(cx)).await {
            End::Finished => break,
            End::Lost => Outcome::ConnectionLost,
            End::Unreadable(why) => Outcome::Unreadable(why),
        };
        worker.stats.borrow_mut().lost += 1;
        requests.give_up(worker.now_ns(), outcome);
        if worker.plan.idle {
            break;
        }
        // A server may take no other connection as long as this one is open.
        drop(socket);
        match reconnecting.again(&worker, &alarm, &mut requests).await {
            Some(again) => socket = again,
            None => break,
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
        if let Err(end) = self.read(cx).and_then(|()| self.send(cx)) {
            return Poll::Ready(end);
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
            let message = match message? {
                Received::Answer(answer) => {
                    self.take(now_ns, &answer)?;
                    continue;
                }
                Received::Message(message) => message,
            };
            match message {
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
        if let Messages::Http(http) = &*self.socket
            && self.requests.deadline_ns().is_none()
            && !http.codec().between_answers(http.read_buffer())
        {
            // What answers nothing that was sent would be taken for the next one's answer.
            return Err(End::Lost);
        }
        Ok(())
    }

    /// Takes an answer of HTTP.
    fn take(&mut self, now_ns: u64, answer: &Answer) -> Result<(), End> {
        let Answer { status, body, last } = answer;
        if self.requests.deadline_ns().is_none() {
            // Nothing was sent that it could answer: a server says so that it ends the connection.
            return Err(End::Lost);
        }
        // What is no text is no answer.
        let text = std::str::from_utf8(body).unwrap_or_default();
        if *status != StatusCode::OK {
            self.requests.answer_oldest(now_ns, Outcome::HttpStatus(*status), text);
        } else if self.worker.plan.as_is {
            self.requests.answer_oldest(now_ns, Outcome::Answered, text);
        } else {
            self.requests.receive(now_ns, text, true);
        }
        // A server that answers before it has the whole request reads no more of it.
        if *last || self.unwritten { Err(End::Lost) } else { Ok(()) }
    }

    /// Sends what may be sent. All that is sent in one turn is written by one call to the system where the socket takes it.
    fn send(&mut self, cx: &mut Context<'_>) -> Result<(), End> {
        let now_ns = self.worker.now_ns();
        if self.requests.expire(now_ns) > 0 && matches!(self.socket, Messages::Http(_)) {
            // An answer that comes late would be taken for the next one's, so the connection is given up.
            return Err(End::Lost);
        }
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
