//! What a wrong command line says, and what a right one means.

use super::*;

fn framework(fixed_backlog: Option<u32>) -> Framework {
    Framework {
        name: "test",
        shipped: Defaults {
            threads: Threads::One,
            backlog: 128,
            tcp_nodelay: false,
            keep_alive_ms: Some(5_000),
            max_connections: Some(100),
            max_body_bytes: 10_000_000,
        },
        fixed_backlog,
        global_queue: false,
        websocket: false,
    }
}

fn read(framework: &Framework, line: &str) -> Result<Parsed<NoFlags>, StartError> {
    parse(framework, std::iter::once("server-test").chain(line.split_whitespace()).map(OsString::from))
}

fn settings(framework: &Framework, line: &str) -> Result<Settings, StartError> {
    match read(framework, line)? {
        Parsed::Run(flags, _) => flags.settings(framework),
        Parsed::Print(text) => panic!("printed {text}"),
    }
}

#[test]
fn equal_is_the_default_and_the_same_for_all() {
    let settings = settings(&framework(None), "").unwrap();
    assert_eq!(settings.listen, "127.0.0.1:8899".parse().unwrap());
    assert_eq!(settings.tuning, Tuning::Equal);
    assert_eq!(settings.threads, std::thread::available_parallelism().unwrap().get());
    assert_eq!(settings.backlog, 1_024);
    assert!(settings.tcp_nodelay);
    assert_eq!((settings.keep_alive_ms, settings.max_connections), (None, None));
    assert_eq!((settings.max_body_bytes, settings.slot_interval_ms), (51_200, 0));
}

#[test]
fn shipped_is_the_frameworks_own_but_for_the_contract() {
    let settings = settings(&framework(None), "--tuning shipped").unwrap();
    assert_eq!((settings.threads, settings.backlog), (1, 128));
    assert!(!settings.tcp_nodelay);
    assert_eq!((settings.keep_alive_ms, settings.max_connections), (Some(5_000), Some(100)));
    assert_eq!(settings.max_body_bytes, 51_200);
}

#[test]
fn a_flag_wins_over_both_tunings() {
    for tuning in ["equal", "shipped"] {
        let line = format!("--tuning {tuning} --threads 3 --backlog 77 --max-body-bytes 9");
        let settings = settings(&framework(None), &line).unwrap();
        assert_eq!((settings.threads, settings.backlog, settings.max_body_bytes), (3, 77, 9));
    }
}

#[test]
fn what_cannot_be_honoured_is_refused_with_the_reason() {
    let fixed = framework(Some(1_024));
    assert_eq!(settings(&fixed, "--tuning shipped").unwrap().backlog, 1_024);
    assert_eq!(settings(&fixed, "--backlog 1024").unwrap().backlog, 1_024);
    let message = settings(&fixed, "--backlog 64").unwrap_err().to_string();
    assert!(message.contains("--backlog 64") && message.contains("1024"), "{message}");
    if let Some(most) = largest_backlog().filter(|most| *most < 1_000_000) {
        let message = settings(&framework(None), &format!("--backlog {}", most + 1)).unwrap_err().to_string();
        assert!(message.contains("somaxconn") && message.contains(&most.to_string()), "{message}");
    }
}

#[test]
fn an_interval_needs_an_own_tokio_runtime() {
    let tokio = Framework { global_queue: true, ..framework(None) };
    let interval = |line| settings(&tokio, line).unwrap().global_queue_interval;
    assert_eq!([interval(""), interval("--global-queue-interval 61")], [None, Some(61)]);
    assert_eq!(settings(&framework(None), "").unwrap().global_queue_interval, None);
    let message = settings(&framework(None), "--global-queue-interval 61").unwrap_err().to_string();
    assert!(message.contains("--global-queue-interval 61") && message.contains("leave"), "{message}");
    assert_eq!(message.lines().count(), 1, "{message:?}");
}

#[test]
fn a_walk_is_in_the_ready_line_as_simulated() {
    let walk = |line| {
        let settings = serde_json::to_value(settings(&framework(None), line).unwrap()).unwrap();
        settings["simulated_walk_ns_per_slot"].clone()
    };
    assert_eq!(walk("--walk-ns-per-slot 129"), 129);
    assert!(walk("").is_null() && walk("--walk-ns-per-slot 0").is_null());
}

#[test]
fn a_mistake_is_one_line_that_names_it() {
    let cases = [
        ("--threads 0", "--threads"),
        ("--threads many", "many"),
        ("--tuning best", "[possible values: equal, shipped]"),
        ("--listen here", "--listen"),
        ("--thread 2", "--threads"),
        ("--ledger x --seed 2", "--seed"),
        ("--blocks paper", "[possible values: memory, redb, rocksdb-filter, rocksdb-take-while]"),
        ("--accounts 0", "--accounts"),
        ("--max-body-bytes -1", "-1"),
        ("--global-queue-interval 0", "--global-queue-interval"),
        ("--walk-ns-per-slot 9999999999", "--walk-ns-per-slot"),
        ("surplus", "surplus"),
        ("--metrics", "--metrics"),
    ];
    for (line, expected) in cases {
        let message = read(&framework(None), line).map(|_| ()).unwrap_err().to_string();
        assert!(message.contains(expected), "{line}: {message:?}");
        assert_eq!(message.lines().count(), 1, "{line}: {message:?}");
        assert!(!message.contains("Usage") && !message.starts_with("error"), "{line}: {message:?}");
    }
}

#[test]
#[cfg(feature = "handicap")]
fn a_handicap_is_a_number_of_rounds() {
    assert_eq!(settings(&framework(None), "").unwrap().handicap_rounds, 0);
    assert_eq!(settings(&framework(None), "--handicap-rounds 7").unwrap().handicap_rounds, 7);
    for wrong in ["-1", "1000000001", "many"] {
        let line = format!("--handicap-rounds {wrong}");
        let message = read(&framework(None), &line).map(|_| ()).unwrap_err().to_string();
        assert!(message.contains(wrong), "{line}: {message:?}");
    }
}

#[test]
#[cfg(not(feature = "handicap"))]
fn a_build_that_is_compared_has_no_handicap() {
    let message = read(&framework(None), "--handicap-rounds 0").map(|_| ()).unwrap_err().to_string();
    assert!(message.contains("unexpected argument '--handicap-rounds'"), "{message}");
}

#[test]
fn help_is_no_mistake() {
    let Ok(Parsed::Print(text)) = read(&framework(None), "--help") else { panic!("not printed") };
    assert!(text.contains("Usage: server-test") && text.contains("--slot-interval-ms"), "{text}");
}
