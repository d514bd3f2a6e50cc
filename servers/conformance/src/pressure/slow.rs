//! Clients that send a byte a second: some never finish their headers, some never their body.

use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use server_kit::testing::connect;

use super::client::ask_until;
use super::{Check, MEMORY_BOUND_BYTES, Subject, process};

const SLOW_HEAD: &[u8] = b"POST / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ";
const SLOW_BODY: &[u8] = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
                           Content-Length: 51200\r\n\r\n[";

/// Keeps the slow connections open while another client's answers and the server's memory are watched.
pub fn press(subject: &Subject<'_>, check: &mut Check) {
    let plan = subject.plan;
    let server = subject.server.start_seeded(&[]);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let other = scope.spawn(|| ask_until(server.addr, &stop));
        thread::sleep(Duration::from_millis(300));
        let before = process::resident_bytes(server.pid());
        let mut slow: Vec<TcpStream> = Vec::new();
        for start in [SLOW_HEAD, SLOW_BODY] {
            for _ in 0..plan.slow_connections {
                let mut connection = connect(server.addr).expect("the server accepts");
                connection.write_all(start).expect("the server reads");
                slow.push(connection);
            }
        }
        let (began, mut most, mut sent) = (Instant::now(), before, 0);
        for second in 1..=plan.slow_s {
            // A connection that the server has given up is no cost any more.
            sent += slow.iter_mut().filter_map(|connection| connection.write_all(b"1").ok()).count();
            let next = began + Duration::from_secs(second);
            thread::sleep(next.saturating_duration_since(Instant::now()));
            most = most.max(process::resident_bytes(server.pid()));
        }
        stop.store(true, Ordering::Relaxed);
        let (right, wrong) = other.join().expect("the other client is answered");
        check.figure("slow connections", slow.len() as f64, "");
        check.figure("bytes sent slowly", sent as f64, "");
        check.figure("resident memory before", before / 1_048_576.0, "MiB");
        check.figure("resident memory at most", most / 1_048_576.0, "MiB");
        check.figure("resident memory grew by", (most - before) / 1_048_576.0, "MiB");
        check.figure("right answers of another client", right as f64, "");
        check.figure("wrong answers of another client", wrong as f64, "");
        check.demand(most - before <= MEMORY_BOUND_BYTES, || "memory grew by more than 64 MiB".to_owned());
        check.demand(wrong == 0 && right > 0, || format!("another client: {right} right, {wrong} wrong"));
    });
}
