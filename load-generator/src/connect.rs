//! Connecting, and counting what goes over a connection.

use std::io;
use std::path::Path;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::client::TlsStream;
use tokio_tungstenite::client_async_with_config;
use tokio_tungstenite::tungstenite::Error;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;

use crate::messages::Messages;
use crate::options::{Address, Transport};
use crate::requests::Requests;
use crate::tls;
use crate::worker::{Alarm, Worker};

/// Bytes that are read from a WebSocket at once. Every read clears that much memory first, so more costs the small answers and less
/// the large ones.
const READ_BYTES: usize = 16 * 1024;

/// Bytes of a WebSocket's frame; a server that claims more is not believed, since room is made for it at once.
const MOST_FRAME: usize = 1 << 30;

/// The longest pause before another attempt at a connection that was lost.
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// How long a full queue of a Unix socket is given.
const QUEUE_PAUSE: Duration = Duration::from_millis(1);

/// A socket whose bytes are counted: those of the network, so encrypted where there is TLS.
#[derive(Debug)]
pub struct Counted<S> {
    stream: S,
    worker: Rc<Worker>,
}

/// What a connection reads and writes.
#[derive(Debug)]
pub enum Socket {
    /// TCP.
    Tcp(Counted<TcpStream>),
    /// TLS over TCP.
    Tls(Box<TlsStream<Counted<TcpStream>>>),
    /// A Unix socket.
    Unix(Counted<UnixStream>),
}

/// What any of a socket's kinds does.
macro_rules! of_each {
    ($socket:expr, $stream:ident => $does:expr) => {
        match $socket {
            Socket::Tcp($stream) => $does,
            Socket::Tls($stream) => $does,
            Socket::Unix($stream) => $does,
        }
    };
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        of_each!(&mut *self, stream => Pin::new(stream).poll_read(cx, buf))
    }
}

// Not vectored: what is written stands in one buffer, and the system takes that in less time by itself.
impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        of_each!(&mut *self, stream => Pin::new(stream).poll_write(cx, buf))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        of_each!(&mut *self, stream => Pin::new(stream).poll_flush(cx))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        of_each!(&mut *self, stream => Pin::new(stream).poll_shutdown(cx))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Counted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(cx, buf);
        let (read, written) = self.worker.traffic.get();
        self.worker.traffic.set((read + (buf.filled().len() - before) as u64, written));
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Counted<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.count_written(&polled);
        polled
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.count_written(&polled);
        polled
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

impl<S> Counted<S> {
    fn count_written(&self, polled: &Poll<io::Result<usize>>) {
        if let Poll::Ready(Ok(more)) = polled {
            let (read, written) = self.worker.traffic.get();
            self.worker.traffic.set((read, written + *more as u64));
        }
    }
}

/// Connects.
///
/// # Errors
/// Why it failed, as it is counted: without addresses.
pub async fn connect(worker: &Rc<Worker>) -> Result<Box<Messages>, String> {
    let attempt = tokio::time::timeout(worker.plan.connect_timeout, establish(worker));
    attempt.await.unwrap_or_else(|_elapsed| Err("timeout".to_owned()))
}

async fn establish(worker: &Rc<Worker>) -> Result<Box<Messages>, String> {
    let plan = &worker.plan;
    let socket = open(worker).await.map_err(|error| tls::kind(&error))?;
    match plan.target.transport {
        Transport::WebSocket => {
            let config = WebSocketConfig::default().read_buffer_size(READ_BYTES);
            let config = config.max_message_size(None).max_frame_size(Some(MOST_FRAME));
            let request = plan.target.url.as_str().into_client_request();
            let mut request = request.map_err(|error| format!("handshake: {error}"))?;
            let headers = plan.target.headers().map_err(|error| error.to_string())?;
            request.headers_mut().extend(headers);
            match client_async_with_config(request, socket, Some(config)).await {
                Ok((socket, _)) => Ok(Box::new(Messages::websocket(socket))),
                Err(Error::Io(error)) => Err(tls::kind(&error)),
                Err(Error::Http(response)) => Err(format!("handshake: HTTP {}", response.status().as_u16())),
                Err(error) => Err(format!("handshake: {error}")),
            }
        }
        Transport::Http => Ok(Box::new(Messages::http(socket, worker.clone()))),
        Transport::Ipc => Ok(Box::new(Messages::json(socket))),
    }
}

/// A socket to the server, its TLS handshake done.
async fn open(worker: &Rc<Worker>) -> io::Result<Socket> {
    let target = &worker.plan.target;
    let worker = worker.clone();
    let addresses = match &target.address {
        Address::Unix(path) => {
            return Ok(Socket::Unix(Counted { stream: open_unix(path).await?, worker }));
        }
        Address::Tcp(addresses) => addresses,
    };
    let stream = TcpStream::connect(addresses.as_slice()).await?;
    stream.set_nodelay(true)?;
    let stream = Counted { stream, worker };
    match &target.tls {
        None => Ok(Socket::Tcp(stream)),
        Some(tls) => Ok(Socket::Tls(Box::new(tls.connect(stream).await?))),
    }
}

/// A Unix socket. Where the server's queue is full the system says so at once, and does not wait as with TCP.
async fn open_unix(path: &Path) -> io::Result<UnixStream> {
    loop {
        match UnixStream::connect(path).await {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => tokio::time::sleep(QUEUE_PAUSE).await,
            connected => return connected,
        }
    }
}

/// Establishes connections again that were lost. The first attempt comes at once; one after a connection that brought no answer, or
/// after a failed attempt, comes after a pause, which doubles from 10 ms to 500 ms.
#[derive(Debug, Default)]
pub struct Reconnecting {
    pause: Duration,
    answered: u64,
}

impl Reconnecting {
    /// A connection; `None` where the run is over first. What was in flight is counted as lost.
    pub async fn again(
        &mut self,
        worker: &Rc<Worker>,
        alarm: &Alarm,
        requests: &mut Requests,
    ) -> Option<Box<Messages>> {
        if requests.answered() > self.answered {
            self.pause = Duration::ZERO;
        }
        self.answered = requests.answered();
        loop {
            if worker.over() {
                return None;
            }
            let attempt = async {
                if !self.pause.is_zero() {
                    tokio::time::sleep(self.pause).await;
                }
                connect(worker).await
            };
            let attempt = tokio::select! {
                biased;
                () = alarm.until(|| worker.over()) => return None,
                attempt = attempt => attempt,
            };
            self.pause = (self.pause * 2).clamp(Duration::from_millis(10), LONGEST_PAUSE);
            let mut stats = worker.stats.borrow_mut();
            match attempt {
                Ok(connection) => {
                    stats.reconnects += 1;
                    requests.reconnected(worker.now_ns());
                    return Some(connection);
                }
                Err(kind) => *stats.failed_reconnects.entry(kind).or_default() += 1,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::options::Options;

    #[tokio::test]
    async fn the_first_address_of_a_host_that_answers_is_taken() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let args = ["rpc-load", "--url", "http://127.0.0.1:1/", "--duration", "1", "--hold"];
        let (mut plan, bodies) = Options::parse_from(args).plan().unwrap();
        let Address::Tcp(addresses) = &mut plan.target.address else { unreachable!() };
        // Nobody listens on port 1: as with a name of ::1 and 127.0.0.1, and a server on the second alone.
        addresses.push(listener.local_addr().unwrap());
        let worker = Rc::new(Worker::new(plan.into(), bodies).unwrap());
        connect(&worker).await.unwrap();
        listener.accept().unwrap();
    }
}
