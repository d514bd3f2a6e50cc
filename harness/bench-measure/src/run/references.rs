//! Servers that others' answers are compared with, and that the harness starts for it.

use anyhow::{Context, Result};

use super::opening;
use crate::subject::Subject;
use bench_model::config::Server;
use bench_model::plan::Plan;
use bench_model::results::RunFolder;
use bench_system::interrupt::Interrupt;

/// References that run until it is dropped.
pub(super) struct Running(#[expect(dead_code, reason = "held, and not read")] Vec<Subject>);

/// Starts the references of a plan that do not run already, each once. Gives the plan with their addresses.
///
/// # Errors
/// One does not start: with the last line that it wrote.
pub(super) fn start(plan: &Plan, folder: &RunFolder, interrupt: &Interrupt) -> Result<(Running, Plan)> {
    let mut found = plan.clone();
    let mut running: Vec<(String, Subject)> = Vec::new();
    for reference in found.workloads.iter_mut().flat_map(|workload| workload.references_mut()) {
        let Some(entry) = reference.entry.as_deref() else { continue };
        if !running.iter().any(|(name, _)| name == &entry.name) {
            let stderr = folder.0.join(format!("tool-output/reference-{}.stderr", entry.name));
            let environment = &plan.campaign.environment;
            let started = Subject::start(entry, environment, opening(plan)?, &stderr, interrupt);
            let started = started.with_context(|| format!("the reference, server {}", entry.name))?;
            running.push((entry.name.clone(), started));
        }
        let subject = running.iter().find(|(name, _)| name == &entry.name);
        if let Some((_, subject)) = subject {
            reference.url = subject.target.url();
            reference.access = subject.target.access().clone();
        }
    }
    Ok((Running(running.into_iter().map(|(_, subject)| subject).collect()), found))
}

/// The references that [`start`] starts, to be built with the plan's servers.
pub(super) fn entries(plan: &Plan) -> Vec<Server> {
    let mut workloads = plan.workloads.clone();
    let all = workloads.iter_mut().flat_map(|workload| workload.references_mut());
    all.filter_map(|reference| reference.entry.as_deref().cloned()).collect()
}
