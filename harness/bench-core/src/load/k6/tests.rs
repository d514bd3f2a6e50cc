use super::*;
use crate::load::{LoadSample, UserStage};
use crate::workload::requests::Known;

/// Two users over two seconds: the clock began at 1,000,000 µs, the third request failed, and the fifth had no end.
const CSV: &str = include_str!("../../../tests/fixtures/k6-samples.csv");

fn load() -> Load {
    let stages = vec![UserStage { users: 2, duration_ms: 2_000 }];
    Load { connections: 2, duration_ms: 2_000, timeout_ms: 500, stages, ..Load::default() }
}

fn files(dir: &std::path::Path, csv: &str) -> Files {
    let answered = dir.join("k6.answered");
    std::fs::write(&answered, csv).unwrap();
    Files {
        requests: dir.join("k6.requests"),
        answered,
        template: dir.join("k6.js"),
        printed: dir.join("k6.json"),
        expected: dir.join("k6.expected"),
    }
}

fn read(csv: &str, summary: &str) -> Result<LoadSample> {
    let dir = tempfile::tempdir().unwrap();
    match K6.read(&load(), 0, &files(dir.path(), csv), &mut summary.as_bytes())? {
        Reading::Sample(sample) => Ok(*sample),
        Reading::Records(..) => panic!("k6 has no records"),
    }
}

fn summary(requests: u32) -> String {
    json!({
        LATENCY: { "type": "trend", "values": { "count": requests, "avg": 1.0 } },
        "data_received": { "values": { "count": 700.0, "rate": 350.0 } },
        "vus": { "values": { "value": 1 } },
    })
    .to_string()
}

#[test]
fn samples_become_figures_and_a_course() {
    let sample = read(CSV, &summary(4)).unwrap();
    assert_eq!((sample.succeeded, sample.failures(), sample.bytes_read), (3, 1, 700));
    assert_eq!(sample.failed["wrong answer"], 1);
    assert_eq!((sample.latency_us.p50, sample.latency_us.max), (2_000.0, 50_000.0));
    assert!((sample.requests_per_second() - 1.5).abs() < 1e-9, "{sample:?}");
    let staged = sample.staged.unwrap();
    assert_eq!((staged.left, staged.connect_us.unwrap().p50), (1, 500.0));
    assert_eq!(staged.send_lag_us.unwrap().max, 300.0);
    let [first, second] = staged.seconds.as_slice() else { panic!("{:?}", staged.seconds) };
    assert_eq!((first.users, first.requests, first.failed), (Some(2), 2, 0));
    assert_eq!((first.p50_us, first.p99_us), (Some(1_500.0), Some(4_000.0)));
    assert_eq!((second.users, second.requests, second.failed), (Some(1), 2, 1));
}

#[test]
fn what_is_cut_off_gives_no_figures() {
    let said = |csv: &str, summary: &str| {
        let error = format!("{:#}", read(csv, summary).unwrap_err());
        assert_eq!(error.lines().count(), 1, "{error}");
        error
    };
    assert!(said(CSV, "").contains("k6 printed no summary"));
    assert!(said(CSV, &summary(5)).contains("5 requests and its samples 4"));
    assert!(said("metric_name,timestamp\n", &summary(0)).contains("no column metric_value"));
    assert!(said(&CSV.replace("0.300000", "soon"), &summary(4)).contains("row 10: \"soon\" is no number"));
    let headers = CSV.lines().next().unwrap();
    assert!(said(headers, &summary(0)).contains("no user came"));
    let began = format!("{headers}\nrpc_began,1200000,200.0,,\n");
    assert!(said(&began, &summary(0)).contains("no request of any user ended"));
}

#[test]
fn the_script_gets_the_request_the_answer_and_the_stages() {
    let dir = tempfile::tempdir().unwrap();
    let files = files(dir.path(), "");
    let stages = [(3, 1_000), (1, 500)].map(|(users, duration_ms)| UserStage { users, duration_ms });
    let load = Load { stages: stages.into(), ..load() };
    let known = |body: &str, result: u64| Known {
        body: body.to_owned(),
        truth: json!({ "result": result }).into(),
        answer: None,
        share: 1.0,
    };
    let body = r#"{"id":1,"method":"getSlot"}"#;
    let prepared = |known: &[Known]| {
        let job = Job { load: &load, url: "ws://a:1/", files: &files, known, connecting_ms: None };
        K6.prepare(&job, &mut Bodies::One(body))
    };
    let other = r#"{"id":2,"method":"getHealth"}"#;
    let invocation = prepared(&[known(body, 7), known(other, 8)]).unwrap();
    let written: Value = serde_json::from_str(&std::fs::read_to_string(&files.requests).unwrap()).unwrap();
    assert_eq!(written["stages"], json!([[3, 1_000], [1, 500]]));
    let of = |user: usize| {
        (&written["requests"][user]["request"]["method"], &written["requests"][user]["expected"]["result"])
    };
    assert_eq!([of(0), of(1)], [(&json!("getSlot"), &json!(7)), (&json!("getHealth"), &json!(8))]);
    assert!(invocation.args.iter().any(|arg| arg.ends_with("k6.html")), "{:?}", invocation.args);
    for body in ["", "[]", "getSlot"] {
        assert!(prepared(&[known(body, 7)]).unwrap_err().to_string().contains("its own id"));
    }
    assert!(prepared(&[]).unwrap_err().to_string().contains("no request"));
}

#[test]
fn what_k6_always_says_is_nothing() {
    let usual = "setTimeout 3 was stopped because the VU iteration was interrupted\nNo script iterations fully \
        finished, consider\n";
    assert!(K6.said_nothing(usual) && K6.said_nothing(""));
    assert!(!K6.said_nothing(&format!("{usual}wrong answer: {{}}\n")));
}
