//! What the measured noise would mean for differences of several sizes.

use std::collections::BTreeMap;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};

use super::super::verdict::Better;
use super::{judge, rules};
use bench_model::config::Calibration;
use bench_stats::hodges_lehmann;

/// Differences whose detection is worked out by resampling.
const RESAMPLED_DIFFERENCES: [f64; 9] = [0.0, 0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.10, 0.15];

/// Comparisons that are resampled for each difference.
const RESAMPLES: u32 = 200;

/// The fewest blocks of the server and its twin that are resampled: of fewer, resampling would only repeat a few.
const LEAST_RESAMPLED: usize = 30;

/// Comparisons made of blocks of the server and its twin, drawn with replacement, with a difference added. No evidence
/// of its own: it shows what the measured noise would mean for a difference of that size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Resampled {
    /// The difference, relative; 0 for none.
    pub difference: f64,
    /// Of [`RESAMPLES`] comparisons, those that claim a difference.
    pub claimed: u32,
    /// Of how many.
    pub of: u32,
    /// Blocks of a comparison, on average.
    pub blocks: f64,
}

/// Makes comparisons of blocks without a true difference, each with one added.
pub(super) fn resample(calibration: &Calibration, ratios: &BTreeMap<u32, f64>) -> Vec<Resampled> {
    let ratios: Vec<f64> = ratios.values().copied().collect();
    if ratios.len() < LEAST_RESAMPLED {
        return Vec::new();
    }
    // The twins' own centre is noise: only the spread around it is used.
    let centre = hodges_lehmann(&ratios).map_or(0.0, |centre| centre.value);
    let rules = rules(calibration, Better::Less);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(calibration.seed);
    let mut draw = |shift: f64| {
        let index = (random.next_u64() % ratios.len() as u64) as usize;
        ratios[index] - centre + shift
    };
    let mut of_difference = |difference: f64| {
        let (mut claimed, mut blocks) = (0, 0.0);
        for _ in 0..RESAMPLES {
            let drawn = (1..=calibration.max_blocks).map(|block| (block, draw(difference.ln_1p()))).collect();
            let finding = judge(drawn, &rules).findings[0];
            claimed += u32::from(finding.is_some_and(|finding| finding.verdict.claims_difference()));
            blocks += finding.map_or(0.0, |finding| finding.blocks as f64) / f64::from(RESAMPLES);
        }
        Resampled { difference, claimed, of: RESAMPLES, blocks }
    };
    RESAMPLED_DIFFERENCES.map(&mut of_difference).to_vec()
}
