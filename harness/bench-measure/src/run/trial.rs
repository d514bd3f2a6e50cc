//! One trial: a fresh server, its answer compared with the truth, a warm-up, the measured window, and its answer again.

mod background;
mod capacity;
mod checker;
mod connecting;
mod judged;
mod load;
mod over_link;
pub(super) mod tool;
mod traffic;
mod watch;

use bench_core::machine::{CpuTime, HostActivity};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;

use self::connecting::Holding;
pub(super) use self::judged::outcome_of;
use self::judged::{Refusals, Verified, counts_since, judged, read_counts, read_newest, verify};
use self::tool::Order;
use self::traffic::Draw;
use self::watch::Watch;
use super::Truths;
use super::duet::{OtherLeft, Side};
use super::ended::{Ended, Judged};
use crate::cgroup::OutOfMemory;
use crate::interrupt::{Interrupt, Interrupted};
use crate::link::Link;
use crate::owned_process::remove_if_empty;
use crate::probe::listening_process::accepted_at;
use crate::probe::other_processes::{Reading, with_busiest};
use crate::probe::process_usage::{cpu_time, peak_memory_bytes};
use crate::probe::resources::{AtRest, sample};
use crate::probe::threads;
use crate::probe::{host, network};
use crate::subject::{self, Place, Subject};
use bench_core::config::Background;
use bench_core::load::load_tool::Bodies;
use bench_core::load::toolchain::Tools;
use bench_core::load::{Load, UserStage};
use bench_core::observation::{Capacity, LinkUse, Observation, Outcome, Sample, UpstreamUse, Warmup};
use bench_core::plan::{Plan, Trial};
use bench_core::results::RunFolder;
use bench_core::target::Target;
use bench_core::workload::requests::Known;

/// What every trial of a run shares.
pub struct Bench<'a> {
    /// Where tools' own output goes.
    pub folder: &'a RunFolder,
    /// The plan.
    pub plan: &'a Plan,
    /// The load tools.
    pub tools: &'a Tools,
    /// The true answers.
    pub truths: &'a Truths,
    /// Ends every wait.
    pub interrupt: &'a Interrupt,
}

/// A server's process that the harness can see, and what it held before any load.
#[derive(Debug, Clone, Copy)]
struct Seen {
    pid: u32,
    at_rest: AtRest,
}

impl Seen {
    /// `None` of a server on another machine or of another user.
    fn of(subject: &Subject) -> Judged<Option<Self>> {
        let seen = |pid| AtRest::read(pid).map(|at_rest| Self { pid, at_rest });
        subject.pid().map(seen).transpose().map_err(died)
    }

    /// CPU time since its start, where it can be seen.
    fn cpu(seen: Option<Self>) -> Judged<Option<CpuTime>> {
        seen.map(|seen| cpu_time(seen.pid)).transpose().map_err(died)
    }
}

/// A server that was found to answer truly, and is warm.
struct Warm<'a> {
    seen: Option<Seen>,
    known: &'a [Known],
    verified: Verified,
    capacity: Capacity,
    warmup: Warmup,
}

impl Bench<'_> {
    /// Runs a trial, in a duet together with its other one. Whatever goes wrong with server or tool becomes the
    /// observation.
    ///
    /// # Errors
    /// What ends the run: an interrupt, or what would fail in every trial, such as a full results folder.
    pub(super) fn run_paired(&self, trial: &Trial, paired: Option<Side>) -> Result<Observation> {
        self.check_room(trial)?;
        match self.plan.environment_of(self.plan.server(&trial.server)?).network {
            Some(network) => self.run_over(network, trial),
            None => self.run_here(trial, paired, None),
        }
    }

    /// Runs a trial on this thread; at the near end of a link, where there is one.
    fn run_here(&self, trial: &Trial, paired: Option<Side>, link: Option<&Arc<Link>>) -> Result<Observation> {
        let started = Instant::now();
        let started_at = super::now();
        let server = self.plan.server_of(trial)?;
        let stderr = self.folder.tool_output(trial, "server.stderr");
        let environment = &self.plan.campaign.environment;
        let opening = self.truths_of(trial).first(&trial.workload)?.into();
        let listen = self.plan.hosts.as_ref().and_then(|pool| pool.listen);
        let place = match (link, listen) {
            (Some(link), _) => Place::Over(link),
            (None, Some(address)) => Place::At(address),
            (None, None) => Place::Loopback,
        };
        let found = Subject::start_at(place, &server, environment, &opening, &stderr, self.interrupt);
        let outcome = match found {
            Err(error) if error.is::<Interrupted>() => return Err(error),
            Err(error) => match error.downcast_ref::<OutOfMemory>() {
                Some(killed) => Outcome::out_of_memory("before it was ready", *killed),
                None => Outcome::ServerDied { reason: format!("{error:#}"), after_s: None },
            },
            Ok(mut subject) => {
                let measured = self.at_newest(trial, &mut subject, paired.as_ref());
                let outcome = outcome_of(measured, &mut subject)?;
                subject.process.stop(self.interrupt)?;
                outcome
            }
        };
        self.check_failure(trial, &outcome)?;
        remove_if_empty(&stderr);
        if server.upstream.is_some() {
            remove_if_empty(&subject::upstream_stderr(&stderr));
        }
        let took_s = started.elapsed().as_secs_f64();
        Ok(Observation { trial: trial.clone(), started_at, took_s, outcome })
    }

    pub(super) fn truths_of(&self, trial: &Trial) -> &Truths {
        self.truths.of_server(&trial.server)
    }

    /// What a load sends, with the true answers: the one request of all, or for each user a request of its own that is
    /// drawn from a mix.
    pub(super) fn known_to(&self, trial: &Trial, load: &Load, bodies: &mut Bodies<'_>) -> Result<Vec<Known>> {
        let truths = self.truths_of(trial);
        let Bodies::Drawn(requests) = bodies else {
            return Ok(vec![truths.first(&trial.workload)?.clone()]);
        };
        requests.take(load.most_users() as usize).map(|request| truths.known_of(request)).collect()
    }

    /// Finds out which numbers are the newest that the server has, where requests are about these, and measures.
    fn at_newest(&self, trial: &Trial, subject: &mut Subject, paired: Option<&Side>) -> Ended<Sample> {
        let truths = self.truths_of(trial);
        let calls = truths.newest_calls();
        if calls.is_empty() || self.plan.server(&trial.server)?.answers_one_request() {
            return self.measure(trial, subject, paired);
        }
        let newest = read_newest(&calls, subject)?;
        let truths = truths.with_newest(&newest, self.plan.campaign.seed)?;
        Bench { truths: &truths, ..*self }.measure(trial, subject, paired)
    }

    /// Compares a fresh server's answer with the truth, sees what it is without load, and warms it up.
    fn warm(&self, trial: &Trial, subject: &Subject, paired: Option<&Side>) -> Ended<Warm<'_>> {
        let seen = Seen::of(subject)?;
        let known = self.known(trial)?;
        let verified = verify(known, subject, &Verified::default(), "before the window", Refusals::Repeat)?;
        let request = &self.truths_of(trial).first(&trial.workload)?.body;
        let capacity = capacity::find(&subject.target, seen, request);
        meet(paired)?;
        let warmup = self.warm_up(trial, &subject.target, seen)?;
        Ok(Warm { seen, known, verified, capacity, warmup })
    }

    /// Warms a fresh server up, measures one window of it, and compares its answer again.
    fn measure(&self, trial: &Trial, subject: &mut Subject, paired: Option<&Side>) -> Ended<Sample> {
        let addr = subject.target.socket();
        // A server that was started for this trial has no other clients.
        let ran_already = self.plan.server(&trial.server)?.running_at().is_some();
        let others = subject.pid().filter(|_| ran_already).map(|pid| accepted_at(pid, &addr).unwrap_or(0));
        let Warm { seen, known, verified, capacity, warmup } = self.warm(trial, subject, paired)?;
        let allowed_ms = self.plan.campaign.connect_ms;
        // Users come and go, and so do connections of one request, so there is no moment at which all are connected.
        let keeps = self.plan.environment_of(self.plan.server(&trial.server)?).keep_alive();
        let stays = keeps && self.plan.campaign.stages.is_none();
        let holds = self.plan.hosts.is_none() && trial.rate.is_none() && stays;
        let holding = seen.filter(|_| holds).map(|seen| Holding { addr, others, seen, allowed_ms });
        let ready = self.prepare_window(trial, &subject.target, holding.clone())?;
        let counts = read_counts(subject)?;
        // The connection that read the counts is one of those that must be gone.
        if let Some(holding) = &holding {
            holding.settle(self.interrupt)?;
        }
        meet(paired)?;

        let network = over_link::counters(subject);
        let threads_before = seen.map(|seen| threads::read(seen.pid));
        let cpu_before = Seen::cpu(seen)?;
        let limited_before = subject.usage();
        let upstream_before = subject.upstream.as_deref().and_then(upstream_use);
        let mut watch = Watch::begin(subject, seen.zip(cpu_before), counts, self.window_ms(trial));
        watch.checker = self.checker(trial, known, subject)?;
        let others_before = Reading::now();
        // Steal is a share of this time.
        let host_before = host::activity();
        let began = Instant::now();
        let put = self.put_window_on(subject, &ready)?;
        let window_s = began.elapsed().as_secs_f64();
        let host = host::activity().since(host_before);
        let others = others_before.zip(Reading::now());
        let server_cpu = Seen::cpu(seen)?.zip(cpu_before).map(|(now, before)| now.since(before));
        let upstream = subject.upstream.as_deref().and_then(upstream_use).zip(upstream_before);
        let network = over_link::counters(subject).since(network);
        let link = subject.link.as_ref().map(|link| LinkUse { round_trip_us: link.round_trip_us });
        let limited = subject.usage().zip(limited_before).map(|(now, before)| now.since(before));
        let threads = seen.zip(threads_before.as_ref());
        let threads = threads.map(|(seen, before)| threads::since(threads::read(seen.pid), before, window_s));
        let (sampled, half, checked) = watch.end();
        let limit = self.plan.campaign.environment.max_foreign_cpu.0;
        let foreign_cpu = others.and_then(|(before, after)| before.until(&after, limit));
        let (load, background) = self.read_window(&ready, &put)?;
        meet(paired)?;
        // A server that failed the load may fail this request too, and what the load showed is worth more.
        let counted = match counts_since(subject, counts) {
            Err(_) if load.failures() > 0 => None,
            counted => counted?,
        };
        let mut differences = verified.differences.clone();
        differences.merge(&checked.differences);
        let answer_bytes = self.truths_of(trial).answer_bytes(&trial.workload)?;
        let sampler_cpu_s = [sampled.cpu_s, half.cpu_s, checked.cpu_s];
        let steal_limit = self.plan.campaign.environment.max_steal.map(|most| most.0);

        let sample = Sample {
            load,
            server_cpu,
            server_requests: counted.map(|counted| counted.requests),
            server_peak_memory_bytes: seen.and_then(|seen| peak_memory_bytes(seen.pid)),
            client_cpu: put.own.cpu,
            window_s,
            network,
            host: HostActivity { steal_limit, ..host },
            foreign_cpu: foreign_cpu.map(with_busiest),
            answer_bytes: answer_bytes.unwrap_or(verified.bytes.round() as u64),
            server_errors: counted.map(|counted| counted.errors),
            memory_before_bytes: seen.and_then(|seen| seen.at_rest.memory_bytes),
            // A file that was open at rest and is closed hides a connection.
            established: sampled.most_open_files().max(put.own.connecting.map(|connecting| connecting.held)),
            connecting: put.own.connecting,
            first_half: half.half,
            sampler_cpu_s: sampler_cpu_s.into_iter().flatten().reduce(|a, b| a + b),
            resources: sampled.resources,
            warmup: Some(warmup),
            capacity,
            threads: threads.unwrap_or_default(),
            background: background.map(Box::new),
            background_ms: self.background_of(trial).and_then(Background::within_window_ms),
            stalls: put.stalls,
            checked: checked.checked,
            differences: differences.found(),
            upstream: upstream.map(|(now, before)| UpstreamUse { cpu: now.cpu.since(before.cpu), ..now }),
            link,
            limited,
            silence: String::new(),
        };
        Ok(judged(sample, known, &verified, subject, counted, trial.connections)?)
    }

    /// Puts the load on for the first time. Where no request of it succeeds the window is measured all the same: it
    /// shows why.
    fn warm_up(&self, trial: &Trial, target: &Target, seen: Option<Seen>) -> Ended<Warmup> {
        let campaign = &self.plan.campaign;
        let network = network::read();
        let duration = Duration::from_millis(campaign.warmup_ms);
        let sampler = seen.map(|seen| sample(seen.pid, seen.at_rest, duration, None));
        let connections = campaign.warmup_connections.unwrap_or(u32::MAX).min(trial.connections);
        let mut load = self.load(trial, connections, campaign.warmup_ms);
        if campaign.stages.is_some() {
            load.stages.push(UserStage { users: connections, duration_ms: campaign.warmup_ms });
        }
        let bodies = self.bodies(trial, &trial.workload, Draw::WarmUp)?;
        let order = Order::new("warmup", trial.tool, load);
        let ended = self.run_load(trial, order, bodies, target);
        let established = sampler.and_then(|sampler| sampler.end().most_open_files());
        let sample = ended?;
        Ok(Warmup {
            succeeded: sample.succeeded,
            failed: sample.failed,
            max_us: sample.latency_us.max,
            established,
            network: network::read().since(network),
        })
    }
}

/// What the server behind a gateway has used since its start; `None` where its process can't be read.
fn upstream_use(upstream: &Subject) -> Option<UpstreamUse> {
    let pid = upstream.pid()?;
    Some(UpstreamUse { cpu: cpu_time(pid).ok()?, peak_memory_bytes: peak_memory_bytes(pid) })
}

/// Waits for the paired trial, where there is one.
fn meet(paired: Option<&Side>) -> Judged<()> {
    let met = paired.map_or(Ok(()), Side::meet);
    met.map_err(|OtherLeft| Outcome::Invalid { reason: "the paired trial failed".to_owned() })
}

fn died(error: anyhow::Error) -> Outcome {
    Outcome::ServerDied { reason: format!("{error:#}"), after_s: None }
}
