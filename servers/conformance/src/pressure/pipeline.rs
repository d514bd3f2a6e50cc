//! Many requests on one connection without waiting for answers.

use std::io::Write;
use std::net::TcpStream;
use std::thread;

use serde_json::Value;
use server_kit::testing::{Answers, connect, request};

use super::client::balance_call;
use super::{Check, Subject};

const REQUESTS: usize = 1_000;

/// Sends them while another thread reads: neither side may have to wait for the other's buffers.
pub fn press(subject: &Subject<'_>, check: &mut Check) {
    let server = subject.server.start_seeded(&[]);
    let mut writer = connect(server.addr).expect("the server accepts");
    let mut reader = Answers::new(writer.try_clone().expect("a socket can be shared"));
    let sent: Vec<u8> = (0..REQUESTS).flat_map(|id| request(&balance_call(id))).collect();
    check.figure("requests", REQUESTS as f64, "");
    check.figure("bytes sent", sent.len() as f64, "B");
    let sending = thread::spawn(move || writer.write_all(&sent));
    let in_order = (0..REQUESTS).take_while(|&id| next_id(&mut reader) == Some(Value::from(id))).count();
    let sent = sending.join().expect("the writer does not panic");
    check.figure("answers in order", in_order as f64, "");
    check.demand(sent.is_ok() && in_order == REQUESTS, || format!("{in_order} answers came in order"));
}

fn next_id(reader: &mut Answers<TcpStream>) -> Option<Value> {
    let body: Value = serde_json::from_slice(&reader.next(false).ok()?.body).ok()?;
    body["result"]["value"].is_u64().then(|| body["id"].clone())
}
