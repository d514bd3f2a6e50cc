//! What every server counts of its calls with `--metrics-calls`, to the call; and that without it, it times none.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};

use super::sockets::{BALANCE, BLOCKS, HEALTH, Subject};
use super::ws_client::WsConnection;
use super::{Running, get, post};

const WRONG: &str = r#"{"jsonrpc":"2.0","id":"a","method":"getBalance","params":[]}"#;
const UNKNOWN: &str = r#"{"jsonrpc":"2.0","id":1,"method":"nope"}"#;
const NOTIFICATION: &str = r#"{"jsonrpc":"2.0","method":"getHealth"}"#;

/// Calls by method, transport and outcome.
type Calls = BTreeMap<(String, String, String), u64>;

fn metrics(server: &Running) -> String {
    get(server.metrics.expect("started with --metrics"), "/metrics").body
}

/// The value of a label in a line of metrics.
fn label<'a>(line: &'a str, name: &str) -> &'a str {
    let value = line.split_once(&format!("{name}=\"")).and_then(|(_, rest)| rest.split_once('"'));
    value.unwrap_or_else(|| panic!("no {name} in {line}")).0
}

/// What the histogram of durations has counted. Its last bucket holds all.
fn calls(text: &str) -> Calls {
    let of = |start: &str, without: &str| -> Calls {
        let lines = text.lines().filter(|line| line.starts_with(start) && line.contains(without));
        let counted = lines.map(|line| {
            let names =
                ["rpc_method", "network_protocol_name", "outcome"].map(|name| label(line, name).to_owned());
            let count = line.rsplit_once(' ').and_then(|(_, count)| count.parse().ok());
            (names.into(), count.unwrap_or_else(|| panic!("no count in {line}")))
        });
        counted.collect()
    };
    let counts = of("rpc_server_call_duration_seconds_count{", "");
    assert_eq!(of("rpc_server_call_duration_seconds_bucket{", "le=\"+Inf\""), counts, "{text}");
    counts
}

fn expected(transport: &str, counts: &[(&str, &str, u64)]) -> Calls {
    let one = |&(method, outcome, count): &(&str, &str, u64)| {
        ((method.to_owned(), transport.to_owned(), outcome.to_owned()), count)
    };
    counts.iter().map(one).collect()
}

/// Asserts that Prometheus' own check finds no fault in a server's metrics; says so where there is no promtool.
///
/// # Panics
/// It finds one.
pub fn assert_promtool_accepts(text: &str) {
    let promtool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut promtool) = promtool else {
        eprintln!("SKIPPED: promtool check metrics: there is no promtool; install the package prometheus");
        return;
    };
    let mut stdin = promtool.stdin.take().expect("it is piped");
    stdin.write_all(as_classic_text(text).as_bytes()).expect("promtool reads");
    drop(stdin);
    let output = promtool.wait_with_output().expect("promtool ends");
    let said =
        String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.trim().is_empty(), "{said}\n{text}");
}

/// The older text format, the only one that `promtool check metrics` reads: it names a counter's family with `_total`.
fn as_classic_text(text: &str) -> String {
    let counter = |line: &str| Some(line.strip_prefix("# TYPE ")?.strip_suffix(" counter")?.to_owned());
    let counters: Vec<String> = text.lines().filter_map(counter).collect();
    let line = |line: &str| match line.splitn(4, ' ').collect::<Vec<_>>()[..] {
        ["#", kind, name, rest] if counters.iter().any(|counter| counter == name) => {
            format!("# {kind} {name}_total {rest}\n")
        }
        _ => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

impl Subject {
    /// Single calls, batches, errors and unknown names, each to the call.
    ///
    /// # Panics
    /// A count is not what was sent, or Prometheus' own tool finds fault with the text.
    pub fn assert_times_calls(&self) {
        let server = self.start(&["--metrics-calls"]);
        assert_eq!(server.ready["metrics_calls"], true);
        for _ in 0..3 {
            post(server.addr, BALANCE);
        }
        for body in [BLOCKS, HEALTH, WRONG, UNKNOWN, NOTIFICATION, "{", "{}"] {
            post(server.addr, body);
        }
        post(server.addr, &format!("[{HEALTH},{UNKNOWN},{NOTIFICATION},{WRONG},{HEALTH}]"));
        let text = metrics(&server);
        let counts = [
            ("getBalance", "ok", 3),
            ("getBalance", "error", 2),
            ("getBlocks", "ok", 1),
            ("getHealth", "ok", 3),
            ("_OTHER", "error", 2),
        ];
        assert_eq!(calls(&text), expected("http", &counts));
        assert!(text.contains("\nrpc_server_calls_in_flight 0\n"), "{text}");
        assert!(
            text.contains("\nrpc_requests_total 9\n") && text.contains("\nrpc_errors_total 2\n"),
            "{text}"
        );
        assert!(text.contains("\nrpc_server_connections_open "), "{text}");
        assert_promtool_accepts(&text);
    }

    /// The same over WebSocket, next to a call over HTTP.
    ///
    /// # Panics
    /// A count is not what was sent.
    pub fn assert_ws_times_calls(&self) {
        let server = self.start(&["--metrics-calls"]);
        let mut connection = WsConnection::open(&server);
        for body in [BALANCE, WRONG, UNKNOWN, &format!("[{HEALTH},{BALANCE}]")] {
            connection.ask(body);
        }
        post(server.addr, HEALTH);
        let text = metrics(&server);
        let counts = [
            ("getBalance", "ok", 2),
            ("getBalance", "error", 1),
            ("getHealth", "ok", 1),
            ("_OTHER", "error", 1),
        ];
        let mut all = expected("websocket", &counts);
        all.extend(expected("http", &[("getHealth", "ok", 1)]));
        assert_eq!(calls(&text), all);
        let open =
            text.lines().find_map(|line| line.strip_prefix("rpc_server_connections_open ")?.parse().ok());
        assert!(open.is_some_and(|open: u64| open >= 1), "{text}");
    }

    /// Without the flag no call is timed, and the rest is there.
    ///
    /// # Panics
    /// One is, or something is missing.
    pub fn assert_times_no_calls(&self) {
        let server = self.start(&[]);
        post(server.addr, HEALTH);
        let text = metrics(&server);
        assert!(server.ready.get("metrics_calls").is_none() && !text.contains("rpc_server_call"), "{text}");
        for name in ["rpc_requests_total 1", "process_cpu_seconds_total ", "rpc_server_connections_open "] {
            assert!(text.contains(&format!("\n{name}")), "{name}: {text}");
        }
        assert_promtool_accepts(&text);
    }
}
