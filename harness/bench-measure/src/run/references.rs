//! Servers that others' answers are compared with, and that the harness starts for it.

use std::path::PathBuf;

use anyhow::{Context, Result};

use super::opening;
use crate::owned_process::remove_if_empty;
use crate::subject::Subject;
use bench_model::config::Server;
use bench_model::plan::Plan;
use bench_model::results::RunFolder;
use bench_system::interrupt::Interrupt;

/// References that run until it is dropped, and where they write their standard error.
#[derive(Default)]
pub(super) struct Running(Vec<(Subject, PathBuf)>);

impl Drop for Running {
    fn drop(&mut self) {
        for (subject, stderr) in self.0.drain(..) {
            drop(subject);
            remove_if_empty(&stderr);
        }
    }
}

/// Starts the references of a plan that do not run already, each once. Gives the plan with their addresses.
///
/// # Errors
/// One does not start: with the last line that it wrote.
pub(super) fn start(plan: &Plan, folder: &RunFolder, interrupt: &Interrupt) -> Result<(Running, Plan)> {
    let mut found = plan.clone();
    let mut running = Running::default();
    let mut names: Vec<String> = Vec::new();
    for reference in found.workloads.iter_mut().flat_map(|workload| workload.references_mut()) {
        let Some(entry) = reference.entry.as_deref() else { continue };
        if !names.contains(&entry.name) {
            let stderr = folder.0.join(format!("tool-output/reference-{}.stderr", entry.name));
            let environment = &plan.campaign.environment;
            let started = Subject::start(entry, environment, opening(plan)?, &stderr, interrupt);
            let started = started.with_context(|| format!("the reference, server {}", entry.name))?;
            running.0.push((started, stderr));
            names.push(entry.name.clone());
        }
        let subject = names.iter().zip(&running.0).find(|(name, _)| *name == &entry.name);
        if let Some((_, (subject, _))) = subject {
            reference.url = subject.target.url();
            reference.access = subject.target.access().clone();
        }
    }
    Ok((running, found))
}

/// The references that [`start`] starts, to be built with the plan's servers.
pub(super) fn entries(plan: &Plan) -> Vec<Server> {
    let mut workloads = plan.workloads.clone();
    let all = workloads.iter_mut().flat_map(|workload| workload.references_mut());
    all.filter_map(|reference| reference.entry.as_deref().cloned()).collect()
}
