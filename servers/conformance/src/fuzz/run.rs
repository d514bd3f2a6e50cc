//! Drives the fuzzer: starts the servers, sends them cases from several workers, weighs what comes back, and makes what
//! fails small.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use server_kit::testing::Running;

use super::Case;
use super::compare::{Difference, Node, difference};
use super::rows::excuse;
use super::shrink::shrink;
use super::wire::{Answer, Client, End, Exchange, Request, Script};
use crate::servers;

/// Cases that a worker draws at once; their bodies share a pipeline.
const BLOCK: u64 = 256;

/// Cases asked at the same time.
const WORKERS: usize = 8;

/// Findings after which a run ends.
const MOST_FINDINGS: usize = 12;

/// How long a server may be silent: at first, and before a difference is believed.
const SILENCE: (Duration, Duration) = (Duration::from_millis(400), Duration::from_millis(2_000));

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
}

/// A difference that no row excuses.
#[derive(Debug)]
pub struct Finding {
    /// The case's number.
    pub number: u64,
    /// The smallest form of it, and what was answered to that.
    pub text: String,
}

/// What came of a run.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Cases of bodies, and cases of raw HTTP.
    pub cases: (u64, u64),
    /// Requests sent to each server.
    pub requests: u64,
    /// Differences that rows excuse, by oddity.
    pub listed: BTreeMap<&'static str, u64>,
    /// Differences that were not there when the same case was asked again.
    pub unsteady: u64,
    /// Differences that no row excuses, one of each sort.
    pub findings: Vec<Finding>,
    /// Further ones of the same sorts, which were not looked into.
    pub repeated: u64,
    /// How long it took.
    pub duration: Duration,
}

/// The three servers, and what their answers are weighed with.
#[derive(Debug)]
pub struct Subjects {
    /// legacy, jsonrpsee, actix.
    pub running: [Running; 3],
    node: Node,
    /// Sorts of differences that were found.
    sorts: Mutex<BTreeSet<String>>,
}

impl Subjects {
    /// Starts the servers over the recordings' ledger.
    ///
    /// # Panics
    /// One can't be started.
    pub fn start() -> Self {
        let running = servers::ALL.each_ref().map(|server| server.start(&[]));
        Self { running, node: Node::load(), sorts: Mutex::default() }
    }

    /// Where they answer.
    pub fn addrs(&self) -> [SocketAddr; 3] {
        self.running.each_ref().map(|running| running.addr)
    }

    /// Asks one case alone, on fresh connections.
    pub fn ask(&self, case: &Case, silence: Duration) -> [Exchange; 3] {
        self.addrs().map(|addr| match case {
            Case::Raw(script) => Client::new(addr).play(script, silence),
            Case::Body(request) => exchange(Client::new(addr).pipeline(&[request]).pop()),
        })
    }

    /// The difference that a case shows when it is asked alone.
    pub fn difference(&self, case: &Case, silence: Duration) -> Option<Difference> {
        difference(&self.node, requests(case), &self.ask(case, silence))
    }

    /// Runs a plan.
    ///
    /// # Panics
    /// A worker did.
    pub fn run(&self, plan: Plan) -> Outcome {
        let started = Instant::now();
        let (next, outcome) = (AtomicU64::new(plan.first), Mutex::new(Outcome::default()));
        std::thread::scope(|scope| {
            for _ in 0..WORKERS {
                scope.spawn(|| {
                    let mut clients = self.addrs().map(Client::new);
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

    /// Asks a block of cases of all servers at once.
    fn block(
        &self,
        seed: u64,
        numbers: std::ops::Range<u64>,
        clients: &mut [Client; 3],
        outcome: &Mutex<Outcome>,
    ) {
        let cases: Vec<(u64, Case)> = numbers.map(|number| (number, Case::new(seed, number))).collect();
        let got: Vec<Vec<Exchange>> = std::thread::scope(|scope| {
            let asked: Vec<_> =
                clients.iter_mut().map(|client| scope.spawn(|| ask_block(client, &cases))).collect();
            asked.into_iter().map(|server| server.join().expect("a client does not panic")).collect()
        });
        let [legacy, jsonrpsee, actix]: [Vec<Exchange>; 3] = got.try_into().expect("there are three servers");
        let answered = legacy.into_iter().zip(jsonrpsee).zip(actix);
        for ((number, case), ((legacy, jsonrpsee), actix)) in cases.iter().zip(answered) {
            let difference = difference(&self.node, requests(case), &[legacy, jsonrpsee, actix]);
            let verdict = difference.map(|difference| self.weigh(*number, case, difference));
            outcome.lock().unwrap().take(case, verdict);
        }
    }

    /// What a difference is worth.
    fn weigh(&self, number: u64, case: &Case, found: Difference) -> Verdict {
        if let Some(row) = excuse(&found) {
            return Verdict::Listed(row.oddities[0]);
        }
        // A server that was only slow is no other server.
        match self.difference(case, SILENCE.1) {
            None => return Verdict::Unsteady,
            Some(again) => {
                if let Some(row) = excuse(&again) {
                    return Verdict::Listed(row.oddities[0]);
                }
            }
        }
        let sort = match case {
            Case::Body(_) => found.what.lines().map(|line| line.get(..40).unwrap_or(line)).collect(),
            Case::Raw(_) => found.oddities.join(","),
        };
        if !self.sorts.lock().unwrap().insert(sort) {
            return Verdict::Repeated;
        }
        let unlisted =
            |case: &Case| self.difference(case, SILENCE.0).filter(|difference| excuse(difference).is_none());
        let small = shrink(case, |case| unlisted(case).is_some());
        let shown = unlisted(&small).unwrap_or(found);
        let oddities = shown.oddities.join(", ");
        // At once, for a run that is cut off.
        let text = format!("{}\n  oddities: {oddities}\n{}", show(&small), shown.what);
        eprintln!("UNLISTED DIFFERENCE, case {number}\n{text}");
        Verdict::Finding(Finding { number, text })
    }
}

enum Verdict {
    Listed(&'static str),
    Unsteady,
    Repeated,
    Finding(Finding),
}

impl Outcome {
    fn take(&mut self, case: &Case, verdict: Option<Verdict>) {
        self.requests += case.requests();
        match case {
            Case::Body(_) => self.cases.0 += 1,
            Case::Raw(_) => self.cases.1 += 1,
        }
        match verdict {
            None => {}
            Some(Verdict::Listed(oddity)) => *self.listed.entry(oddity).or_default() += 1,
            Some(Verdict::Repeated) => self.repeated += 1,
            Some(Verdict::Unsteady) => self.unsteady += 1,
            Some(Verdict::Finding(finding)) => self.findings.push(finding),
        }
    }
}

/// All bodies of a block in one pipeline, and each script by itself; in the order of the cases.
fn ask_block(client: &mut Client, cases: &[(u64, Case)]) -> Vec<Exchange> {
    let bodies: Vec<&Request> = cases
        .iter()
        .filter_map(|(_, case)| if let Case::Body(request) = case { Some(request) } else { None })
        .collect();
    let mut answers = client.pipeline(&bodies).into_iter();
    let ask = |(_, case): &(u64, Case)| match case {
        Case::Body(_) => exchange(answers.next()),
        Case::Raw(script) => client.play(script, SILENCE.0),
    };
    cases.iter().map(ask).collect()
}

/// One answer of a pipeline: whether the connection goes on is seen by the next.
fn exchange(answer: Option<Result<Answer, End>>) -> Exchange {
    match answer {
        Some(Ok(answer)) => Exchange { answers: vec![answer], end: End::Open },
        Some(Err(end)) => Exchange { answers: Vec::new(), end },
        None => Exchange { answers: Vec::new(), end: End::Closed },
    }
}

fn requests(case: &Case) -> &[Request] {
    match case {
        Case::Body(request) => std::slice::from_ref(request),
        Case::Raw(script) => &script.requests,
    }
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
            let note = format!("cuts {cuts:?}, missing {missing}, half-close {half_close}");
            format!("{}\n  {note}", show(&script.bytes()))
        }
    }
}
