//! The five verdicts on a ratio of two servers, and how many blocks a clearer one would take.

use serde::{Deserialize, Serialize};

use crate::figure::{Better, Figure};
use crate::stats::{CONFIDENCE, Estimate, Ranked, blocks_for, least_count};

/// What a comparison shows of the first server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Better, by more than the margin: the whole interval lies beyond it.
    Faster,
    /// Worse, by more than the margin.
    Slower,
    /// Different, but the difference may be within the margin: the interval excludes "no difference" and reaches into
    /// the margin.
    DifferentButSmall,
    /// The same for practical purposes: the interval of twice the error (90 % for 95 %) lies within the margin.
    Equivalent,
    /// None of these yet.
    Inconclusive,
    /// The campaign does not judge the figure: its interval is right by itself, with 95 %.
    NotJudged,
}

/// What is demanded of a comparison beforehand.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Demand {
    /// The largest difference that does not matter, as a ratio less one: 0.02.
    pub margin: f64,
    /// Half of an interval's width, relative, at which a comparison is answered whatever its verdict.
    pub precision: Option<f64>,
}

/// The ratio of a figure between two servers, and its verdict.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The ratio, first server over second; its interval is the one that the verdict was read from.
    pub ratio: Estimate,
    /// The interval's confidence by itself, from 0 to 1: above 0.95 where several interim analyses and comparisons
    /// share the error. None before the first interim analysis.
    pub confidence: Option<f64>,
    /// Blocks that it comes from.
    pub blocks: usize,
    /// The verdict.
    pub verdict: Verdict,
    /// Whether the whole difference is known to lie within the margin.
    pub within_margin: bool,
    /// Whether more blocks are of no use: all that is demanded is known.
    pub answered: bool,
    /// Estimated blocks that a verdict would take; only where it is inconclusive.
    pub blocks_needed: Option<u64>,
}

impl Finding {
    /// Of a figure that is not judged.
    pub fn unjudged(ranked: &Ranked) -> Self {
        let ratio = ranked.at_confidence().map(f64::exp);
        Self {
            ratio,
            confidence: ratio.interval.map(|_| CONFIDENCE),
            verdict: Verdict::NotJudged,
            blocks_needed: None,
            ..Self::unseen(ranked, 0)
        }
    }

    /// Before the first interim analysis there is an estimate and no verdict. `least` is the fewest blocks that give an
    /// interval.
    pub fn unseen(ranked: &Ranked, least: usize) -> Self {
        Self {
            ratio: Estimate { value: ranked.estimate().exp(), interval: None },
            confidence: None,
            blocks: ranked.count(),
            verdict: Verdict::Inconclusive,
            within_margin: false,
            answered: false,
            blocks_needed: Some(least as u64),
        }
    }

    /// From the logarithms of ratios, paired by block and judged at a two-sided error of `level`.
    pub fn of(ranked: &Ranked, level: f64, better: Better, demand: Demand) -> Self {
        let Some((low, high)) = ranked.interval(level) else {
            return Self { confidence: Some(1.0 - level), ..Self::unseen(ranked, least_count(level)) };
        };
        let (estimate, blocks) = (ranked.estimate(), ranked.count());
        let margin = demand.margin.ln_1p();
        // Equivalence is judged at twice the error.
        let inner = ranked.interval(2.0 * level).unwrap_or((low, high));
        let within = |(low, high): (f64, f64)| -margin < low && high < margin;
        let verdict = if low > margin || high < -margin {
            if (low > 0.0) == (better == Better::More) { Verdict::Faster } else { Verdict::Slower }
        } else if low > 0.0 || high < 0.0 {
            Verdict::DifferentButSmall
        } else if within(inner) {
            Verdict::Equivalent
        } else {
            Verdict::Inconclusive
        };
        let half_width = (high - low) / 2.0;
        let within_margin = within((low, high));
        let narrow = demand.precision.is_some_and(|precision| half_width <= precision.ln_1p());
        let answered = match verdict {
            Verdict::Faster | Verdict::Slower | Verdict::Equivalent => true,
            Verdict::DifferentButSmall => within_margin || narrow,
            Verdict::Inconclusive | Verdict::NotJudged => narrow,
        };
        // Either the interval gets narrow enough to exclude "no difference", or to lie within the margin.
        let distance = estimate.abs();
        let target = distance.max(margin - distance);
        let blocks_needed =
            (verdict == Verdict::Inconclusive).then(|| blocks_for(half_width, blocks, target)).flatten();
        Self {
            ratio: Estimate { value: estimate, interval: Some((low, high)) }.map(f64::exp),
            confidence: Some(1.0 - level),
            blocks,
            verdict,
            within_margin,
            answered,
            blocks_needed,
        }
    }

    /// For a table.
    pub fn words(&self, figure: Figure) -> String {
        let [better, worse] = match figure {
            Figure::RequestsPerSecond => ["faster", "slower"],
            Figure::CpuUsPerRequest => ["less CPU", "more CPU"],
            _ => ["better", "worse"],
        };
        match (self.verdict, self.blocks_needed) {
            (Verdict::Faster, _) => better.to_owned(),
            (Verdict::Slower, _) => worse.to_owned(),
            (Verdict::DifferentButSmall, _) if self.within_margin => "different but small".to_owned(),
            (Verdict::DifferentButSmall, _) => "different, size open".to_owned(),
            (Verdict::Equivalent, _) => "equivalent".to_owned(),
            (Verdict::Inconclusive, Some(blocks)) => {
                format!("inconclusive (about {blocks} blocks would tell)")
            }
            (Verdict::Inconclusive, None) => "inconclusive".to_owned(),
            (Verdict::NotJudged, _) => "not judged".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEMAND: Demand = Demand { margin: 0.02, precision: None };

    /// Twelve log ratios around a centre, spread evenly over twice `spread`.
    fn around(centre: f64, spread: f64) -> Ranked {
        let step = |index: u32| centre + spread * (f64::from(index) / 5.5 - 1.0);
        Ranked::paired(&(0..12).map(step).collect::<Vec<f64>>()).unwrap()
    }

    fn verdict(centre: f64, spread: f64, better: Better) -> Verdict {
        Finding::of(&around(centre, spread), 0.05, better, DEMAND).verdict
    }

    #[test]
    fn each_of_the_five_verdicts() {
        assert_eq!(verdict(0.10, 0.02, Better::More), Verdict::Faster);
        assert_eq!(verdict(-0.10, 0.02, Better::More), Verdict::Slower);
        assert_eq!(verdict(0.10, 0.02, Better::Less), Verdict::Slower);
        assert_eq!(verdict(-0.10, 0.02, Better::Less), Verdict::Faster);
        assert_eq!(verdict(0.010, 0.005, Better::More), Verdict::DifferentButSmall);
        assert_eq!(verdict(0.0, 0.005, Better::More), Verdict::Equivalent);
        assert_eq!(verdict(0.0, 0.2, Better::More), Verdict::Inconclusive);
    }

    #[test]
    fn a_difference_of_unknown_size_is_not_a_small_one() {
        let small = Finding::of(&around(0.010, 0.005), 0.05, Better::More, DEMAND);
        assert!(small.within_margin && small.answered);
        assert_eq!(small.words(Figure::P99Us), "different but small");
        let open = Finding::of(&around(0.03, 0.03), 0.05, Better::More, DEMAND);
        assert_eq!(open.verdict, Verdict::DifferentButSmall);
        assert!(!open.within_margin && !open.answered);
        assert_eq!(open.words(Figure::P99Us), "different, size open");
    }

    #[test]
    fn a_requested_precision_answers_by_itself() {
        let wide = around(0.005, 0.05);
        assert!(!Finding::of(&wide, 0.05, Better::More, DEMAND).answered);
        let easy = Demand { precision: Some(0.05), ..DEMAND };
        let finding = Finding::of(&wide, 0.05, Better::More, easy);
        assert!(finding.answered && finding.verdict == Verdict::Inconclusive);
    }

    #[test]
    fn an_inconclusive_verdict_estimates_the_blocks_needed() {
        let finding = Finding::of(&around(0.0, 0.1), 0.05, Better::More, DEMAND);
        let needed = finding.blocks_needed.unwrap();
        assert!((40..200).contains(&needed), "{needed}");
        let few = Finding::of(&Ranked::paired(&[0.5; 4]).unwrap(), 0.05, Better::More, DEMAND);
        assert_eq!(
            (few.verdict, few.ratio.interval, few.blocks_needed),
            (Verdict::Inconclusive, None, Some(6))
        );
    }
}
