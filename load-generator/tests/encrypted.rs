//! Over TLS, by HTTP and WebSocket, and on a Unix socket.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod common;

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use common::{BODY, answer, command, failures, load, number, response};
use futures_util::{SinkExt, StreamExt};
use rcgen::{CertificateParams, DnType, KeyPair, date_time_ymd};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::{HandshakeKind, ServerConfig};
use tokio_rustls::server::TlsStream;
use tokio_tungstenite::tungstenite::Message;

/// A server with TLS for localhost, and the file with what its certificate is verified by.
struct Server {
    addr: std::net::SocketAddr,
    dir: TempDir,
    resumed: Arc<AtomicU64>,
    whole: Arc<AtomicU64>,
}

impl Server {
    /// Of WebSocket or HTTP. Its certificate ends in that year.
    fn start(is_websocket: bool, last_year: i32) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut params = CertificateParams::new(["localhost".to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, format!("a test until {last_year}"));
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(last_year, 1, 1);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        std::fs::write(dir.path().join("ca.pem"), certificate.pem()).unwrap();
        let config = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key.into())
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let server = Self {
            addr: listener.local_addr().unwrap(),
            dir,
            resumed: Arc::default(),
            whole: Arc::default(),
        };
        let (resumed, whole) = (server.resumed.clone(), server.whole.clone());
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                loop {
                    let (stream, _) = listener.accept().await.unwrap();
                    let (acceptor, resumed, whole) = (acceptor.clone(), resumed.clone(), whole.clone());
                    tokio::spawn(async move {
                        let Ok(stream) = acceptor.accept(stream).await else { return };
                        let kind = stream.get_ref().1.handshake_kind();
                        let counter = if kind == Some(HandshakeKind::Resumed) { resumed } else { whole };
                        counter.fetch_add(1, SeqCst);
                        serve(stream, is_websocket).await;
                    });
                }
            });
        });
        server
    }

    fn url(&self, scheme: &str, host: &str) -> String {
        format!("{scheme}://{host}:{}/", self.addr.port())
    }

    fn ca(&self) -> String {
        self.dir.path().join("ca.pem").display().to_string()
    }
}

/// Answers requests of a WebSocket, or of HTTP, whose connections end after three answers.
async fn serve(mut stream: TlsStream<TcpStream>, is_websocket: bool) {
    if is_websocket {
        let Ok(mut socket) = tokio_tungstenite::accept_async(stream).await else { return };
        while let Some(Ok(Message::Text(text))) = socket.next().await {
            let answer = answer(&serde_json::from_str(&text).unwrap(), &json!(1));
            let _ = socket.send(Message::text(answer.to_string())).await;
        }
        return;
    }
    for turn in 0..3 {
        let Some(request) = http_body(&mut stream).await else { return };
        let status = if turn == 2 { "200 OK\r\nConnection: close" } else { "200 OK" };
        let _ = stream.write_all(response(status, &answer(&request, &json!(1))).as_bytes()).await;
    }
    let _ = stream.shutdown().await;
}

/// The next request's body; `None` where there is none.
async fn http_body(stream: &mut TlsStream<TcpStream>) -> Option<Value> {
    let mut text = Vec::new();
    loop {
        let mut piece = [0; 4_096];
        let length = stream.read(&mut piece).await.ok().filter(|length| *length > 0)?;
        text.extend_from_slice(&piece[..length]);
        let end = text.windows(4).position(|four| four == b"\r\n\r\n").map(|start| start + 4);
        if let Some(body) = end.and_then(|end| serde_json::from_slice(&text[end..]).ok()) {
            return Some(body);
        }
    }
}

#[test]
fn requests_are_sent_over_tls_and_connections_are_resumed_or_not() {
    let server = Server::start(false, 2100);
    let url = server.url("https", "localhost");
    let args = |more: &str| format!("--duration 300 --expect 1 --ca {} {more}", server.ca());
    let report = load(&url, &args(""));
    assert!(number(&report, "/succeeded") > 6, "{report}");
    assert_eq!((failures(&report), &report["transport"]), (0, &json!("http")), "{report}");
    assert!(server.resumed.load(SeqCst) > 0, "{report}");
    let resumed = server.resumed.load(SeqCst);
    let whole = server.whole.load(SeqCst);
    let report = load(&url, &args("--no-resumption"));
    assert!(number(&report, "/reconnects") > 1 && failures(&report) == 0, "{report}");
    assert_eq!(server.resumed.load(SeqCst), resumed);
    assert!(server.whole.load(SeqCst) > whole + 1);
}

#[test]
fn a_websocket_over_tls_takes_several_in_flight() {
    let server = Server::start(true, 2100);
    let args = format!("--duration 300 --connections 2 --in-flight 4 --expect 1 --ca {}", server.ca());
    let report = load(&server.url("wss", "localhost"), &args);
    assert!(number(&report, "/succeeded") > 8 && failures(&report) == 0, "{report}");
    assert_eq!(number(&report, "/most_in_flight"), 4);
}

#[test]
fn a_certificate_that_proves_nothing_ends_it_with_its_reason() {
    let server = Server::start(false, 2100);
    let expired = Server::start(false, 2021);
    let refused = |server: &Server, host: &str, ca: &str| {
        let mut command = command(&server.url("https", host), "--duration 100");
        command.args(["--body", BODY, "--ca", ca]);
        let output = command.output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), said.lines().count()), (Some(1), 1), "{said}");
        said
    };
    let said = refused(&expired, "localhost", &expired.ca());
    assert!(said.contains("TLS: the certificate has expired"), "{said}");
    let said = refused(&server, "127.0.0.1", &server.ca());
    assert!(said.contains("TLS: the certificate is for another name"), "{said}");
    let said = refused(&server, "localhost", &expired.ca());
    assert!(said.contains("TLS: the certificate's issuer is not trusted"), "{said}");
    // Of HTTP without TLS.
    let plain = common::http(|_| Some("HTTP/1.1 400 Bad Request\r\n\r\n".to_owned()));
    let plain = plain.replace("http://127.0.0.1", "https://localhost");
    let mut command = command(&plain, "--duration 100 --connect-timeout 500");
    let output = command.args(["--body", BODY, "--ca", &server.ca()]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && said.contains("can't reach https://localhost"), "{said}");
}

#[test]
fn a_unix_socket_takes_lines_in_any_order() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("node.ipc");
    let listener = UnixListener::bind(&path).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            std::thread::spawn(move || {
                let mut stream = stream.unwrap();
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                // Two answers at a time, the second first, in pieces.
                while let (Some(Ok(first)), Some(Ok(second))) = (lines.next(), lines.next()) {
                    let [first, second] =
                        [first, second].map(|line| answer(&serde_json::from_str(&line).unwrap(), &json!(1)));
                    let text = format!("{second}\n{first}\n");
                    let (start, end) = text.split_at(text.len() / 3);
                    if stream.write_all(start.as_bytes()).is_err()
                        || stream.write_all(end.as_bytes()).is_err()
                    {
                        return;
                    }
                }
            });
        }
    });
    let url = format!("unix:{}", path.display());
    let report = load(&url, "--duration 300 --connections 2 --in-flight 2 --expect 1 --timeout 1000");
    assert!(number(&report, "/succeeded") > 4, "{report}");
    let ended = ["interrupted", "timeout"].map(|kind| report["failed"][kind].as_u64().unwrap_or(0));
    // An odd one at the end gets no answer.
    assert_eq!(failures(&report), ended.iter().sum::<u64>(), "{report}");
    let output = command("unix:/no/such/socket", "--duration 100").args(["--body", BODY]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && said.contains("entity not found"), "{said}");
}
