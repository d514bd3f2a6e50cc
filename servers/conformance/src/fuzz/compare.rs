//! Whether answers are the same: status, media type, and the body as JSON or else as bytes.

use serde_json::Value;
use validator_state::{Ledger, MAX_BODY_BYTES, State};

use super::wire::{Answer, End, Exchange, Request};
use crate::servers::oracle_dir;

/// The fourth opinion: what `typed-rpc` says, without a socket.
#[derive(Debug)]
pub struct Node(State);

impl Node {
    /// Over the ledger that the servers hold.
    ///
    /// # Panics
    /// The ledger of the recordings is not there.
    pub fn load() -> Self {
        Self(State::new(Ledger::load(&oracle_dir().join("ledger")).expect("the recordings' ledger is there")))
    }

    /// What the contract says to a POST of a JSON body.
    pub fn answer(&self, payload: &[u8]) -> Answer {
        let text = |status, body: String| Answer { status, media: "text/plain".into(), body: body.into() };
        if payload.len() > MAX_BODY_BYTES {
            return text(413, "request body size exceeds allowed maximum".to_owned());
        }
        match std::str::from_utf8(payload) {
            Err(error) => {
                text(400, format!("utf-8 encoding error at byte {} in request body", error.valid_up_to()))
            }
            Ok(payload) => {
                let mut body = Vec::new();
                typed_rpc::answer(&self.0, payload, &mut body);
                Answer { status: 200, media: "application/json".into(), body }
            }
        }
    }
}

/// Oddities of a request that change the answers to those before it.
const REACHING_BACK: [&str; 7] = [
    "half-close",
    "head-pipelined",
    "http-1.0",
    "http-1.0-keep-alive",
    "close-pipelined",
    "options-asterisk",
    "pipelined-in-pieces",
];

/// Where answers part, and from what.
#[derive(Debug)]
pub struct Difference {
    /// The number of the answer, from 0.
    pub at: usize,
    /// Names of odd requests up to there, and of later ones that reach back: any of them may be the reason.
    pub oddities: Vec<&'static str>,
    /// What was answered there, a line for each opinion.
    pub what: String,
}

/// The first difference between the servers' exchanges, or between them and the node's own words.
pub fn difference(node: &Node, requests: &[Request], got: &[Exchange; 3]) -> Option<Difference> {
    let most = got.iter().map(|exchange| exchange.answers.len()).max().unwrap_or_default();
    for at in 0..most {
        let [first, others @ ..] = got.each_ref().map(|exchange| exchange.answers.get(at));
        let agree = others.iter().all(|other| matches!((first, other), (Some(a), Some(b)) if same(a, b)));
        if !agree {
            return Some(describe(requests, got, at, None));
        }
        // Behind an odd request, the numbers of requests and answers may part.
        let lawful = requests[..requests.len().min(at + 1)].iter().all(|request| request.oddity.is_none());
        let payload = requests.get(at).and_then(|request| request.payload.as_ref());
        if let (true, Some(payload), Some(first)) = (lawful, payload, first) {
            let expected = node.answer(payload);
            if !same(&expected, first) {
                return Some(describe(requests, got, at, Some(&expected)));
            }
        }
    }
    let ends_agree = got.iter().all(|exchange| exchange.end == got[0].end && exchange.end != End::NotHttp);
    (!ends_agree).then(|| describe(requests, got, most, None))
}

fn describe(requests: &[Request], got: &[Exchange; 3], at: usize, expected: Option<&Answer>) -> Difference {
    let names = ["legacy", "jsonrpsee", "actix"];
    let mut what = String::new();
    for (name, exchange) in names.iter().zip(got) {
        let line = match exchange.answers.get(at) {
            Some(answer) => answer.to_string(),
            None => format!("no answer, {:?}", exchange.end),
        };
        what += &format!("  {name:10} {} | {line}\n", outline(exchange));
    }
    if let Some(expected) = expected {
        what += &format!("  {:10} {expected}\n", "typed-rpc");
    }
    let counts = |(index, oddity): &(usize, &str)| *index <= at || REACHING_BACK.contains(oddity);
    let odd = requests.iter().enumerate().filter_map(|(index, request)| Some((index, request.oddity?)));
    let oddities = odd.filter(counts).map(|(_, oddity)| oddity).collect();
    Difference { at, oddities, what }
}

/// An exchange in short: the status codes and the end.
pub fn outline(exchange: &Exchange) -> String {
    let codes: Vec<String> = exchange.answers.iter().map(|answer| answer.status.to_string()).collect();
    let end = match exchange.end {
        End::Closed => "closed",
        End::Open => "open",
        End::NotHttp => "no HTTP",
    };
    format!("{} {end}", codes.join(" ")).trim_start().to_owned()
}

/// Member order, white space and a newline at the end are free.
fn same(one: &Answer, other: &Answer) -> bool {
    if one.status != other.status || one.media != other.media {
        return false;
    }
    if one.body == other.body {
        return true;
    }
    let parse = |answer: &Answer| serde_json::from_slice::<Value>(&answer.body).ok();
    one.media == "application/json" && parse(one).is_some_and(|one| parse(other) == Some(one))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, media: &str, body: &str) -> Answer {
        Answer { status, media: media.to_owned(), body: body.into() }
    }

    #[test]
    fn what_parts_answers() {
        let json = |body| answer(200, "application/json", body);
        assert!(same(&json(r#"{"a":1,"b":[2]}"#), &json("{\"b\": [2], \"a\": 1}\n")));
        assert!(!same(&json(r#"{"a":1}"#), &json(r#"{"a":1.0}"#)));
        assert!(!same(&json("{}"), &json("")));
        assert!(!same(&json("x"), &json("y")));
        assert!(!same(&json("{}"), &answer(200, "text/plain", "{}")));
        assert!(!same(&json("{}"), &answer(400, "application/json", "{}")));
        assert!(!same(&answer(200, "text/plain", "1"), &answer(200, "text/plain", "1 ")));
    }

    #[test]
    fn a_different_server_end_or_node_is_seen() {
        let node = Node::load();
        let payload = br#"{"jsonrpc":"2.0","id":1,"method":"getHealth"}"#.to_vec();
        let right = node.answer(&payload);
        let wrong = answer(200, "application/json", r#"{"jsonrpc":"2.0","id":1,"result":"ill"}"#);
        let requests = [Request { payload: Some(payload), ..Request::default() }];
        let said = |answer: &Answer, end| Exchange { answers: vec![answer.clone()], end };
        let ask = |legacy, jsonrpsee, actix| difference(&node, &requests, &[legacy, jsonrpsee, actix]);
        let fine = || said(&right, End::Closed);
        assert!(ask(fine(), fine(), fine()).is_none());
        assert!(ask(fine(), fine(), said(&wrong, End::Closed)).is_some());
        assert!(ask(fine(), said(&right, End::Open), fine()).is_some());
        assert!(ask(fine(), fine(), Exchange { answers: vec![], end: End::Closed }).is_some());
        let all_wrong = || said(&wrong, End::Closed);
        assert!(ask(all_wrong(), all_wrong(), all_wrong()).is_some());
    }
}
