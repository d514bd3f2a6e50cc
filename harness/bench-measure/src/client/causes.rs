//! Why there was no answer, in words, where a library's own words don't say it.

use std::io;
use std::time::Duration;

use anyhow::{Error, anyhow};

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

fn is_wait(error: &Error) -> bool {
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
    use std::net::TcpListener;
    use std::os::unix::net::UnixListener;

    use bench_model::target::Target;

    use crate::client::Connection;

    use super::*;

    /// What is said of a server that takes a connection, sends this, and no more.
    fn said(scheme: &str, sends: &'static str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let clients = listener.incoming().map(|client| {
                let mut client = client.unwrap();
                client.write_all(sends.as_bytes()).unwrap();
                client
            });
            clients.collect::<Vec<_>>()
        });
        let target = Target::parse(&format!("{scheme}://{addr}")).unwrap();
        let mut connection = Connection::new(&target, Duration::from_millis(200)).unwrap();
        format!("{:#}", connection.request("{}").unwrap_err()).replace(&addr.to_string(), "ADDR")
    }

    #[test]
    fn a_wait_is_named_with_its_time() {
        let waited = "no whole answer came within 0.2 s";
        assert_eq!(said("http", ""), format!("no answer from ADDR: {waited}"));
        let head = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n12";
        assert_eq!(said("http", head), format!("half an answer from ADDR: {waited}"));
        assert_eq!(said("ws", ""), format!("no WebSocket to ws://ADDR/: {waited}"));

        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("node.ipc");
        let _listener = UnixListener::bind(&path).unwrap();
        let target = Target::parse(&format!("unix:{}", path.display())).unwrap();
        let mut connection = Connection::new(&target, Duration::from_millis(200)).unwrap();
        let said = format!("{:#}", connection.request("{}").unwrap_err());
        assert!(said.starts_with("no answer from") && said.ends_with(waited), "{said}");
    }
}
