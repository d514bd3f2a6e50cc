//! One trial: a fresh server, its answer held against the truth, a warm-up, the measured window, and its answer again.

mod checker;
mod connecting;
mod counts;
mod disturb;
mod half;
mod means;
pub(super) mod open;
pub(super) mod tool;
mod wire;

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use self::checker::Checker;
use self::connecting::Holding;
use self::tool::remove_if_empty;
use super::Truths;
use super::duet::{OtherLeft, Side};
use crate::config::Server;
use crate::http::{self, ServerCounts};
use crate::interrupt::{Interrupt, Interrupted};
use crate::load::bodies::Bodies;
use crate::load::toolchain::Tools;
use crate::load::{Load, LoadSample, OpenLoad};
use crate::observation::{Observation, Outcome, Sample, Warmup};
use crate::plan::Plan;
use crate::plan::Trial;
use crate::probe::foreign::{ForeignCpu, Reading};
use crate::probe::host::HostActivity;
use crate::probe::listen::Listening;
use crate::probe::network::NetworkCounters;
use crate::probe::process::{CpuTime, cpu_time, peak_memory_bytes};
use crate::probe::resources::{AtRest, Sampled, Sampler};
use crate::probe::threads;
use crate::results::RunFolder;
use crate::subject::Subject;
use crate::workload::questions::{Known, Questions};
use crate::workload::{Asks, Workload};

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

/// What became of a trial that had to stop since the one beside it did.
const OTHER_LEFT: &str = "the trial beside it failed";

/// A trial's end: a measured sample, or the reason why there is none. The outer error ends the run.
pub(super) type Ended<T> = Result<std::result::Result<T, Outcome>>;

/// What questions are drawn for. Each has a seed of its own, so that none meets what another left behind.
#[derive(Debug, Clone, Copy)]
enum Draw {
    Window,
    WarmUp,
    Background,
    Check,
}

/// Gives the inner value, or leaves the function with the failure as the trial's outcome.
macro_rules! or_failed {
    ($ended:expr) => {
        match $ended {
            Ok(value) => value,
            Err(outcome) => return Ok(Err(outcome)),
        }
    };
}

impl Bench<'_> {
    /// Runs a trial. Whatever goes wrong with server or tool becomes the observation.
    ///
    /// # Errors
    /// Only what ends the run: an interrupt, or a results folder that takes no more.
    pub fn run(&self, trial: &Trial) -> Result<Observation> {
        self.run_beside(trial, None)
    }

    pub(super) fn run_beside(&self, trial: &Trial, beside: Option<Side<'_>>) -> Result<Observation> {
        let started = Instant::now();
        let started_at = super::now();
        let server = find(&self.plan.servers, |server: &Server| &server.name, &trial.server)?;
        let workload = find(&self.plan.workloads, |workload: &Workload| &workload.name, &trial.workload)?;
        let stderr = self.folder.tool_output(trial, "server.stderr");
        let environment = &self.plan.campaign.environment;
        let request = &self.truths_of(trial).first(&workload.name)?.body;
        let outcome = match Subject::start(server, environment, request, &stderr, self.interrupt) {
            Err(error) if error.is::<Interrupted>() => return Err(error),
            Err(error) => Outcome::ServerDied { reason: format!("{error:#}") },
            Ok(mut subject) => {
                let outcome = match self.measure(trial, workload, &mut subject, beside)? {
                    Ok(sample) => Outcome::Completed(Box::new(sample)),
                    // Whatever was noticed first, a server that is gone is the reason.
                    Err(outcome) => {
                        subject.died()?.map_or(outcome, |how| Outcome::ServerDied { reason: how })
                    }
                };
                subject.process.stop(self.interrupt)?;
                outcome
            }
        };
        remove_if_empty(&stderr);
        let took_s = started.elapsed().as_secs_f64();
        Ok(Observation { trial: trial.clone(), started_at, took_s, outcome })
    }

    fn truths_of(&self, trial: &Trial) -> &Truths {
        self.truths.of_server(&trial.server)
    }

    fn measure(
        &self,
        trial: &Trial,
        workload: &Workload,
        subject: &mut Subject,
        beside: Option<Side<'_>>,
    ) -> Ended<Sample> {
        let window_ms = trial.window_ms.unwrap_or(self.plan.campaign.window_ms);
        let pid = subject.process.pid();
        let at_rest = or_failed!(AtRest::read(pid).map_err(died));
        let known = self.known(trial, workload)?;
        or_failed!(verify(known, subject, "before the window"));
        let means = means::find(subject, &self.truths_of(trial).first(&workload.name)?.body, at_rest);
        or_failed!(meet(beside.as_ref()));
        let warmup = or_failed!(self.warm_up(trial, workload, subject, at_rest)?);
        let allowed_ms = self.plan.campaign.connect_ms;
        let holding = trial.rate.is_none().then_some(Holding { pid, at_rest, allowed_ms });
        if let Some(holding) = holding {
            holding.settle(self.interrupt)?;
        }
        or_failed!(meet(beside.as_ref()));

        let capture = self.capture(trial, &subject.addr)?;
        let ready = or_failed!(self.prepare_window(trial, workload, &subject.addr, window_ms, holding)?);
        let counts = or_failed!(counts::read(subject));
        let (network, host) = (NetworkCounters::read(), HostActivity::read());
        let threads_before = threads::read(pid);
        let server = or_failed!(cpu_time(pid).map_err(died));
        let mut watch = Watch::begin(subject, at_rest, counts, server.total_s(), window_ms);
        watch.checker = self.checker(trial, workload, known, subject)?;
        let others_before = Reading::now();
        let began = Instant::now();
        let put = or_failed!(self.put_on(trial, subject, &ready)?);
        let window_s = began.elapsed().as_secs_f64();
        let others = others_before.zip(Reading::now());
        let server_cpu = or_failed!(cpu_time(pid).map_err(died)).since(server);
        let (network, host) = (NetworkCounters::read().since(network), HostActivity::read().since(host));
        let threads = threads::since(threads::read(pid), &threads_before, window_s);
        let Watched { sampled, asked, checked } = watch.end();
        let limit = self.plan.campaign.environment.max_foreign_cpu.0;
        let foreign_cpu = others.and_then(|(before, after)| before.until(&after, limit));
        let wire = self.captured(capture)?;
        let loaded = or_failed!(self.read_window(&ready, put)?);
        or_failed!(meet(beside.as_ref()));
        // A server that failed the load may fail this question too, and what the load showed is worth more.
        let counted = match counts::since(subject, counts) {
            Err(_) if loaded.sample.failures() > 0 => None,
            counted => or_failed!(counted),
        };
        let server_peak_memory_bytes = peak_memory_bytes(pid);

        let sample = Sample {
            load: loaded.sample,
            server_cpu,
            server_requests: counted.map(|counted| counted.requests),
            server_peak_memory_bytes,
            client_cpu: loaded.client_cpu,
            window_s,
            network,
            host,
            foreign_cpu: foreign_cpu.map(ForeignCpu::with_busiest),
            answer_bytes: self.truths_of(trial).answer_bytes(&workload.name),
            server_errors: counted.map(|counted| counted.errors),
            memory_before_bytes: at_rest.memory_bytes,
            established: sampled.most_open_files(),
            connecting: loaded.connecting,
            first_half: asked.half,
            sampler_cpu_s: sampled
                .cpu_s
                .map(|cpu_s| cpu_s + asked.cpu_s.unwrap_or(0.0) + checked.cpu_s.unwrap_or(0.0)),
            resources: sampled.resources,
            warmup: Some(warmup),
            means,
            threads,
            background: loaded.background.map(Box::new),
            stalls: loaded.stalls,
            wire,
            checked: checked.checked,
        };
        or_failed!(counts::check_answers(sample.checked.as_ref()));
        if sample.load.succeeded == 0 {
            return Ok(Err(Outcome::NoSuccess(Box::new(sample))));
        }
        if is_silent(known, subject) {
            return Ok(Err(Outcome::Silent(Box::new(sample))));
        }
        or_failed!(verify(known, subject, "after the window"));
        let loads: Vec<&LoadSample> =
            std::iter::once(&sample.load).chain(sample.background.as_deref()).collect();
        or_failed!(counts::check(counted, &loads, trial.connections, sample.checked.as_ref()));
        if sample.short_of().is_some() {
            return Ok(Err(Outcome::NotHeld(Box::new(sample))));
        }
        Ok(Ok(sample))
    }

    /// Puts the load on for the first time. That no request of it succeeds is no reason not to measure: the window shows why.
    fn warm_up(
        &self,
        trial: &Trial,
        workload: &Workload,
        subject: &Subject,
        at_rest: AtRest,
    ) -> Ended<Warmup> {
        let campaign = &self.plan.campaign;
        let network = NetworkCounters::read();
        let duration = Duration::from_millis(campaign.warmup_ms);
        let sampler = Sampler::start(subject.process.pid(), at_rest, duration, None);
        let most = campaign.warmup_connections;
        let ended = self.ask(trial, "warmup", campaign.warmup_ms, most, workload, &subject.addr)?;
        let established = sampler.stop().most_open_files();
        let (sample, _) = or_failed!(ended);
        Ok(Ok(Warmup {
            succeeded: sample.succeeded,
            failed: sample.failed,
            max_us: sample.latency_us.max,
            established,
            network: NetworkCounters::read().since(network),
        }))
    }

    /// Puts the trial's load on for so long, with at most so many connections: a closed loop or, at a rate, an open one.
    fn ask(
        &self,
        trial: &Trial,
        what: &str,
        duration_ms: u64,
        most_connections: Option<u32>,
        workload: &Workload,
        addr: &str,
    ) -> Ended<(LoadSample, CpuTime)> {
        let timeout_ms = self.plan.campaign.timeout_ms;
        let connections = most_connections.unwrap_or(u32::MAX).min(trial.connections);
        match trial.rate {
            None => {
                let load = Load { connections, duration_ms, timeout_ms, client: trial.client };
                self.bombard(trial, what, &load, workload, addr)
            }
            Some(rate) => {
                let load = OpenLoad { rate, connections, duration_ms, timeout_ms };
                self.ask_at_rate(
                    trial,
                    what,
                    &load,
                    trial.tool,
                    self.bodies(trial, workload, Draw::WarmUp)?,
                    addr,
                )
            }
        }
    }

    /// The bodies of an open loop: the workload's one, or a stream of its own.
    fn bodies<'w>(&self, trial: &Trial, workload: &'w Workload, draw: Draw) -> Result<Bodies<'w>> {
        Ok(match &workload.asks {
            Asks::One { body, .. } => Bodies::One(body),
            Asks::Mix(_) => {
                let questions = self.truths_of(trial).questions(&workload.name)?;
                Bodies::Drawn(questions.stream(self.seed(trial, draw)))
            }
        })
    }

    /// Decides what is drawn: the same for every server of a block.
    fn seed(&self, trial: &Trial, draw: Draw) -> u64 {
        self.plan.campaign.seed ^ (u64::from(trial.block) << 8 | draw as u64) << 32
    }

    /// What is asked before and after the window. A server that has one answer is asked what that answers, whatever the load
    /// asks.
    fn known(&self, trial: &Trial, workload: &Workload) -> Result<&[Known]> {
        let known = self.truths_of(trial).known(&workload.name)?;
        let server = find(&self.plan.servers, |server: &Server| &server.name, &trial.server)?;
        Ok(if server.answers_one_request() { &known[..1.min(known.len())] } else { known })
    }

    /// Holds answers against the truth while an open loop is on. In a closed loop nothing looks on, so that its figures stay what
    /// they were.
    fn checker(
        &self,
        trial: &Trial,
        workload: &Workload,
        known: &[Known],
        subject: &Subject,
    ) -> Result<Option<Checker>> {
        if trial.rate.is_none() {
            return Ok(None);
        }
        let all = self.truths_of(trial).known(&workload.name)?;
        let questions = match known {
            [one] if all.len() > 1 => Arc::new(Questions::one(one.body.clone(), one.truth.clone())),
            _ => self.truths_of(trial).questions(&workload.name)?,
        };
        Ok(Some(checker::begin(checker::Task {
            addr: subject.addr.clone(),
            questions,
            seed: self.seed(trial, Draw::Check),
            state: self.truths_of(trial).state(),
            any_context: self.truths_of(trial).any_context(),
            timeout: Duration::from_millis(self.plan.campaign.timeout_ms),
        })))
    }
}

/// Asks what is known and holds the answers against the truth.
fn verify(known: &[Known], subject: &Subject, when: &str) -> std::result::Result<(), Outcome> {
    let wrong = |answer| Outcome::WrongAnswer { when: when.to_owned(), answer };
    known.iter().try_for_each(|Known { body, truth, .. }| match http::verify(&subject.addr, body, truth) {
        Ok(verdict) => verdict.map_err(wrong),
        Err(error) => Err(wrong(format!("{error:#}"))),
    })
}

/// Whether the server answers nothing at all, not even wrongly.
fn is_silent(known: &[Known], subject: &Subject) -> bool {
    known.first().is_some_and(|Known { body, truth, .. }| http::verify(&subject.addr, body, truth).is_err())
}

/// Waits for the trial beside this one, where there is one.
fn meet(beside: Option<&Side<'_>>) -> std::result::Result<(), Outcome> {
    let met = beside.map_or(Ok(()), Side::meet);
    met.map_err(|OtherLeft| Outcome::Invalid { reason: OTHER_LEFT.to_owned() })
}

/// What looks on through a window, each from a thread of its own.
struct Watch {
    sampler: Sampler,
    question: Option<half::Question>,
    checker: Option<Checker>,
}

/// What was seen.
struct Watched {
    sampled: Sampled,
    asked: half::Asked,
    checked: checker::Found,
}

impl Watch {
    fn begin(
        subject: &Subject,
        at_rest: AtRest,
        counts: Option<ServerCounts>,
        cpu_s: f64,
        window_ms: u64,
    ) -> Self {
        let (pid, window) = (subject.process.pid(), Duration::from_millis(window_ms));
        let sampler = Sampler::start(pid, at_rest, window, Listening::at(&subject.addr));
        let question = subject.metrics.clone().zip(counts).map(|(metrics, counts)| {
            half::ask_after(window / 2, half::Start { pid, metrics, counts, cpu_s })
        });
        Self { sampler, question, checker: None }
    }

    fn end(self) -> Watched {
        Watched {
            sampled: self.sampler.stop(),
            asked: self.question.map(half::Question::answer).unwrap_or_default(),
            checked: self.checker.map(Checker::end).unwrap_or_default(),
        }
    }
}

fn find<'a, T>(items: &'a [T], name_of: impl Fn(&T) -> &String, name: &str) -> Result<&'a T> {
    items.iter().find(|item| name_of(item) == name).with_context(|| format!("the plan has no {name:?}"))
}

fn died(error: anyhow::Error) -> Outcome {
    Outcome::ServerDied { reason: format!("{error:#}") }
}
