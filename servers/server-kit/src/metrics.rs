//! The admin address: the counters as Prometheus text, on a port of its own so that a request for them never disturbs what is
//! measured. One question at a time, one connection each: this is no server to be measured.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use crate::counters::Counters;
use crate::error::StartError;

/// How long a client of the admin address may hold it.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(1);

/// The pause after a client could not be accepted. Where no file is left to open that fails at once, and again, as long as
/// none is: without a pause this thread would take a processor from the connections that are served.
const AFTER_FAILURE: Duration = Duration::from_millis(50);

/// Bytes of the longest request head that is read.
const MAX_HEAD_BYTES: usize = 8_192;

/// Answers `GET /metrics` on `addr` until the process ends; gives the address with its port.
pub(crate) fn start(addr: SocketAddr, counters: Counters) -> Result<SocketAddr, StartError> {
    let failed = |source| StartError::listen("--metrics", addr, source);
    let listener = TcpListener::bind(addr).map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    let answer_all = move || {
        for client in clients(&listener) {
            // A client that went away has no use for its answer.
            let _gone = answer(client, &counters);
        }
    };
    thread::Builder::new().name("metrics".to_owned()).spawn(answer_all).map_err(failed)?;
    Ok(bound)
}

/// Whoever connects, for ever.
fn clients(listener: &TcpListener) -> impl Iterator<Item = TcpStream> {
    listener.incoming().filter_map(|client| match client {
        Ok(client) => Some(client),
        Err(_) => {
            thread::sleep(AFTER_FAILURE);
            None
        }
    })
}

fn answer(mut client: TcpStream, counters: &Counters) -> io::Result<()> {
    client.set_read_timeout(Some(CLIENT_TIMEOUT))?;
    client.set_write_timeout(Some(CLIENT_TIMEOUT))?;
    let head = read_head(&mut client)?;
    let (status, body) = match head.split(' ').take(2).collect::<Vec<_>>()[..] {
        ["GET", "/metrics"] => ("200 OK", metrics(counters)),
        ["GET", _] => ("404 Not Found", "ask for /metrics\n".to_owned()),
        _ => ("405 Method Not Allowed", "ask with GET\n".to_owned()),
    };
    let length = body.len();
    write!(
        client,
        "HTTP/1.1 {status}\r\ncontent-type: text/plain; version=0.0.4\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}

fn read_head(client: &mut TcpStream) -> io::Result<String> {
    let mut head = Vec::new();
    let mut part = [0; 1_024];
    while !head.windows(4).any(|bytes| bytes == b"\r\n\r\n") && head.len() < MAX_HEAD_BYTES {
        match client.read(&mut part)? {
            0 => break,
            length => head.extend_from_slice(part.get(..length).unwrap_or_default()),
        }
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

fn metrics(counters: &Counters) -> String {
    let totals = counters.totals();
    let text = format!(
        "# HELP rpc_requests_total JSON-RPC calls answered, with a result or an error.\n\
         # TYPE rpc_requests_total counter\n\
         rpc_requests_total {}\n\
         # HELP rpc_errors_total JSON-RPC calls answered with an error.\n\
         # TYPE rpc_errors_total counter\n\
         rpc_errors_total {}\n",
        totals.answered, totals.errors
    );
    #[cfg(feature = "count-allocations")]
    let text = text + &allocations();
    text
}

#[cfg(feature = "count-allocations")]
fn allocations() -> String {
    let crate::Allocations { count, bytes } = crate::allocations();
    format!(
        "# HELP allocations_total Calls of the allocator for new or resized memory, of the whole process.\n\
         # TYPE allocations_total counter\n\
         allocations_total {count}\n\
         # HELP allocated_bytes_total Bytes requested by these calls.\n\
         # TYPE allocated_bytes_total counter\n\
         allocated_bytes_total {bytes}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(addr: SocketAddr, request: &str) -> String {
        let mut client = TcpStream::connect(addr).unwrap();
        client.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        client.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn the_counts_are_reported() {
        let counters = Counters::default();
        let addr = start("127.0.0.1:0".parse().unwrap(), counters).unwrap();
        counters.count(3, 1);
        let answer = ask(addr, "GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n");
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert!(answer.contains("\nrpc_requests_total 3\n"), "{answer}");
        assert!(answer.contains("\nrpc_errors_total 1\n"), "{answer}");
        counters.count(1, 0);
        assert!(ask(addr, "GET /metrics HTTP/1.1\r\n\r\n").contains("\nrpc_requests_total 4\n"));
        assert!(ask(addr, "GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
        assert!(ask(addr, "POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
    }

    /// A listener that does not wait fails as one does whose process has no file left: at once, until there is a client.
    #[test]
    fn waiting_clients_use_no_cpu_time() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        listener.set_nonblocking(true).unwrap();
        let waiting = thread::spawn(move || {
            let (began, cpu) = (std::time::Instant::now(), thread_cpu());
            clients(&listener).next().unwrap();
            (thread_cpu() - cpu, began.elapsed())
        });
        thread::sleep(Duration::from_millis(300));
        let _client = TcpStream::connect(addr).unwrap();
        let (cpu, took) = waiting.join().unwrap();
        assert!(cpu < took / 4, "{cpu:?} of {took:?}");
    }

    fn thread_cpu() -> Duration {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the pointer is to a local that outlives the call.
        unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
        Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap())
    }

    #[cfg(feature = "count-allocations")]
    #[test]
    fn allocations_are_reported_and_grow() {
        let addr = start("127.0.0.1:0".parse().unwrap(), Counters::default()).unwrap();
        let counts = || {
            let answer = ask(addr, "GET /metrics HTTP/1.1\r\n\r\n");
            let value = |name: &str| -> u64 {
                let line = answer.lines().find_map(|line| line.strip_prefix(name));
                line.unwrap_or_else(|| panic!("{answer}")).trim().parse().unwrap()
            };
            (value("allocations_total "), value("allocated_bytes_total "))
        };
        let before = counts();
        drop(std::hint::black_box(vec![0_u8; 1_000_000]));
        let after = counts();
        assert!(after.0 > before.0 && after.1 >= before.1 + 1_000_000, "{before:?} {after:?}");
    }

    #[test]
    fn an_address_in_use_is_named() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = taken.local_addr().unwrap();
        let message = start(addr, Counters::default()).unwrap_err().to_string();
        assert!(
            message.contains("--metrics")
                && message.contains(&addr.to_string())
                && message.contains("in use"),
            "{message}"
        );
    }
}
