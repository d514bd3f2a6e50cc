//! The requests of one connection: when the next may be sent, which are in flight, and how they end. Knows nothing of a transport.
//!
//! Request `k` of a connection has the number `k * connections + place`, and its ids follow from that, so that an answer names
//! its request without a table. In an open loop the numbers of all connections in their order are due at even times.

use std::collections::{HashSet, VecDeque};
use std::rc::Rc;

use crate::bodies::Message;
use crate::outcome::Outcome;
use crate::stats::{Record, count};
use crate::worker::Worker;

/// Characters of a request and of its answer that an example shows.
const SHOWN: usize = 160;

/// Whether a connection may send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// A request may be sent.
    Now,
    /// Not before something happens: an answer, or a request that becomes due.
    Later,
    /// Not any more.
    Never,
}

/// A request that was sent.
#[derive(Debug)]
struct Slot {
    sent_ns: u64,
    due_ns: Option<u64>,
    own_lag_ns: Option<u64>,
    open: bool,
}

/// The requests of a connection.
#[derive(Debug)]
pub struct Requests {
    worker: Rc<Worker>,
    place: u32,
    /// The next to be sent.
    next: u64,
    /// Those sent, from the oldest that is open; the last is that before `next`.
    slots: VecDeque<Slot>,
    in_flight: u32,
    /// Since when there has been a free slot.
    free_since_ns: u64,
    /// Those that timed out and whose answers may still come.
    timed_out: HashSet<u64>,
    /// Requests that were answered.
    answered: u64,
}

impl Slot {
    fn ended(&self, connection: u32, ended_ns: u64, outcome: Outcome, bytes: u64) -> Record {
        let Self { sent_ns, due_ns, own_lag_ns, .. } = *self;
        Record { connection, due_ns, sent_ns: Some(sent_ns), ended_ns, own_lag_ns, outcome, bytes }
    }
}

impl Requests {
    /// Of the connection with this place among all that were established.
    pub fn new(worker: Rc<Worker>, place: u32) -> Self {
        let (slots, timed_out) = (VecDeque::new(), HashSet::new());
        Self { worker, place, next: 0, slots, in_flight: 0, free_since_ns: 0, timed_out, answered: 0 }
    }

    /// Requests that were answered, with whatever.
    pub fn answered(&self) -> u64 {
        self.answered
    }

    /// Whether one may be sent.
    pub fn turn(&self, now_ns: u64) -> Turn {
        let worker = &self.worker;
        if worker.plan.idle {
            return Turn::Never;
        }
        let due_ns = self.due_ns();
        // Requests that are due may be sent for a short time after the window.
        let last_ns = if due_ns.is_some() { worker.sends_until_ns() } else { worker.end_ns() };
        if due_ns.unwrap_or(0) >= worker.end_ns() || now_ns >= last_ns {
            Turn::Never
        } else if self.in_flight == worker.plan.in_flight || due_ns.is_some_and(|due_ns| due_ns > now_ns) {
            Turn::Later
        } else {
            Turn::Now
        }
    }

    /// Whether the connection has nothing more to do.
    pub fn finished(&self, now_ns: u64) -> bool {
        self.in_flight == 0 && now_ns >= self.worker.end_ns() && self.turn(now_ns) == Turn::Never
    }

    fn number(&self) -> u64 {
        self.number_of(self.next)
    }

    fn due_ns(&self) -> Option<u64> {
        self.worker.plan.due_ns(self.number())
    }

    /// The text of the next request, which counts as sent.
    pub fn send(&mut self, now_ns: u64) -> String {
        let Worker { bodies, plan, .. } = &*self.worker;
        let text = if plan.as_is { bodies.as_is(self.number()) } else { bodies.request(self.number()) };
        let due_ns = self.due_ns();
        let own_lag_ns = due_ns.map(|due_ns| self.own_lag_ns(due_ns, now_ns));
        self.slots.push_back(Slot { sent_ns: now_ns, due_ns, own_lag_ns, open: true });
        self.next += 1;
        self.in_flight += 1;
        let mut stats = self.worker.stats.borrow_mut();
        stats.sent += 1;
        stats.most_in_flight = stats.most_in_flight.max(self.in_flight);
        if let (Some(due_ns), Some(own_lag_ns)) = (due_ns, own_lag_ns) {
            if self.free_since_ns <= due_ns {
                count(&mut stats.own_lag, own_lag_ns);
            } else {
                stats.held += 1;
            }
        }
        text
    }

    /// For how long the request that was due has waited although a slot was free.
    fn own_lag_ns(&self, due_ns: u64, now_ns: u64) -> u64 {
        if self.free_since_ns <= due_ns { now_ns - due_ns } else { 0 }
    }

    /// The number of a request of this connection among all.
    fn number_of(&self, request: u64) -> u64 {
        request * u64::from(self.worker.connections()) + u64::from(self.place)
    }

    /// Takes a message from the server. Where it can only be the answer to the oldest request, as over HTTP, `only` says so.
    pub fn receive(&mut self, now_ns: u64, text: &str, only: bool) {
        let bytes = text.len() as u64;
        let oldest = self.next - self.slots.len() as u64;
        match self.worker.bodies.read(text) {
            Message::Answer(number, outcome) => {
                let connections = u64::from(self.worker.connections());
                let mine = number % connections == u64::from(self.place);
                let place = number / connections;
                if mine && place >= oldest && self.is_open(place) {
                    self.note(place, outcome, text);
                    self.end(place, now_ns, outcome, bytes);
                } else if mine && self.timed_out.remove(&place) {
                    self.worker.stats.borrow_mut().late += 1;
                } else {
                    self.unmatched(now_ns, Outcome::OtherCall, text, only);
                }
            }
            // Over HTTP there are none: it is an answer like none.
            Message::Notification if only => self.unmatched(now_ns, Outcome::Malformed, text, only),
            Message::Notification => self.worker.stats.borrow_mut().notifications += 1,
            Message::Unmatched(outcome) => self.unmatched(now_ns, outcome, text, only),
        }
    }

    /// The oldest request ended with an answer that is not read as JSON-RPC.
    pub fn answer_oldest(&mut self, now_ns: u64, outcome: Outcome, text: &str) {
        self.note(self.oldest(), outcome, text);
        self.end_oldest(now_ns, outcome, text.len() as u64);
    }

    fn oldest(&self) -> u64 {
        self.next - self.slots.len() as u64
    }

    fn end_oldest(&mut self, now_ns: u64, outcome: Outcome, bytes: u64) {
        self.end(self.oldest(), now_ns, outcome, bytes);
    }

    /// Keeps the first answer of each kind that is no right one.
    fn note(&self, request: u64, outcome: Outcome, text: &str) {
        let mut stats = self.worker.stats.borrow_mut();
        if outcome != Outcome::Answered && !stats.examples.contains_key(&outcome) {
            let sent = self.worker.bodies.request(self.number_of(request));
            stats.examples.insert(outcome, format!("{} to {}", beginning(text), beginning(&sent)));
        }
    }

    fn unmatched(&mut self, now_ns: u64, outcome: Outcome, text: &str, only: bool) {
        if only && self.in_flight > 0 {
            self.answer_oldest(now_ns, outcome, text);
        } else {
            self.worker.stats.borrow_mut().unmatched += 1;
        }
    }

    fn is_open(&self, request: u64) -> bool {
        let oldest = self.next - self.slots.len() as u64;
        self.slots.get((request - oldest) as usize).is_some_and(|slot| slot.open)
    }

    /// Ends an open request.
    fn end(&mut self, request: u64, now_ns: u64, outcome: Outcome, bytes: u64) {
        let oldest = self.next - self.slots.len() as u64;
        let Some(slot) = self.slots.get_mut((request - oldest) as usize) else { return };
        slot.open = false;
        let record = slot.ended(self.place, now_ns, outcome, bytes);
        while self.slots.front().is_some_and(|slot| !slot.open) {
            self.slots.pop_front();
        }
        if self.in_flight == self.worker.plan.in_flight {
            self.free_since_ns = now_ns;
        }
        self.in_flight -= 1;
        if matches!(outcome, Outcome::Timeout) {
            self.timed_out.insert(request);
        } else {
            self.answered += 1;
        }
        let method = self.worker.bodies.method_of(self.number_of(request));
        self.worker.stats.borrow_mut().ended(record, method);
    }

    /// When the oldest open request times out.
    pub fn deadline_ns(&self) -> Option<u64> {
        self.slots.front().map(|slot| slot.sent_ns.saturating_add(self.worker.plan.timeout_ns))
    }

    /// Ends those that have timed out, and gives their number.
    pub fn expire(&mut self, now_ns: u64) -> u32 {
        let mut expired = 0;
        // Requests time out in the order in which they were sent, and the oldest slot is always open.
        while self.deadline_ns().is_some_and(|deadline_ns| deadline_ns <= now_ns) {
            self.end_oldest(now_ns, Outcome::Timeout, 0);
            expired += 1;
        }
        expired
    }

    /// Ends all that are in flight: their connection has ended, or the run.
    pub fn give_up(&mut self, now_ns: u64, outcome: Outcome) {
        let oldest = self.oldest();
        for (slot, request) in std::mem::take(&mut self.slots).into_iter().zip(oldest..) {
            if slot.open {
                let method = self.worker.bodies.method_of(self.number_of(request));
                let record = slot.ended(self.place, now_ns, outcome, 0);
                self.worker.stats.borrow_mut().ended(record, method);
            }
        }
        self.in_flight = 0;
        // Not before there is a connection again.
        self.free_since_ns = u64::MAX;
        self.timed_out.clear();
    }

    /// The connection was established again.
    pub fn reconnected(&mut self, now_ns: u64) {
        self.free_since_ns = now_ns;
    }

    /// Counts what was due and never sent.
    pub fn finish(&mut self, now_ns: u64) {
        while let Some(due_ns) = self.due_ns()
            && due_ns < self.worker.end_ns()
        {
            let own_lag_ns = Some(self.own_lag_ns(due_ns, now_ns));
            let (due_ns, sent_ns, ended_ns) = (Some(due_ns), None, now_ns);
            let (connection, outcome, bytes) = (self.place, Outcome::NotSent, 0);
            let record = Record { connection, due_ns, sent_ns, ended_ns, own_lag_ns, outcome, bytes };
            let method = self.worker.bodies.method_of(self.number());
            self.worker.stats.borrow_mut().ended(record, method);
            self.next += 1;
        }
    }
}

/// As much of a text as an example shows, in one line.
fn beginning(text: &str) -> String {
    let mut shown: String = text.chars().take(SHOWN).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    shown
}
