//! The capacity of a server, and what one request takes when it has nothing else to do: a few requests one after the
//! other, before any load. A server that takes long for these waits for something that no load explains.
//!
//! The fastest one counts: on a machine that is full, each of the others may have waited for a processor.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::Seen;
use crate::client::{Connection, MOST_BYTES};
use crate::probe::listen_queue::Listening;
use crate::probe::process_usage::cpu_time;
use crate::probe::threads;
use bench_core::observation::Capacity;
use bench_core::target::Target;
use bench_core::transport::Transport;

/// Requests that are sent at least; and at most, where even the fastest of them is not quick. Fewer where the time for
/// them is over.
const QUESTIONS: std::ops::Range<u32> = 12..40;

/// A request that took no longer is quick, in microseconds.
const QUICK_US: f64 = 500.0;

/// The first answers of a connection may wait for work that is done once. They count where no others come in time.
const UNCOUNTED: u32 = 2;

/// Bytes that the head of an answer may have.
const MOST_HEAD: usize = 64 << 10;

/// How long requests are sent: of a service that takes longer for an answer than most, fewer show as much.
const ENOUGH: Duration = Duration::from_secs(2);

/// How long one answer may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// Finds a server's capacity out, before any load. Of a process that can't be seen only the time of a request is known.
pub(super) fn find(target: &Target, seen: Option<Seen>, request: &str) -> Capacity {
    let queue = seen.and_then(|_| Listening::at(&target.socket())).and_then(|listening| listening.read());
    let alone = time_alone(target, request, seen.map(|seen| seen.pid));
    Capacity {
        open_files_limit: seen.and_then(|seen| threads::open_files_limit(seen.pid)),
        open_files_before: seen.and_then(|seen| seen.at_rest.open_files),
        listen_limit: queue.map(|queue| queue.limit),
        listen_sockets: queue.map(|queue| queue.sockets),
        alone_us: alone.map(|(fastest_us, _)| fastest_us),
        alone_cpu_us: alone.and_then(|(_, cpu_us)| cpu_us),
    }
}

/// Sends requests on one connection, which is closed before this returns. Gives the time of the fastest and the
/// server's CPU time for one, on average, in microseconds; that is `None` where its process can't be seen. `None` where
/// the server does not answer in time.
fn time_alone(target: &Target, body: &str, pid: Option<u32>) -> Option<(f64, Option<f64>)> {
    let mut asking: Box<dyn FnMut() -> Option<()>> = match target.transport() {
        Transport::Http if !target.is_encrypted() => Box::new(over_http(target, body)?),
        Transport::Http | Transport::WebSocket | Transport::Ipc => {
            let mut connection = Connection::new(target, PATIENCE).ok()?;
            Box::new(move || connection.request(body).ok().map(drop))
        }
    };
    let first = Instant::now();
    let (mut fastest_us, mut cpu_before, mut counted_from) = (f64::INFINITY, None, 0);
    let mut question = 0;
    let needs_more = |question, fastest_us| question < QUESTIONS.start || fastest_us > QUICK_US;
    while question < QUESTIONS.end && needs_more(question, fastest_us) && first.elapsed() < ENOUGH {
        if question == 0 || question == UNCOUNTED {
            (fastest_us, counted_from) = (f64::INFINITY, question);
            cpu_before = pid.and_then(|pid| cpu_time(pid).ok());
        }
        let began = Instant::now();
        asking()?;
        fastest_us = fastest_us.min(began.elapsed().as_secs_f64() * 1e6);
        question += 1;
    }
    let cpu = pid.and_then(|pid| Some(cpu_time(pid).ok()?.since(cpu_before?)));
    let cpu_us = cpu.map(|cpu| cpu.total_s() * 1e6 / f64::from(question - counted_from));
    Some((fastest_us, cpu_us))
}

/// A connection of its own over HTTP, which sends the request and reads the answer each time.
fn over_http(target: &Target, body: &str) -> Option<impl FnMut() -> Option<()> + use<>> {
    let path = target.filled_path().ok()?;
    let mut client = TcpStream::connect(target.socket()).ok()?;
    client.set_nodelay(true).ok()?;
    client.set_write_timeout(Some(PATIENCE)).ok()?;
    let length = body.len();
    let headers = target.access().headers.clone().with_host(target.host()?);
    let headers = headers.filled().ok()?;
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let request = format!(
        "POST {path} HTTP/1.1\r\n{headers}Content-Type: application/json\r\nContent-Length: \
         {length}\r\n\r\n{body}"
    );
    Some(move || {
        client.write_all(request.as_bytes()).ok()?;
        read_answer(&mut client, PATIENCE)
    })
}

/// Reads one answer with a `content-length`; its content was compared with the truth before. `None` for any other, for
/// one that is not whole after `patience`, and for one that is longer than the harness reads.
fn read_answer(client: &mut TcpStream, patience: Duration) -> Option<()> {
    let until = Instant::now() + patience;
    let mut part = [0; 65_536];
    let mut read = |client: &mut TcpStream| {
        // A timeout of 0 is none at all.
        let left = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())?;
        client.set_read_timeout(Some(left)).ok()?;
        let length = client.read(&mut part).ok().filter(|length| *length > 0)?;
        part.get(..length).map(<[u8]>::to_vec)
    };
    let mut bytes = read(client)?;
    let mut searched = 0;
    let head = loop {
        let unread = bytes.get(searched..)?;
        if let Some(found) = unread.windows(4).position(|four| four == b"\r\n\r\n") {
            break searched + found;
        }
        if bytes.len() > MOST_HEAD {
            return None;
        }
        // The empty line may have begun.
        searched = bytes.len().saturating_sub(3);
        bytes.extend(read(client)?);
    };
    let text = std::str::from_utf8(bytes.get(..head)?).ok()?.to_ascii_lowercase();
    let line = text.lines().find_map(|line| line.strip_prefix("content-length:"))?;
    let body = line.trim().parse::<usize>().ok().filter(|body| *body <= MOST_BYTES)?;
    let mut left = (head + 4 + body).saturating_sub(bytes.len());
    while left > 0 {
        left = left.saturating_sub(read(client)?.len());
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// Answers like a server, after a time, in two pieces; or closes at once.
    fn server(wait: Option<Duration>) -> Target {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap().to_string();
        std::thread::spawn(move || {
            let (mut client, _) = listener.accept().unwrap();
            client.set_nodelay(true).unwrap();
            let Some(wait) = wait else { return };
            while client.read(&mut [0; 1_024]).is_ok_and(|length| length > 0) {
                std::thread::sleep(wait);
                client.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n1").unwrap();
                client.write_all(b"234").unwrap();
            }
        });
        Target::http(&addr)
    }

    #[test]
    fn a_server_that_waits_shows_in_the_fastest_request() {
        let wait = Duration::from_millis(3);
        let (fastest_us, cpu_us) = time_alone(&server(Some(wait)), "{}", Some(std::process::id())).unwrap();
        assert!(fastest_us >= 3_000.0 && cpu_us.is_some(), "{fastest_us} {cpu_us:?}");
        assert_eq!(time_alone(&server(Some(wait)), "{}", None).unwrap().1, None);
    }

    #[test]
    fn a_server_that_does_not_answer_gives_nothing() {
        assert!(time_alone(&server(None), "{}", None).is_none());
        assert!(time_alone(&Target::http("127.0.0.1:9"), "{}", None).is_none());
    }

    /// Sends these bytes to whoever connects, `pause` before each, and then nothing more until the client is gone.
    fn sends(parts: Vec<Vec<u8>>, pause: Duration) -> Target {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap().to_string();
        std::thread::spawn(move || {
            let (mut client, _) = listener.accept().unwrap();
            for part in parts {
                std::thread::sleep(pause);
                if client.write_all(&part).is_err() {
                    return;
                }
            }
            while client.read(&mut [0; 1_024]).is_ok_and(|length| length > 0) {}
        });
        Target::http(&addr)
    }

    #[test]
    fn an_answer_without_an_end_gives_nothing() {
        let began = Instant::now();
        for length in [u64::MAX.to_string(), "9".repeat(30), (MOST_BYTES + 1).to_string()] {
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n1234").into_bytes();
            assert!(time_alone(&sends(vec![head], Duration::ZERO), "{}", None).is_none(), "{length}");
        }
        let endless = vec![vec![b'a'; 65_536]; 1_000];
        assert!(time_alone(&sends(endless, Duration::ZERO), "{}", None).is_none());
        assert!(began.elapsed() < PATIENCE, "none of them was waited for");
    }

    #[test]
    fn an_answer_in_drops_is_not_waited_for_longer_than_another() {
        let began = Instant::now();
        let mut drops = vec![b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n".to_vec()];
        drops.extend(vec![vec![b'1']; 1_000]);
        assert!(time_alone(&sends(drops, Duration::from_millis(20)), "{}", None).is_none());
        assert!(began.elapsed() < 2 * PATIENCE, "{:?}", began.elapsed());
    }
}
