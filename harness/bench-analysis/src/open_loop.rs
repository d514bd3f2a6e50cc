//! What only an open loop can show: what another load does to a server's latency, how long it needs after an overload,
//! and whether the load tools agree.

use serde::{Deserialize, Serialize};

use super::comparison::ratio;
use super::latency::width_ms;
use super::observed::{Observed, median_figure, median_of};
use bench_model::config::{Background, Campaign};
use bench_model::figure::Figure;
use bench_model::load::{Bin, Level, LoadSample, LoadTool};
use bench_model::observation::Sample;
use bench_stats::Estimate;

/// How long p99 must stay at its old level to count as recovered, in milliseconds.
const STAYS_MS: u32 = 1_000;

/// The most that the tools' medians may differ by and still agree.
pub const AGREEMENT: f64 = 0.1;

/// What another load does to a server's latency.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Isolation {
    /// The server.
    pub server: String,
    /// The workload.
    pub workload: String,
    /// The load without the other.
    #[serde(flatten)]
    pub level: Level,
    /// Ratio of medians from the send, with the other load over without, paired by block.
    pub p50_from_send_ratio: Option<Estimate>,
    /// Ratio of 99th percentiles from the send.
    pub p99_from_send_ratio: Option<Estimate>,
    /// Ratio of 99th percentiles from the intended send: the load tool's own lateness is in both, and dilutes it.
    pub p99_ratio: Option<Estimate>,
    /// Requests a second that the other load sent, median over trials.
    pub other_per_s: Option<Estimate>,
    /// Share of them that the server answered in time, from 0 to 1, median over trials.
    pub other_answered: Option<Estimate>,
}

/// What another load sent, a second, and the share of it that was answered: medians over trials.
fn other_load<'a>(samples: impl Iterator<Item = &'a Sample>) -> (Option<Estimate>, Option<Estimate>) {
    let loads: Vec<&LoadSample> = samples.filter_map(|sample| sample.background.as_deref()).collect();
    let over = |value: fn(&LoadSample) -> f64| median_of(loads.iter().copied().map(value));
    (over(LoadSample::sent_per_second), over(LoadSample::answered_share))
}

/// How a server comes back from an overload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recovery {
    /// The server.
    pub server: String,
    /// The workload.
    pub workload: String,
    /// The load.
    #[serde(flatten)]
    pub level: Level,
    /// The highest 99th percentile of any part of the window before the overload, in microseconds, median over trials:
    /// the old level.
    pub before_us: Option<Estimate>,
    /// The highest 99th percentile of any part of the window during the overload, in microseconds, median over trials.
    pub peak_us: Option<Estimate>,
    /// Requests a second that the overload sent, median over trials.
    pub overload_per_s: Option<Estimate>,
    /// Share of them that the server answered in time, from 0 to 1, median over trials. For an overload
    /// by rate, less than 1 confirms that it was one.
    pub overload_answered: Option<Estimate>,
    /// Share of the measured requests due during the overload that were answered in time, from 0 to 1, median over
    /// trials. What was due and never sent was not answered. `None` where the tool does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered: Option<Estimate>,
    /// The same by trial.
    pub answered_by_trial: Vec<f64>,
    /// How long after the overload's end p99 was at its old level, in milliseconds, by trial; none where it was not to
    /// the end.
    pub after_ms: Vec<Option<f64>>,
}

/// What one tool shows of a server compared with what another tool shows at the same rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Agreement {
    /// The server.
    pub server: String,
    /// The workload.
    pub workload: String,
    /// The load, and its tool.
    #[serde(flatten)]
    pub level: Level,
    /// The tool that it is compared with.
    pub against: LoadTool,
    /// Median latency from the send, in microseconds.
    pub p50_us: Option<Estimate>,
    /// Ratio of these medians, paired by block.
    pub ratio: Option<Estimate>,
    /// Ratio of the rates at which requests were sent, paired by block.
    pub rate_ratio: Option<Estimate>,
}

impl Agreement {
    /// Whether the medians differ by no more than [`AGREEMENT`]; unknown where they are.
    pub fn holds(&self) -> Option<bool> {
        self.ratio.map(|ratio| ratio.value.ln().abs() <= (1.0 + AGREEMENT).ln())
    }
}

/// A campaign's cells at some levels.
fn cells(
    campaign: &Campaign,
    levels: impl Iterator<Item = Level>,
) -> impl Iterator<Item = (Level, &String, &String)> {
    levels.flat_map(move |level| {
        let workloads = campaign.workloads.iter();
        workloads
            .flat_map(move |workload| campaign.servers.iter().map(move |server| (level, server, workload)))
    })
}

/// The ratios with the other load over without it, where both were measured.
pub fn isolation(campaign: &Campaign, levels: &[Level], observed: &Observed<'_>) -> Vec<Isolation> {
    let with_other = |level: Level| Level { disturbed: true, ..level };
    let both = |level: &Level| !level.disturbed && levels.contains(&with_other(*level));
    let of_cell = |(level, server, workload): (Level, &String, &String)| {
        let alone = observed.samples(server, workload, level);
        let disturbed = observed.samples(server, workload, with_other(level));
        let (other_per_s, other_answered) = other_load(disturbed.values().copied());
        Isolation {
            server: server.clone(),
            workload: workload.clone(),
            level,
            p50_from_send_ratio: ratio(Figure::P50FromSendUs, &disturbed, &alone),
            p99_from_send_ratio: ratio(Figure::P99FromSendUs, &disturbed, &alone),
            p99_ratio: ratio(Figure::P99Us, &disturbed, &alone),
            other_per_s,
            other_answered,
        }
    };
    cells(campaign, levels.iter().copied().filter(both)).map(of_cell).collect()
}

/// How servers come back, where the other load ends within the window.
pub fn recovery(campaign: &Campaign, levels: &[Level], observed: &Observed<'_>) -> Vec<Recovery> {
    let background = campaign.open.as_ref().and_then(|open| open.background.as_ref());
    let Some((background, for_ms)) = background.and_then(|other| Some((other, other.for_ms?))) else {
        return Vec::new();
    };
    let of_cell = |(level, server, workload): (Level, &String, &String)| {
        let samples: Vec<&Sample> = observed.samples(server, workload, level).into_values().collect();
        let trial = |sample: &&Sample| OverloadTrial::new(&sample.load.series, background, for_ms);
        let trials: Vec<OverloadTrial> = samples.iter().filter_map(trial).collect();
        let (overload_per_s, overload_answered) = other_load(samples.iter().copied());
        let answered_by_trial: Vec<f64> =
            trials.iter().filter_map(|trial| trial.answered_share(level)).collect();
        Recovery {
            server: server.clone(),
            workload: workload.clone(),
            level,
            before_us: median_of(trials.iter().map(|trial| trial.before_us)),
            peak_us: median_of(trials.iter().map(|trial| trial.peak_us)),
            overload_per_s,
            overload_answered,
            answered: median_of(answered_by_trial.iter().copied()),
            answered_by_trial,
            after_ms: trials.iter().map(|trial| trial.after_ms).collect(),
        }
    };
    cells(campaign, levels.iter().copied().filter(|level| level.disturbed)).map(of_cell).collect()
}

/// What one trial shows of its server's recovery.
struct OverloadTrial {
    before_us: f64,
    peak_us: f64,
    after_ms: Option<f64>,
    /// Requests due in the overload that were answered, and how long the parts last in which they were due, in seconds.
    answered: Option<(u32, f64)>,
}

impl OverloadTrial {
    /// The share of the requests due in the overload that were answered; the rate says how many were due.
    fn answered_share(&self, level: Level) -> Option<f64> {
        let (answered, within_s) = self.answered?;
        Some(f64::from(answered) / (f64::from(level.rate?) * within_s))
    }

    /// `None` where the window has no part before the overload or none in it.
    fn new(series: &[Bin], background: &Background, for_ms: u64) -> Option<Self> {
        let width_ms = width_ms(series)?;
        let (began, ended) = (background.from_ms as f64, (background.from_ms + for_ms) as f64);
        let from = |bin: &Bin| f64::from(bin.from_ms);
        // The first part has the making of connections.
        let before = series.iter().skip(1).filter(|bin| from(bin) + width_ms <= began);
        let during = || series.iter().filter(|bin| from(bin) >= began && from(bin) + width_ms <= ended);
        let peak_us = during().map(|bin| bin.p99_us).max_by(f64::total_cmp)?;
        let answered = during().map(|bin| bin.answered).sum::<Option<u32>>();
        let within_s = ((ended / width_ms).floor() - (began / width_ms).ceil()) * width_ms / 1e3;
        let old_level = before.map(|bin| bin.p99_us).max_by(f64::total_cmp)?;
        let after: Vec<Bin> = series.iter().copied().filter(|bin| from(bin) >= ended).collect();
        let stays = (f64::from(STAYS_MS) / width_ms).ceil() as usize;
        let whole = |bins: &&[Bin]| {
            let lasts_ms = f64::from(bins[bins.len() - 1].from_ms - bins[0].from_ms) + width_ms;
            // Parts without an answer are missing, and such a time is none at the old level.
            lasts_ms < f64::from(STAYS_MS) + width_ms && bins.iter().all(|bin| bin.p99_us <= old_level)
        };
        let back = after.windows(stays.max(1)).find(whole);
        let answered = answered.map(|answered| (answered, within_s));
        Some(Self {
            before_us: old_level,
            peak_us,
            answered,
            after_ms: back.map(|bins| from(&bins[0]) - ended),
        })
    }
}

/// What each tool shows compared with vegeta, or with the campaign's first tool where vegeta is not among them. Nothing
/// where the server is stopped now and then, because tools then differ on purpose.
pub fn agreement(campaign: &Campaign, levels: &[Level], observed: &Observed<'_>) -> Vec<Agreement> {
    let open = campaign.open.as_ref().filter(|open| open.stall.is_none());
    let tools = open.map_or(&[] as &[LoadTool], |open| open.tools.as_slice());
    let [first, _, ..] = tools else { return Vec::new() };
    let against = if tools.contains(&LoadTool::Vegeta) { LoadTool::Vegeta } else { *first };
    let of_cell = |(level, server, workload): (Level, &String, &String)| {
        let own = observed.samples(server, workload, level);
        let other = observed.samples(server, workload, Level { tool: against, ..level });
        Agreement {
            server: server.clone(),
            workload: workload.clone(),
            level,
            against,
            p50_us: median_figure(&own, Figure::P50FromSendUs),
            ratio: ratio(Figure::P50FromSendUs, &own, &other),
            rate_ratio: ratio(Figure::AchievedRate, &own, &other),
        }
    };
    cells(campaign, levels.iter().copied()).map(of_cell).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDTH_MS: u32 = 250;

    fn background() -> Background {
        Background {
            workload: "w".into(),
            rate: None,
            connections: 1,
            tool: LoadTool::Vegeta,
            from_ms: 2_000,
            for_ms: Some(3_000),
            always: true,
        }
    }

    /// A window of 10 s in which p99 is `us` of each moment.
    fn series(us: impl Fn(u32) -> f64) -> Vec<Bin> {
        let bin = |from_ms| Bin {
            from_ms,
            requests: 250,
            answered: Some(200),
            p50_us: 100.0,
            p99_us: us(from_ms),
            max_us: us(from_ms),
        };
        (0..40).map(|index| bin(index * WIDTH_MS)).collect()
    }

    fn trial(us: impl Fn(u32) -> f64) -> OverloadTrial {
        OverloadTrial::new(&series(us), &background(), 3_000).unwrap()
    }

    #[test]
    fn recovery_ends_where_p99_stays_at_its_old_level() {
        let found = trial(|ms| if (2_000..6_500).contains(&ms) { 50_000.0 } else { 400.0 });
        assert_eq!((found.before_us, found.peak_us, found.after_ms), (400.0, 50_000.0, Some(1_500.0)));
        let at_once = trial(|ms| if (2_000..5_000).contains(&ms) { 50_000.0 } else { 400.0 });
        assert_eq!(at_once.after_ms, Some(0.0));
    }

    /// 200 of the 250 requests that are due in each quarter of a second are answered.
    #[test]
    fn the_answered_share_is_of_all_due_requests() {
        let level = Level { rate: Some(1_000), ..Level::default() };
        assert_eq!(trial(|_| 1.0).answered_share(level), Some(0.8));
        let mut older = series(|_| 1.0);
        older.iter_mut().for_each(|bin| bin.answered = None);
        assert_eq!(OverloadTrial::new(&older, &background(), 3_000).unwrap().answered_share(level), None);
        // Parts in which nothing ended are missing, and what was due in them was not answered.
        let silent: Vec<Bin> =
            series(|_| 1.0).into_iter().filter(|bin| !(2_000..3_500).contains(&bin.from_ms)).collect();
        assert_eq!(
            OverloadTrial::new(&silent, &background(), 3_000).unwrap().answered_share(level),
            Some(0.4)
        );
    }

    #[test]
    fn a_short_dip_is_no_recovery() {
        let dips = trial(|ms| if (2_000..8_000).contains(&ms) && ms != 6_000 { 50_000.0 } else { 400.0 });
        assert_eq!(dips.after_ms, Some(3_000.0));
        assert_eq!(trial(|ms| if ms >= 2_000 { 50_000.0 } else { 400.0 }).after_ms, None);
    }

    /// Parts in which nothing was answered are missing: what stands around them does not stay at the old level.
    #[test]
    fn a_time_without_answers_is_no_recovery() {
        let mut series = series(|ms| if (2_000..5_000).contains(&ms) { 50_000.0 } else { 400.0 });
        series.retain(|bin| !(5_500..6_000).contains(&bin.from_ms));
        let found = OverloadTrial::new(&series, &background(), 3_000).unwrap();
        assert_eq!(found.after_ms, Some(1_000.0));
    }

    #[test]
    fn the_old_level_is_the_highest_before_the_overload() {
        let noisy = |ms: u32| match ms {
            0 => 9_000.0,
            1_000 => 700.0,
            2_000..5_000 => 50_000.0,
            5_000..6_000 => 800.0,
            _ => 600.0,
        };
        assert_eq!(trial(noisy).after_ms, Some(1_000.0));
    }

    #[test]
    fn an_overload_from_the_start_gives_nothing() {
        let from_start = Background { from_ms: 0, ..background() };
        assert!(OverloadTrial::new(&series(|_| 1.0), &from_start, 3_000).is_none());
    }
}
