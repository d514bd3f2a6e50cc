//! The figures of a trial, as they are read from its sample.

use super::Sample;
use crate::figure::Figure;
use crate::load::{Bin, Latency};
use crate::stats::{CONFIDENCE, median, slope};

/// The share of a window that is left out at its beginning where a figure's growth is worked out:
/// connections, caches and allocators settle there.
const SETTLING: f64 = 0.1;

/// The share of the first half that the request for its count may take.
const SLOW_QUESTION: f64 = 0.05;

impl Sample {
    /// The value of a figure; `None` where the machine or the tool does not report it.
    pub fn figure(&self, figure: Figure) -> Option<f64> {
        let is_percentile = matches!(figure, Figure::P50Us | Figure::P99Us | Figure::P999Us);
        if (self.load.details.held && !of_held_connections(figure))
            || (self.load.details.no_percentiles && is_percentile)
        {
            return None;
        }
        let (load, served) = (&self.load, self.served() as f64);
        let requests = (load.succeeded + load.failures()) as f64;
        Some(match figure {
            Figure::RequestsPerSecond => load.requests_per_second(),
            Figure::CpuUsPerRequest => self.cpu_us_per_request()?,
            Figure::CpuUsPerMessage => {
                self.cpu_us_per_request()? * f64::from(load.details.batch.unwrap_or(1))
            }
            Figure::P50Us => load.latency_us.p50,
            Figure::P99Us => load.latency_us.p99,
            Figure::P999Us => load.latency_us.p999?,
            Figure::MaxUs => load.latency_us.max,
            Figure::ServerCores => self.server_cores()?,
            Figure::ClientCores => self.client_cores(),
            // By the calls that were answered with success, as the rate is.
            Figure::ClientCpuUsPerRequest => {
                let answered = Some(load.calls(load.succeeded)).filter(|answered| *answered > 0)?;
                self.client_cpu.total_s() * 1e6 / answered as f64
            }
            Figure::SystemShare => self.server_cpu?.system_s / self.server_cpu?.total_s(),
            Figure::PeakMemoryBytes => self.server_peak_memory_bytes? as f64,
            Figure::HeldMemoryBytes => held_memory_bytes(self)?,
            Figure::ConnectionMemoryBytes => connection_memory_bytes(self)?,
            // Little's law over all requests, failed ones included: how many were under way on average.
            Figure::ActiveConnections => requests / load.time_taken_s * load.latency_us.mean / 1e6,
            Figure::EstablishedConnections => self.established? as f64,
            Figure::FirstHalfCpuRatio => first_half_cpu_ratio(self)?,
            Figure::UserUsPerRequest => self.server_cpu?.user_s * 1e6 / served,
            Figure::SystemUsPerRequest => self.server_cpu?.system_s * 1e6 / served,
            // Both kinds together: a thread that waits, and one that is taken off.
            Figure::SwitchesPerRequest => {
                let last = self.resources.last()?;
                (last.voluntary_switches? + last.involuntary_switches?) as f64 / served
            }
            Figure::Stalls => f64::from(self.stalls?),
            Figure::AchievedRate => load.open?.achieved_rate,
            Figure::SendLagP99Us => match &load.staged {
                Some(staged) => staged.send_lag_us?.p99,
                None => load.open?.send_lag_us?.p99,
            },
            Figure::OwnLagP99Us => load.open?.own_lag_us.or(load.open?.send_lag_us)?.p99,
            Figure::P50FromSendUs => load.open?.from_send_us.p50,
            Figure::P99FromSendUs => load.open?.from_send_us.p99,
            Figure::UpstreamCpuUsPerRequest => self.upstream?.cpu.total_s() * 1e6 / served,
            Figure::UpstreamMemoryBytes => self.upstream?.peak_memory_bytes? as f64,
            Figure::RoundTripUs => self.link?.round_trip_us,
            Figure::SegmentsSentAgain => self.network.retransmits? as f64,
            Figure::AnswerBytes => self.answer_bytes as f64,
            Figure::ConnectP50Us => connect_us(self)?.p50,
            Figure::ConnectP99Us => connect_us(self)?.p99,
            Figure::ConnectAllUs => load.details.connects?.all_s * 1e6,
            Figure::CpuUsWithUpstream => {
                self.cpu_us_per_request()? + self.figure(Figure::UpstreamCpuUsPerRequest).unwrap_or(0.0)
            }
            // In the whole window, in which the server does nothing else.
            Figure::CpuUsPerConnection => {
                let connections = self.established.filter(|count| *count > 0 && load.details.held)?;
                self.server_cpu?.total_s() * 1e6 / connections as f64
            }
            Figure::MemorySlopeKibPerHour => memory_slope_kib_per_hour(self)?,
            Figure::P99SecondHalfOverFirst => p99_second_half_over_first(self)?,
            Figure::BackgroundRate => self.background.as_ref()?.sent_per_second(),
            Figure::BackgroundAnsweredShare => self.background.as_ref()?.answered_share(),
            Figure::BackgroundPeakP99Us => self.background_peak_us()?,
            Figure::BackAfterUs => self.back_after_us()?,
            Figure::Requests => requests,
            Figure::FailedShare => load.failures() as f64 / requests,
            Figure::LeftRequests => load.staged.as_ref()?.left as f64,
            Figure::ThrottledShare => self.limited?.throttled_share()?,
            Figure::BusiestHost => most(load.details.hosts.iter().map(|host| host.busy))?,
            Figure::LatestHostUs => most(load.details.hosts.iter().map(|host| host.late_us))?,
            Figure::BusiestClientCores => load.staged.as_ref()?.busiest_cores?,
        })
    }

    /// How far server and load tools disagree about the number of requests, relative to what was sent.
    pub fn count_disagreement(&self) -> Option<f64> {
        let sent = self.sent() as f64;
        Some((self.server_requests? as f64 - sent).abs() / sent)
    }
}

fn most(values: impl Iterator<Item = f64>) -> Option<f64> {
    values.reduce(f64::max)
}

/// How long it took until a connection could carry requests: a user's, or one that is held.
fn connect_us(sample: &Sample) -> Option<Latency> {
    match &sample.load.staged {
        Some(staged) => staged.connect_us,
        None => Some(sample.load.details.connects?.each_us),
    }
}

fn held_memory_bytes(sample: &Sample) -> Option<f64> {
    sample.resources.iter().filter_map(|moment| moment.memory_bytes).max().map(|bytes| bytes as f64)
}

/// Whether connections that are held have a figure although nothing is sent on them.
const fn of_held_connections(figure: Figure) -> bool {
    matches!(
        figure,
        Figure::ServerCores
            | Figure::ClientCores
            | Figure::SystemShare
            | Figure::PeakMemoryBytes
            | Figure::HeldMemoryBytes
            | Figure::ConnectionMemoryBytes
            | Figure::EstablishedConnections
            | Figure::ConnectP50Us
            | Figure::ConnectP99Us
            | Figure::ConnectAllUs
            | Figure::CpuUsPerConnection
    )
}

/// What the server held at most in the window, above what it held before, for each connection that it held.
fn connection_memory_bytes(sample: &Sample) -> Option<f64> {
    let held = held_memory_bytes(sample)?;
    let connections = sample.established.filter(|count| *count > 0)?;
    Some((held - sample.memory_before_bytes? as f64).max(0.0) / connections as f64)
}

/// By a line of least squares through the readings.
fn memory_slope_kib_per_hour(sample: &Sample) -> Option<f64> {
    let settled_ms = sample.window_s * 1e3 * SETTLING;
    let readings = sample.resources.iter().filter(|moment| moment.t_ms as f64 >= settled_ms);
    let hours_and_kib = readings.filter_map(|moment| {
        Some((moment.t_ms as f64 / 3_600e3, moment.memory_bytes? as f64 / f64::from(1 << 10)))
    });
    Some(slope(&hours_and_kib.collect::<Vec<_>>(), 1.0 - CONFIDENCE)?.value)
}

fn p99_second_half_over_first(sample: &Sample) -> Option<f64> {
    let window_ms = sample.window_s * 1e3;
    let (settled_ms, middle_ms) = (window_ms * SETTLING, window_ms * (1.0 + SETTLING) / 2.0);
    let from = |bin: &Bin| f64::from(bin.from_ms);
    let p99_us = |is_in: &dyn Fn(f64) -> bool| {
        let of = sample.load.series.iter().filter(|bin| is_in(from(bin))).map(|bin| bin.p99_us);
        Some(median(&of.collect::<Vec<_>>())?.value)
    };
    let first_us = p99_us(&|at| (settled_ms..middle_ms).contains(&at))?;
    Some(p99_us(&|at| at >= middle_ms)? / first_us)
}

fn first_half_cpu_ratio(sample: &Sample) -> Option<f64> {
    let first = sample.first_half?;
    let second_requests = sample.server_requests?.checked_sub(first.requests)?;
    let second_cpu_s = sample.server_cpu?.total_s() - first.cpu_s;
    // Where the server took long to report its count, the middle is not known well enough.
    if first.question_s > SLOW_QUESTION * first.wall_s {
        return None;
    }
    let cost = |cpu_s: f64, requests: u64| (requests > 0).then(|| cpu_s / requests as f64);
    Some(cost(first.cpu_s, first.requests)? / cost(second_cpu_s, second_requests)?)
}
