//! The kit as whoever starts a server sees it: ready line, refusals, counters, signals.
#![allow(clippy::unwrap_used, reason = "a test's helpers may fail loudly")]

use std::io::Read;
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;

use server_kit::testing::{self, Running, refusal};

fn hello() -> PathBuf {
    testing::example("hello")
}

fn oracle_ledger() -> String {
    format!("{}/../conformance/oracle/ledger", env!("CARGO_MANIFEST_DIR"))
}

fn greeting(addr: SocketAddr) -> String {
    let mut text = String::new();
    TcpStream::connect(addr).unwrap().read_to_string(&mut text).unwrap();
    text
}

#[test]
fn the_ready_line_says_every_setting_that_holds() {
    let args = ["--threads", "3", "--backlog", "64", "--accounts", "10", "--slots", "40", "--seed", "5"];
    let server = Running::start(&hello(), &args);
    let ready = &server.ready;
    assert_eq!((&ready["ready"], &ready["server"]), (&true.into(), &"hello".into()));
    assert_eq!(ready["pid"], server.pid());
    assert_eq!((&ready["threads"], &ready["backlog"]), (&3.into(), &64.into()));
    assert_eq!((&ready["tuning"], &ready["tcp_nodelay"]), (&"equal".into(), &true.into()));
    assert!(ready["keep_alive_ms"].is_null() && ready["max_connections"].is_null());
    assert!(ready["global_queue_interval"].is_null() && ready["simulated_walk_ns_per_slot"].is_null());
    assert_eq!((&ready["max_body_bytes"], &ready["slot_interval_ms"]), (&51_200.into(), &0.into()));
    assert_eq!(ready["blocks"], "memory");
    let allocator = if cfg!(feature = "jemalloc") { "jemalloc" } else { "system" };
    assert_eq!(ready["allocator"], allocator);
    assert_eq!(ready["stay"], false, "a flag of the binary's own");
    assert_eq!(ready["ledger"]["accounts"], 10);
    assert_eq!(ready["ledger"]["sha256"].as_str().map(str::len), Some(64));
    assert!(ready["open_files"].as_u64().is_some_and(|limit| limit > 0) && ready["metrics"].is_null());
    assert!(ready["ws"].is_null(), "it takes no WebSocket connections");
    assert_eq!(greeting(server.addr), "hello\n");
}

#[test]
fn shipped_settings_are_printed_as_they_are() {
    let ready = &Running::start(&hello(), &["--tuning", "shipped"]).ready;
    assert_eq!((&ready["threads"], &ready["backlog"]), (&1.into(), &128.into()));
    assert_eq!((&ready["tuning"], &ready["tcp_nodelay"]), (&"shipped".into(), &false.into()));
    assert_eq!(ready["max_connections"], 1);
}

#[test]
fn the_same_ledger_has_the_same_checksum() {
    let sum = |args: &[&str]| Running::start(&hello(), args).ready["ledger"].clone();
    let ledger = oracle_ledger();
    assert_eq!(sum(&["--ledger", &ledger]), sum(&["--ledger", &ledger]));
    assert_eq!(sum(&["--accounts", "9", "--seed", "7"]), sum(&["--accounts", "9", "--seed", "7"]));
    assert_ne!(sum(&["--accounts", "9", "--seed", "7"]), sum(&["--accounts", "9", "--seed", "8"]));
}

#[test]
fn what_is_wrong_is_refused_in_one_line() {
    assert!(refusal(&hello(), &["--tuning", "best"]).starts_with("server-hello: "));
    let message = refusal(&hello(), &["--ledger", "no-such-folder"]);
    assert!(message.contains("--ledger") && message.contains("no-such-folder"), "{message}");
    if cfg!(not(feature = "calls")) {
        let message = refusal(&hello(), &["--metrics", "127.0.0.1:0", "--metrics-calls"]);
        assert!(message.contains("--metrics-calls") && message.contains("--features calls"), "{message}");
    }
    let message = refusal(&hello(), &["--listen", "192.0.2.1:0"]);
    assert!(message.contains("192.0.2.1:0"), "{message}");
}

#[test]
fn a_block_store_that_cannot_be_served_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let spec = validator_state::SeededSpec { accounts: 1, slots: 900, seed: 1 };
    block_stores::write_ledger(folder.path(), &spec).unwrap();
    let ledger = folder.path().to_str().unwrap();
    let served = Running::start(&hello(), &["--blocks", "redb", "--ledger", ledger]);
    assert_eq!((&served.ready["blocks"], &served.ready["ledger"]["accounts"]), (&"redb".into(), &1.into()));
    let moving = ["--blocks", "redb", "--ledger", ledger, "--slot-interval-ms", "5"];
    let message = refusal(&hello(), &moving);
    assert!(message.contains("--blocks redb") && message.contains("--slot-interval-ms"), "{message}");
    let message = refusal(&hello(), &["--blocks", "redb"]);
    assert!(message.contains("--blocks redb") && message.contains("--ledger"), "{message}");
    if cfg!(not(feature = "rocksdb")) {
        let message = refusal(&hello(), &["--blocks", "rocksdb-filter", "--ledger", ledger]);
        assert!(message.contains("rocksdb-filter") && message.contains("just build-rocksdb"), "{message}");
    }
    let missing = ["--blocks", "redb", "--ledger", &oracle_ledger()];
    let message = refusal(&hello(), &missing);
    assert!(message.contains("roots.redb") && message.contains("just ledger"), "{message}");
    std::fs::OpenOptions::new()
        .write(true)
        .open(folder.path().join("roots.redb"))
        .unwrap()
        .set_len(5_000)
        .unwrap();
    let message = refusal(&hello(), &["--blocks", "redb", "--ledger", ledger]);
    assert!(message.contains("roots.redb") && message.contains("cut short"), "{message}");
}

#[test]
fn a_port_in_use_is_refused_and_named() {
    let first = Running::start(&hello(), &["--metrics", "127.0.0.1:0"]);
    let addr = first.addr.to_string();
    let message = refusal(&hello(), &["--listen", &addr]);
    assert!(
        message.contains(&addr) && message.contains("in use") && message.contains("--listen"),
        "{message}"
    );
    let addr = first.metrics.unwrap().to_string();
    let message = refusal(&hello(), &["--metrics", &addr]);
    assert!(
        message.contains(&addr) && message.contains("in use") && message.contains("--metrics"),
        "{message}"
    );
}

#[test]
fn only_loopback_is_listened_on_without_a_word() {
    let help = String::from_utf8(testing::run_to_end(&hello(), &["--help"]).stdout).unwrap();
    assert!(help.contains("[default: 127.0.0.1:8899]"), "{help}");
    let server = Running::start(&hello(), &["--metrics", "127.0.0.1:0"]);
    assert_eq!(server.stop_for_stderr(), "");
    let server = Running::start(&hello(), &["--listen", "0.0.0.0:0"]);
    let addr = server.addr.to_string();
    let stderr = server.stop_for_stderr();
    assert!(
        stderr.lines().count() == 1 && stderr.contains(&addr) && stderr.contains("other machines"),
        "{stderr}"
    );
    let server = Running::start(&hello(), &["--metrics", "0.0.0.0:0"]);
    let addr = server.metrics.unwrap().to_string();
    let stderr = server.stop_for_stderr();
    assert!(stderr.lines().count() == 1 && stderr.contains(&addr), "{stderr}");
}

#[test]
fn counts_are_on_the_admin_address() {
    let server = Running::start(&hello(), &["--metrics", "127.0.0.1:0"]);
    assert_eq!(server.totals().answered, 0);
    for _ in 0..3 {
        greeting(server.addr);
    }
    assert_eq!((server.totals().answered, server.totals().errors), (3, 0));
}

#[test]
fn both_signals_end_it_with_exit_code_0() {
    assert_eq!(Running::start(&hello(), &[]).stop_gracefully().code(), Some(0));
    let server = Running::start(&hello(), &[]);
    server.signal("INT");
    assert_eq!(server.wait_for_end().code(), Some(0));
}

#[test]
fn a_server_that_cannot_drain_ends_all_the_same() {
    assert_eq!(Running::start(&hello(), &["--stay"]).stop_gracefully().code(), Some(0));
    let server = Running::start(&hello(), &["--stay"]);
    server.signal("TERM");
    server.signal("INT");
    assert_eq!(server.wait_for_end().code(), Some(0));
}

#[test]
fn a_binary_can_have_flags_of_its_own() {
    let help = testing::run_to_end(&hello(), &["--help"]);
    assert_eq!(help.status.code(), Some(0));
    let text = String::from_utf8(help.stdout).unwrap();
    assert!(text.contains("--stay") && text.contains("--tuning"), "{text}");
}
