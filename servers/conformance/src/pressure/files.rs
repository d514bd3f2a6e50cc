//! No file descriptor left, and then some again.

use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use server_kit::testing::{Connection, PATIENCE, Running, connect};

use super::client::{balance_call, exchange};
use super::{Check, Subject, process, seconds};

/// Files that the server may open.
const LIMIT: usize = 64;

/// More connections than that.
const CONNECTIONS: usize = 100;

/// Descriptors below the limit that `/proc` may not show although they are taken: some kernels reserve one for each thread
/// that waits in `accept`, and the server's metrics address has such a thread.
const RESERVED: usize = 2;

/// How long the number of open files must not change to be final.
const STILL: Duration = Duration::from_millis(300);

/// The most CPU time that an idle server may use of each second.
const IDLE_CPU_S: f64 = 0.5;

/// Takes all descriptors, waits, gives them back, and requests again.
pub fn press(subject: &Subject<'_>, check: &mut Check) {
    let server = subject.server.start_limited(LIMIT);
    let mut early = Connection::open(server.addr);
    early.post(&balance_call(0));
    let before = process::open_files(server.pid());
    // They connect, for the kernel takes them into the listener's queue; the server can't accept the last of them.
    let crowd: Vec<TcpStream> =
        (0..CONNECTIONS).map(|_| connect(server.addr).expect("the queue has room")).collect();
    let held = open_files_at_last(&server);
    let cpu = cpu_over(&server, seconds(subject.plan.exhausted_s));
    let still = early.post(&balance_call(1)).json();
    check.figure("limit of open files", LIMIT as f64, "");
    check.figure("files open before", before as f64, "");
    check.figure("files open while exhausted", held as f64, "");
    check.figure("CPU time of each second while exhausted", cpu, "s");
    check.demand(held + RESERVED >= LIMIT, || {
        format!("only {held} files were open, so nothing was exhausted")
    });
    check.demand(still["result"]["value"].is_u64(), || "the accepted connection got no answer".to_owned());

    drop(crowd);
    let freed = Instant::now();
    let again = connect(server.addr).and_then(|mut connection| exchange(&mut connection, &balance_call(2)));
    check.figure("a new connection answered after", freed.elapsed().as_secs_f64(), "s");
    check.demand(again.is_ok_and(|answer| answer.status == 200), || "no answer once freed".to_owned());
    process::wait_for_open_files(server.pid(), before + 1);
    let cpu = cpu_over(&server, Duration::from_millis(500));
    check.figure("CPU time of each second afterwards", cpu, "s");
    check.demand(cpu < IDLE_CPU_S, || format!("it still uses {cpu} s of CPU time a second"));
}

/// Its open files once their number does not change, as when no more can be opened.
fn open_files_at_last(server: &Running) -> usize {
    let deadline = Instant::now() + PATIENCE;
    let (mut held, mut since) = (process::open_files(server.pid()), Instant::now());
    while since.elapsed() < STILL && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(10));
        let now = process::open_files(server.pid());
        if now != held {
            (held, since) = (now, Instant::now());
        }
    }
    held
}

/// CPU time that it uses of each second.
fn cpu_over(server: &Running, time: Duration) -> f64 {
    let before = process::cpu_s(server.pid());
    thread::sleep(time);
    (process::cpu_s(server.pid()) - before) / time.as_secs_f64()
}
