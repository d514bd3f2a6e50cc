//! Connecting, and counting what goes over a connection.

use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Error;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use crate::options::Transport;
use crate::requests::Requests;
use crate::worker::{Alarm, Worker};

/// Bytes that are read from a WebSocket at once. Every read clears that much memory first, so more costs the small answers and less
/// the large ones.
const READ_BYTES: usize = 16 * 1024;

/// The longest pause before another attempt at a connection that was lost.
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// A socket whose bytes are counted.
#[derive(Debug)]
pub struct Counted {
    stream: TcpStream,
    worker: Rc<Worker>,
}

impl AsyncRead for Counted {
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

impl AsyncWrite for Counted {
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

impl Counted {
    fn count_written(&self, polled: &Poll<io::Result<usize>>) {
        if let Poll::Ready(Ok(more)) = polled {
            let (read, written) = self.worker.traffic.get();
            self.worker.traffic.set((read, written + *more as u64));
        }
    }
}

/// An established connection.
#[derive(Debug)]
pub enum Connection {
    /// A WebSocket.
    WebSocket(Box<WebSocketStream<Counted>>),
    /// HTTP/1.1 with keep-alive.
    Http(Box<HttpConnection>),
}

/// A connection of HTTP: what takes requests, and what does the work.
#[derive(Debug)]
pub struct HttpConnection {
    /// Takes requests.
    pub sender: http1::SendRequest<Full<Bytes>>,
    /// Reads and writes; ends when the connection does.
    pub connection: http1::Connection<TokioIo<Counted>, Full<Bytes>>,
}

/// Connects.
///
/// # Errors
/// Why it failed, as it is counted: without addresses.
pub async fn connect(worker: &Rc<Worker>) -> Result<Connection, String> {
    let attempt = tokio::time::timeout(worker.plan.connect_timeout, establish(worker));
    attempt.await.unwrap_or_else(|_elapsed| Err("timeout".to_owned()))
}

async fn establish(worker: &Rc<Worker>) -> Result<Connection, String> {
    let plan = &worker.plan;
    let io_kind = |error: &io::Error| error.kind().to_string();
    let stream = TcpStream::connect(plan.target.address).await.map_err(|error| io_kind(&error))?;
    stream.set_nodelay(true).map_err(|error| io_kind(&error))?;
    let stream = Counted { stream, worker: worker.clone() };
    match plan.target.transport {
        Transport::WebSocket => {
            let config = WebSocketConfig::default().read_buffer_size(READ_BYTES);
            let config = config.max_message_size(None).max_frame_size(None);
            let request = plan.target.url.as_str().into_client_request();
            let mut request = request.map_err(|error| format!("handshake: {error}"))?;
            for (name, value) in &plan.target.headers {
                request.headers_mut().append(name, value.clone());
            }
            match client_async_with_config(request, stream, Some(config)).await {
                Ok((socket, _)) => Ok(Connection::WebSocket(Box::new(socket))),
                Err(Error::Io(error)) => Err(io_kind(&error)),
                Err(Error::Http(response)) => Err(format!("handshake: HTTP {}", response.status().as_u16())),
                Err(error) => Err(format!("handshake: {error}")),
            }
        }
        Transport::Http => {
            let (sender, connection) =
                http1::handshake(TokioIo::new(stream)).await.map_err(|error| error.to_string())?;
            Ok(Connection::Http(Box::new(HttpConnection { sender, connection })))
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
    ) -> Option<Connection> {
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
                Err(_) => stats.failed_reconnects += 1,
            }
        }
    }
}
