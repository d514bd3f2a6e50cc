//! The true answers of a plan's workloads: what is asked once before and after each window, and what answers are held against
//! while the load is on.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context, Result};
use validator_state::{Ledger, SeededSpec, State};

use crate::config::Workload;
use crate::questions::{Known, Questions};
use crate::results::Plan;

/// The true answers of a plan's workloads.
#[derive(Debug)]
pub struct Truths {
    state: Arc<State>,
    workloads: BTreeMap<String, Asked>,
    /// Those of servers that have another ledger than the campaign's environment.
    others: BTreeMap<String, Arc<Self>>,
}

/// What is asked of a workload.
#[derive(Debug)]
struct Asked {
    known: Vec<Known>,
    questions: Arc<Questions>,
}

impl Truths {
    /// Works the true answers out: to one question of each request of each workload.
    ///
    /// # Errors
    /// The ledger lacks what a workload asks for, or answers it with an error.
    pub fn of(plan: &Plan) -> Result<Self> {
        let environment = &plan.campaign.environment;
        let usual = environment.ledger();
        let mut truths = Self::of_ledger(plan, &usual)?;
        let mut made: Vec<(SeededSpec, Arc<Self>)> = Vec::new();
        for server in &plan.servers {
            let ledger = environment.with(&server.overrides).ledger();
            if ledger == usual {
                continue;
            }
            let same = made.iter().find(|(of, _)| *of == ledger).map(|(_, truths)| Arc::clone(truths));
            let other = match same {
                Some(other) => other,
                None => {
                    let other = Self::of_ledger(plan, &ledger);
                    let other = Arc::new(other.with_context(|| format!("server {}", server.name))?);
                    made.push((ledger, Arc::clone(&other)));
                    other
                }
            };
            truths.others.insert(server.name.clone(), other);
        }
        Ok(truths)
    }

    /// The true answers of a server, whose ledger may be its own.
    pub fn of_server(&self, server: &str) -> &Self {
        self.others.get(server).map_or(self, Arc::as_ref)
    }

    fn of_ledger(plan: &Plan, ledger: &SeededSpec) -> Result<Self> {
        let state = Arc::new(State::new(Ledger::seeded(ledger)));
        let asked = |workload: &Workload| -> Result<(String, Asked)> {
            let questions = Arc::new(workload.questions(ledger)?);
            let known = questions.known(&state, plan.campaign.seed);
            let known = known.with_context(|| format!("workload {}", workload.name))?;
            Ok((workload.name.clone(), Asked { known, questions }))
        };
        let workloads = plan.workloads.iter().map(asked).collect::<Result<_>>()?;
        Ok(Self { state, workloads, others: BTreeMap::new() })
    }

    /// What is asked of a workload before and after a window, with the true answers: its one request, or one question of each
    /// request of a mix.
    ///
    /// # Errors
    /// The plan has no such workload.
    pub fn known(&self, workload: &str) -> Result<&[Known]> {
        Ok(&self.asked(workload)?.known)
    }

    /// The first of these.
    ///
    /// # Errors
    /// The plan has no such workload.
    pub fn first(&self, workload: &str) -> Result<&Known> {
        self.known(workload)?.first().with_context(|| format!("workload {workload:?} asks nothing"))
    }

    /// All that a workload asks.
    ///
    /// # Errors
    /// The plan has no such workload.
    pub fn questions(&self, workload: &str) -> Result<Arc<Questions>> {
        Ok(Arc::clone(&self.asked(workload)?.questions))
    }

    /// The ledger that gives the true answers.
    pub fn state(&self) -> Arc<State> {
        Arc::clone(&self.state)
    }

    /// Bytes of one true answer's body; in a mix the mean over its requests by their shares.
    pub fn answer_bytes(&self, workload: &str) -> u64 {
        let known = self.known(workload).unwrap_or_default();
        known.iter().map(|known| known.truth.to_string().len() as f64 * known.share).sum::<f64>().round()
            as u64
    }

    fn asked(&self, workload: &str) -> Result<&Asked> {
        self.workloads.get(workload).with_context(|| format!("the plan has no {workload:?}"))
    }
}
