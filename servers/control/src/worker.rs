//! One thread's event loop: its own epoll, its own listener on the shared port, its own connections. Threads share nothing
//! that is written to.
//!
//! Everything is registered once, edge-triggered, for reading and writing. That requires this: after an event a socket is
//! read until it is known to be empty, and a socket that took only part of an answer is written on at its next event.

use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::sync::Arc;

use mio::event::Event;
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token, Waker};
use server_kit::{Accepted, Counters};

use crate::http::{Answers, Conversation};

const LISTENER: Token = Token(usize::MAX - 1);
const STOP: Token = Token(usize::MAX - 2);

/// Bytes read at once; one buffer for all connections of a thread, so that it stays in the cache.
const READ_BYTES: usize = 65_536;

/// Events taken at once.
const EVENTS: usize = 1_024;

/// One thread's sockets and buffers.
#[derive(Debug)]
pub(crate) struct Worker {
    poll: Poll,
    stop: Arc<Waker>,
    /// `None` once the worker is to stop.
    listener: Option<TcpListener>,
    /// Whether connections wait that there was no file left for.
    must_accept: bool,
    connections: Vec<Option<Connection>>,
    /// Places in `connections` that are empty.
    free: Vec<usize>,
    line: Line,
}

/// What every connection of a thread is served with.
#[derive(Debug)]
struct Line {
    answers: Arc<Answers>,
    counters: Counters,
    accepted: Accepted,
    input: Box<[u8]>,
    output: Vec<u8>,
}

#[derive(Debug)]
struct Connection {
    stream: TcpStream,
    conversation: Conversation,
    /// What the socket had no room for. Nothing is read until it is sent.
    unsent: Vec<u8>,
    /// Whether the last answer was given. What still comes is thrown away: closing on unread bytes would reset the
    /// connection, and the answer might be lost with it.
    closing: bool,
}

/// Whether a connection stays open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Keep,
    Drop,
}

impl Worker {
    pub(crate) fn new(
        listener: std::net::TcpListener,
        answers: Arc<Answers>,
        counters: Counters,
        accepted: Accepted,
    ) -> io::Result<Self> {
        let poll = Poll::new()?;
        let stop = Arc::new(Waker::new(poll.registry(), STOP)?);
        let mut listener = TcpListener::from_std(listener);
        poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
        let line =
            Line { answers, counters, accepted, input: vec![0; READ_BYTES].into(), output: Vec::new() };
        Ok(Self {
            poll,
            stop,
            listener: Some(listener),
            must_accept: false,
            connections: Vec::new(),
            free: Vec::new(),
            line,
        })
    }

    /// What [`Self::run`] is ended with.
    pub(crate) fn stop_handle(&self) -> Arc<Waker> {
        Arc::clone(&self.stop)
    }

    /// Answers until it is to stop; then until every request that has begun is answered.
    pub(crate) fn run(mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(EVENTS);
        while self.listener.is_some() || self.free.len() < self.connections.len() {
            match self.poll.poll(&mut events, None) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                polled => polled?,
            }
            for event in &events {
                match event.token() {
                    LISTENER => self.accept(),
                    STOP => self.stop(),
                    Token(place) => self.serve(place, event),
                }
            }
            if std::mem::take(&mut self.must_accept) {
                self.accept();
            }
        }
        Ok(())
    }

    fn accept(&mut self) {
        while let Some(listener) = &self.listener {
            match listener.accept() {
                // A connection that can't be registered is dropped, as one that the client gave up.
                Ok((stream, _)) => {
                    self.line.accepted.add();
                    let _dropped = self.add(stream);
                }
                Err(error)
                    if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::ConnectionAborted) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // No file left: no event reports when there is one again, so the next round tries.
                Err(_) => {
                    self.must_accept = true;
                    return;
                }
            }
        }
    }

    fn add(&mut self, mut stream: TcpStream) -> io::Result<()> {
        let place = self.free.pop().unwrap_or(self.connections.len());
        let both = Interest::READABLE | Interest::WRITABLE;
        if let Err(error) = self.poll.registry().register(&mut stream, Token(place), both) {
            if place < self.connections.len() {
                self.free.push(place);
            }
            return Err(error);
        }
        let connection =
            Connection { stream, conversation: Conversation::default(), unsent: Vec::new(), closing: false };
        match self.connections.get_mut(place) {
            Some(empty) => *empty = Some(connection),
            None => self.connections.push(Some(connection)),
        }
        Ok(())
    }

    /// An event may be of a connection that went earlier in the same round; its place is then empty, or taken by a new one
    /// that has nothing to read yet.
    fn serve(&mut self, place: usize, event: &Event) {
        let Some(connection) = self.connections.get_mut(place).and_then(Option::as_mut) else { return };
        let mut next = connection.serve(&mut self.line, event.is_read_closed());
        if self.listener.is_none() && connection.is_idle() {
            next = Next::Drop;
        }
        if next == Next::Drop {
            self.remove(place);
        }
    }

    /// Closing the file takes it out of the epoll.
    fn remove(&mut self, place: usize) {
        if let Some(connection) = self.connections.get_mut(place) {
            *connection = None;
            self.free.push(place);
        }
    }

    fn stop(&mut self) {
        self.listener = None;
        for place in 0..self.connections.len() {
            let Some(Some(connection)) = self.connections.get_mut(place) else { continue };
            // A request that has arrived is answered even though its event has not been seen.
            if connection.serve(&mut self.line, false) == Next::Drop || connection.is_idle() {
                self.remove(place);
            }
        }
    }
}

impl Connection {
    fn is_idle(&self) -> bool {
        self.conversation.is_idle() && self.unsent.is_empty()
    }

    /// Sends what is left, then reads and answers until the socket is empty. An error of the socket ends the connection:
    /// its client is gone.
    fn serve(&mut self, line: &mut Line, read_closed: bool) -> Next {
        if !self.unsent.is_empty() {
            match self.send_on() {
                Ok(true) => {}
                Ok(false) => return Next::Keep,
                Err(_) => return Next::Drop,
            }
        }
        loop {
            let length = match self.stream.read(&mut line.input) {
                Ok(0) => return Next::Drop,
                Ok(length) => length,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Next::Keep,
                Err(_) => return Next::Drop,
            };
            if !self.closing && self.answer(line, length).is_err() {
                return Next::Drop;
            }
            // A read that did not fill the buffer emptied the socket, and whatever comes later is a new event. The one
            // thing that a short read can hide is the end of the stream, if that had arrived with the event.
            if !self.unsent.is_empty() || (length < line.input.len() && !read_closed) {
                return Next::Keep;
            }
        }
    }

    fn answer(&mut self, line: &mut Line, length: usize) -> io::Result<()> {
        line.output.clear();
        let arrived = line.input.get(..length).unwrap_or_default();
        let fed = self.conversation.feed(arrived, &line.answers, &mut line.output);
        // Counted first: a client that has its answer may ask for the counts.
        line.counters.count(fed.answered, fed.errors);
        self.closing = fed.close;
        let sent = send(&mut self.stream, &line.output)?;
        if let Some(left @ [_, ..]) = line.output.get(sent..) {
            self.unsent.extend_from_slice(left);
            return Ok(());
        }
        self.end_if_closing()
    }

    /// Sends more of what is left; true once nothing is.
    fn send_on(&mut self) -> io::Result<bool> {
        let sent = send(&mut self.stream, &self.unsent)?;
        self.unsent.drain(..sent);
        if self.unsent.is_empty() {
            self.end_if_closing()?;
        }
        Ok(self.unsent.is_empty())
    }

    fn end_if_closing(&mut self) -> io::Result<()> {
        if self.closing { self.stream.shutdown(Shutdown::Write) } else { Ok(()) }
    }
}

/// Sends as much as the socket takes; its bytes.
fn send(stream: &mut TcpStream, bytes: &[u8]) -> io::Result<usize> {
    let mut sent = 0;
    while let Some(left @ [_, ..]) = bytes.get(sent..) {
        match stream.write(left) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(length) => sent += length,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) => return Err(error),
        }
    }
    Ok(sent)
}
