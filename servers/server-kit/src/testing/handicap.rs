//! Does a server honour `--handicap-rounds`? On every kind of well-formed request, once a call, without another answer.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use super::{PATIENCE, Running, post, refusal};

/// How long a server's CPU clock must not change to be up to date.
const STILL: Duration = Duration::from_millis(3);

/// Enough work to be distinct from a call of an unoptimised server.
const ROUNDS: &str = "1000000";

/// Each kind is compared with a plain call this often, one right after the other; the middle one of their ratios counts. On a
/// shared machine the same work takes half as long or twice as long from one second to the next, so the cheapest of either
/// may come from different seconds.
const REPEATS: usize = 15;

/// How often a ratio that is off is measured again: a burst of other work passes, a call that pays wrongly stays.
const ATTEMPTS: usize = 4;

/// What each other body is compared with: one call that is answered with a result.
const PLAIN: &str = r#"{"jsonrpc":"2.0","id":1,"method":"getBalance","params":["4EVAJ81v9fLjz2wp44SZmxgTbvYB8dBRZ6s1SAqP99eZ"]}"#;

/// Well-formed requests by the ways that servers have of answering, and how many of their calls a method answers.
const KINDS: [(&str, u32); 6] = [
    (r#"{"jsonrpc":"2.0","id":1,"method":"getBlocks","params":[0,50]}"#, 1),
    (r#"{"jsonrpc":"2.0","id":"a [","method":"getHealth"}"#, 1),
    (r#"{"jsonrpc":"2.0","id":1,"method":"getBalance","params":["?"]}"#, 1),
    (r#"{"jsonrpc":"2.0","id":1,"method":"nope"}"#, 0),
    (r#"[{"jsonrpc":"2.0","id":1,"method":"getHealth"},{"jsonrpc":"2.0","id":2,"method":"getSlot"}]"#, 2),
    (r#"[{"jsonrpc":"2.0","id":1,"method":"nope"},{"jsonrpc":"2.0","id":2,"method":"getSlot"}]"#, 1),
];

/// Asserts that each call that a method answers costs the server the rounds once, whichever way it is answered, and that
/// the answers are those of a server without a handicap.
///
/// # Panics
/// It does not.
pub fn assert_handicap_is_honoured(program: &Path) {
    let start = |rounds| {
        Running::start(program, &["--accounts", "10", "--slots", "100", "--handicap-rounds", rounds])
    };
    let (free, handicapped) = (start("0"), start(ROUNDS));
    assert_eq!(
        (&free.ready["handicap_rounds"], &handicapped.ready["handicap_rounds"]),
        (&0.into(), &1_000_000.into())
    );
    let without = (0..REPEATS).map(|_| cost(&free, PLAIN)).sum::<Duration>();
    let with = (0..REPEATS).map(|_| cost(&handicapped, PLAIN)).sum::<Duration>();
    assert!(with > 2 * without, "a call took {with:?} of CPU with the handicap and {without:?} without");
    for (body, calls) in KINDS {
        assert_eq!(post(free.addr, body), post(handicapped.addr, body), "{body}");
        let mut ratios = Vec::new();
        let honoured = (0..ATTEMPTS).any(|_| {
            ratios.push(times_paid(&handicapped, body));
            ratios.iter().any(|paid| (paid - f64::from(calls)).abs() < 0.5)
        });
        assert!(honoured, "{body}: paid {ratios:.2?} times for {calls} calls");
    }
    let message = refusal(program, &["--handicap-rounds", "some"]);
    assert!(message.contains("--handicap-rounds") && message.contains("some"), "{message}");
}

/// How many plain calls' CPU time the body costs.
fn times_paid(server: &Running, body: &str) -> f64 {
    let mut ratios = [(); REPEATS].map(|()| {
        let plain = cost(server, PLAIN);
        cost(server, body).as_secs_f64() / plain.as_secs_f64()
    });
    ratios.sort_by(f64::total_cmp);
    ratios[REPEATS / 2]
}

/// CPU time of one request, on a connection of its own.
fn cost(server: &Running, body: &str) -> Duration {
    let before = settled_cpu_time(server);
    post(server.addr, body);
    settled_cpu_time(server) - before
}

/// The CPU time once it does not change. The kernel adds a thread's time to its process's clock when the thread stops running,
/// or at the next tick: a clock that is read right after an answer may lack all of it.
fn settled_cpu_time(server: &Running) -> Duration {
    let deadline = Instant::now() + PATIENCE;
    let mut time = server.cpu_time();
    while Instant::now() < deadline {
        thread::sleep(STILL);
        let now = server.cpu_time();
        if now == time {
            break;
        }
        time = now;
    }
    time
}
