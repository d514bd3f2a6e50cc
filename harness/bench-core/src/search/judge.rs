//! What one trial showed: whether what is demanded was met, what missed it, and whether the load tool was what held it
//! back.
//!
//! At a rate, latency counts from the moment at which a request was meant to be sent, so waiting in the load tool's
//! queue, which a slow server makes, is in it.

use super::Judgement;
use crate::config::ServiceLevel;
use crate::load::records::{EXHAUSTED, NOT_SENT, TOOL_LATE};
use crate::load::{Latency, LoadSample};
use crate::observation::{Observation, Outcome, Sample};
use crate::observed::{disturbed, invalid};

/// A machine is full from this share of its processors on.
const FULL: f64 = 0.85;

/// The share of the latency that must have passed before a request was sent, for the load tool to be the reason.
const BEFORE_SENT: f64 = 0.5;

/// The names of failures of requests that were due and that the load tool did not send, though the server did not keep
/// it from that. Older runs do not record why a request was not sent.
const UNSENT: [&str; 3] = [NOT_SENT, TOOL_LATE, EXHAUSTED];

/// What is demanded of a trial.
#[derive(Debug, Clone, Copy)]
pub struct Judge<'a> {
    /// A service level at a rate; where there is none, no request may fail or take longer than the timeout.
    pub level: Option<&'a ServiceLevel>,
    /// When the load tool gives a request up, in milliseconds.
    pub timeout_ms: u64,
    /// Processors that server and load tool share.
    pub cores: usize,
}

/// A part of what is demanded that a trial missed.
#[derive(Debug, Clone, PartialEq)]
pub enum Missed {
    /// Requests failed: their share of all, from 0 to 1, and the kinds. At a rate those that the load tool did not send
    /// are none.
    Failed(f64, Vec<String>),
    /// A request took longer than the timeout: the slowest, in microseconds.
    Late(f64),
    /// The 99th percentile of latency, in microseconds.
    P99(f64),
    /// The achieved share of the requested rate, from 0 to 1.
    Rate(f64),
    /// No more than N connections were established in time.
    NotHeld(u64),
    /// There was no window to judge: why.
    NoFigure(String),
}

impl Judge<'_> {
    /// No request may fail or take longer than the timeout.
    pub const fn none_bad(timeout_ms: u64) -> Self {
        Self { level: None, timeout_ms, cores: 0 }
    }

    /// What a trial showed of its server. The load was not reached where connections were not held, or where the load
    /// tool was the reason for a missed level. A request that failed is one all the same.
    pub fn judgement(&self, observation: &Observation) -> Judgement {
        let outcome = &observation.outcome;
        let has_none = |sample: &Sample| self.of_window(&sample.load).is_some_and(|missed| missed.is_empty());
        match outcome {
            Outcome::NotHeld(sample) if has_none(sample) && !disturbed(outcome) => Judgement::NotReached,
            outcome => Judgement::of(outcome, |sample| self.window(sample)),
        }
    }

    fn window(&self, sample: &Sample) -> Judgement {
        // A window without a rate is not one of a search along a rate.
        let Some(missed) = self.of_window(&sample.load) else { return Judgement::Nothing };
        let passed = missed.is_empty();
        let Some(level) = self.level else { return if passed { Judgement::PASS } else { Judgement::FAIL } };
        // A late tool does not excuse that requests failed, and how long they held connections is unknown.
        let has_failures = missed.iter().any(|missed| matches!(missed, Missed::Failed(..)));
        if !passed && !has_failures && tool_limit(sample, self.cores) {
            return Judgement::NotReached;
        }
        Judgement::Measured { passed, missed: missed_share(level, &sample.load) }
    }

    /// What a trial missed, also where it gave no figure; none where it passed.
    pub fn missed(&self, observation: &Observation) -> Vec<Missed> {
        let outcome = &observation.outcome;
        let evidence = outcome.evidence();
        if let Some(lost) = evidence.and_then(invalid) {
            return vec![Missed::NoFigure(lost.words().to_owned())];
        }
        let window = evidence.map(|sample| self.of_window(&sample.load));
        if matches!(window, Some(None)) && outcome.failure().is_none() {
            return vec![Missed::NoFigure("it was no trial at a rate".to_owned())];
        }
        let mut missed = window.flatten().unwrap_or_default();
        missed.extend(evidence.and_then(Sample::short_of).map(Missed::NotHeld));
        if missed.is_empty() {
            missed.extend(outcome.failure().map(Missed::NoFigure));
        }
        missed
    }

    /// What a window missed. `None` where it was to be at a rate and was not.
    fn of_window(&self, load: &LoadSample) -> Option<Vec<Missed>> {
        let mut missed = Vec::new();
        let Some(level) = self.level else {
            if load.failures() > 0 {
                missed.push(Missed::Failed(
                    share(load, load.failures()),
                    load.failed.keys().cloned().collect(),
                ));
            }
            if load.slower_than(self.timeout_ms as f64 * 1e3) > 0 {
                missed.push(Missed::Late(load.latency_us.max));
            }
            return Some(missed);
        };
        let achieved = achieved_share(load)?;
        let failed = share(load, load.failures() - unsent(load));
        if failed > level.most_failed.map_or(0.0, |most| most.0) {
            let kinds = load.failed.keys().filter(|kind| !UNSENT.contains(&kind.as_str()));
            missed.push(Missed::Failed(failed, kinds.cloned().collect()));
        }
        if load.latency_us.p99 >= level.p99_ms as f64 * 1e3 {
            missed.push(Missed::P99(load.latency_us.p99));
        }
        if achieved < 1.0 - level.shortfall.0 {
            missed.push(Missed::Rate(achieved));
        }
        Some(missed)
    }
}

/// The share of the requests that failed or took longer than the level's limit, from 0 to 1. One that failed late counts
/// twice, and between two points of the quantile function the lower one counts: it is never too small.
fn missed_share(level: &ServiceLevel, load: &LoadSample) -> f64 {
    let latency = &load.latency_us;
    let named = [(0.5, latency.p50), (0.9, latency.p90), (0.99, latency.p99), (1.0, latency.max)];
    let points = if load.quantiles.is_empty() { &named[..] } else { &load.quantiles[..] };
    let in_time = points.iter().take_while(|(_, us)| *us < level.p99_ms as f64 * 1e3).last();
    let late = 1.0 - in_time.map_or(0.0, |(probability, _)| *probability);
    (share(load, load.failures()) + late).min(1.0)
}

/// A number of a window's requests as a share of all that were due, from 0 to 1.
fn share(load: &LoadSample, requests: u64) -> f64 {
    let due = load.succeeded + load.failures();
    if due == 0 { 1.0 } else { requests as f64 / due as f64 }
}

/// Requests that were due and that the load tool did not send: the rate was not achieved, and the server failed none of
/// them.
fn unsent(load: &LoadSample) -> u64 {
    UNSENT.iter().filter_map(|kind| load.failed.get(*kind)).sum()
}

/// The share of the requested rate that was achieved: that of the requests that were sent, or the rate at which they
/// were where that is less. `None` where it was no load at a rate.
pub(super) fn achieved_share(load: &LoadSample) -> Option<f64> {
    let open = load.open.as_ref()?;
    Some((open.achieved_rate / open.requested_rate).min(1.0 - share(load, unsent(load))))
}

/// Whether the load tool, and not the server, held a window back in which the level was missed. Most of the latency
/// passed before the requests were sent, and either that was the tool's own lateness, with connections free, or it took
/// at least as much of a full machine as the server did.
fn tool_limit(sample: &Sample, cores: usize) -> bool {
    let Some(open) = &sample.load.open else { return false };
    let is_most = |lag: Latency| lag.p99 >= BEFORE_SENT * sample.load.latency_us.p99;
    if !open.send_lag_us.is_some_and(is_most) {
        return false;
    }
    let had_free = open.own_lag_us.is_some_and(is_most);
    let (client, server) = (sample.client_cores(), sample.server_cores().unwrap_or(0.0));
    let is_full = client + server >= FULL * cores as f64;
    had_free || (is_full && client >= server)
}

impl std::fmt::Display for Missed {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Failed(share, kinds) => {
                write!(out, "{:.2} % of the requests failed ({})", share * 100.0, kinds.join(", "))
            }
            Self::Late(us) => write!(out, "slowest {:.0} ms", us / 1e3),
            Self::P99(us) => write!(out, "p99 {:.1} ms", us / 1e3),
            Self::Rate(share) => write!(out, "{:.1} % of the rate achieved", share * 100.0),
            Self::NotHeld(held) => write!(out, "{held} connections held"),
            Self::NoFigure(reason) => out.write_str(reason),
        }
    }
}

impl Missed {
    /// Its kind, without figures: what trials are counted by.
    pub fn kind(&self) -> String {
        match self {
            Self::Failed(_, kinds) => format!("failed requests: {}", kinds.join(", ")),
            Self::Late(_) => "slower than the timeout".to_owned(),
            Self::P99(_) => "p99 too long".to_owned(),
            Self::Rate(_) => "rate not achieved".to_owned(),
            Self::NotHeld(_) => "connections not held".to_owned(),
            // Its figures stand behind what happened.
            Self::NoFigure(reason) => {
                reason.split(['(', ',', ':']).next().unwrap_or(reason).trim().to_owned()
            }
        }
    }
}
