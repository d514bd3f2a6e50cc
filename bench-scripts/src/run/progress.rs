//! What a person sees while a campaign runs: which trial, what it gave, how far, and how long still.

use std::time::Instant;

use super::trial_line::TrialLine;
use crate::analysis::invalid_reason;
use crate::observation::Observation;
use crate::plan::Plan;
use crate::plan::{self, Trial};

/// Seconds that a trial takes beyond its warm-up and window, until one has shown it: start, checks and end.
const GUESSED_OVERHEAD_S: f64 = 0.4;

/// Progress of a run, on standard error.
pub struct Progress {
    total: usize,
    left: usize,
    done_here: u32,
    blocks: u32,
    run_again: u32,
    stops_early: bool,
    name: String,
    guess_s: f64,
    began: Instant,
    line: TrialLine,
}

impl Progress {
    /// Of a plan of which nothing has run yet.
    pub fn new(plan: &Plan) -> Self {
        let campaign = &plan.campaign;
        Self {
            total: plan::planned(campaign, &plan.trials),
            left: 0,
            done_here: 0,
            blocks: campaign.max_blocks,
            run_again: 0,
            stops_early: campaign.precision.is_some(),
            name: campaign.name.clone(),
            guess_s: (campaign.warmup_ms + campaign.window_ms) as f64 / 1e3 + GUESSED_OVERHEAD_S,
            began: Instant::now(),
            line: TrialLine::new(),
        }
    }

    /// The trials up to the next interim analysis begin; so many lost blocks are run again so far.
    pub fn stage(&mut self, needed: usize, done: usize, run_again: u32) {
        self.left = needed;
        if run_again > self.run_again {
            let lost = run_again - self.run_again;
            let blocks = if lost == 1 {
                "1 block was lost and is"
            } else {
                &format!("{lost} blocks were lost and are")
            };
            eprintln!("{}: {blocks} run again", self.name);
            self.run_again = run_again;
        }
        let time = minutes(self.trial_s() * needed as f64);
        let most = self.total.saturating_sub(done);
        let name = &self.name;
        if self.stops_early && needed < most {
            eprintln!("{name}: {needed} trials to the next look, {time}; at most {most} in all");
        } else {
            eprintln!("{name}: {needed} of {} trials to run, {time}", self.total);
        }
    }

    /// What one trial takes, in seconds.
    fn trial_s(&self) -> f64 {
        let average_s = self.began.elapsed().as_secs_f64() / f64::from(self.done_here.max(1));
        if self.done_here < 3 { self.guess_s } else { average_s }
    }

    /// A trial begins.
    pub fn begin(&self, trial: &Trial) {
        self.line.begin(&self.head(trial));
    }

    /// A trial gave something.
    pub fn end(&mut self, observation: &Observation) {
        self.left -= 1;
        self.done_here += 1;
        let gave = match &observation.outcome.sample() {
            Some(sample) => format!(
                "{:>9.0} req/s  p99 {:>8.2} ms  {:>7.2} us CPU/request{}",
                sample.load.requests_per_second(),
                sample.load.latency_us.p99 / 1e3,
                sample.cpu_us_per_request(),
                invalid_reason(sample).map_or_else(String::new, |reason| format!("  INVALID: {reason}")),
            ),
            None => {
                format!("FAILED {}", observation.outcome.failure().as_deref().unwrap_or("without a reason"))
            }
        };
        let left = minutes(self.trial_s() * self.left as f64);
        self.line.end(&self.head(&observation.trial), &format!("{gave}  {left} left"));
    }

    fn head(&self, trial: &Trial) -> String {
        let width = self.total.to_string().len();
        format!(
            "[{:>width$}/{}] block {}/{}  {:<17} {:<10} {:>5} {}",
            trial.number,
            self.total,
            trial.block,
            self.blocks,
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
