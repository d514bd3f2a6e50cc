//! Bodies: requests and batches written from a grammar, recorded bodies with a few changes, and broken ones.

use std::sync::OnceLock;

use serde_json::Value;
use validator_state::Method;

use super::json::{deep, list, number, space, text, value};
use super::random::Random;
use crate::servers::oracle_dir;

/// The longest body that every server reads; longer ones belong to [`super::heads`].
const MOST_BYTES: usize = validator_state::MAX_BODY_BYTES;

const KEYS: &[&str] = &[
    "4EVAJ81v9fLjz2wp44SZmxgTbvYB8dBRZ6s1SAqP99eZ",
    "294YgFBTPkr98zU1VS2YMtsfg874AyDazLXugX5LLda8",
    "11111111111111111111111111111111",
    "9B5XszUGdMaxCZ7uSQhPzdks5ZQSmWxrmzCSvtJ6Ns6g",
];

const COMMITMENTS: &[&str] =
    &["processed", "confirmed", "finalized", "recent", "max", "root", "single", "singleGossip", "Finalized"];

/// Inserted into bodies by mutation.
const TOKENS: &[&[u8]] = &[
    b"null",
    b"\"",
    b"[",
    b"]",
    b"{",
    b"}",
    b",",
    b":",
    b"\\",
    b"\\u",
    b"1e400",
    b"-",
    b"0",
    b"\xff",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\xef\xbb\xbf",
    b"\x00",
    b"\n",
    b"\x0c",
    b"\"id\":1,",
    b"\"jsonrpc\":\"2.0\",",
    b"\"params\":[],",
    b"\"a\":",
    b"[]",
    b"{}",
];

/// A body of at most the contract's limit.
pub fn body(random: &mut Random) -> Vec<u8> {
    let mut body = match random.below(20) {
        0..=4 => valid(random).into_bytes(),
        5..=9 => request(random).into_bytes(),
        10..=11 => batch(random).into_bytes(),
        12..=15 => mutated(random, recorded),
        16..=17 => mutated(random, |random| valid(random).into_bytes()),
        18 => mutated(random, |random| batch(random).into_bytes()),
        _ => value(random, 4).into_bytes(),
    };
    if random.one_in(3_000) {
        let length = MOST_BYTES - random.below(2);
        body.resize(length.max(body.len()), b' ');
    }
    body.truncate(MOST_BYTES);
    body
}

/// A request without a fault.
fn valid(random: &mut Random) -> String {
    let method = Method::ALL[random.below(Method::ALL.len())];
    let id = id(random);
    valid_call(random, method, &id)
}

/// A request without a fault of that id, or a batch of them, whose ids begin with it.
pub fn numbered(random: &mut Random, id: usize) -> String {
    let call = |random: &mut Random, id: &str| {
        let method = Method::ALL[random.below(Method::ALL.len())];
        valid_call(random, method, id)
    };
    if random.one_in(6) {
        let calls: Vec<String> =
            (0..1 + random.below(4)).map(|entry| call(random, &format!("{id}{entry}"))).collect();
        return format!("[{}]", calls.join(","));
    }
    call(random, &id.to_string())
}

fn id(random: &mut Random) -> String {
    match random.below(4) {
        0 => format!("\"{}\"", random.below(1_000)),
        1 => random.number().to_string(),
        _ => "1".to_owned(),
    }
}

fn valid_call(random: &mut Random, method: Method, id: &str) -> String {
    let params = match method {
        Method::GetHealth | Method::GetVersion => random.pick(&["", "[]", "null"]).to_owned(),
        _ => params(random, method, true),
    };
    let params = if params.is_empty() { params } else { format!(",\"params\":{params}") };
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\"{params}}}")
}

/// Parameters that the method takes, or, unless `valid`, parameters near them.
fn params(random: &mut Random, method: Method, valid: bool) -> String {
    let odd = |random: &mut Random| !valid && random.one_in(4);
    let mut items = Vec::new();
    let slot = |random: &mut Random| random.pick(&["0", "5", "56", "400", "424", "1000000"]).to_owned();
    match method {
        Method::GetBalance => items.push(format!("\"{}\"", random.pick(KEYS))),
        Method::GetBlocks => items.push(slot(random)),
        Method::GetBlocksWithLimit => items.extend([slot(random), random.below(40).to_string()]),
        _ => {}
    }
    if method == Method::GetBlocks && random.one_in(2) {
        items.push(slot(random));
    }
    if random.one_in(2) {
        items.push(config(random, valid));
    }
    for item in &mut items {
        if odd(random) {
            *item = value(random, 2);
        }
    }
    if odd(random) {
        items.push(value(random, 2));
    }
    if odd(random) {
        items.pop();
    }
    let count = items.len();
    let mut items = items.into_iter();
    list(random, '[', count, ']', |_| items.next().unwrap_or_default())
}

fn config(random: &mut Random, valid: bool) -> String {
    let count = random.below(if valid { 2 } else { 5 });
    list(random, '{', count, '}', |random| {
        let name = match random.below(6) {
            0..=2 => "\"commitment\"".to_owned(),
            3 | 4 => "\"minContextSlot\"".to_owned(),
            _ if valid => "\"encoding\"".to_owned(),
            _ => text(random),
        };
        let given = match random.below(if valid { 2 } else { 4 }) {
            0 | 1 if name.contains("Slot") => {
                random.pick(&["0", "1", "424", "455", "456", "null"]).to_owned()
            }
            0 | 1 => format!("\"{}\"", random.pick(COMMITMENTS)),
            2 => number(random),
            _ => value(random, 2),
        };
        format!("{name}{}:{}{given}", space(random), space(random))
    })
}

/// A request with any number of faults.
fn request(random: &mut Random) -> String {
    let method = Method::ALL[random.below(Method::ALL.len())];
    let params = match random.below(6) {
        0 => value(random, 3),
        1 => list(random, '[', 2, ']', |random| value(random, 3)),
        _ => params(random, method, false),
    };
    let name = match random.below(8) {
        0 => text(random),
        1 => value(random, 1),
        2 => format!("\"\\u0067{}\"", &method.name()[1..]),
        _ => format!("\"{method}\""),
    };
    let version = if random.one_in(8) { value(random, 1) } else { "\"2.0\"".to_owned() };
    let id = match random.below(8) {
        0 | 1 => number(random),
        2 | 3 => text(random),
        4 => value(random, 2),
        _ => "1".to_owned(),
    };
    if random.one_in(20) {
        let mut parts = vec![version, name, params, id];
        parts.truncate(4 - if random.one_in(3) { random.below(4) } else { 0 });
        if random.one_in(8) {
            parts.push(value(random, 1));
        }
        return format!("[{}]", parts.join(","));
    }
    let mut members = vec![("jsonrpc", version), ("method", name), ("params", params), ("id", id)];
    if random.one_in(5) {
        members.remove(random.below(members.len()));
    }
    if random.one_in(8) {
        let twice = random.below(members.len());
        let again = if random.one_in(2) { members[twice].1.clone() } else { value(random, 2) };
        members.push((members[twice].0, again));
    }
    if random.one_in(10) {
        let name = random.pick(&["x", "", "result", "error", "ID", "Method", "param", "jsonrpc "]);
        members.push((name, value(random, 2)));
    }
    if random.one_in(3) {
        let (from, to) = (random.below(members.len()), random.below(members.len()));
        members.swap(from, to);
    }
    let count = members.len();
    let mut members = members.into_iter();
    let body = list(random, '{', count, '}', |random| {
        let (name, value) = members.next().unwrap_or_default();
        let name = if random.one_in(40) && !name.is_empty() {
            format!("\\u{:04x}{}", u32::from(name.as_bytes()[0]), &name[1..])
        } else {
            name.to_owned()
        };
        format!("\"{name}\"{}:{}{value}", space(random), space(random))
    });
    format!("{}{body}{}", space(random), space(random))
}

fn batch(random: &mut Random) -> String {
    let count = match random.below(40) {
        0 => 98 + random.below(5),
        1 => 0,
        _ => 1 + random.below(5),
    };
    let body = list(random, '[', count, ']', |random| match random.below(8) {
        0 => value(random, 2),
        1 => format!("{{\"jsonrpc\":\"2.0\",\"method\":{}}}", text(random)),
        2 | 3 if count < 10 => request(random),
        _ => valid(random),
    });
    format!("{}{body}{}", space(random), space(random))
}

/// The body of a recorded request.
fn recorded(random: &mut Random) -> Vec<u8> {
    static BODIES: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    let bodies = BODIES.get_or_init(|| {
        let rows = std::fs::read_to_string(oracle_dir().join("agave-2.3.13.jsonl"));
        let rows = rows.expect("the recordings are in this crate");
        let body = |row: &str| serde_json::from_str::<Value>(row).ok()?["body"].as_str().map(Vec::from);
        rows.lines().filter_map(body).filter(|body| body.len() < 4_000).collect()
    });
    bodies[random.below(bodies.len())].clone()
}

/// A body with a few changes, sometimes none.
fn mutated(random: &mut Random, source: impl Fn(&mut Random) -> Vec<u8>) -> Vec<u8> {
    let mut body = source(random);
    for _ in 0..random.below(4) {
        if body.is_empty() {
            break;
        }
        let at = random.below(body.len());
        let upto = (at + 1 + random.below(12)).min(body.len());
        match random.below(10) {
            0 => body.truncate(at),
            1 | 2 => drop(body.drain(at..upto)),
            3 => {
                let copy = body[at..upto].to_vec();
                body.splice(at..at, copy);
            }
            4 | 5 => drop(body.splice(at..at, random.pick(TOKENS).iter().copied())),
            6 => body[at] ^= 1 << random.below(8),
            7 => body[at] = random.number() as u8,
            8 => {
                // Another value in the place of a number.
                if let Some(digit) = body[at..].iter().position(u8::is_ascii_digit) {
                    let value = value(random, 2).into_bytes();
                    drop(body.splice(at + digit..=at + digit, value));
                }
            }
            _ => {
                let other = if random.one_in(2) { source(random) } else { deep(random).into_bytes() };
                drop(body.splice(at..upto, other));
            }
        }
    }
    body
}
