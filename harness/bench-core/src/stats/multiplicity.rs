//! Several hypotheses at once: Holm's procedure, also at the interim analyses of a sequential plan. Takes p-values
//! and says what is rejected; knows no verdict.
//!
//! Sources: Holm, Scand. J. Statist. 6 (1979); Ye, Li, Liu and Yao, Statistics in Medicine 32 (2013), and Maurer and
//! Bretz, Statistics in Biopharmaceutical Research 5 (2013), for its group-sequential form.

/// The chance, kept for a whole family of hypotheses over all interim analyses, that a true one is rejected.
pub const FAMILY_ERROR: f64 = 0.05;

/// How one hypothesis fared at an interim analysis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judged {
    /// The caller's name for the hypothesis, as it was handed in.
    pub index: usize,
    /// Whether it is rejected now.
    pub rejected: bool,
    /// The share of [`FAMILY_ERROR`] that it was judged with, over all analyses. For one that is not rejected: the
    /// share at which the procedure stopped.
    pub alpha: f64,
    /// The nominal level that its p-value was compared with; an interval at this level leaves the rejected
    /// centre out.
    pub level: f64,
}

/// Which of the hypotheses that are still open are rejected at this analysis, in the order handed in.
///
/// `open` holds (name, p-value at this analysis); `rejected_before` counts the rejections at earlier analyses, and
/// `family` all hypotheses of the family. One that was given up for another reason (equivalent, out of blocks) stays
/// part of the family and is no rejection; it may be handed in again with its last p-value. `nominal` turns a share of
/// the family's error into the level of this analysis and must rise with it, as [`super::nominal_level`] does. A
/// p-value that is not a number is never rejected. A family smaller than what was handed in is taken as large as that.
pub fn holm(
    open: &[(usize, f64)],
    rejected_before: usize,
    family: usize,
    nominal: impl Fn(f64) -> f64,
) -> Vec<Judged> {
    if open.is_empty() {
        return Vec::new();
    }
    let family = family.max(rejected_before + open.len());
    let mut order: Vec<usize> = (0..open.len()).filter(|position| !open[*position].1.is_nan()).collect();
    order.sort_by(|a, b| open[*a].1.total_cmp(&open[*b].1));
    let share = |rejected: usize| {
        let alpha = FAMILY_ERROR / (family - rejected) as f64;
        (alpha, nominal(alpha))
    };
    let (mut alpha, mut level) = share(rejected_before);
    let mut judged: Vec<Option<Judged>> = vec![None; open.len()];
    for (rejected, position) in (1..).zip(order) {
        let (index, p) = open[position];
        if p > level {
            break;
        }
        judged[position] = Some(Judged { index, rejected: true, alpha, level });
        if rejected < open.len() {
            (alpha, level) = share(rejected_before + rejected);
        }
    }
    let rest = |index| Judged { index, rejected: false, alpha, level };
    open.iter().zip(judged).map(|((index, _), judged)| judged.unwrap_or_else(|| rest(*index))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rejected(judged: &[Judged]) -> Vec<usize> {
        judged.iter().filter(|judged| judged.rejected).map(|judged| judged.index).collect()
    }

    /// Holm's procedure at one analysis: R's `p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm")` is 0.03, 0.06, 0.06, 0.02.
    #[test]
    fn one_analysis_is_the_plain_procedure() {
        let judged = holm(&[(7, 0.01), (5, 0.04), (3, 0.03), (1, 0.005)], 0, 4, |alpha| alpha);
        assert_eq!(rejected(&judged), [7, 1]);
        assert_eq!(judged.iter().map(|judged| judged.index).collect::<Vec<_>>(), [7, 5, 3, 1]);
        let alphas: Vec<f64> = judged.iter().map(|judged| judged.alpha).collect();
        assert_eq!(alphas, [0.05 / 3.0, 0.025, 0.025, 0.0125]);
    }

    #[test]
    fn earlier_rejections_leave_more_for_the_rest() {
        assert!(rejected(&holm(&[(0, 0.02)], 0, 3, |alpha| alpha)).is_empty());
        assert_eq!(rejected(&holm(&[(0, 0.02)], 1, 3, |alpha| alpha)), [0]);
        // 0.03 needs both: the earlier rejection and the one next to it.
        let judged = holm(&[(0, 0.03), (1, 0.02)], 1, 3, |alpha| alpha);
        assert_eq!((rejected(&judged), judged[0].alpha, judged[1].alpha), (vec![0, 1], 0.05, 0.025));
        assert!(rejected(&holm(&[(0, 0.03)], 1, 3, |alpha| alpha)).is_empty());
        // Two given up for another reason still count.
        assert!(rejected(&holm(&[(0, 0.02)], 1, 5, |alpha| alpha)).is_empty());
        assert!(rejected(&holm(&[(0, 0.02), (1, 0.9), (2, 0.9)], 0, 1, |alpha| alpha)).is_empty());
    }

    #[test]
    fn the_level_is_that_of_the_analysis() {
        let analyses = [8, 16, 24];
        let judged =
            holm(&[(0, 0.001), (1, 0.02)], 0, 2, |alpha| super::super::nominal_level(&analyses, alpha));
        assert!(judged[0].rejected && (judged[0].alpha - 0.025).abs() < 1e-15);
        // The first rejection leaves it the whole share, 0.05, which is Pocock's 0.0221 for three analyses.
        assert!(judged[1].rejected && (judged[1].level - 0.0221).abs() < 5e-5, "{judged:?}");
    }

    #[test]
    fn all_none_and_no_numbers() {
        assert!(holm(&[], 2, 2, |alpha| alpha).is_empty());
        assert_eq!(rejected(&holm(&[(0, 0.0), (1, 0.0)], 0, 2, |alpha| alpha)), [0, 1]);
        let judged = holm(&[(0, -f64::NAN), (1, 0.001), (2, f64::NAN)], 0, 3, |alpha| alpha);
        assert_eq!(rejected(&judged), [1]);
        assert_eq!([judged[0].alpha, judged[1].alpha, judged[2].alpha], [0.025, 0.05 / 3.0, 0.025]);
    }
}
