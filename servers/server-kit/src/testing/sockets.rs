//! What every server over HTTP has to do with its sockets, whatever its framework: how requests may arrive, what HTTP says by
//! itself, how it starts and ends. What each method answers is the conformance crate's.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Connection, PATIENCE, Running, example, exchange, get, post, refusal, request};

/// The getBalance request of the original test.
pub const BALANCE: &str = r#"{"jsonrpc": "2.0", "id": 1, "method": "getBalance", "params": ["4EVAJ81v9fLjz2wp44SZmxgTbvYB8dBRZ6s1SAqP99eZ"]}"#;

/// The getBlocks request of the original test.
pub const BLOCKS: &str = r#"{"jsonrpc": "2.0", "id": 1,"method": "getBlocks","params": [0, 1000000]}"#;

/// A request with the shortest answer.
pub const HEALTH: &str = r#"{"jsonrpc":"2.0","id":1,"method":"getHealth"}"#;

const CHUNKED: &str =
    "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";

/// A server binary, and the arguments that make it the server under test.
#[derive(Debug, Clone)]
pub struct Subject {
    /// The binary.
    pub program: PathBuf,
    /// Arguments of each start.
    pub args: Vec<&'static str>,
}

impl Subject {
    /// A binary that is started with these arguments.
    pub fn new(program: &str, args: &[&'static str]) -> Self {
        Self { program: Path::new(program).to_owned(), args: args.to_vec() }
    }

    /// Starts it over a small ledger, with more arguments.
    ///
    /// # Panics
    /// It is not ready in time.
    pub fn start(&self, args: &[&str]) -> Running {
        let all = [&["--accounts", "10", "--metrics", "127.0.0.1:0"], self.args.as_slice(), args].concat();
        Running::start(&self.program, &all)
    }

    /// Both requests of the original test.
    ///
    /// # Panics
    /// One is not answered as it should be.
    pub fn assert_original_requests(&self) {
        let server = self.start(&[]);
        let plain = post(server.addr, BALANCE);
        assert_eq!(plain.status, 200);
        assert_eq!(plain.content_type.as_deref(), Some("application/json; charset=utf-8"));
        let plain = plain.json();
        assert_eq!(plain["result"]["context"]["slot"], 1_499);
        assert!(plain["result"]["value"].as_u64().is_some_and(|lamports| lamports > 0), "{plain}");
        let processed = BALANCE.replace("\"]", "\",{\"commitment\":\"processed\"}]");
        let processed = post(server.addr, &processed).json();
        assert_eq!(processed["result"]["context"]["slot"], 1_530);
        assert_eq!(processed["result"]["value"], plain["result"]["value"]);
        let blocks = post(server.addr, BLOCKS).json();
        let slots = blocks["result"].as_array().unwrap();
        assert_eq!((slots.first(), slots.last()), (Some(&json!(0)), Some(&json!(1_499))));
        assert_eq!(slots.len() as u64, server.ready["ledger"]["slots"].as_u64().unwrap());
    }

    /// An answer beyond what a socket takes at once, twice on one connection.
    ///
    /// # Panics
    /// It does not arrive whole.
    pub fn assert_largest_answer(&self) {
        let server = self.start(&["--slots", "600000"]);
        let mut connection = Connection::open(server.addr);
        for _ in 0..2 {
            let answer =
                connection.post(r#"{"jsonrpc":"2.0","id":1,"method":"getBlocks","params":[0,500000]}"#);
            assert!(answer.body.len() > 3_000_000, "{}", answer.body.len());
            assert_eq!(answer.json()["result"].as_array().unwrap().first(), Some(&json!(0)));
            assert_eq!(connection.post(HEALTH).json()["result"], "ok");
        }
    }

    /// Pipelined requests, single bytes, and chunks.
    ///
    /// # Panics
    /// One is not answered like a request that arrives in one piece, or not counted once.
    pub fn assert_any_pieces(&self) {
        let server = self.start(&["--threads", "1"]);
        let mut connection = Connection::open(server.addr);
        connection.send(&request(BALANCE).repeat(40));
        let first = connection.answer();
        for _ in 1..40 {
            assert_eq!(connection.answer(), first);
        }
        for byte in request(BALANCE) {
            connection.send(&[byte]);
        }
        assert_eq!(connection.answer(), first);
        let (one, two) = BALANCE.split_at(30);
        let chunked = format!("{CHUNKED}{:x}\r\n{one}\r\n{:x}\r\n{two}\r\n0\r\n\r\n", one.len(), two.len());
        connection.send(chunked.as_bytes());
        assert_eq!(connection.answer(), first);
        assert_eq!((server.totals().answered, server.totals().errors), (42, 0));
    }

    /// Media types, HTTP methods, paths and bytes that are not text.
    ///
    /// # Panics
    /// A status is not the contract's, or a refusal was counted as a call.
    pub fn assert_http_statuses(&self) {
        let server = self.start(&[]);
        let ask = |method: &str, path: &str, content_type: &str, body: &[u8]| {
            let length = body.len();
            let head = format!(
                "{method} {path} HTTP/1.1\r\nHost: x\r\n{content_type}Content-Length: {length}\r\n\r\n"
            );
            let answer = exchange(server.addr, &[head.as_bytes(), body].concat());
            (answer.status, answer.body)
        };
        let (json, health) = ("Content-Type: application/json\r\n", HEALTH.as_bytes());
        for content_type in ["application/json; charset=utf-8", "Application/JSON;CHARSET=UTF-8"] {
            assert_eq!(ask("POST", "/x?y", &format!("Content-Type: {content_type}\r\n"), health).0, 200);
        }
        for content_type in
            ["", "Content-Type: text/plain\r\n", "Content-Type: application/json; charset=latin1\r\n"]
        {
            assert_eq!(ask("POST", "/", content_type, health).0, 415, "{content_type}");
        }
        for (method, path) in [("GET", "/"), ("PUT", "/"), ("DELETE", "/x"), ("PUT", "/health")] {
            assert_eq!(ask(method, path, json, health).0, 405, "{method} {path}");
        }
        assert_eq!(ask("OPTIONS", "/", json, health), (200, String::new()));
        assert_eq!(ask("POST", "/health", json, health), (200, "ok".to_owned()));
        assert_eq!(get(server.addr, "/health").body, "ok");
        assert_eq!(ask("POST", "/", json, b"{\"\xff\"}").0, 400);
        assert_eq!((server.totals().answered, server.totals().errors), (2, 0));
    }

    /// Bodies of the largest size and above, with a length and chunked.
    ///
    /// # Panics
    /// One is refused that should be taken, or the other way round.
    pub fn assert_body_limit(&self) {
        let server = self.start(&[]);
        for (length, status) in [(51_200, 200), (51_201, 413), (200_000, 413)] {
            let body = format!("{HEALTH}{}", " ".repeat(length - HEALTH.len()));
            assert_eq!(post(server.addr, &body).status, status, "{length}");
            let chunked = format!("{CHUNKED}{length:x}\r\n{body}\r\n0\r\n\r\n");
            assert_eq!(exchange(server.addr, chunked.as_bytes()).status, status, "{length} chunked");
        }
    }

    /// A chain that advances.
    ///
    /// # Panics
    /// It does not advance.
    pub fn assert_moving_chain(&self) {
        let server = self.start(&["--slot-interval-ms", "5"]);
        let slot = || post(server.addr, BALANCE).json()["result"]["context"]["slot"].as_u64().unwrap();
        let (first, deadline) = (slot(), Instant::now() + PATIENCE);
        while slot() == first {
            assert!(Instant::now() < deadline, "the chain does not advance");
            thread::sleep(Duration::from_millis(5));
        }
        assert!(slot() > first);
    }

    /// SIGTERM while connections are idle or unused, with each tuning.
    ///
    /// # Panics
    /// The server does not end in time with exit code 0.
    pub fn assert_ends_when_idle(&self) {
        for tuning in ["equal", "shipped"] {
            let server = self.start(&["--tuning", tuning]);
            let mut idle = Connection::open(server.addr);
            idle.post(BALANCE);
            let _never_used = Connection::open(server.addr);
            assert_eq!(server.stop_gracefully().code(), Some(0), "{tuning}");
            assert!(idle.is_closed());
        }
    }

    /// An address that is in use.
    ///
    /// # Panics
    /// It is not refused in one line that names it.
    pub fn assert_address_in_use(&self) {
        let first = self.start(&[]);
        let addr = first.addr.to_string();
        let message = refusal(&self.program, &["--listen", &addr]);
        assert!(message.contains(&addr) && message.contains("in use"), "{message}");
    }

    /// The flags `--global-queue-interval` and `--walk-ns-per-slot`.
    ///
    /// # Panics
    /// They are not in the ready line, or the server does not answer with them.
    pub fn assert_interval_and_walk(&self) {
        let server = self.start(&["--global-queue-interval", "61", "--walk-ns-per-slot", "129"]);
        let setting = |name: &str| server.ready[name].clone();
        assert_eq!([setting("global_queue_interval"), setting("simulated_walk_ns_per_slot")], [61, 129]);
        assert!(post(server.addr, BLOCKS).json()["result"].is_array());
    }

    /// Counts of calls, not of requests.
    ///
    /// # Panics
    /// A count is wrong.
    pub fn assert_counts_calls(&self) {
        let server = self.start(&["--threads", "2"]);
        post(server.addr, HEALTH);
        post(server.addr, &format!("[{HEALTH},{{}},{HEALTH}]"));
        assert_eq!(post(server.addr, r#"{"jsonrpc":"2.0","method":"getHealth"}"#).body, "");
        assert_eq!(post(server.addr, "{").json()["error"]["code"], -32_700);
        assert_eq!((server.totals().answered, server.totals().errors), (3, 0));
    }

    /// The shortest server of the framework, an example of the crate under test: it answers the requests of the original test
    /// with the same JSON or, for `same_http`, with the same media type and bytes too.
    ///
    /// # Panics
    /// It does not, or does not count them.
    pub fn assert_minimal(&self, framework: &str, same_http: bool) {
        let program = example(&format!("minimal-{framework}"));
        let (minimal, server) = (Self { program, args: Vec::new() }.start(&[]), self.start(&[]));
        assert_eq!(minimal.ready["server"], format!("{framework}-minimal"));
        for body in [BALANCE, BLOCKS] {
            let (short, whole) = (post(minimal.addr, body), post(server.addr, body));
            assert_eq!(short.json(), whole.json(), "{body}");
            assert!(!same_http || short == whole, "{body}: {:?}", short.content_type);
        }
        assert_eq!((minimal.totals().answered, minimal.totals().errors), (2, 0));
    }

    /// Its answers to both requests of the original test, as JSON.
    ///
    /// # Panics
    /// One is not JSON.
    pub fn original_answers(&self) -> [Value; 2] {
        let server = self.start(&[]);
        [BALANCE, BLOCKS].map(|body| post(server.addr, body).json())
    }
}

/// The tests of a server over HTTP whose framework has no JSON-RPC, with each library for that; `$each` gives the subjects.
#[macro_export]
macro_rules! test_sockets {
    ($each:ident) => {
        $crate::test_sockets! { $each:
            both_requests_of_the_original_test_are_answered assert_original_requests,
            the_largest_answer_arrives_whole assert_largest_answer,
            requests_may_arrive_in_any_pieces assert_any_pieces,
            other_http_has_its_statuses assert_http_statuses,
            the_largest_body_is_taken_and_one_byte_more_is_not assert_body_limit,
            the_chain_may_advance assert_moving_chain,
            sigterm_ends_it_under_an_idle_connection assert_ends_when_idle,
            no_call_is_timed_otherwise assert_times_no_calls,
        }
    };
    ($each:ident: $($name:ident $check:ident),* $(,)?) => {
        $(#[test] fn $name() {
            $each().iter().for_each($crate::testing::sockets::Subject::$check);
        })*
    };
}
