//! Counts of a request that would spoil a timing, so each has a server and a load of its own: allocations, by a build
//! that counts them, and system calls, by a tracer.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use rustix::process::Signal;

use super::Part;
use crate::client;
use crate::metrics;
use crate::owned_process::{Output, Owned};
use crate::run::stage::Stage;
use crate::run::trial::tool::Order;
use crate::subject::Subject;
use bench_model::config::Server;
use bench_model::cost::{COUNTS, CountKind, CountObservation, CountOutcome};
use bench_model::load::Load;
use bench_model::load::load_tool::Bodies;
use bench_model::plan::{Trial, WhyPlan};
use bench_system::foreign_text::{beginning_of, last_line};
use bench_system::interrupt::recorded;
use bench_system::probe::syscalls::{INSTALL, Tracer};

/// How long a tracer may take to begin or to end.
const TRACER_WITHIN: Duration = Duration::from_secs(10);

impl Part<'_> {
    /// Counts what was not counted yet, of both servers.
    pub(super) fn count(&self) -> Result<()> {
        let Stage { folder, plan, .. } = &self.stage;
        let counted: Vec<CountObservation> = folder.lines(COUNTS)?;
        for server in &plan.servers {
            for kind in CountKind::of(&self.why_plan.why) {
                if counted.iter().any(|known| known.server == server.name && known.kind == kind) {
                    continue;
                }
                let outcome = match kind {
                    CountKind::Allocations => self.allocations(server),
                    CountKind::Syscalls => self.syscalls(server),
                    CountKind::Instructions => self.instructions(server),
                };
                let outcome = recorded(outcome, |reason| {
                    bench_system::note!("{}: {kind:?} unavailable: {reason}", server.name);
                    CountOutcome::Unavailable { reason }
                })?;
                folder.append_to(COUNTS, &CountObservation { server: server.name.clone(), kind, outcome })?;
            }
        }
        Ok(())
    }

    /// Allocations, by a build of the server that counts them.
    fn allocations(&self, server: &Server) -> Result<CountOutcome> {
        let counting = server.counting.as_ref();
        let counting = counting.context("servers.toml names no build of it that counts its allocations")?;
        let server = Server { program: counting.program.clone(), ..server.clone() };
        let subject = self.start(&server, "allocations")?;
        let metrics = subject.metrics.clone().context("its ready line names no metrics")?;
        let lacks = "its metrics lack allocations_total or allocated_bytes_total; is it a build that counts?";
        let count = || metrics::allocation_counts(&metrics)?.context(lacks);
        let before = (count()?, metrics::server_counts(&metrics)?);
        self.load(&subject, &server, "allocations")?;
        let after = (count()?, metrics::server_counts(&metrics)?);
        subject.process.stop(self.stage.interrupt)?;
        Ok(CountOutcome::Allocations {
            requests: after.1.requests - before.1.requests,
            allocations: after.0.allocations - before.0.allocations,
            bytes: after.0.bytes - before.0.bytes,
        })
    }

    /// System calls, by a tracer that is attached to the server under load.
    fn syscalls(&self, server: &Server) -> Result<CountOutcome> {
        let (tracer, program) = Tracer::find().context(INSTALL)?;
        let subject = self.start(server, "syscalls")?;
        let metrics = subject.metrics.clone().context("its ready line names no metrics")?;
        let summary = self.count_file(server, &format!("{}.txt", tracer.program()));
        let stderr = self.count_file(server, &format!("{}.stderr", tracer.program()));
        let output = Output { stdout: Some(&self.count_file(server, "tracer.stdout")), stderr: &stderr };
        let pid = subject.pid().context("its process is not known")?;
        let args = tracer.arguments(pid, &summary);
        let placement = self.stage.plan.campaign.environment.placement;
        let mut tracing = Owned::spawn(&program, &args, &output, placement)?;
        let said = || last_line(&stderr).unwrap_or_else(|| "it said nothing".to_owned());
        let attached = self.stage.interrupt.wait(TRACER_WITHIN, || {
            ensure!(tracing.ended()?.is_none(), "{} ended: {}", tracer.program(), said());
            let printed = beginning_of(&stderr).unwrap_or_default();
            Ok(tracer.is_attached(tracing.pid(), &printed).then_some(()))
        })?;
        attached.with_context(|| format!("{} did not attach within {TRACER_WITHIN:?}", tracer.program()))?;
        let before = metrics::server_counts(&metrics)?;
        self.load(&subject, server, "syscalls")?;
        let requests = metrics::server_counts(&metrics)?.requests - before.requests;
        ensure!(requests > 0, "no request was answered under {}", tracer.program());
        tracing.signal(Signal::INT)?;
        let ended = tracing.wait(TRACER_WITHIN, self.stage.interrupt)?;
        ensure!(ended.is_some(), "{} did not end within {TRACER_WITHIN:?}", tracer.program());
        subject.process.stop(self.stage.interrupt)?;
        let text = fs::read_to_string(&summary)
            .with_context(|| format!("{} wrote no summary: {}", tracer.program(), said()))?;
        let calls = tracer.parse(&text)?;
        let tool = tracer.command().to_owned();
        ensure!(!tracer.missed(&calls, requests), "{tool} missed calls of a server that is this fast");
        Ok(CountOutcome::Syscalls { requests, calls, tool })
    }

    /// A fresh server whose answer is the true one.
    fn start(&self, server: &Server, what: &str) -> Result<Subject> {
        let stderr = self.count_file(server, &format!("{what}.stderr"));
        let environment = &self.stage.plan.campaign.environment;
        let known = self.truths.of_server(&server.name).first(&self.why_plan.workload)?;
        let subject = Subject::start(server, environment, known, &stderr, self.stage.interrupt)?;
        match client::verify(&subject.target, &known.body, &known.truth)? {
            Ok(_) => Ok(subject),
            Err(answer) => bail!("it answers wrongly: {answer}"),
        }
    }

    fn load(&self, subject: &Subject, server: &Server, what: &'static str) -> Result<()> {
        let WhyPlan { why, connections, .. } = self.why_plan;
        let (connections, duration_ms, timeout_ms) = (*connections, why.counting_ms, why.timeout_ms);
        let load = Load { connections, duration_ms, timeout_ms, ..Load::default() };
        let (server, workload) = (server.name.clone(), self.why_plan.workload.clone());
        let bodies = Bodies::One(self.stage.plan.workload(&workload)?.body()?);
        let trial = Trial { server, workload, connections, ..Trial::default() };
        let order = Order::new(what, trial.tool, load);
        self.stage.bench(&self.truths).run_load(&trial, order, bodies, &subject.target)?;
        Ok(())
    }

    fn count_file(&self, server: &Server, what: &str) -> PathBuf {
        self.stage.folder.0.join("tool-output").join(format!("counts-{}.{what}", server.name))
    }
}
