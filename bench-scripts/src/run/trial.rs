//! One trial: a fresh server, its answer held against the truth, a warm-up, the measured window, and its answer again.

mod disturb;
mod half;
mod means;
pub(super) mod open;
pub(super) mod tool;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::Value;

use self::tool::remove_if_empty;
use super::duet::{OtherLeft, Side};
use crate::config::{Server, Workload};
use crate::http::{self, ServerCounts};
use crate::interrupt::{Interrupt, Interrupted};
use crate::load::bodies::Bodies;
use crate::load::toolchain::Tools;
use crate::load::{Load, LoadSample, OpenLoad};
use crate::observation::{Observation, Outcome, Sample, Warmup};
use crate::plan::Trial;
use crate::probe::host::HostActivity;
use crate::probe::listen::Listening;
use crate::probe::network::NetworkCounters;
use crate::probe::process::{CpuTime, cpu_time, peak_memory_bytes};
use crate::probe::resources::{AtRest, Sampled, Sampler};
use crate::probe::threads;
use crate::results::{Plan, RunFolder};
use crate::subject::Subject;

/// What every trial of a run shares.
pub struct Bench<'a> {
    /// Where tools' own output goes.
    pub folder: &'a RunFolder,
    /// The plan.
    pub plan: &'a Plan,
    /// The load tools.
    pub tools: &'a Tools,
    /// The true answers, by workload.
    pub truths: &'a BTreeMap<String, Value>,
    /// Ends every wait.
    pub interrupt: &'a Interrupt,
}

/// What became of a trial that had to stop since the one beside it did.
const OTHER_LEFT: &str = "the trial beside it failed";

/// A trial's end: a measured sample, or the reason why there is none. The outer error ends the run.
pub(super) type Ended<T> = Result<std::result::Result<T, Outcome>>;

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
        let outcome = match Subject::start(server, environment, &workload.body, &stderr, self.interrupt) {
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
        or_failed!(self.verify(workload, subject, "before the window"));
        let means = means::find(subject, &workload.body, at_rest);
        or_failed!(meet(beside.as_ref()));
        let warmup = or_failed!(self.warm_up(trial, workload, subject, at_rest)?);
        or_failed!(meet(beside.as_ref()));

        let ready = or_failed!(self.prepare_window(trial, workload, &subject.addr, window_ms)?);
        let counts = or_failed!(counts(subject));
        let (network, host) = (NetworkCounters::read(), HostActivity::read());
        let threads_before = threads::read(pid);
        let server = or_failed!(cpu_time(pid).map_err(died));
        let watch = Watch::begin(subject, at_rest, counts, server.total_s(), window_ms);
        let began = Instant::now();
        let put = or_failed!(self.put_on(trial, subject, &ready)?);
        let window_s = began.elapsed().as_secs_f64();
        let server_cpu = or_failed!(cpu_time(pid).map_err(died)).since(server);
        let (network, host) = (NetworkCounters::read().since(network), HostActivity::read().since(host));
        let threads = threads::since(threads::read(pid), &threads_before, window_s);
        let (sampled, asked) = watch.end();
        let loaded = or_failed!(self.read_window(&ready, put)?);
        or_failed!(meet(beside.as_ref()));
        // A server that failed the load may fail this question too, and what the load showed is worth more.
        let counted = match counts_since(subject, counts) {
            Err(_) if loaded.sample.failures() > 0 => None,
            counted => or_failed!(counted),
        };
        let server_peak_memory_bytes = peak_memory_bytes(pid);

        let answer_bytes = self.truths.get(&workload.name).map_or(0, |truth| truth.to_string().len() as u64);
        let sample = Sample {
            load: loaded.sample,
            server_cpu,
            server_requests: counted.map(|counted| counted.requests),
            server_peak_memory_bytes,
            client_cpu: loaded.client_cpu,
            window_s,
            network,
            host,
            answer_bytes,
            server_errors: counted.map(|counted| counted.errors),
            memory_before_bytes: at_rest.memory_bytes,
            established: sampled.most_open_files(),
            first_half: asked.half,
            sampler_cpu_s: sampled.cpu_s.map(|cpu_s| cpu_s + asked.cpu_s.unwrap_or(0.0)),
            resources: sampled.resources,
            warmup: Some(warmup),
            means,
            threads,
            background: loaded.background.map(Box::new),
            stalls: loaded.stalls,
        };
        if sample.load.succeeded == 0 {
            return Ok(Err(Outcome::NoSuccess(Box::new(sample))));
        }
        if self.is_silent(workload, subject) {
            return Ok(Err(Outcome::Silent(Box::new(sample))));
        }
        or_failed!(self.verify(workload, subject, "after the window"));
        let loads: Vec<&LoadSample> =
            std::iter::once(&sample.load).chain(sample.background.as_deref()).collect();
        or_failed!(check_counts(counted, &loads, trial.connections));
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
                self.ask_at_rate(trial, what, &load, trial.tool, Bodies::One(&workload.body), addr)
            }
        }
    }

    fn verify(&self, workload: &Workload, subject: &Subject, when: &str) -> std::result::Result<(), Outcome> {
        let truth = self.truths.get(&workload.name).unwrap_or(&Value::Null);
        let wrong = |answer| Outcome::WrongAnswer { when: when.to_owned(), answer };
        match http::verify(&subject.addr, &workload.body, truth) {
            Ok(verdict) => verdict.map_err(wrong),
            Err(error) => Err(wrong(format!("{error:#}"))),
        }
    }

    /// Whether the server answers nothing at all, not even wrongly.
    fn is_silent(&self, workload: &Workload, subject: &Subject) -> bool {
        let truth = self.truths.get(&workload.name).unwrap_or(&Value::Null);
        http::verify(&subject.addr, &workload.body, truth).is_err()
    }
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
        Self { sampler, question }
    }

    fn end(self) -> (Sampled, half::Asked) {
        (self.sampler.stop(), self.question.map(half::Question::answer).unwrap_or_default())
    }
}

fn find<'a, T>(items: &'a [T], name_of: impl Fn(&T) -> &String, name: &str) -> Result<&'a T> {
    items.iter().find(|item| name_of(item) == name).with_context(|| format!("the plan has no {name:?}"))
}

fn died(error: anyhow::Error) -> Outcome {
    Outcome::ServerDied { reason: format!("{error:#}") }
}

/// The server's own counts, where it has any.
fn counts(subject: &Subject) -> std::result::Result<Option<ServerCounts>, Outcome> {
    let Some(metrics) = &subject.metrics else { return Ok(None) };
    http::server_counts(metrics).map(Some).map_err(|error| Outcome::Invalid { reason: format!("{error:#}") })
}

fn counts_since(
    subject: &Subject,
    earlier: Option<ServerCounts>,
) -> std::result::Result<Option<ServerCounts>, Outcome> {
    let (Some(now), Some(earlier)) = (counts(subject)?, earlier) else { return Ok(None) };
    Ok(Some(ServerCounts { requests: now.requests - earlier.requests, errors: now.errors - earlier.errors }))
}

/// Holds the server's counts against the load tool's. A JSON-RPC error in HTTP 200 is a success to the tool, and only the
/// server's count shows it.
fn check_counts(
    counted: Option<ServerCounts>,
    loads: &[&LoadSample],
    connections: u32,
) -> std::result::Result<(), Outcome> {
    let Some(ServerCounts { requests, errors }) = counted else { return Ok(()) };
    if errors > 0 {
        let answer = format!("{errors} of {requests} calls were answered with a JSON-RPC error");
        return Err(Outcome::WrongAnswer { when: "in the window".to_owned(), answer });
    }
    // Requests that were under way when the warm-up or the window closed are the server's alone, at most one a connection
    // each; requests that failed may have been answered too late.
    let succeeded: u64 = loads.iter().map(|load| load.succeeded).sum();
    let failed: u64 = loads.iter().map(|load| load.failures()).sum();
    let most = succeeded + failed + 2 * u64::from(connections) * loads.len() as u64;
    if requests < succeeded || requests > most {
        let reason = format!("the server counted {requests} calls, the load tool {succeeded} answers");
        return Err(Outcome::Invalid { reason });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Latency;

    fn load(succeeded: u64) -> LoadSample {
        let latency_us = Latency { mean: 1.0, p50: 1.0, p90: 1.0, p99: 1.0, p999: None, max: 1.0 };
        LoadSample {
            succeeded,
            failed: BTreeMap::new(),
            time_taken_s: 1.0,
            bytes_read: 1,
            latency_us,
            quantiles: Vec::new(),
            open: None,
            series: Vec::new(),
        }
    }

    fn check(requests: u64, errors: u64) -> Option<Outcome> {
        check_counts(Some(ServerCounts { requests, errors }), &[&load(1_000)], 10).err()
    }

    #[test]
    fn counts_that_fit_pass() {
        assert_eq!(check(1_000, 0), None);
        assert_eq!(check(1_020, 0), None);
        assert_eq!(check_counts(None, &[&load(1_000)], 10), Ok(()));
    }

    #[test]
    fn a_json_rpc_error_in_http_200_is_a_wrong_answer() {
        assert!(matches!(check(1_000, 1), Some(Outcome::WrongAnswer { .. })));
    }

    #[test]
    fn counts_that_do_not_fit_make_the_trial_invalid() {
        assert!(matches!(check(999, 0), Some(Outcome::Invalid { .. })));
        assert!(matches!(check(1_021, 0), Some(Outcome::Invalid { .. })));
    }
}
