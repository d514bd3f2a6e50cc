//! Drives the fuzzer: starts the servers, sends them cases from several workers, judges what comes back, and makes what
//! fails small.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use server_kit::testing::Running;

use super::Case;
use super::shrink::shrink;
use super::websocket::{self, Conversation, Sent};
use super::wire::{Answer, Client, End, Exchange, Request, Script};
use crate::judge::Node;
use crate::servers::{JSONRPSEE, Server};
use crate::well_formed::parse;

/// Cases that a worker draws at once; their bodies share a pipeline.
const BLOCK: u64 = 256;

/// Findings after which a run ends.
const MOST_FINDINGS: usize = 12;

/// The longest body that hyper has in any case when its head was read, or with one read more: its first buffer has twice that.
const ONE_READ: usize = 4_096;

/// How long a server may be silent: at first, and before a fault is believed.
const SILENCE: (Duration, Duration) = (Duration::from_millis(400), Duration::from_secs(2));

/// How long a case is made smaller; each try of one that is not answered takes a silence.
const MOST_SHRINKING: Duration = Duration::from_secs(30);

/// What to run.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// The seed of every case.
    pub seed: u64,
    /// The number of the first case.
    pub first: u64,
    /// The most cases.
    pub cases: u64,
    /// The most time.
    pub time: Duration,
    /// Blocks sent at the same time.
    pub workers: usize,
}

/// A fault of a server.
#[derive(Debug)]
pub struct Finding {
    /// The case's number.
    pub number: u64,
    /// The server, the smallest form of the case, and what was answered to that.
    pub text: String,
}

/// What came of a run.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Cases of bodies, cases of raw HTTP, and cases of WebSocket.
    pub cases: (u64, u64, u64),
    /// Requests sent to each server.
    pub requests: u64,
    /// Faults that were not there when the same case was sent again.
    pub unsteady: u64,
    /// Faults, one of each sort.
    pub findings: Vec<Finding>,
    /// Further ones of the same sorts.
    pub repeated: u64,
    /// How long it took.
    pub duration: Duration,
}

/// A server and its process.
pub type Subject = (&'static Server, Running);

/// The servers, and what their answers are judged by.
#[derive(Debug)]
pub struct Subjects {
    /// Each with its process.
    pub servers: Vec<Subject>,
    node: Node,
    /// Sorts of faults that were found.
    sorts: Mutex<BTreeSet<String>>,
}

impl Subjects {
    /// Starts the servers over the recordings' ledger.
    ///
    /// # Panics
    /// One can't be started.
    pub fn start(servers: &'static [Server]) -> Self {
        let servers = servers.iter().map(|server| (server, server.start_with_ws(&[]))).collect();
        Self { servers, node: Node::load(), sorts: Mutex::default() }
    }

    fn addrs(&self) -> impl Iterator<Item = SocketAddr> {
        self.servers.iter().map(|(_, running)| running.addr)
    }

    /// What each server answers to one case alone, on fresh connections.
    pub fn answers<'a>(&'a self, case: &Case) -> Vec<(&'a str, Exchange)> {
        let answer = |subject: &'a Subject| (subject.0.name.as_str(), self.send(subject, case, SILENCE.1));
        self.servers.iter().map(answer).collect()
    }

    /// The fault of an exchange, if it has one.
    pub fn fault(&self, server: &str, case: &Case, got: &Exchange) -> Option<String> {
        match case {
            Case::Body(request) => self.body_fault(server, request, got),
            Case::Raw(script) => self.script_fault(server, script, got),
            Case::WebSocket(_)
                if self.servers.iter().any(|subject| subject.0.name == server && !has_websocket(subject)) =>
            {
                None
            }
            Case::WebSocket(conversation) => websocket::fault(&self.node, server, conversation, got),
        }
    }

    fn body_fault(&self, server: &str, request: &Request, got: &Exchange) -> Option<String> {
        match got.answers.first() {
            Some(answer) => self.node.fault(server, request, answer),
            None => Some(format!("no answer, {:?}", got.end)),
        }
    }

    /// Where all requests are valid HTTP and come at once, each has its answer. After an odd one the numbers of requests and
    /// answers may part, actix-http answers earlier requests by the newest head that it has read, and it closes behind a
    /// pipelined request whose body came in pieces. jsonrpsee refuses a body by its first bytes, so that hyper closes where
    /// it has not read the rest by then: one in chunks, or a long one.
    fn script_fault(&self, server: &str, script: &Script, got: &Exchange) -> Option<String> {
        if got.end == End::NotHttp {
            return Some("not HTTP".to_owned());
        }
        let is_usual = |request: &Request| {
            let is_long = server == JSONRPSEE && request.payload.len() > ONE_READ;
            let comes_in_pieces = is_long || request.body != request.payload;
            request.oddity.is_none() && !(comes_in_pieces && parse(&request.payload).is_none())
        };
        let (last, others) = script.requests.split_last()?;
        let ends = last.headers.iter().any(|header| header == b"Connection: close\r\n");
        if ends && !script.half_close && script.cuts.is_empty() && others.iter().all(is_usual) {
            let pairs = script.requests.iter().zip(&got.answers);
            let fault = pairs.clone().find_map(|(request, answer)| self.node.fault(server, request, answer));
            let is_whole = got.answers.len() == script.requests.len() && got.end == End::Closed;
            return fault
                .or_else(|| (!is_whole).then(|| format!("{} answers, {:?}", got.answers.len(), got.end)));
        }
        let payloads: Vec<&[u8]> = script.requests.iter().map(|request| request.payload.as_slice()).collect();
        got.answers.iter().find_map(|answer| {
            let is_known = |request: &Request| crate::judge::is_known(server, request, answer.status);
            if answer.status >= 500 && !script.requests.iter().any(is_known) {
                return Some(format!("status {}", answer.status));
            }
            self.node.wrong_result(&payloads, &answer.body)
        })
    }

    /// Runs a plan.
    ///
    /// # Panics
    /// A worker did.
    pub fn run(&self, plan: Plan) -> Outcome {
        let started = Instant::now();
        let (next, outcome) = (AtomicU64::new(plan.first), Mutex::new(Outcome::default()));
        std::thread::scope(|scope| {
            for _ in 0..plan.workers {
                scope.spawn(|| {
                    let mut clients: Vec<Client> = self.addrs().map(Client::new).collect();
                    let last = plan.first + plan.cases;
                    while started.elapsed() < plan.time {
                        let from = next.fetch_add(BLOCK, Ordering::Relaxed);
                        if from >= last || outcome.lock().unwrap().findings.len() >= MOST_FINDINGS {
                            break;
                        }
                        self.block(plan.seed, from..last.min(from + BLOCK), &mut clients, &outcome);
                    }
                });
            }
        });
        let mut outcome = outcome.into_inner().unwrap();
        outcome.duration = started.elapsed();
        outcome
    }

    /// Sends a block of cases to all servers at once.
    fn block(
        &self,
        seed: u64,
        numbers: std::ops::Range<u64>,
        clients: &mut [Client],
        outcome: &Mutex<Outcome>,
    ) {
        let cases: Vec<(u64, Case)> = numbers.map(|number| (number, Case::new(seed, number))).collect();
        let got: Vec<Vec<Exchange>> = std::thread::scope(|scope| {
            let sent: Vec<_> = clients
                .iter_mut()
                .zip(&self.servers)
                .map(|(client, subject)| {
                    let cases = &cases;
                    scope.spawn(move || self.send_block(client, subject, cases))
                })
                .collect();
            sent.into_iter().map(|server| server.join().expect("a client does not panic")).collect()
        });
        for (_, case) in &cases {
            outcome.lock().unwrap().count(case);
        }
        for (subject, exchanges) in self.servers.iter().zip(got) {
            for ((number, case), exchange) in cases.iter().zip(exchanges) {
                if let Some(fault) = self.fault(&subject.0.name, case, &exchange) {
                    let verdict = self.weigh(subject, (*number, case), &fault);
                    outcome.lock().unwrap().take(verdict);
                }
            }
        }
    }

    /// What a fault is worth.
    fn weigh(&self, subject: &Subject, (number, case): (u64, &Case), found: &str) -> Verdict {
        let server = subject.0.name.as_str();
        let again = |case: &Case, silence| self.fault(server, case, &self.send(subject, case, silence));
        // A server that was only slow has no fault.
        if again(case, SILENCE.1).is_none() {
            return Verdict::Unsteady;
        }
        let sort = found.chars().filter(|character| !character.is_ascii_digit()).take(60).collect::<String>();
        if !self.sorts.lock().unwrap().insert(format!("{server} {sort}")) {
            return Verdict::Repeated;
        }
        let until = Instant::now() + MOST_SHRINKING;
        let small = shrink(case, |case| Instant::now() < until && again(case, SILENCE.0).is_some());
        let got = self.send(subject, &small, SILENCE.1);
        let fault = self.fault(server, &small, &got).unwrap_or_else(|| found.to_owned());
        let text = format!("{server}: {fault}\n{}\n  {}", show(&small), outline(&got));
        // At once, for a run that is cut off.
        eprintln!("FAULT, case {number}, {text}");
        Verdict::Finding(Finding { number, text })
    }

    /// One case on fresh connections.
    fn send(&self, subject: &Subject, case: &Case, silence: Duration) -> Exchange {
        let (_, running) = subject;
        match case {
            Case::Raw(script) => Client::new(running.addr).play(script, silence),
            Case::Body(request) => exchange(Client::new(running.addr).pipeline(&[request]).pop()),
            Case::WebSocket(_) if !has_websocket(subject) => Exchange::new([], End::Open),
            Case::WebSocket(conversation) => websocket::play(&self.node, running, conversation, silence),
        }
    }

    /// All bodies of a block in one pipeline, and each other case by itself; in the order of the cases.
    fn send_block(&self, client: &mut Client, subject: &Subject, cases: &[(u64, Case)]) -> Vec<Exchange> {
        let bodies: Vec<&Request> = cases
            .iter()
            .filter_map(|(_, case)| if let Case::Body(request) = case { Some(request) } else { None })
            .collect();
        let mut answers = client.pipeline(&bodies).into_iter();
        let send = |(_, case): &(u64, Case)| match case {
            Case::Body(_) => exchange(answers.next()),
            _ => self.send(subject, case, SILENCE.0),
        };
        cases.iter().map(send).collect()
    }
}

/// A server without WebSocket is sent none.
fn has_websocket((_, running): &Subject) -> bool {
    !running.ready["ws"].is_null()
}

enum Verdict {
    Unsteady,
    Repeated,
    Finding(Finding),
}

impl Outcome {
    fn count(&mut self, case: &Case) {
        self.requests += case.requests();
        match case {
            Case::Body(_) => self.cases.0 += 1,
            Case::Raw(_) => self.cases.1 += 1,
            Case::WebSocket(_) => self.cases.2 += 1,
        }
    }

    fn take(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Repeated => self.repeated += 1,
            Verdict::Unsteady => self.unsteady += 1,
            Verdict::Finding(finding) => self.findings.push(finding),
        }
    }
}

/// One answer of a pipeline: whether the connection stays open shows at the next.
fn exchange(answer: Option<Result<Answer, End>>) -> Exchange {
    match answer {
        Some(Ok(answer)) => Exchange::new([answer], End::Open),
        Some(Err(end)) => Exchange::new([], end),
        None => Exchange::new([], End::Closed),
    }
}

/// What came of a case, as text.
pub fn outline(got: &Exchange) -> String {
    let answers: Vec<String> = got.answers.iter().map(ToString::to_string).collect();
    format!("{} | {:?}", answers.join(" | "), got.end)
}

/// A case as text that can be pasted into a test.
pub fn show(case: &Case) -> String {
    let show = |bytes: &[u8]| {
        let text = bytes.escape_ascii().to_string();
        if text.len() > 3_000 { format!("{}… ({} bytes)", &text[..1_500], bytes.len()) } else { text }
    };
    match case {
        Case::Body(request) => show(&request.bytes()),
        Case::Raw(script) => {
            let Script { cuts, half_close, missing, .. } = script;
            let oddities: Vec<&str> = script.requests.iter().filter_map(|request| request.oddity).collect();
            let note = format!("{oddities:?}, cuts {cuts:?}, missing {missing}, half-close {half_close}");
            format!("{}\n  {note}", show(&script.bytes()))
        }
        Case::WebSocket(Conversation { messages, cuts, damage }) => {
            let say = |sent: &Sent| {
                let Sent { payload, binary, frames, pings } = sent;
                let pings: Vec<usize> = (0..pings.len()).filter(|at| pings[*at].is_some()).collect();
                format!("{}\n  binary {binary}, frames {frames:?}, pings before {pings:?}\n", show(payload))
            };
            let said: String = messages.iter().map(say).collect();
            format!("{said}  WebSocket, cuts {cuts:?}, damage {damage:?}")
        }
    }
}
