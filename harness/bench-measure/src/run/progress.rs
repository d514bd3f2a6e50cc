//! What a person sees while a campaign runs: each trial's result, where the comparisons stand after each block, and the
//! time left.

use std::collections::BTreeMap;
use std::time::Instant;

use crate::watch;
use bench_core::config::{Campaign, Placement};
use bench_core::figure::Figure;
use bench_core::load::Latency;
use bench_core::note;
use bench_core::observation::{Observation, Sample};
use bench_core::plan::{self, Plan, Trial};
use bench_core::readable_numbers::bytes;
use bench_core::{Comparison, Comparisons, Finding, Observed, Verdict, invalid_reason};

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
}

impl<'a> Progress<'a> {
    /// Of a plan of which nothing has run yet.
    pub fn new(plan: &'a Plan) -> Self {
        let total = plan::planned(&plan.campaign, &plan.trials);
        Self { plan, total, left: 0, known: 0, done_here: 0, run_again: 0, began: Instant::now() }
    }

    /// The trials up to the next interim analysis begin; `run_again` lost blocks are run again so far.
    pub fn stage(&mut self, needed: usize, done: usize, run_again: u32) {
        let Campaign { name, precision, max_minutes, .. } = &self.plan.campaign;
        (self.left, self.known) = (needed, done + needed);
        if run_again > self.run_again {
            let blocks = match run_again - self.run_again {
                1 => "1 block was lost and is".to_owned(),
                lost => format!("{lost} blocks were lost and are"),
            };
            note!("{name}: {blocks} run again");
            self.run_again = run_again;
        }
        let (time, most) = (self.time_left(), self.total.saturating_sub(done));
        if precision.is_some() && needed < most {
            let most = match max_minutes {
                Some(minutes) => format!("{minutes} min"),
                None => format!("{most} trials"),
            };
            note!("{name}: {needed} trials to the next interim analysis, {time}; at most {most} in all");
        } else {
            note!("{name}: {needed} of {} trials to run, {time}", self.total);
        }
        self.watch_progress();
    }

    fn watch_progress(&self) {
        let left_s = self.trial_s() * self.left as f64;
        watch::progress(&self.plan.campaign.name, self.known - self.left, self.known, left_s);
    }

    /// What one trial takes, in seconds.
    fn trial_s(&self) -> f64 {
        let Campaign { warmup_ms, window_ms, .. } = self.plan.campaign;
        if self.done_here < 3 {
            return (warmup_ms + window_ms) as f64 / 1e3 + GUESSED_OVERHEAD_S;
        }
        self.began.elapsed().as_secs_f64() / f64::from(self.done_here)
    }

    /// A trial has ended.
    pub fn end(&mut self, observation: &Observation) {
        self.done_here += 1;
        let gave = match observation.outcome.sample() {
            Some(sample) => {
                let invalid = invalid_reason(sample).map(|reason| format!("  INVALID: {reason}"));
                measured(sample) + &invalid.unwrap_or_default()
            }
            None => {
                format!("FAILED {}", observation.outcome.failure().as_deref().unwrap_or("without a reason"))
            }
        };
        let head = self.head(&observation.trial);
        self.left -= 1;
        watch::trial_ended(|| load(&observation.trial), observation.outcome.sample().map(figures));
        self.watch_progress();
        note!("{head}  {gave}  {} left", self.time_left());
    }

    /// What the trials up to the next interim analysis take.
    fn time_left(&self) -> String {
        minutes(self.trial_s() * self.left as f64)
    }

    /// A block has ended: where the comparisons stand.
    pub fn block_ended(&self, observations: &[Observation]) {
        let Plan { campaign, trials, .. } = self.plan;
        let observed = Observed::new(observations);
        let compared = Comparisons::new(campaign, &self.plan.levels(), trials, &observed).comparisons();
        if let Some(line) = line(campaign.environment.placement, &compared) {
            note!("{}: {line}", campaign.name);
        }
    }

    fn head(&self, trial: &Trial) -> String {
        // Of those up to the next interim analysis: how many more there will be is not known before it.
        let (done, known) = (self.known - self.left, self.known);
        let width = known.to_string().len();
        let (amount, unit) = (trial.level().amount(), trial.level().unit());
        format!(
            "[{:>width$}/{known}] block {}  {:<17} {:<10} {amount:>5} {:<column$}",
            (done + 1).min(known),
            trial.block,
            trial.server,
            trial.workload,
            trial.level().unit_of(amount),
            column = unit.len(),
        )
    }
}

/// A trial begins.
pub fn begin(trial: &Trial) {
    watch::trial_begins(|| load(trial));
}

/// What a trial gave, which may have held connections and sent nothing.
fn measured(sample: &Sample) -> String {
    let details = &sample.load.details;
    if details.held {
        let connect_ms = details.connects.map(|connects| connects.each_us.p99 / 1e3);
        let connect = connect_ms.map_or("-".to_owned(), |ms| format!("{ms:.2} ms"));
        let memory = sample.figure(Figure::HeldMemoryBytes).map_or("-".to_owned(), bytes);
        return format!("connect p99 {connect:>9}  memory {memory}");
    }
    let (rate, what) =
        (sample.load.requests_per_second(), if details.batch.is_some() { "calls" } else { "req" });
    let p99 = sample.figure(Figure::P99Us).map(|us| format!("p99 {:>8.2} ms", us / 1e3));
    let cpu = sample.cpu_us_per_request().map(|cpu| format!("{cpu:>7.2} µs CPU/request"));
    let (p99, cpu) = (p99.as_deref().unwrap_or("p99 unknown"), cpu.as_deref().unwrap_or("CPU unknown"));
    format!("{rate:>9.0} {what}/s  {p99}  {cpu}")
}

/// A trial as whoever watches the run sees it.
fn load(trial: &Trial) -> watch::WatchedLoad {
    let (server, workload, amount) = (trial.server.clone(), trial.workload.clone(), trial.level().amount());
    watch::WatchedLoad { server, workload, level: format!("{amount} {}", trial.level().unit_of(amount)) }
}

/// A sample as whoever watches the run sees it.
fn figures(sample: &Sample) -> watch::Figures {
    let load = &sample.load;
    let Latency { p50, p90, p99, .. } = load.latency_us;
    // Several hosts' percentiles may be unknown, which Prometheus shows as a gap.
    let seconds = |us: f64| if load.details.no_percentiles { f64::NAN } else { us / 1e6 };
    watch::Figures {
        rate: load.requests_per_second(),
        latency_s: [(0.5, seconds(p50)), (0.9, seconds(p90)), (0.99, seconds(p99))],
        cpu_s: sample.cpu_us_per_request().map(|us| us / 1e6),
    }
}

/// A duration as a person says it.
fn minutes(seconds: f64) -> String {
    match seconds.round() as u64 {
        seconds @ 0..100 => format!("about {seconds} s"),
        seconds => format!("about {} min", (seconds + 30) / 60),
    }
}

/// `requests/s over legacy: getBalance: actix 1.32 faster, axum 1.18 open; getBlocks: …`; none where nothing is
/// compared yet.
///
/// Ratios are those of all blocks so far. A verdict stands only where an interim analysis gave it: what is not decided
/// is open.
fn line(placement: Placement, comparisons: &[Comparison]) -> Option<String> {
    let (figure, _) = found(placement, comparisons.first()?)?;
    let over = &comparisons.first()?.over;
    let mut by_workload: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for pair in comparisons {
        let Some((_, finding)) = found(placement, pair) else { continue };
        let base = if pair.over == *over { String::new() } else { format!(" over {}", pair.over) };
        let part = format!("{}{base} {:.2} {}", pair.server, finding.ratio.value, decided(finding));
        by_workload.entry(&pair.workload).or_default().push(part);
    }
    let parts = by_workload.into_iter().map(|(workload, parts)| format!("{workload}: {}", parts.join(", ")));
    Some(format!("{figure} over {over}: {}", parts.collect::<Vec<_>>().join("; ")))
}

/// The first figure of a pair that is judged and compares the two: its name, and what is known of it.
fn found(placement: Placement, pair: &Comparison) -> Option<(&'static str, &Finding)> {
    let shown = pair.shown(placement);
    let (figure, finding) = shown.into_iter().find(|(figure, _)| pair.block_ratios.contains_key(figure))?;
    Some((figure.described().0, finding))
}

fn decided(finding: &Finding) -> &'static str {
    match finding.verdict {
        _ if finding.confidence.is_none() => "open",
        Verdict::Faster => "better",
        Verdict::Slower => "worse",
        Verdict::DifferentButSmall => "different",
        Verdict::Equivalent => "equivalent",
        Verdict::Inconclusive | Verdict::NotJudged => "open",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bench_core::Demand;
    use bench_core::figure::Better;
    use bench_core::load::Level;
    use bench_core::stats::Ranked;

    const FIGURES: [Figure; 2] = [Figure::RequestsPerSecond, Figure::CpuUsPerRequest];

    fn pair(server: &str, workload: &str, ratio: f64, decided: bool) -> Comparison {
        let logs: Vec<f64> = (0..12).map(|block| ratio.ln() + 0.001 * f64::from(block % 5)).collect();
        let paired = Ranked::paired(&logs).unwrap();
        let demand = Demand { margin: 0.02, precision: None };
        let finding = match decided {
            true => Finding::of(&paired, 0.05, Better::More, demand),
            false => Finding::unseen(&paired, 24),
        };
        Comparison {
            server: server.to_owned(),
            over: "legacy".to_owned(),
            workload: workload.to_owned(),
            level: Level::from(125),
            findings: FIGURES.map(|figure| (figure, finding)).into(),
            invalid_blocks: 0,
            lost: BTreeMap::new(),
            run_again: 0,
            settled_at: None,
            block_ratios: FIGURES.map(|figure| (figure, logs.iter().map(|log| log.exp()).collect())).into(),
        }
    }

    #[test]
    fn the_line_of_a_block_has_a_verdict_once_an_analysis_gave_one() {
        let all = [pair("actix", "getBalance", 1.3, true), pair("jsonrpsee", "getBalance", 1.2, false)];
        assert_eq!(
            line(Placement::Free, &all).unwrap(),
            "requests/s over legacy: getBalance: actix 1.30 better, jsonrpsee 1.20 open"
        );
        let duets = line(Placement::Duet, &[pair("actix", "getBlocks", 1.3, true)]).unwrap();
        assert_eq!(duets, "CPU per request over legacy: getBlocks: actix 1.30 better");
        assert_eq!(line(Placement::Free, &[]), None);
    }
}
