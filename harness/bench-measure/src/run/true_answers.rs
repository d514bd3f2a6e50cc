//! The true answers of a plan's workloads: for the requests before and after each window, and for the comparison of
//! answers while the load is on.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context, Result};
use validator_state::{Ledger, SeededSpec, State};

use bench_core::config::{Environment, Server, Version};
use bench_core::plan::Plan;
use bench_core::workload::requests::{DrawnRequest, Known, RequestSource};
use bench_core::workload::{NewestCall, Workload};

/// The true answers of a plan's workloads.
#[derive(Debug)]
pub struct Truths {
    /// The ledger that gives the true answers.
    pub(super) state: Arc<State>,
    /// Whether the context of an answer is left open.
    pub(super) any_context: bool,
    workloads: BTreeMap<String, Requests>,
    /// Those of servers that answer otherwise: from another ledger than the campaign's environment, or in another
    /// version.
    others: BTreeMap<String, Arc<Self>>,
}

/// What a server answers from.
#[derive(Debug, Clone, PartialEq)]
struct Source {
    ledger: SeededSpec,
    version: Option<Version>,
    /// Whether its chain is its own, so that the context of an answer is left open.
    any_context: bool,
}

/// A workload's requests.
#[derive(Debug, Clone)]
struct Requests {
    known: Vec<Known>,
    source: Arc<RequestSource>,
}

impl Source {
    fn of(server: &Server, environment: &Environment) -> Self {
        Self {
            ledger: environment.with(&server.overrides).ledger(),
            version: server.version.clone(),
            any_context: !server.holds.is_everything(),
        }
    }

    fn state(&self) -> State {
        let ledger = Ledger::seeded(&self.ledger);
        State::new(match &self.version {
            Some(version) => ledger.of_version(&version.api, version.feature_set),
            None => ledger,
        })
    }

    /// The requests of a workload before and after a window, with their true answers.
    fn known(&self, workload: &Workload, state: &State, seed: u64) -> Result<Requests> {
        let source = Arc::new(workload.requests(&self.ledger)?);
        Requests::known(source, state, self.any_context, seed)
            .with_context(|| format!("workload {}", workload.name))
    }
}

impl Requests {
    /// Those of a source; the context of their answers is left open where it is any.
    fn known(source: Arc<RequestSource>, state: &State, any_context: bool, seed: u64) -> Result<Self> {
        let mut known = source.known(state, seed)?;
        if any_context {
            let open = |known: Known| Known { truth: known.truth.without_context(), ..known };
            known = known.into_iter().map(open).collect();
        }
        Ok(Self { known, source })
    }
}

/// The request of a workload with one request, and a server's true answer to it.
///
/// # Errors
/// It is a mix, the ledger lacks what it requests or answers with an error, or a stated answer is not JSON.
pub fn truth_of(server: &Server, workload: &Workload, environment: &Environment) -> Result<Known> {
    workload.body()?;
    let source = Source::of(server, environment);
    let Requests { known, .. } = source.known(workload, &source.state(), 0)?;
    known.into_iter().next().with_context(|| format!("workload {} sends no request", workload.name))
}

impl Truths {
    /// Works the true answers out: to one of each request of each workload.
    ///
    /// # Errors
    /// The ledger lacks what a workload requests, or answers it with an error; a schema's file has changed.
    pub fn of(plan: &Plan) -> Result<Self> {
        plan.workloads.iter().try_for_each(Workload::check_schemas_unchanged)?;
        let environment = &plan.campaign.environment;
        let usual = Source { ledger: environment.ledger(), version: None, any_context: false };
        let mut truths = Self::of_source(plan, &usual, |_| true)?;
        for (index, server) in plan.servers.iter().enumerate() {
            let source = Source::of(server, environment);
            if source == usual {
                continue;
            }
            let alike = plan.servers[..index].iter().find(|known| Source::of(known, environment) == source);
            let other = match alike.and_then(|known| truths.others.get(&known.name)) {
                Some(other) => Arc::clone(other),
                None => {
                    // A ledger may be too short for what its servers do not get.
                    let is_it = |server: &&Server| Source::of(server, environment) == source;
                    let its = plan.servers.iter().filter(is_it);
                    let is_sent = |workload: &Workload| {
                        its.clone().any(|server| plan.campaign.sends(&server.name, &workload.name))
                    };
                    let other = Self::of_source(plan, &source, is_sent);
                    Arc::new(other.with_context(|| format!("server {}", server.name))?)
                }
            };
            truths.others.insert(server.name.clone(), other);
        }
        Ok(truths)
    }

    /// The calls that say the newest numbers, which requests are about.
    pub(super) fn newest_calls(&self) -> Vec<NewestCall> {
        self.workloads.values().flat_map(|requests| requests.source.newest_calls()).collect()
    }

    /// A server's true answers where these numbers are the newest that it has; `seed` is the campaign's.
    ///
    /// # Errors
    /// The ledger answers a request with an error.
    pub(super) fn with_newest(&self, newest: &[(NewestCall, u64)], seed: u64) -> Result<Self> {
        let mut workloads = self.workloads.clone();
        for (name, requests) in &mut workloads {
            if requests.source.newest_calls().is_empty() {
                continue;
            }
            let source = Arc::new(requests.source.with_newest(newest));
            let known = Requests::known(source, &self.state, self.any_context, seed);
            *requests = known.with_context(|| format!("workload {name}"))?;
        }
        let (state, any_context) = (Arc::clone(&self.state), self.any_context);
        Ok(Self { state, any_context, workloads, others: BTreeMap::new() })
    }

    /// The true answers of a server, which may be its own.
    pub fn of_server(&self, server: &str) -> &Self {
        self.others.get(server).map_or(self, Arc::as_ref)
    }

    fn of_source(plan: &Plan, source: &Source, is_sent: impl Fn(&Workload) -> bool) -> Result<Self> {
        let state = Arc::new(source.state());
        let requests = |workload: &Workload| {
            Ok((workload.name.clone(), source.known(workload, &state, plan.campaign.seed)?))
        };
        let sent = plan.workloads.iter().filter(|workload| is_sent(workload));
        let workloads = sent.map(requests).collect::<Result<_>>()?;
        Ok(Self { state, any_context: source.any_context, workloads, others: BTreeMap::new() })
    }

    /// The requests of a workload before and after a window, with the true answers: its one request, or one of each
    /// kind of a mix.
    ///
    /// # Errors
    /// The plan has no such workload.
    pub fn known(&self, workload: &str) -> Result<&[Known]> {
        Ok(&self.requests(workload)?.known)
    }

    /// The first of these.
    ///
    /// # Errors
    /// The plan has no such workload.
    pub fn first(&self, workload: &str) -> Result<&Known> {
        self.known(workload)?.first().with_context(|| format!("workload {workload:?} sends no request"))
    }

    /// A request with its true answer.
    ///
    /// # Errors
    /// The ledger answers it with an error.
    pub(super) fn known_of(&self, request: DrawnRequest) -> Result<Known> {
        let truth = request.truth(&self.state)?;
        let truth = if self.any_context { truth.without_context() } else { truth };
        let (body, answer) = request.into_opening();
        Ok(Known { body, truth, answer, share: 1.0 })
    }

    /// All that a workload sends.
    ///
    /// # Errors
    /// The plan has no such workload.
    pub fn source(&self, workload: &str) -> Result<Arc<RequestSource>> {
        Ok(Arc::clone(&self.requests(workload)?.source))
    }

    /// Bytes of one true answer's body; in a mix the mean over its requests by their shares. `None` where an answer is
    /// not known.
    ///
    /// # Errors
    /// The plan has no such workload.
    pub fn answer_bytes(&self, workload: &str) -> Result<Option<u64>> {
        let bytes = |known: &Known| Some(known.truth.answer()?.to_string().len() as f64 * known.share);
        Ok(self.known(workload)?.iter().map(bytes).sum::<Option<f64>>().map(|bytes| bytes.round() as u64))
    }

    fn requests(&self, workload: &str) -> Result<&Requests> {
        self.workloads.get(workload).with_context(|| format!("the plan has no {workload:?}"))
    }
}
