//! Where a run stands, as metrics.

use std::fmt::Result;

use metrics_http::{Collector, DescriptorEncoder, Exposed, Process, Unit, Writer};

use super::{Figures, Sampled, WATCHED, WatchedLoad, WatchedRun};
use crate::lock;
use bench_stats::median;

/// Reads the standing of this process's run when it is called.
#[derive(Debug)]
pub(super) struct Exposition;

impl Exposition {
    /// What the harness exposes: the run, and its own process.
    pub fn exposed() -> Exposed {
        let mut exposed = Exposed::default();
        exposed.counters.register_collector(Box::new(Self));
        exposed.others.register_collector(Box::new(Process));
        exposed
    }
}

impl Collector for Exposition {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> Result {
        let Some(watched) = WATCHED.get() else { return Ok(()) };
        lock(&watched.standing).write(&mut Writer::new(encoder))
    }
}

fn labels(load: &WatchedLoad) -> [(&'static str, &str); 3] {
    [("server", &load.server), ("workload", &load.workload), ("level", &load.level)]
}

impl WatchedRun {
    fn write(&self, writer: &mut Writer<'_>) -> Result {
        let campaign = [([("campaign", self.campaign.as_str())], 1.0)];
        writer.gauges("bench_campaign", "The campaign that runs", None, campaign)?;
        let help = "Trials that are done, in earlier parts of the run too";
        writer.gauge("bench_trials_done", help, None, self.done)?;
        let help = "Trials that gave no sample, since this start";
        writer.counter("bench_trials_failed", help, None, self.failed)?;
        let help = "Trials up to the next interim analysis, or in all";
        writer.gauge("bench_trials_known", help, None, self.known)?;
        let seconds = Some(&Unit::Seconds);
        writer.gauge_f64("bench_time_left", "What these trials still take", seconds, self.left_s)?;
        let running = self.running.iter().map(|load| (labels(load), 1.0));
        writer.gauges("bench_trial_running", "The trials that run now", None, running)?;
        self.write_samples(writer)
    }

    fn write_samples(&self, writer: &mut Writer<'_>) -> Result {
        let each = |of: fn(&Sampled) -> f64| {
            self.samples.iter().map(move |sampled| (labels(&sampled.load), of(sampled)))
        };
        let median_rate = |sampled: &Sampled| sampled.median(|one| Some(one.rate)).unwrap_or(f64::NAN);
        let help = "Samples of a load so far";
        writer.gauges("bench_samples", help, None, each(|sampled| sampled.figures.len() as f64))?;
        let help = "Requests a second of the newest trial of a load";
        writer.gauges("bench_last_requests_per_second", help, None, each(|sampled| sampled.last().rate))?;
        let help = "Requests a second of a load: the median of its trials so far";
        writer.gauges("bench_requests_per_second", help, None, each(median_rate))?;
        let seconds = Some(&Unit::Seconds);
        let cpu_s = |sampled: &Sampled| sampled.median(|one| one.cpu_s);
        let cpu = self.samples.iter().filter_map(|sampled| Some((labels(&sampled.load), cpu_s(sampled)?)));
        let help = "Server CPU time for each request: the median of the trials so far";
        writer.gauges("bench_cpu_per_request", help, seconds, cpu)?;
        let latencies = self.samples.iter().flat_map(|sampled| {
            (0..3).map(|place| {
                let quantile = sampled.last().latency_s[place].0.to_string();
                let [server, workload, level] =
                    labels(&sampled.load).map(|(name, value)| (name, value.to_owned()));
                let labels = [server, workload, level, ("quantile", quantile)];
                (labels, sampled.median(|one| Some(one.latency_s[place].1)).unwrap_or(f64::NAN))
            })
        });
        let help = "Latency of a load by quantile: the median of its trials so far";
        writer.gauges("bench_latency", help, seconds, latencies)
    }
}

impl Sampled {
    fn last(&self) -> Figures {
        self.figures[self.figures.len() - 1]
    }

    /// The median of a figure's known values.
    fn median(&self, of: impl Fn(&Figures) -> Option<f64>) -> Option<f64> {
        let known: Vec<f64> = self.figures.iter().filter_map(of).collect();
        median(&known).map(|median| median.value)
    }
}
