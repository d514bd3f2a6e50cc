//! Recorded calls: `record` passes clients' calls on and writes them down, and a workload sends them, however many.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use crate::bench::{kill, stderr};
use crate::own_service::{self, AT_A_RATE, Service, TOKEN, holds_none_of};

/// A recorder of that number of calls in front of a service: where it listens, and what it prints from then on.
fn recorder(upstream: &str, to: &Path, calls: u32, more: &[&str]) -> (Child, String, BufReader<ChildStdout>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rpc-bench"));
    command.args(["record", "--upstream", upstream, "--calls", &calls.to_string()]).args(more);
    command.arg("--to").arg(to).env("OWN_TOKEN", TOKEN).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut first = String::new();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut first).unwrap();
    let addr = first.split("http://").nth(1).unwrap().split('/').next().unwrap().to_owned();
    (child, addr, out)
}

/// What a recorder of the service of prices needs: its token, and no heights are kept.
const PRICES: [&str; 4] = ["--header", "Authorization: Bearer ${OWN_TOKEN}", "--leave-out", "hei*"];

/// What a message is answered with.
fn post(addr: &str, method: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(addr).unwrap();
    let length = body.len();
    let head =
        format!("{method} / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n");
    stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn calls_are_passed_on_written_down_and_sent_again() {
    let service = Service::start();
    let corpus = "why = \"a test\"\nrequests = \"calls.jsonl\"\norder = \"file\"\nexpected = \"no error\"\n";
    let Some(bench) = own_service::bench(&service, corpus, AT_A_RATE) else { return };
    let to = bench.path("workloads/calls.jsonl");
    fs::remove_file(&to).unwrap();
    let (child, addr, _out) = recorder(&service.url, &to, 2, &PRICES);
    let price = r#"{"jsonrpc":"2.0","id":7,"method":"price.get","params":{"name":"abcd","token":"hidden"}}"#;
    let answer = post(&addr, "POST", price);
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("\"price\":4"), "{answer}");
    assert!(post(&addr, "POST", r#"{"id":8,"method":"height"}"#).contains("\"id\":8"));
    assert!(post(&addr, "GET", "").starts_with("HTTP/1.1 405"));
    post(&addr, "POST", r#"{"id":9,"method":"price.get","params":["abc"]}"#);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let text = fs::read_to_string(&to).unwrap();
    let lines = [
        r#"{"method":"price.get","params":{"name":"abcd","token":"removed"}}"#,
        r#"{"method":"price.get","params":["abc"]}"#,
    ];
    assert_eq!(text.lines().collect::<Vec<_>>(), lines);
    let ran = own_service::run(&bench, &["run", "tiny"]);
    assert!(ran.status.success(), "{}", stderr(&ran));
    assert!(holds_none_of(&bench.path("results"), &[TOKEN]) > 5);
}

/// A service on a Unix socket that says other things before each answer, and nothing to what has no id.
fn talks_on(path: &Path) {
    let listener = UnixListener::bind(path).unwrap();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let mut client = client.unwrap();
            std::thread::spawn(move || {
                let lines = BufReader::new(client.try_clone().unwrap()).lines();
                for line in lines.map_while(Result::ok) {
                    let call: serde_json::Value = serde_json::from_str(&line).unwrap();
                    let id = &call["id"];
                    if id.is_null() {
                        continue;
                    }
                    let others =
                        format!("\n{{\"method\":\"news\"}}\n\n{{\"id\":{id},\"method\":\"ping\"}}\n");
                    let _ =
                        writeln!(client, "{others}{{\n\"id\":{id},\n\"result\":1}}\n{{\"method\":\"bye\"}}");
                }
            });
        }
    });
}

#[test]
fn each_client_gets_its_own_answer_and_a_notification_gets_none_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("a node.ipc");
    talks_on(&socket);
    let to = folder.path().join("calls.jsonl");
    let (mut child, addr, mut out) = recorder(&format!("unix:{}", socket.display()), &to, 23, &[]);
    let began = Instant::now();
    for body in [r#"{"method":"a"}"#, r#"[{"method":"a"},{"method":"b"}]"#] {
        let answer = post(&addr, "POST", body);
        assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("\r\n\r\n"), "{answer}");
    }
    for id in 1..=20 {
        let answer = post(&addr, "POST", &format!("{{\"id\":{id},\"method\":\"\\u001b[2J\"}}"));
        assert!(answer.contains(&format!("\"id\":{id},\n\"result\":1")), "{answer}");
    }
    // A wait for an answer that never comes takes a minute.
    assert!(began.elapsed() < Duration::from_secs(50), "{:?}", began.elapsed());
    let mut said = String::new();
    out.read_to_string(&mut said).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(said.contains("\\u{1b}[2J (20)") && !said.contains('\u{1b}'), "{said}");
}

#[test]
fn a_file_that_is_there_is_not_written_to() {
    let service = Service::start();
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("calls.jsonl");
    fs::write(&to, "mine").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_rpc-bench"))
        .args(["record", "--upstream", &service.url, "--to"])
        .arg(&to)
        .output()
        .unwrap();
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("choose another --to") && said.lines().count() == 1, "{said}");
    assert!(said.contains(&to.display().to_string()), "{said}");
    assert_eq!(fs::read_to_string(&to).unwrap(), "mine");
}

#[test]
fn no_file_is_left_where_no_call_came() {
    let service = Service::start();
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("calls.jsonl");
    for _ in 0..2 {
        let (child, addr, _out) = recorder(&service.url, &to, 1, &PRICES);
        post(&addr, "POST", r#"{"id":8,"method":"height"}"#);
        kill(child.id() as i32, libc::SIGINT);
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(!to.exists());
    }
}

#[test]
fn a_file_that_is_too_long_to_be_held_is_refused() {
    let service = Service::start();
    let Some(bench) = own_service::bench(&service, &own_service::corpus("file"), AT_A_RATE) else { return };
    let file = fs::File::create(bench.path("workloads/calls.jsonl")).unwrap();
    file.set_len(70 << 20).unwrap();
    let said = stderr(&own_service::run(&bench, &["run", "tiny"]));
    assert!(said.contains("give a shorter one") && said.lines().count() == 1, "{said}");
}
