//! The original test and its repetition in the same terms: what bombardier prints of a load.

use serde::{Deserialize, Serialize};

use super::observed::{Observed, Samples, middle_of, quantile_us};
use bench_model::config::OriginalRun;
use bench_model::figure::Figure;
use bench_model::load::Level;
use bench_model::observation::{Observation, Sample};
use bench_model::plan::Plan;

/// One load as bombardier prints it. Times are in microseconds; what is not known is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Printed {
    /// Requests that ended a second, answered or not.
    pub requests_per_second: f64,
    /// Requests that were answered a second.
    pub answered_per_second: f64,
    /// Requests that ran into the timeout.
    pub timeouts: Option<f64>,
    /// Mean latency.
    pub mean_us: f64,
    /// Median latency.
    pub p50_us: Option<f64>,
    /// 95th percentile of latency.
    pub p95_us: Option<f64>,
    /// 99th percentile of latency.
    pub p99_us: f64,
    /// The slowest request.
    pub max_us: f64,
    /// Bytes read and written a second.
    pub bytes_per_second: Option<f64>,
}

/// A load on one arm of a campaign: medians over its valid trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reproduced {
    /// The arm.
    pub server: String,
    /// The request.
    pub workload: String,
    /// The load.
    #[serde(flatten)]
    pub level: Level,
    /// Trials that were measured.
    pub trials: usize,
    /// What bombardier printed.
    pub printed: Printed,
    /// Server CPU time for a request, in microseconds.
    pub cpu_us_per_request: f64,
}

impl Printed {
    /// Connections that were served all the time, by Little's law: answers a second times a typical answer's time. The
    /// others waited.
    pub fn at_work(&self) -> Option<f64> {
        Some(self.answered_per_second * self.p50_us? / 1e6)
    }

    /// What the original test recorded.
    pub fn of_original(run: &OriginalRun) -> Self {
        let us = |ms: f64| ms * 1e3;
        let answered = run.answered.zip(run.seconds).map(|(answered, seconds)| answered / seconds);
        Self {
            requests_per_second: run.requests_per_second,
            answered_per_second: answered.unwrap_or(run.requests_per_second),
            timeouts: run.timeouts,
            mean_us: us(run.mean_ms),
            p50_us: run.p50_ms.map(us),
            p95_us: run.p95_ms.map(us),
            p99_us: us(run.p99_ms),
            max_us: us(run.max_ms),
            bytes_per_second: Some(run.mb_per_second * 1024.0 * 1024.0),
        }
    }

    /// Medians over trials; `None` where there is none.
    fn of_samples(samples: &Samples<'_>) -> Option<Self> {
        let of = |figure: &dyn Fn(&Sample) -> Option<f64>| {
            middle_of(samples.values().filter_map(|sample| figure(sample)))
        };
        let latency = |figure: Figure| of(&|sample| sample.figure(figure));
        Some(Self {
            requests_per_second: of(&|sample| Some(sample.load.sent_per_second()))?,
            answered_per_second: latency(Figure::RequestsPerSecond)?,
            timeouts: of(&|sample| Some(timeouts(sample))),
            mean_us: of(&|sample| Some(sample.load.latency_us.mean))?,
            p50_us: latency(Figure::P50Us),
            p95_us: of(&|sample| quantile_us(sample, 0.95)),
            p99_us: latency(Figure::P99Us)?,
            max_us: latency(Figure::MaxUs)?,
            bytes_per_second: of(&|sample| {
                let bytes = sample.load.bytes_read + sample.load.bytes_written?;
                Some(bytes as f64 / sample.load.time_taken_s)
            }),
        })
    }
}

fn timeouts(sample: &Sample) -> f64 {
    let failed = sample.load.failed.iter().filter(|(kind, _)| kind.to_ascii_lowercase().contains("timeout"));
    // An empty sum of floats is -0.
    failed.map(|(_, count)| *count).sum::<u64>() as f64
}

/// What the arms of a campaign gave that repeats the original test; none in any other campaign.
pub fn reproduced(plan: &Plan, observations: &[Observation]) -> Vec<Reproduced> {
    let campaign = &plan.campaign;
    if campaign.arms.iter().all(|arm| arm.branch.is_none()) {
        return Vec::new();
    }
    let observed = Observed::new(observations);
    let mut found = Vec::new();
    for workload in &campaign.workloads {
        for level in plan.levels() {
            for arm in &campaign.arms {
                let samples = observed.samples(&arm.name, workload, level);
                let cpu = middle_of(samples.values().filter_map(|sample| sample.cpu_us_per_request()));
                let Some((printed, cpu_us_per_request)) = Printed::of_samples(&samples).zip(cpu) else {
                    continue;
                };
                found.push(Reproduced {
                    server: arm.name.clone(),
                    workload: workload.clone(),
                    level,
                    trials: samples.len(),
                    printed,
                    cpu_us_per_request,
                });
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use bench_model::config::Original;

    #[test]
    fn half_the_connections_were_at_work() {
        let original = Original::read();
        let at_work = |server, workload, connections| {
            let branch = original.branches.iter().find(|branch| branch.server == server).unwrap();
            let run = branch.run(workload, connections).unwrap();
            Printed::of_original(run).at_work().map(f64::round)
        };
        assert_eq!(at_work("legacy", "getBlocks", 500), Some(245.0));
        assert_eq!(at_work("jsonrpsee", "getBlocks", 500), Some(244.0));
        assert_eq!(at_work("legacy", "getBalance", 2_000), Some(193.0));
        assert_eq!(at_work("legacy", "getBalance", 125), None, "its median was not recorded");
    }
}
