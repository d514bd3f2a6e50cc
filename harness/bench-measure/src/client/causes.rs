//! Why there was no answer, in words, where a library's own words don't say it.

use std::fmt;
use std::io;
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Error, Result, anyhow};

use bench_core::target::Target;
use bench_core::transport::Transport;

/// What came is no answer: no text, or other messages alone. Why, in words.
#[derive(Debug)]
pub struct NoAnswer(pub(super) String);

impl fmt::Display for NoAnswer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for NoAnswer {}

/// The service asks to come later (HTTP 429 or 503), and so has not answered: what it said.
#[derive(Debug)]
pub struct Refused(pub(super) String);

impl fmt::Display for Refused {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

impl NoAnswer {
    /// The bytes of an answer as text. `kind` is what they came as, and `encoding` what HTTP says of them.
    ///
    /// # Errors
    /// They are no UTF-8.
    pub(super) fn or_text(kind: &str, bytes: Vec<u8>, encoding: Option<&str>) -> Result<String, Self> {
        String::from_utf8(bytes).map_err(|error| {
            let is_gzip = error.as_bytes().starts_with(&[0x1f, 0x8b]);
            let encoding = match (encoding, is_gzip) {
                (Some(encoding), _) => format!(", content-encoding: {encoding}, which nobody requested"),
                (None, true) => ", compressed with gzip, which nobody requested".to_owned(),
                (None, false) => String::new(),
            };
            Self(format!("{kind}: {} bytes that are no UTF-8 text{encoding}", error.as_bytes().len()))
        })
    }
}

/// Why a server was not reached, with the cause where it was to speak TLS and answers with something else.
pub(super) fn of_plain_http(error: Error, target: &Target) -> Error {
    if !error.chain().any(|cause| cause.to_string().contains("InvalidContentType")) {
        return error;
    }
    let scheme = if target.transport() == Transport::WebSocket { "ws" } else { "http" };
    anyhow!("it speaks no TLS there: give {scheme}:// in place of {scheme}s://")
}

/// A connection to the first of a server's addresses that takes one.
///
/// # Errors
/// Its name is not known, or no address takes a connection in time: the system's reason for the last of them.
pub fn connect_tcp(target: &Target, timeout: Duration) -> Result<TcpStream> {
    let mut failed = None;
    for addr in target.addresses()? {
        match TcpStream::connect_timeout(&addr, timeout) {
            Ok(stream) => return Ok(stream),
            // The system has no reason of its own where the wait was given up here.
            Err(error) if error.raw_os_error().is_none() && error.kind() == io::ErrorKind::TimedOut => {
                failed = Some(anyhow!("{addr}: no connection within {} s", timeout.as_secs_f64()));
            }
            Err(error) => failed = Some(Error::from(error).context(addr)),
        }
    }
    Err(failed.unwrap_or_else(|| anyhow!("{target}: no such address")))
}

/// That no whole answer came in this time.
pub(super) fn waited(timeout: Duration) -> Error {
    anyhow!("no whole answer came within {} s", timeout.as_secs_f64())
}

/// The same error; that of a wait that was given up after `timeout` in words that say so.
pub(super) fn of_wait(error: Error, timeout: Duration) -> Error {
    if !is_wait(&error) {
        return error;
    }
    // What stands above the cause says who was waited for, and the cause itself no more than "timeout: global".
    let above = error.chain().count() > 1;
    let words = error.to_string();
    if above { waited(timeout).context(words) } else { waited(timeout) }
}

pub(super) fn is_wait(error: &Error) -> bool {
    let is_late =
        |error: &io::Error| matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut);
    error.chain().any(|cause| {
        let over_http = cause.downcast_ref::<ureq::Error>();
        let over_websocket = cause.downcast_ref::<tungstenite::Error>();
        match (over_http, over_websocket, cause.downcast_ref::<io::Error>()) {
            (Some(ureq::Error::Timeout(_)), ..) => true,
            (Some(ureq::Error::Io(error)), ..) | (_, Some(tungstenite::Error::Io(error)), _) => {
                is_late(error)
            }
            (.., Some(error)) => is_late(error),
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{SocketAddr, TcpListener};
    use std::os::unix::net::UnixListener;

    use crate::client::{Connection, compare};
    use bench_core::headers::Access;

    use super::*;

    /// What is said of a server that takes a connection, sends this, and no more.
    fn said(scheme: &str, sends: &'static [u8]) -> String {
        let addr = server(sends);
        let target = Target::parse(&format!("{scheme}://{addr}")).unwrap();
        let mut connection = Connection::new(&target, Duration::from_millis(200)).unwrap();
        format!("{:#}", connection.request("{}").unwrap_err()).replace(&addr.to_string(), "ADDR")
    }

    /// Where a server listens that takes each connection, sends this, and no more.
    fn server(sends: &'static [u8]) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let clients = listener.incoming().map(|client| {
                let mut client = client.unwrap();
                client.write_all(sends).unwrap();
                client
            });
            clients.collect::<Vec<_>>()
        });
        addr
    }

    #[test]
    fn a_wait_is_named_with_its_time() {
        let waited = "no whole answer came within 0.2 s";
        assert_eq!(said("http", b""), format!("no answer from ADDR: {waited}"));
        let head = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n12";
        assert_eq!(said("http", head), format!("half an answer from ADDR: {waited}"));
        assert_eq!(said("ws", b""), format!("no WebSocket to ws://ADDR/: {waited}"));

        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("node.ipc");
        let _listener = UnixListener::bind(&path).unwrap();
        let target = Target::parse(&format!("unix:{}", path.display())).unwrap();
        let mut connection = Connection::new(&target, Duration::from_millis(200)).unwrap();
        let said = format!("{:#}", connection.request("{}").unwrap_err());
        assert!(said.starts_with("no answer from") && said.ends_with(waited), "{said}");
    }

    #[test]
    fn bytes_that_are_no_text_are_a_wrong_answer_that_says_so() {
        let gzip = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n\x1f\x8b\x08\x00";
        let words = "HTTP 200: 4 bytes that are no UTF-8 text";
        assert_eq!(said("http", gzip), format!("{words}, compressed with gzip, which nobody requested"));
        let named = b"HTTP/1.1 200 OK\r\ncontent-encoding: br\r\ncontent-length: 1\r\n\r\n\xff";
        let words = "HTTP 200: 1 bytes that are no UTF-8 text";
        assert_eq!(said("http", named), format!("{words}, content-encoding: br, which nobody requested"));
        let latin = b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n\xe4";
        assert_eq!(said("http", latin), words);
        let target = Target::http(&server(latin).to_string());
        let verdict = compare(&target, "{}", false, &serde_json::json!(1).into()).unwrap();
        assert_eq!(verdict, Err(words.to_owned()), "it is an answer, and a wrong one");
    }

    #[test]
    fn a_server_without_tls_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let ca = dir.path().join("ca.pem");
        // It is never compared with a server's: none of these servers has one.
        std::fs::write(&ca, "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n").unwrap();
        let said = |scheme: &str, sends| {
            let addr = server(sends);
            let target = Target::parse(&format!("{scheme}://{addr}")).unwrap();
            let target = target.with_access(&Access { ca: Some(ca.clone()), ..Access::default() });
            let mut connection = Connection::new(&target, Duration::from_millis(200)).unwrap();
            format!("{:#}", connection.request("{}").unwrap_err()).replace(&addr.to_string(), "ADDR")
        };
        let plain = b"HTTP/1.1 404 Not Found\r\n\r\n";
        let named = "it speaks no TLS there: give http:// in place of https://";
        assert_eq!(said("https", plain), format!("no answer from ADDR: {named}"));
        let named = "it speaks no TLS there: give ws:// in place of wss://";
        assert_eq!(said("wss", plain), format!("no WebSocket to wss://ADDR/: {named}"));
        assert!(said("https", b"").ends_with("no whole answer came within 0.2 s"));
    }
}
