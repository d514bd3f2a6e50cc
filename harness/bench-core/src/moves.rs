//! Whether a server moved from one commit to another, and which moves were accepted with a reason.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use super::{Finding, Verdict};
use crate::config::Percent;
use crate::field_checks::within;

/// The file of accepted moves, relative to the repository's root.
pub const ACCEPTED: &str = "servers/accepted-moves.toml";

/// What is compared of a server and a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Moved {
    /// CPU time per request.
    Cpu,
    /// Instructions in user space per request.
    Instructions,
    /// Requests a second next to each other.
    Rate,
}

/// The file of accepted moves.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Accepted {
    /// The commit that CI compares with: the last one whose servers were accepted as they are.
    pub base: String,
    /// Moves, of this base and of earlier ones.
    #[serde(default, rename = "move")]
    pub moves: Vec<AcceptedMove>,
}

/// A move that was meant, or is put up with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AcceptedMove {
    /// The commit that it is a move from.
    pub base: String,
    /// The server.
    pub server: String,
    /// The request.
    pub request: String,
    /// What moved.
    pub figure: Moved,
    /// The new figure over the old one.
    pub ratio: f64,
    /// Why.
    pub reason: String,
}

impl Accepted {
    /// Reads the file.
    ///
    /// # Errors
    /// One line: it is missing, or what is wrong in it.
    pub fn read(path: &Path) -> Result<Self> {
        let text = crate::text_files::read(path)?;
        let place = || path.display().to_string();
        let accepted: Self = toml::from_str(&text)
            .map_err(|error| anyhow::anyhow!(error.message().replace('\n', " ")))
            .with_context(place)?;
        accepted.moves.iter().try_for_each(AcceptedMove::check).with_context(place)?;
        Ok(accepted)
    }

    /// The reason for a move from that commit, where it was accepted: about as large a ratio, in the same direction.
    fn reason(&self, base: &str, one: &Compared, moved: f64, margin: Percent) -> Option<&str> {
        let found = self.moves.iter().find(|accepted| {
            let is_it = (&accepted.server, &accepted.request, accepted.figure)
                == (&one.server, &one.request, one.figure);
            let apart = (moved / accepted.ratio).ln().abs();
            base.starts_with(&accepted.base) && is_it && apart <= margin.0.ln_1p()
        });
        found.map(|accepted| accepted.reason.as_str())
    }
}

impl AcceptedMove {
    fn check(&self) -> Result<()> {
        let place = || format!("[[move]] of {} {}", self.server, self.request);
        within("base, in digits", self.base.len() as u64, 7, 40).with_context(place)?;
        ensure!(self.ratio.is_finite() && self.ratio > 0.0, "{}: field ratio: give new over old", place());
        ensure!(!self.reason.trim().is_empty(), "{}: field reason: say why it moved", place());
        Ok(())
    }
}

/// A server's figure with itself at the base.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Compared {
    /// The server.
    pub server: String,
    /// The request.
    pub request: String,
    /// Which figure.
    pub figure: Moved,
    /// What was found; `None` where it could not be.
    #[serde(skip)]
    pub found: Option<Found>,
}

/// A ratio of new over old.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Found {
    /// CPU time, from blocks.
    Measured(Finding),
    /// Instructions of a request, old and new: of one count each, which the next one repeats to a thousandth or so.
    Counted(f64, f64),
}

/// What there is to say of a comparison; the worse, the greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It lies within the margin; where only slower ones are looked for, it is not slower by more than the margin.
    Still,
    /// It moved by more than the margin, and that was accepted.
    Accepted,
    /// It may have moved by more than the margin.
    Undecided,
    /// It moved by more than the margin, up or down.
    Moved,
}

impl Found {
    fn ratio(&self) -> f64 {
        match self {
            Self::Measured(finding) => finding.ratio.value,
            Self::Counted(before, now) => now / before,
        }
    }

    fn state(&self, figure: Moved, rules: Rules<'_>) -> State {
        let Rules { margin, only_slower, .. } = rules;
        match self {
            Self::Measured(finding) if figure == Moved::Rate => {
                let fell = finding.ratio.interval.is_some_and(|(_, high)| high < 1.0 / RATE_FALL);
                if fell { State::Moved } else { State::Still }
            }
            Self::Measured(finding) if only_slower => slower_state(finding, margin),
            Self::Measured(finding) => moved_state(finding),
            Self::Counted(before, now) => {
                let moved = (now / before).ln();
                let moved = if only_slower { moved } else { moved.abs() };
                if moved > margin.0.ln_1p() { State::Moved } else { State::Still }
            }
        }
    }
}

/// CPU time alone misses a server that waits. Next to each other two rates are what the kernel leaves to each, so a
/// smaller fall than this is no finding: a quarter more time for each request.
pub const RATE_FALL: f64 = 1.25;

/// Whether it moved, up or down.
fn moved_state(finding: &Finding) -> State {
    match finding.verdict {
        Verdict::Faster | Verdict::Slower => State::Moved,
        Verdict::Equivalent => State::Still,
        Verdict::DifferentButSmall if finding.within_margin => State::Still,
        Verdict::DifferentButSmall | Verdict::Inconclusive | Verdict::NotJudged => State::Undecided,
    }
}

/// Whether it is slower: the whole interval is beyond the margin, or up to it.
fn slower_state(finding: &Finding, margin: Percent) -> State {
    match (finding.verdict, finding.ratio.interval) {
        (Verdict::Slower, _) => State::Moved,
        (Verdict::Faster | Verdict::Equivalent, _) => State::Still,
        (_, Some((_, high))) if high.ln() < margin.0.ln_1p() => State::Still,
        _ => State::Undecided,
    }
}

/// What a comparison is judged by.
#[derive(Debug, Clone, Copy)]
pub struct Rules<'a> {
    /// The largest move that does not matter.
    pub margin: Percent,
    /// Whether a faster server is no finding.
    pub only_slower: bool,
    /// Moves that were accepted; `None` where there is no file of them.
    pub accepted: Option<&'a Accepted>,
}

/// A comparison with a base, judged.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judged {
    /// What is judged.
    #[serde(flatten)]
    pub of: Compared,
    /// New over old; `None` where it could not be measured.
    pub ratio: Option<f64>,
    /// Its interval; a count has none.
    pub interval: Option<(f64, f64)>,
    /// What there is to say of it.
    pub state: State,
    /// Why it may move, where it moved and that was accepted.
    pub reason: Option<String>,
}

/// All comparisons with a base.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judgement {
    /// The commit that they are comparisons with.
    pub base: String,
    /// The largest move that does not matter, as a share.
    pub margin: Percent,
    /// The worst of them.
    pub state: State,
    /// Whether a faster server is no finding.
    pub only_slower: bool,
    /// One by one.
    pub comparisons: Vec<Judged>,
    /// Whether there is a file of accepted moves.
    #[serde(skip)]
    pub can_be_accepted: bool,
}

/// Judges comparisons with a base.
pub fn judge(base: &str, all: &[Compared], rules: Rules<'_>) -> Judgement {
    // Instructions are counted where valgrind is; without it the timing decides alone.
    let judged = all.iter().filter(|one| one.found.is_some() || one.figure == Moved::Cpu);
    let comparisons: Vec<Judged> = judged.map(|one| judge_one(base, one, rules)).collect();
    let state = comparisons.iter().map(|one| one.state).max().unwrap_or(State::Undecided);
    let Rules { margin, only_slower, accepted } = rules;
    let can_be_accepted = accepted.is_some();
    Judgement { base: base.to_owned(), margin, state, only_slower, comparisons, can_be_accepted }
}

fn judge_one(base: &str, one: &Compared, rules: Rules<'_>) -> Judged {
    let found = one.found;
    let state = found.map_or(State::Undecided, |found| found.state(one.figure, rules));
    let ratio = found.map(|found| found.ratio());
    let accepted = ratio.filter(|_| state != State::Still).zip(rules.accepted);
    let reason = accepted.and_then(|(ratio, accepted)| accepted.reason(base, one, ratio, rules.margin));
    Judged {
        of: one.clone(),
        ratio,
        interval: match found {
            Some(Found::Measured(finding)) => finding.ratio.interval,
            _ => None,
        },
        state: if reason.is_some() { State::Accepted } else { state },
        reason: reason.map(str::to_owned),
    }
}

impl Judgement {
    /// What would accept each move that has no reason, but for the reason; nothing where there is no file of them.
    pub fn to_accept(&self) -> Vec<AcceptedMove> {
        let moved = self.comparisons.iter().filter(|one| self.can_be_accepted && one.state == State::Moved);
        let accepting = |one: &Judged| {
            let Compared { server, request, figure, .. } = one.of.clone();
            let ratio = (one.ratio? * 1e3).round() / 1e3;
            let (base, reason) = (self.short_base().to_owned(), String::new());
            Some(AcceptedMove { base, server, request, figure, ratio, reason })
        };
        moved.filter_map(accepting).collect()
    }

    /// As many digits of the base as name it.
    pub fn short_base(&self) -> &str {
        self.base.get(..12).unwrap_or(&self.base)
    }
}
