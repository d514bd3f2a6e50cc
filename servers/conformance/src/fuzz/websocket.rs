//! WebSocket around bodies: several messages on one connection, none waiting for an answer, in frames and writes of any size, with
//! pings between. Answers are matched to calls as a whole, id and all, since servers may answer in any order.

use std::time::Duration;

use serde_json::Value;
use server_kit::testing::Running;
use server_kit::testing::ws_client::{
    BINARY, CONTINUES, ENDS, Message, PING, TEXT, TEXT_BEGINS, WsConnection, WsEnd, frame_bytes,
};

use super::bodies::{body, numbered};
use super::heads::HEALTH;
use super::random::Random;
use super::wire::{Answer, End, Exchange};
use crate::judge::Node;
use crate::servers::LEGACY;
use crate::well_formed::parse;

/// Frames of a message that jsonrpc-ws-server takes; it ends the connection at a third.
const LEGACY_FRAMES: usize = 2;

/// Bytes that jsonrpc-ws-server's buffer takes before it begins again at its start. It waits for ever for the rest of a frame's
/// head that goes across that end.
const LEGACY_BUFFER: usize = 2_048;

/// A message, and how it is sent.
#[derive(Debug, Clone, Default)]
pub struct Sent {
    /// What it says.
    pub payload: Vec<u8>,
    /// Whether its frames say that it is no text.
    pub binary: bool,
    /// Where it is cut into frames.
    pub frames: Vec<usize>,
    /// The payloads of pings, each before the frame of its position; those behind the last come after it.
    pub pings: Vec<Option<Vec<u8>>>,
}

/// What is sent on one connection.
#[derive(Debug, Clone, Default)]
pub struct Conversation {
    /// One after another, none waiting for an answer.
    pub messages: Vec<Sent>,
    /// Where the bytes are cut into writes with a short pause between.
    pub cuts: Vec<usize>,
    /// A bit of the bytes that is turned round, if any: its byte and its place in that.
    pub damage: Option<(usize, u8)>,
}

impl Sent {
    fn bytes(&self) -> Vec<u8> {
        let ends = self.frames.iter().copied().chain([self.payload.len()]);
        let starts = [0].into_iter().chain(self.frames.iter().copied());
        let (begins, whole) = if self.binary { (BINARY & 0x7f, BINARY) } else { (TEXT_BEGINS, TEXT) };
        let mut out = Vec::new();
        for (index, (start, end)) in starts.zip(ends).enumerate() {
            out.extend(self.ping_bytes(index));
            let head = match (index, self.frames.len()) {
                (0, 0) => whole,
                (0, _) => begins,
                (last, count) if last == count => ENDS,
                _ => CONTINUES,
            };
            out.extend(frame_bytes(head, &self.payload[start..end]));
        }
        out.extend(self.ping_bytes(self.frames.len() + 1));
        out
    }

    fn ping_bytes(&self, before: usize) -> Vec<u8> {
        self.pings.get(before).and_then(Option::as_ref).map_or_else(Vec::new, |ping| frame_bytes(PING, ping))
    }
}

impl Conversation {
    /// All bytes.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes: Vec<u8> = self.messages.iter().flat_map(Sent::bytes).collect();
        if let Some(byte) = self.damage.and_then(|(at, bit)| bytes.get_mut(at).map(|byte| (byte, bit))) {
            *byte.0 ^= 1 << byte.1;
        }
        bytes
    }

    fn last_ping(&self) -> Option<&Vec<u8>> {
        self.messages.iter().flat_map(|message| &message.pings).flatten().last()
    }

    /// Whether a server may leave the connection before it has answered everything.
    fn may_end(&self, server: &str) -> bool {
        let is_long = |message: &Sent| message.frames.len() >= LEGACY_FRAMES;
        let is_legacys = || self.messages.iter().any(is_long) || self.bytes().len() > LEGACY_BUFFER;
        self.damage.is_some() || (server == LEGACY && is_legacys())
    }

    /// The answers that have to come, in any order.
    fn expected(&self, node: &Node) -> Vec<Value> {
        let answer = |message: &Sent| Some(node.answer(&parse(&message.payload)?));
        self.messages.iter().filter_map(answer).collect()
    }
}

/// Some messages on one connection.
pub fn conversation(random: &mut Random) -> Conversation {
    let count = random.below(6);
    let mut messages: Vec<Sent> = (0..count).map(|id| message(random, id)).collect();
    messages.push(Sent { payload: HEALTH.to_vec(), ..Sent::default() });
    let mut conversation = Conversation { messages, ..Conversation::default() };
    let length = conversation.bytes().len();
    if random.one_in(2) {
        conversation.cuts = (0..1 + random.below(6)).map(|_| random.below(length)).collect();
        conversation.cuts.sort_unstable();
    }
    if random.one_in(25) {
        conversation.damage = Some((random.below(length), random.below(8) as u8));
    }
    conversation
}

fn message(random: &mut Random, id: usize) -> Sent {
    let payload = match random.below(3) {
        // What is no text ends a connection, and is sent by damage alone.
        0 => Some(body(random)).filter(|body| std::str::from_utf8(body).is_ok()),
        _ => None,
    };
    let payload = payload.unwrap_or_else(|| numbered(random, 100 + id).into_bytes());
    let cuts = match random.below(12) {
        0..=6 => 0,
        7..=10 => 1,
        _ => 2 + random.below(3),
    };
    let mut frames: Vec<usize> = (0..cuts).map(|_| random.below(payload.len() + 1)).collect();
    frames.sort_unstable();
    let ping = |random: &mut Random| {
        random.one_in(4).then(|| (0..random.below(126)).map(|_| random.number() as u8).collect::<Vec<u8>>())
    };
    let pings = (0..frames.len() + 2).map(|_| ping(random)).collect();
    Sent { payload, binary: random.one_in(5), frames, pings }
}

/// Sends a conversation on a connection of its own, and reads until every answer that has to come has come; `silence` is how
/// long a server may do nothing before it is taken to have no more to say.
pub fn play(node: &Node, running: &Running, sent: &Conversation, silence: Duration) -> Exchange {
    let mut got = Exchange { answers: Vec::new(), pongs: Vec::new(), end: End::Open };
    let Ok(mut connection) = WsConnection::try_open(running) else {
        return Exchange { end: End::Closed, ..got };
    };
    let bytes = sent.bytes();
    let mut from = 0;
    for end in sent.cuts.iter().copied().chain([bytes.len()]).filter(|end| *end <= bytes.len()) {
        if end > from {
            // That a server closes before the end is the server's to say.
            let _closed = connection.send_raw(&bytes[from..end]);
            from = end;
            std::thread::sleep(Duration::from_micros(if end < bytes.len() { 400 } else { 0 }));
        }
    }
    let mut missing = sent.expected(node);
    while !missing.is_empty() || got.pongs.last() != sent.last_ping() {
        match connection.receive_within(silence) {
            None => return got,
            Some(Ok(Message::Pong(payload))) => got.pongs.push(payload.to_vec()),
            Some(Ok(other)) => {
                let body = other.into_data().to_vec();
                if let Ok(answer) = serde_json::from_slice::<Value>(&body)
                    && let Some(at) = missing.iter().position(|wanted| *wanted == answer)
                {
                    missing.swap_remove(at);
                }
                got.answers.push(Answer { status: 200, media: "application/json".to_owned(), body });
            }
            Some(Err(WsEnd::Broken)) => return Exchange { end: End::NotHttp, ..got },
            Some(Err(_)) => return Exchange { end: End::Closed, ..got },
        }
    }
    got
}

/// What is wrong with what a server made of a conversation, if anything is.
pub fn fault(node: &Node, server: &str, sent: &Conversation, got: &Exchange) -> Option<String> {
    if got.end == End::NotHttp {
        return Some("not WebSocket".to_owned());
    }
    if sent.damage.is_some() {
        // A call may have become another one.
        return None;
    }
    let answers = got.answers.iter().map(|answer| serde_json::from_slice::<Value>(&answer.body));
    let Ok(mut answers) = answers.collect::<Result<Vec<Value>, _>>() else {
        return Some("an answer is no JSON".to_owned());
    };
    let expected = sent.expected(node);
    let others = sent.messages.len() - expected.len();
    if !sent.may_end(server) {
        for wanted in expected {
            let Some(at) = answers.iter().position(|answer| *answer == wanted) else {
                return Some(format!("no {wanted}"));
            };
            answers.swap_remove(at);
        }
        if answers.len() > others {
            return Some(format!("{} answers to {others} other messages", answers.len()));
        }
        if got.pongs.last() != sent.last_ping() {
            return Some("the last ping is not answered".to_owned());
        }
    }
    let payloads: Vec<&[u8]> = sent.messages.iter().map(|message| message.payload.as_slice()).collect();
    answers.iter().find_map(|answer| node.wrong_result(&payloads, answer.to_string().as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(answers: &[&str]) -> Exchange {
        let answer =
            |body: &&str| Answer { status: 200, media: String::new(), body: body.as_bytes().to_vec() };
        Exchange { answers: answers.iter().map(answer).collect(), pongs: Vec::new(), end: End::Open }
    }

    fn saying(payloads: &[&str]) -> Conversation {
        let message = |payload: &&str| Sent { payload: payload.as_bytes().to_vec(), ..Sent::default() };
        Conversation { messages: payloads.iter().map(message).collect(), ..Conversation::default() }
    }

    #[test]
    fn every_call_needs_its_own_answer_and_no_other_may_come() {
        let node = Node::load();
        let call = |id| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"getHealth"}}"#);
        let ok = |id| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"ok"}}"#);
        let sent = saying(&[&call(1), &call(2), "{"]);
        let fault = |answers: &[&str]| fault(&node, LEGACY, &sent, &exchange(answers));
        assert_eq!(fault(&[&ok(2), &ok(1)]), None);
        assert_eq!(fault(&[&ok(2), r#"{"error":{"code":-32700},"id":null}"#, &ok(1)]), None);
        for wrong in [vec![ok(1)], vec![ok(1), ok(1)], vec![ok(1), ok(3)], vec![ok(1), ok(2), ok(2), ok(2)]] {
            let wrong: Vec<&str> = wrong.iter().map(String::as_str).collect();
            assert!(fault(&wrong).is_some(), "{wrong:?}");
        }
        assert!(fault(&[&ok(1), &ok(2), &ok(3)]).is_some_and(|fault| fault.contains("wrong result")));
    }

    #[test]
    fn a_ping_needs_a_pong() {
        let node = Node::load();
        let mut sent = saying(&[]);
        sent.messages.push(Sent {
            payload: HEALTH.to_vec(),
            pings: vec![Some(b"x".to_vec())],
            ..Sent::default()
        });
        let mut got = exchange(&[r#"{"jsonrpc":"2.0","id":1,"result":"ok"}"#]);
        assert!(fault(&node, LEGACY, &sent, &got).is_some());
        got.pongs.push(b"x".to_vec());
        assert_eq!(fault(&node, LEGACY, &sent, &got), None);
    }

    #[test]
    fn messages_are_cut_into_frames() {
        let sent = Sent { payload: b"abc".to_vec(), frames: vec![1, 2], ..Sent::default() };
        let frames: [&[u8]; 3] =
            [&frame_bytes(TEXT_BEGINS, b"a"), &frame_bytes(CONTINUES, b"b"), &frame_bytes(ENDS, b"c")];
        assert_eq!(sent.bytes(), frames.concat());
        let pinged = Sent {
            pings: vec![None, Some(b"p".to_vec())],
            ..Sent { payload: b"a".to_vec(), ..Sent::default() }
        };
        assert_eq!(pinged.bytes(), [frame_bytes(TEXT, b"a"), frame_bytes(PING, b"p")].concat());
    }
}
