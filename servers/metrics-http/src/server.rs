//! The HTTP server, by hyper on a runtime of one thread.

use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::registry::Registry;
use tokio::runtime::Builder;
use tokio::sync::Semaphore;
use tokio::time::sleep;

/// How long a client may take for the head of a request, and may stay connected without one.
const HEAD_WITHIN: Duration = Duration::from_secs(60);

/// The pause after a client could not be accepted. Where no file is left to open that fails at once, and again, as long as
/// none is: without a pause this thread would take a processor from the connections that are served.
const AFTER_FAILURE: Duration = Duration::from_millis(50);

/// Clients at one time.
const MOST_CLIENTS: usize = 32;

const OPEN_METRICS: HeaderValue =
    HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");
const PLAIN: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

/// What is exposed at `/metrics`.
#[derive(Debug, Default)]
pub struct Exposed {
    /// What costs next to nothing to read: all that `/metrics?collect=counters` gives, for a harness that reads it during a
    /// measurement.
    pub counters: Registry,
    /// The rest, for a board.
    pub others: Registry,
}

/// Answers `GET /metrics` on `addr` until the process ends; gives the address with its port.
///
/// # Errors
/// The address is in use or not of this machine, or no thread can be started.
pub fn serve(addr: SocketAddr, exposed: Exposed) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind(addr)?;
    listener.set_nonblocking(true)?;
    let bound = listener.local_addr()?;
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let exposed = Arc::new(exposed);
    let answer_all = move || {
        runtime.block_on(async {
            // It is non-blocking and listens: there is nothing that could be wrong with it.
            if let Ok(listener) = tokio::net::TcpListener::from_std(listener) {
                accept(listener, exposed).await;
            }
        });
    };
    thread::Builder::new().name("metrics".to_owned()).spawn(answer_all)?;
    Ok(bound)
}

/// Answers whoever connects, for ever.
async fn accept(listener: tokio::net::TcpListener, exposed: Arc<Exposed>) {
    let places = Arc::new(Semaphore::new(MOST_CLIENTS));
    loop {
        // The semaphore is never closed.
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let Ok((client, _)) = listener.accept().await else {
            sleep(AFTER_FAILURE).await;
            continue;
        };
        let exposed = Arc::clone(&exposed);
        tokio::spawn(async move {
            let service = service_fn(move |request| {
                let response = answer(&request, &exposed);
                async { Ok::<_, Infallible>(response) }
            });
            let mut http = http1::Builder::new();
            let http = http.timer(TokioTimer::new()).header_read_timeout(HEAD_WITHIN);
            // A client that went away has no use for its answer.
            let _gone = http.serve_connection(TokioIo::new(client), service).await;
            drop(place);
        });
    }
}

fn answer<B>(request: &Request<B>, exposed: &Exposed) -> Response<Full<Bytes>> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut response = respond(StatusCode::METHOD_NOT_ALLOWED, PLAIN, "send GET\n");
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    if request.uri().path() != "/metrics" {
        return respond(StatusCode::NOT_FOUND, PLAIN, "the path is /metrics\n");
    }
    let mut text = String::new();
    let mut encoded = encode_registry(&mut text, &exposed.counters);
    if request.uri().query() != Some("collect=counters") {
        encoded = encoded.and_then(|()| encode_registry(&mut text, &exposed.others));
    }
    match encoded.and_then(|()| encode_eof(&mut text)) {
        Ok(()) => respond(StatusCode::OK, OPEN_METRICS, text),
        Err(_) => respond(StatusCode::INTERNAL_SERVER_ERROR, PLAIN, "a metric can't be written\n"),
    }
}

fn respond(status: StatusCode, content_type: HeaderValue, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    response
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::time::Instant;

    use prometheus_client::metrics::counter::Counter;

    use super::*;
    use crate::Process;

    fn loopback() -> SocketAddr {
        "127.0.0.1:0".parse().unwrap()
    }

    fn ask(addr: SocketAddr, request: &str) -> String {
        let mut client = TcpStream::connect(addr).unwrap();
        client.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        client.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }

    fn get(addr: SocketAddr, path: &str) -> String {
        ask(addr, &format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"))
    }

    fn started() -> (SocketAddr, Counter) {
        let (calls, mut exposed) = (Counter::default(), Exposed::default());
        exposed.counters.register("calls", "Calls", calls.clone());
        exposed.others.register_collector(Box::new(Process));
        (serve(loopback(), exposed).unwrap(), calls)
    }

    #[test]
    fn all_metrics_are_given_as_open_metrics() {
        let (addr, calls) = started();
        calls.inc_by(3);
        let answer = get(addr, "/metrics");
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.contains("version=1.0.0"), "{answer}");
        assert!(answer.contains("# TYPE calls counter\ncalls_total 3\n"), "{answer}");
        assert!(answer.ends_with("# EOF\n") && answer.contains("\nprocess_cpu_seconds_total "), "{answer}");
        assert!(
            answer.contains("\nprocess_resident_memory_bytes ") && answer.contains("\nprocess_open_fds ")
        );
    }

    #[test]
    fn counters_alone_and_other_paths_and_methods() {
        let (addr, calls) = started();
        calls.inc();
        let counters = get(addr, "/metrics?collect=counters");
        assert!(counters.contains("\ncalls_total 1\n") && !counters.contains("process_"), "{counters}");
        assert!(get(addr, "/").starts_with("HTTP/1.1 404 "));
        let post =
            ask(addr, "POST /metrics HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
        assert!(post.starts_with("HTTP/1.1 405 "), "{post}");
    }

    #[test]
    fn clients_that_say_nothing_keep_no_one_else_out() {
        let (addr, _) = started();
        let silent: Vec<TcpStream> =
            (0..MOST_CLIENTS - 1).map(|_| TcpStream::connect(addr).unwrap()).collect();
        assert!(get(addr, "/metrics").contains("calls_total 0"));
        drop(silent);
    }

    /// A listener in a runtime fails as one does whose process has no file left: at once, and again.
    #[test]
    fn a_server_that_nobody_reads_uses_no_cpu_time() {
        let (addr, _) = started();
        let _client = TcpStream::connect(addr).unwrap();
        let of_metrics = || {
            let threads = procfs::process::Process::myself().unwrap().tasks().unwrap().flatten();
            let ticks = threads.filter_map(|thread| thread.stat().ok()).filter(|stat| stat.comm == "metrics");
            ticks.map(|stat| stat.utime + stat.stime).sum::<u64>()
        };
        let (before, began) = (of_metrics(), Instant::now());
        thread::sleep(Duration::from_millis(300));
        let used = (of_metrics() - before) as f64 / procfs::ticks_per_second() as f64;
        assert!(used < began.elapsed().as_secs_f64() / 2.0, "{used} s");
    }

    #[test]
    fn an_address_in_use_is_an_error() {
        let taken = TcpListener::bind(loopback()).unwrap();
        let error = serve(taken.local_addr().unwrap(), Exposed::default()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
    }
}
