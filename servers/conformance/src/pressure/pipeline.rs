//! Many requests on one connection without waiting for answers.

use std::io::Write;
use std::thread;

use serde_json::Value;
use server_kit::testing::request;

use super::client::{Answer, balance_call, connect};
use super::{Check, Subject};

const REQUESTS: usize = 1_000;

/// Sends them while another thread reads: neither side may have to wait for the other's buffers.
pub fn press(subject: &Subject<'_>, check: &mut Check) {
    let server = subject.start(&[]);
    let mut reader = connect(server.addr).expect("the server accepts");
    let mut writer = reader.try_clone().expect("a socket can be shared");
    let sent: Vec<u8> = (0..REQUESTS).flat_map(|id| request(&balance_call(id))).collect();
    check.figure("requests", REQUESTS as f64, "");
    check.figure("bytes sent", sent.len() as f64, "B");
    let sending = thread::spawn(move || writer.write_all(&sent));
    let in_order = (0..REQUESTS).take_while(|&id| next_id(&mut reader) == Some(Value::from(id))).count();
    let sent = sending.join().expect("the writer does not panic");
    check.figure("answers in order", in_order as f64, "");
    check.demand(sent.is_ok() && in_order == REQUESTS, || format!("{in_order} answers came in order"));
}

/// Reads one answer byte by byte up to its body, so that nothing of the next is taken.
fn next_id(reader: &mut std::net::TcpStream) -> Option<Value> {
    use std::io::Read;
    let mut answer = Answer::default();
    let mut byte = [0];
    while !answer.is_whole() {
        reader.read_exact(&mut byte).ok()?;
        answer.take(&byte);
    }
    let body: Value = serde_json::from_slice(answer.body()).ok()?;
    body["result"]["value"].is_u64().then(|| body["id"].clone())
}
