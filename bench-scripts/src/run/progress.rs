//! What a person sees while a campaign runs: the trial, its result, how many are left, and for how long.

use std::time::Instant;

use super::ratios_so_far;
use super::trial_line::TrialLine;
use crate::analysis::{Comparisons, Observed, invalid_reason};
use crate::config::Campaign;
use crate::observation::Observation;
use crate::plan::{self, Plan, Trial};

/// Seconds that a trial takes beyond its warm-up and window, assumed until some have run: start, checks and end.
const GUESSED_OVERHEAD_S: f64 = 0.4;

/// Progress of a run, on standard error.
pub struct Progress<'a> {
    plan: &'a Plan,
    total: usize,
    left: usize,
    /// Trials that are done, and those up to the next interim analysis.
    known: usize,
    done_here: u32,
    run_again: u32,
    began: Instant,
    line: TrialLine,
}

impl<'a> Progress<'a> {
    /// Of a plan of which nothing has run yet.
    pub fn new(plan: &'a Plan) -> Self {
        let total = plan::planned(&plan.campaign, &plan.trials);
        let (began, line) = (Instant::now(), TrialLine::new());
        Self { plan, total, left: 0, known: 0, done_here: 0, run_again: 0, began, line }
    }

    /// The trials up to the next interim analysis begin; `run_again` lost blocks are run again so far.
    pub fn stage(&mut self, needed: usize, done: usize, run_again: u32) {
        let Campaign { name, precision, .. } = &self.plan.campaign;
        self.left = needed;
        self.known = done + needed;
        if run_again > self.run_again {
            let blocks = match run_again - self.run_again {
                1 => "1 block was lost and is".to_owned(),
                lost => format!("{lost} blocks were lost and are"),
            };
            eprintln!("{name}: {blocks} run again");
            self.run_again = run_again;
        }
        let time = minutes(self.trial_s() * needed as f64);
        let most = self.total.saturating_sub(done);
        if precision.is_some() && needed < most {
            let most = match self.plan.campaign.max_minutes {
                Some(minutes) => format!("{minutes} min"),
                None => format!("{most} trials"),
            };
            eprintln!("{name}: {needed} trials to the next interim analysis, {time}; at most {most} in all");
        } else {
            eprintln!("{name}: {needed} of {} trials to run, {time}", self.total);
        }
    }

    /// What one trial takes, in seconds.
    fn trial_s(&self) -> f64 {
        let Campaign { warmup_ms, window_ms, .. } = self.plan.campaign;
        if self.done_here < 3 {
            return (warmup_ms + window_ms) as f64 / 1e3 + GUESSED_OVERHEAD_S;
        }
        self.began.elapsed().as_secs_f64() / f64::from(self.done_here)
    }

    /// A trial begins.
    pub fn begin(&self, trial: &Trial) {
        self.line.begin(&self.head(trial));
    }

    /// A trial has ended.
    pub fn end(&mut self, observation: &Observation) {
        self.done_here += 1;
        let gave = match &observation.outcome.sample() {
            Some(sample) => format!(
                "{:>9.0} req/s  p99 {:>8.2} ms  {}{}",
                sample.load.requests_per_second(),
                sample.load.latency_us.p99 / 1e3,
                sample
                    .cpu_us_per_request()
                    .map_or_else(|| "CPU unknown".to_owned(), |cpu| format!("{cpu:>7.2} µs CPU/request")),
                invalid_reason(sample).map_or_else(String::new, |reason| format!("  INVALID: {reason}")),
            ),
            None => {
                format!("FAILED {}", observation.outcome.failure().as_deref().unwrap_or("without a reason"))
            }
        };
        let head = self.head(&observation.trial);
        self.left -= 1;
        let left = minutes(self.trial_s() * self.left as f64);
        self.line.end(&head, &format!("{gave}  {left} left"));
    }

    /// A block has ended: where the comparisons stand.
    pub fn block_ended(&self, observations: &[Observation]) {
        let Plan { campaign, trials, .. } = self.plan;
        let observed = Observed::new(observations);
        let compared = Comparisons::new(campaign, &self.plan.levels(), trials, &observed).comparisons();
        if let Some(line) = ratios_so_far::line(campaign.environment.placement, &compared) {
            eprintln!("{}: {line}", campaign.name);
        }
    }

    fn head(&self, trial: &Trial) -> String {
        // Of those up to the next interim analysis: how many more there will be is not known before it.
        let (done, known) = (self.known - self.left, self.known);
        let width = known.to_string().len();
        format!(
            "[{:>width$}/{known}] block {}  {:<17} {:<10} {:>5} {}",
            (done + 1).min(known),
            trial.block,
            trial.server,
            trial.workload,
            trial.level().amount(),
            if trial.rate.is_some() { "requests/s" } else { "connections" },
        )
    }
}

/// A duration as a person says it.
fn minutes(seconds: f64) -> String {
    match seconds.round() as u64 {
        seconds @ 0..100 => format!("about {seconds} s"),
        seconds => format!("about {} min", (seconds + 30) / 60),
    }
}
