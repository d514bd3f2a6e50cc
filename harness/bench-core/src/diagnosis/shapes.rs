//! Causes that show in how answers are spread: over time, over all of them, and over the connections; and memory that
//! only grows.

use crate::load::LoadSample;
use crate::observation::Sample;
use crate::stats::median;

/// A request that took longer waited for something that takes seconds: a dropped connection attempt is repeated after 1
/// s. Evidence for a cause, not the definition of a bad request.
pub(super) const STEP_US: f64 = 950_000.0;

/// Slow requests take at least this multiple of what quick ones take.
const JUMP: f64 = 20.0;

/// All but this multiple of the slow share are quick: a request of an open loop comes due behind a slow one, and on a
/// busy machine some wait for a processor.
const BETWEEN: f64 = 4.0;

/// Up to this number of connections of a closed loop, those between wait for a processor. Of more, it is a queue.
const FEW: u64 = 32;

/// The smallest share of quick requests.
const LEAST_OTHERS: f64 = 0.8;

/// The smallest share that is not chance, and the fewest slow requests in all trials.
const LEAST_SLOW: (f64, f64) = (0.001, 10.0);

/// Slow requests take at least this long, in microseconds, and this multiple of the median.
const SLOW: (f64, f64) = (20_000.0, 20.0);

/// Three quarters of the slow requests take at most this multiple of what the quickest of them takes.
const ALIKE: f64 = 1.6;

/// The same where other requests lie between the slow and the quick ones.
const ALIKE_ALONE: f64 = 1.2;

/// Memory that grows by less in a window says nothing, in bytes: in all, and for each connection, whose buffers grow.
const LEAST_GROWTH: (f64, f64) = (2_097_152.0, 65_536.0);

/// The same for each request, and as a share of what there was.
const LEAST_GROWTH_EACH: (f64, f64) = (50.0, 0.03);

/// Requests that wait longer on average pile up in the server's memory, in microseconds.
const PILES_UP_US: f64 = 100_000.0;

/// A share of the requests that takes much longer than most others.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SlowShare {
    /// The share, from 0 to 1.
    pub share: f64,
    /// What the quickest of it takes, in microseconds.
    pub slow_us: f64,
    /// The share that is quick, from 0 to 1.
    pub others: f64,
    /// What the slowest of that takes, in microseconds.
    pub quick_us: f64,
}

/// Such a share of a trial.
fn slow_share(load: &LoadSample, connections: u64) -> Option<SlowShare> {
    let points = &load.quantiles;
    let has_no_queue = load.open.is_some() || connections <= FEW;
    let at_most = |probability: f64| points.iter().take_while(|(of, _)| *of <= probability).last().copied();
    points.windows(2).find_map(|two| {
        let [(below, _), (from, slow_us)] = [two[0], two[1]];
        let share = 1.0 - below;
        let is_slow = slow_us >= SLOW.0.max(SLOW.1 * load.latency_us.p50) && slow_us < STEP_US;
        // The share's quick neighbours, or those beyond the ones that waited behind it or for a processor.
        let beyond = if has_no_queue { 1.0 - BETWEEN * share } else { below };
        [(below, ALIKE), (beyond, ALIKE_ALONE)].into_iter().find_map(|(quick, alike)| {
            let (others, quick_us) = at_most(quick).filter(|_| quick >= LEAST_OTHERS)?;
            let jumps = quick_us > 0.0 && slow_us >= JUMP * quick_us;
            let is_alike =
                at_most(1.0 - share / 4.0).is_some_and(|(of, us)| of >= from && us <= alike * slow_us);
            (share >= LEAST_SLOW.0 && is_slow && jumps && is_alike).then_some(SlowShare {
                share,
                slow_us,
                others,
                quick_us,
            })
        })
    })
}

/// That of the trials, where at least half of them have one and enough requests were slow.
pub(super) fn common_slow_share(samples: &[&Sample], connections: u64) -> Option<SlowShare> {
    // Requests that waited while the harness stopped the server are no calls of their own kind.
    let measured = samples.iter().filter(|sample| sample.stalls.unwrap_or(0) == 0);
    let found: Vec<_> = measured
        .filter_map(|sample| Some((slow_share(&sample.load, connections)?, sample.served())))
        .collect();
    let slow: f64 = found.iter().map(|(of, requests)| of.share * *requests as f64).sum();
    let is_common = 2 * found.len() >= samples.len() && slow >= LEAST_SLOW.1;
    found.get(found.len() / 2).filter(|_| is_common).map(|(share, _)| *share)
}

/// By how much memory grew in a window that it grew through, in bytes, and for each request.
pub(super) fn growth(sample: &Sample, connections: u64) -> Option<(f64, f64)> {
    let read = sample.resources.iter().filter_map(|at| Some((at.t_ms as f64, at.memory_bytes? as f64)));
    let read: Vec<(f64, f64)> = read.collect();
    let (end_ms, _) = *read.last().filter(|_| read.len() >= 6)?;
    let at = |share: f64| {
        let distance = |(t_ms, _): &&(f64, f64)| (t_ms - share * end_ms).abs();
        read.iter().min_by(|a, b| distance(a).total_cmp(&distance(b))).map(|(_, bytes)| *bytes)
    };
    // In the first quarter connections are made and buffers filled.
    let quarters = [at(0.25)?, at(0.5)?, at(0.75)?, at(1.0)?];
    let grown = quarters[3] - quarters[0];
    let is_steady = quarters.windows(2).all(|two| two[1] - two[0] >= grown / 6.0);
    let each = grown / (0.75 * sample.served().max(1) as f64);
    let is_much = grown >= LEAST_GROWTH.0.max(LEAST_GROWTH.1 * connections as f64)
        && each >= LEAST_GROWTH_EACH.0
        && grown >= LEAST_GROWTH_EACH.1 * quarters[0];
    // Where connections are held, nothing is requested.
    let requests = !sample.load.details.held;
    (requests && is_steady && is_much && sample.load.latency_us.mean < PILES_UP_US).then_some((grown, each))
}

/// The median of it over trials, where memory grew in most of them.
pub(super) fn median_growth(found: &[(f64, f64)], trials: usize) -> Option<(f64, f64)> {
    let of = |values: Vec<f64>| Some(median(&values)?.value);
    let most = 2 * found.len() > trials;
    let (grown, each) = found.iter().copied().unzip();
    of(grown).zip(of(each)).filter(|_| most)
}
