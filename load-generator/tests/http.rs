//! Over HTTP, and calls that can't be right.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod common;

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{BODY, answer, command, failures, http, http_with_heads, load, number, parsed, response};
use serde_json::json;

#[test]
fn requests_share_connections_and_are_counted() {
    let requests = Arc::new(AtomicU64::new(0));
    let all = requests.clone();
    let url = http(move |request| {
        all.fetch_add(1, SeqCst);
        Some(response("200 OK", &answer(request, &json!(1))))
    });
    let report = load(&url, "--connections 3 --duration 300 --rate 200 --expect 1");
    assert_eq!((number(&report, "/succeeded"), requests.load(SeqCst), failures(&report)), (60, 60, 0));
    assert_eq!((number(&report, "/reconnects"), number(&report, "/connections_lost")), (0, 0));
    let report = load(&url, "--connections 3 --duration 200 --expect 1 --batch 3");
    assert_eq!(number(&report, "/sent"), requests.load(SeqCst) - 60);
    assert_eq!((number(&report, "/succeeded"), failures(&report)), (number(&report, "/sent"), 0));
    assert_eq!(number(&report, "/most_in_flight"), 1);
}

#[test]
fn a_status_a_wrong_id_and_the_end_of_a_connection_are_failures_of_their_kind() {
    let counts = Arc::new([const { AtomicU64::new(0) }; 5]);
    let (all, next) = (counts.clone(), AtomicU64::new(0));
    let url = http(move |request| {
        let kind = next.fetch_add(1, SeqCst) as usize % 5;
        all[kind].fetch_add(1, SeqCst);
        let good = answer(request, &json!(1));
        match kind {
            0 => {
                let text = good.to_string();
                let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
                Some(format!("{head}{:x}\r\n{text}\r\n0\r\n\r\n", text.len()))
            }
            1 => Some(response("503 Service Unavailable", &good)),
            2 => Some(response("200 OK", &json!({ "id": 3_000_000_000_u64, "result": 1 }))),
            3 => Some(response("200 OK\r\nConnection: close", &good)),
            _ => None,
        }
    });
    let report = load(&url, "--connections 2 --duration 300");
    let count = |i: usize| counts[i].load(SeqCst);
    assert_eq!(number(&report, "/succeeded"), count(0) + count(3), "{report}");
    assert_eq!(number(&report, "/failed/HTTP 503"), count(1));
    assert_eq!(number(&report, "/failed/answer to another call"), count(2));
    assert_eq!(number(&report, "/failed/connection lost"), count(4));
    assert!(count(4) > 0 && number(&report, "/connections_lost") >= count(3) + count(4));
}

#[test]
fn a_refused_token_a_limit_and_a_redirect_are_outcomes_with_names() {
    let statuses =
        ["401 Unauthorized", "429 Too Many Requests", "307 Temporary Redirect\r\nLocation: /other"];
    let next = AtomicU64::new(0);
    let url = http(move |_| {
        Some(response(statuses[next.fetch_add(1, SeqCst) as usize % statuses.len()], &json!("no")))
    });
    let report = load(&url, "--duration 1000 --rate 100 --requests 30");
    for status in [401, 429, 307] {
        assert_eq!(number(&report, &format!("/failed/HTTP {status}")), 10, "{report}");
    }
    assert_eq!(
        (number(&report, "/sent"), number(&report, "/succeeded")),
        (30, 0),
        "a redirect is not followed"
    );
}

#[test]
fn what_answers_no_request_ends_the_connection() {
    let next = AtomicU64::new(0);
    let url = http(move |request| {
        let good = response("200 OK", &answer(request, &json!(1)));
        match next.fetch_add(1, SeqCst) % 4 {
            0 => Some(good),
            1 => Some(response("200 OK", &json!({ "method": "POST", "message": "not allowed" }))),
            2 => Some(format!("{good}HTTP/1.1 408 Request Timeout\r\nContent-Length: 9\r\n\r\nhalf")),
            // More than any body.
            _ => Some(
                "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999\r\nConnection: close\r\n\r\n1".to_owned(),
            ),
        }
    });
    let report = load(&url, "--duration 2000 --rate 40 --requests 40");
    assert_eq!(number(&report, "/succeeded"), 20, "{report}");
    assert_eq!(number(&report, "/failed/malformed answer"), 10, "{report}");
    assert_eq!(number(&report, "/failed/connection lost"), 10, "{report}");
    assert_eq!(number(&report, "/connections_lost"), 20, "{report}");
}

#[test]
fn a_connection_that_the_client_closes_carries_one_request() {
    let url = http(|request| Some(response("200 OK", &answer(request, &json!(1)))));
    let mut command = command(&url, "--duration 400 --rate 50");
    let report = parsed(&command.args(["--body", BODY, "--header", "Connection: close"]).output().unwrap());
    assert_eq!((number(&report, "/succeeded"), failures(&report)), (20, 0), "{report}");
    assert!(number(&report, "/reconnects") >= 19, "{report}");
}

#[test]
fn a_token_is_made_again_before_it_is_old_and_a_header_replaces_ours() {
    let heads = Arc::new(Mutex::new(Vec::new()));
    let all = heads.clone();
    let url = http_with_heads(move |head, request| {
        all.lock().unwrap().push(head.to_owned());
        Some(response("200 OK", &answer(request, &json!(1))))
    });
    let args = "--connections 2 --duration 11000 --rate 5 --threads 1";
    let mut command = command(&url, args);
    command.env("SECRET", "7b".repeat(32)).args(["--body", BODY]);
    command.args([
        "--header",
        "Authorization: Bearer ${jwt:SECRET}",
        "--header",
        "Content-Type: application/json-rpc",
    ]);
    let report = parsed(&command.output().unwrap());
    assert_eq!((number(&report, "/succeeded"), failures(&report)), (55, 0), "{report}");
    let heads = heads.lock().unwrap();
    let values = |name: &str| -> Vec<&str> {
        heads.iter().flat_map(|head| head.lines()).filter_map(|line| line.strip_prefix(name)).collect()
    };
    let tokens = values("authorization: bearer ");
    let mut different = tokens.clone();
    different.dedup();
    assert_eq!((tokens.len(), different.len()), (55, 2), "{different:?}");
    assert_eq!(values("content-type: "), vec!["application/json-rpc"; 55]);
}

#[test]
fn a_request_that_times_out_gives_its_connection_up() {
    let next = AtomicU64::new(0);
    let url = http(move |request| {
        if next.fetch_add(1, SeqCst) == 2 {
            std::thread::sleep(Duration::from_millis(700));
        }
        Some(response("200 OK", &answer(request, &json!(1))))
    });
    let report = load(&url, "--duration 900 --timeout 400");
    assert_eq!((number(&report, "/failed/timeout"), failures(&report)), (1, 1));
    assert_eq!((number(&report, "/reconnects"), number(&report, "/late_answers")), (1, 0));
    assert_eq!(number(&report, "/succeeded") + 1, number(&report, "/sent"));
}

#[test]
fn bodies_are_sent_as_they_are_and_no_more_than_were_said() {
    let requests = Arc::new(AtomicU64::new(0));
    let all = requests.clone();
    let url = http(move |request| {
        assert_eq!(request, &serde_json::from_str::<serde_json::Value>(BODY).unwrap());
        all.fetch_add(1, SeqCst);
        Some(response("200 OK", &json!("always the same")))
    });
    let report = load(&url, "--connections 2 --duration 400 --rate 100 --as-is --requests 25");
    assert_eq!((number(&report, "/open/due"), number(&report, "/succeeded"), failures(&report)), (25, 25, 0));
    assert_eq!(requests.load(SeqCst), 25);
}

#[test]
fn a_wrong_call_and_a_server_out_of_reach_are_one_line() {
    // Nobody listens on port 1.
    let (http, ws) = ("http://127.0.0.1:1/", "ws://127.0.0.1:1/");
    let cases = [
        (http, "--in-flight 2 --duration 1 --body", BODY, 2, "--in-flight 2"),
        (ws, "--as-is --duration 1 --body", BODY, 2, "--as-is"),
        (http, "--duration 0 --body", BODY, 2, "--duration"),
        (http, "--duration 1 --body", "[]", 2, "--body, line 1"),
        (http, "--duration 1 --bodies", "/no/such/file", 2, "/no/such/file"),
        (http, "--duration 1 --rate", "5", 2, "nothing to send"),
        (http, "--duration 1 --records /no/such/folder/x --body", BODY, 2, "--records"),
        (http, "--duration 1 --expect nothing --body", BODY, 2, "nothing"),
        (http, "--duration 1 --wrong --body", BODY, 2, "--wrong"),
        ("ftp://a/", "--duration 1 --body", BODY, 2, "https://"),
        (http, "--ca /no/such/file --duration 1 --body", BODY, 2, "--ca"),
        ("https://127.0.0.1:1/", "--ca /no/such/file --duration 1 --body", BODY, 2, "/no/such/file"),
        (http, "--no-resumption --duration 1 --body", BODY, 2, "--no-resumption"),
        ("unix:", "--duration 1 --body", BODY, 2, "unix:PATH"),
        ("unix:/a", "--header A:b --duration 1 --body", BODY, 2, "--header"),
        (http, "--header content-length:5 --duration 1 --body", BODY, 2, "content-length"),
        ("http://a:b@127.0.0.1:1/", "--duration 1 --body", BODY, 2, "Authorization"),
        (http, "--duration 1 --body", BODY, 1, "connection refused"),
        (ws, "--connections 3 --duration 1 --body", BODY, 1, "3 of 3"),
    ];
    for (url, args, last, code, words) in cases {
        let output = command(url, args).arg(last).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), stderr.lines().count()), (Some(code), 1), "{args}: {stderr}");
        assert!(stderr.contains(words) && output.stdout.is_empty(), "{args}: {stderr}");
    }
}
