//! Makes a failing case small: takes away what it fails without, within a bound.

use super::Case;
use super::websocket::{Conversation, Sent};
use super::wire::{Request, Script};

/// How often a smaller body is tried, and how often a smaller script, which may have to wait.
const MOST_TRIES: (usize, usize) = (600, 24);

/// The smallest case found that still fails.
pub fn shrink(case: &Case, fails: impl Fn(&Case) -> bool) -> Case {
    match case {
        Case::Body(request) => Case::Body(body(request, |request| fails(&Case::Body(request)))),
        Case::Raw(found) => Case::Raw(script(found, |script| fails(&Case::Raw(script)))),
        Case::WebSocket(found) => {
            Case::WebSocket(conversation(found, |smaller| fails(&Case::WebSocket(smaller))))
        }
    }
}

/// The usual POST of a payload.
pub fn usual(payload: &[u8]) -> Request {
    Request {
        line: b"POST / HTTP/1.1\r\n".to_vec(),
        headers: vec![
            b"Host: localhost\r\n".to_vec(),
            b"Content-Type: application/json\r\n".to_vec(),
            format!("Content-Length: {}\r\n", payload.len()).into_bytes(),
        ],
        body: payload.to_vec(),
        payload: payload.to_vec(),
        oddity: None,
    }
}

fn body(request: &Request, fails: impl Fn(Request) -> bool) -> Request {
    let payload = &request.payload;
    if !fails(usual(payload)) {
        return request.clone();
    }
    usual(&without_parts(payload, MOST_TRIES.0, |payload| fails(usual(payload))))
}

/// Takes away ever smaller parts of a list as long as it fails without them.
fn without_parts<T: Clone>(list: &[T], most_tries: usize, fails: impl Fn(&[T]) -> bool) -> Vec<T> {
    let (mut best, mut tries) = (list.to_vec(), 0);
    let mut part = best.len().div_ceil(2);
    while part > 0 && tries < most_tries {
        let (mut at, before) = (0, best.len());
        while at < best.len() && tries < most_tries {
            let mut shorter = best.clone();
            shorter.drain(at..(at + part).min(best.len()));
            tries += 1;
            if fails(&shorter) {
                best = shorter;
            } else {
                at += part;
            }
        }
        if best.len() == before || part > 1 {
            part /= 2;
        }
    }
    best
}

fn conversation(found: &Conversation, fails: impl Fn(Conversation) -> bool) -> Conversation {
    let mut best = found.clone();
    let uncut = Conversation { cuts: Vec::new(), ..best.clone() };
    if fails(uncut.clone()) {
        best = uncut;
    }
    best.messages = without_parts(&best.messages, MOST_TRIES.1, |messages| {
        fails(Conversation { messages: messages.to_vec(), ..best.clone() })
    });
    for index in 0..best.messages.len() {
        let whole = |sent: &Sent| Sent { frames: Vec::new(), pings: Vec::new(), ..sent.clone() };
        let mut simpler = best.clone();
        simpler.messages[index] = whole(&best.messages[index]);
        if fails(simpler.clone()) {
            best = simpler;
        }
    }
    best
}

fn script(found: &Script, fails: impl Fn(Script) -> bool) -> Script {
    let mut best = found.clone();
    let whole = Script { cuts: Vec::new(), missing: 0, ..best.clone() };
    for simpler in [Script { cuts: Vec::new(), ..best.clone() }, whole] {
        if fails(simpler.clone()) {
            best = simpler;
        }
    }
    let requests = without_parts(&best.requests, MOST_TRIES.1, |requests| {
        fails(Script { requests: requests.to_vec(), ..best.clone() })
    });
    best.requests = requests;
    for index in 0..best.requests.len() {
        let headers = without_parts(&best.requests[index].headers, MOST_TRIES.1 / 4, |headers| {
            let mut shorter = best.clone();
            shorter.requests[index].headers = headers.to_vec();
            // Without these it would be another case, and be refused for another reason.
            let needed = |request: &Request| request.headers.iter().filter(|line| is_needed(line)).count();
            needed(&shorter.requests[index]) == needed(&best.requests[index]) && fails(shorter)
        });
        best.requests[index].headers = headers;
        if best.requests[index].oddity.is_some() {
            continue;
        }
        let with = |payload: &[u8]| {
            let mut shorter = best.clone();
            shorter.requests[index] = usual(payload);
            shorter
        };
        let payload = &best.requests[index].payload;
        let shorter = without_parts(payload, MOST_TRIES.1 / 4, |payload| fails(with(payload)));
        if shorter.len() < payload.len() {
            best = with(&shorter);
        }
    }
    best
}

fn is_needed(header: &[u8]) -> bool {
    let header = header.to_ascii_lowercase();
    ["host", "content-", "transfer-"].iter().any(|name| header.starts_with(name.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_failure_needs_is_left() {
        let found = Case::Body(usual(b"some text around the x and then the y, and more"));
        let has = |bytes: &[u8], wanted: u8| bytes.contains(&wanted);
        let small = shrink(&found, |case| match case {
            Case::Body(request) => has(&request.body, b'x') && has(&request.body, b'y'),
            Case::Raw(_) | Case::WebSocket(_) => false,
        });
        let Case::Body(small) = small else { unreachable!("a body stays one") };
        assert_eq!(small.body, b"xy");
    }

    #[test]
    fn a_script_loses_requests_and_headers() {
        let found = Script { requests: vec![usual(b"1"), usual(b"bad"), usual(b"2")], ..Script::default() };
        let small = script(&found, |script| script.requests.iter().any(|request| request.body == b"bad"));
        assert_eq!(small.requests.len(), 1);
        assert_eq!(small.requests[0].headers.len(), 3);
    }
}
