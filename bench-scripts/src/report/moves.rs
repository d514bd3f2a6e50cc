//! What moved from one commit's servers to another's, and which moves were accepted with a reason.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use super::format::{count, ratio};
use crate::analysis::{Finding, Verdict};
use crate::config::Percent;
use crate::field_checks::within;
use crate::stats::Estimate;

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
}

impl Moved {
    const fn words(self) -> &'static str {
        match self {
            Self::Cpu => "CPU per request",
            Self::Instructions => "instructions per request",
        }
    }
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
        let text = std::fs::read_to_string(path).with_context(|| format!("can't read {}", path.display()))?;
        let accepted: Self = toml::from_str(&text)
            .map_err(|error| anyhow::anyhow!(error.message().replace('\n', " ")))
            .with_context(|| path.display().to_string())?;
        accepted
            .moves
            .iter()
            .try_for_each(AcceptedMove::check)
            .with_context(|| path.display().to_string())?;
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
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    /// The server.
    pub server: String,
    /// The request.
    pub request: String,
    /// Which figure.
    pub figure: Moved,
    /// What was found; `None` where it could not be.
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
    /// It lies within the margin.
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

    fn state(&self, margin: Percent) -> State {
        match self {
            Self::Counted(before, now) if (now / before).ln().abs() > margin.0.ln_1p() => State::Moved,
            Self::Counted(..) => State::Still,
            Self::Measured(finding) => match finding.verdict {
                Verdict::Faster | Verdict::Slower => State::Moved,
                Verdict::Equivalent => State::Still,
                Verdict::DifferentButSmall if finding.surely_small => State::Still,
                Verdict::DifferentButSmall | Verdict::Inconclusive => State::Undecided,
            },
        }
    }

    fn words(&self) -> String {
        match self {
            Self::Measured(finding) => format!("{}, {} blocks", ratio(finding.ratio), finding.blocks),
            Self::Counted(before, now) => {
                let over = Estimate { value: now / before, interval: None };
                format!("{} ({} instead of {})", ratio(over), count(*now as u64), count(*before as u64))
            }
        }
    }
}

/// A comparison with a base, judged.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judged {
    /// The server.
    pub server: String,
    /// The request.
    pub request: String,
    /// Which figure.
    pub figure: Moved,
    /// New over old; `None` where it could not be measured.
    pub ratio: Option<f64>,
    /// Its interval; a count has none.
    pub interval: Option<(f64, f64)>,
    /// What there is to say of it.
    pub state: State,
    /// Why it may move, where it moved and that was accepted.
    pub reason: Option<String>,
    #[serde(skip)]
    words: String,
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
    /// One by one.
    pub comparisons: Vec<Judged>,
}

/// Judges comparisons with a base.
pub fn judge(base: &str, all: &[Compared], margin: Percent, accepted: &Accepted) -> Judgement {
    // Instructions are counted where valgrind is; without it the timing decides alone.
    let judged = all.iter().filter(|one| one.found.is_some() || one.figure == Moved::Cpu);
    let comparisons: Vec<Judged> = judged.map(|one| judge_one(base, one, margin, accepted)).collect();
    let state = comparisons.iter().map(|one| one.state).max().unwrap_or(State::Still);
    Judgement { base: base.to_owned(), margin, state, comparisons }
}

fn judge_one(base: &str, one: &Compared, margin: Percent, accepted: &Accepted) -> Judged {
    let found = one.found;
    let state = found.map_or(State::Undecided, |found| found.state(margin));
    let reason = found.filter(|_| state != State::Still);
    let reason =
        reason.and_then(|found| accepted.reason(base, one, found.ratio(), margin)).map(str::to_owned);
    Judged {
        server: one.server.clone(),
        request: one.request.clone(),
        figure: one.figure,
        ratio: found.map(|found| found.ratio()),
        interval: match found {
            Some(Found::Measured(finding)) => finding.ratio.interval,
            _ => None,
        },
        state: if reason.is_some() { State::Accepted } else { state },
        reason,
        words: found.map_or_else(|| "not measured".to_owned(), |found| found.words()),
    }
}

impl Judgement {
    /// A line for each comparison. For moves without a reason the lines to add to the file of accepted ones end it.
    pub fn text(&self) -> String {
        let lines = self.comparisons.iter().map(|one| one.line(self.margin));
        let mut out: String = lines.collect();
        let base: String = self.base.chars().take(12).collect();
        let moved = self.comparisons.iter().filter(|one| one.state == State::Moved);
        let moves: Vec<AcceptedMove> = moved.filter_map(|one| one.to_accept(&base)).collect();
        if !moves.is_empty() {
            let lines = toml::to_string(&Accepted { base: String::new(), moves }).unwrap_or_default();
            let lines = lines.trim_start_matches("base = \"\"\n").trim();
            out.push_str(&format!(
                "\nWhere that is meant, add it with its reason to {ACCEPTED}, and quote the reason in CHANGELOG.md:\n\n{lines}\n"
            ));
        }
        out
    }
}

impl Judged {
    fn line(&self, margin: Percent) -> String {
        let Self { server, request, figure, words, .. } = self;
        let place = format!("{server} {request}: {}", figure.words());
        if self.ratio.is_none() {
            return format!("{place}: {words}\n");
        }
        let said = match (self.state, &self.reason) {
            (State::Accepted, reason) => format!("accepted: {}", reason.as_deref().unwrap_or_default()),
            (State::Still, _) => format!("within {margin}"),
            (State::Undecided, _) => format!("may be beyond {margin}"),
            (State::Moved, _) => format!("MOVED by more than {margin}"),
        };
        format!("{place} {words}: {said}\n")
    }

    /// What accepts it, but for the reason.
    fn to_accept(&self, base: &str) -> Option<AcceptedMove> {
        Some(AcceptedMove {
            base: base.to_owned(),
            server: self.server.clone(),
            request: self.request.clone(),
            figure: self.figure,
            ratio: (self.ratio? * 1e3).round() / 1e3,
            reason: String::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARGIN: Percent = Percent(0.03);
    const BASE: &str = "0123456789abcdef0123456789abcdef01234567";

    fn measured(value: f64, interval: (f64, f64), verdict: Verdict, surely_small: bool) -> Found {
        Found::Measured(Finding {
            ratio: Estimate { value, interval: Some(interval) },
            confidence: Some(0.99),
            blocks: 20,
            verdict,
            surely_small,
            answered: true,
            blocks_needed: None,
        })
    }

    fn of(figure: Moved, found: Option<Found>) -> Compared {
        Compared { server: "actix".into(), request: "getBlocks".into(), figure, found }
    }

    fn judged(found: Found, accepted: &Accepted) -> (String, State) {
        let figure = if matches!(found, Found::Counted(..)) { Moved::Instructions } else { Moved::Cpu };
        let judgement = judge(BASE, &[of(figure, Some(found))], MARGIN, accepted);
        (judgement.text(), judgement.state)
    }

    fn accepting(ratio: f64) -> Accepted {
        let accepted = AcceptedMove {
            base: BASE[..12].into(),
            server: "actix".into(),
            request: "getBlocks".into(),
            figure: Moved::Cpu,
            ratio,
            reason: "plain answers".into(),
        };
        Accepted { base: String::new(), moves: vec![accepted] }
    }

    #[test]
    fn a_move_is_named_in_either_direction_and_a_small_one_is_not() {
        let none = Accepted::default();
        let slower = measured(1.05, (1.04, 1.06), Verdict::Slower, false);
        let (said, state) = judged(slower, &none);
        assert_eq!(state, State::Moved);
        assert!(
            said.contains("actix getBlocks: CPU per request 1.050 [1.040, 1.060], 20 blocks: MOVED"),
            "{said}"
        );
        let faster = measured(0.9, (0.88, 0.92), Verdict::Faster, false);
        assert_eq!(judged(faster, &none).1, State::Moved);
        let small = measured(1.01, (1.005, 1.015), Verdict::DifferentButSmall, true);
        assert_eq!(judged(small, &none).1, State::Still);
        let open = measured(1.025, (1.005, 1.045), Verdict::DifferentButSmall, false);
        assert_eq!(judged(open, &none).1, State::Undecided);
        let unmeasured = |figure| judge(BASE, &[of(figure, None)], MARGIN, &none);
        assert_eq!(unmeasured(Moved::Cpu).state, State::Undecided);
        assert!(unmeasured(Moved::Cpu).text().ends_with("CPU per request: not measured\n"));
        let uncounted = unmeasured(Moved::Instructions);
        assert_eq!((uncounted.text(), uncounted.state), (String::new(), State::Still));
    }

    #[test]
    fn a_program_reads_what_was_judged() {
        let slower = of(Moved::Cpu, Some(measured(1.05, (1.04, 1.06), Verdict::Slower, false)));
        let judgement = judge(BASE, &[slower, of(Moved::Cpu, None)], MARGIN, &accepting(1.05));
        let json = serde_json::to_value(&judgement).unwrap();
        assert_eq!((&json["base"], &json["state"]), (&BASE.into(), &"undecided".into()));
        let first = &json["comparisons"][0];
        assert_eq!((&first["state"], &first["reason"]), (&"accepted".into(), &"plain answers".into()));
        assert_eq!((&first["ratio"], &first["interval"][1]), (&1.05.into(), &1.06.into()));
        assert!(json["comparisons"][1]["ratio"].is_null(), "{json}");
    }

    #[test]
    fn instructions_move_without_an_interval() {
        let none = Accepted::default();
        assert_eq!(judged(Found::Counted(10_000.0, 10_290.0), &none).1, State::Still);
        let (said, state) = judged(Found::Counted(10_000.0, 10_400.0), &none);
        assert!(state == State::Moved && said.contains("10,400 instead of 10,000"), "{said}");
        assert_eq!(judged(Found::Counted(10_400.0, 10_000.0), &none).1, State::Moved);
    }

    #[test]
    fn an_accepted_move_needs_the_same_base_and_about_the_same_ratio() {
        let moved = measured(1.05, (1.04, 1.06), Verdict::Slower, false);
        let (said, state) = judged(moved, &accepting(1.06));
        assert!(state == State::Accepted && said.contains("accepted: plain answers"), "{said}");
        assert_eq!(judged(moved, &accepting(1.12)).1, State::Moved, "it moved further than was accepted");
        assert_eq!(judged(moved, &accepting(0.95)).1, State::Moved, "the other way");
        let mut other = accepting(1.05);
        other.moves[0].base = "fedcba9876543".into();
        assert_eq!(judged(moved, &other).1, State::Moved, "from another commit");
    }

    #[test]
    fn what_it_prints_can_be_pasted() {
        let (said, _) = judged(measured(1.05, (1.04, 1.06), Verdict::Slower, false), &Accepted::default());
        let lines = said.split_once("[[move]]").unwrap().1.replace("reason = \"\"", "reason = \"why\"");
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("accepted.toml");
        std::fs::write(&path, format!("base = \"{BASE}\"\n\n[[move]]{lines}")).unwrap();
        let accepted = Accepted::read(&path).unwrap();
        assert_eq!(
            judged(measured(1.05, (1.04, 1.06), Verdict::Slower, false), &accepted).1,
            State::Accepted
        );
        std::fs::write(
            &path,
            format!("base = \"{BASE}\"\n\n[[move]]{}", said.split_once("[[move]]").unwrap().1),
        )
        .unwrap();
        let refused = format!("{:#}", Accepted::read(&path).unwrap_err());
        assert!(refused.contains("reason") && refused.lines().count() == 1, "{refused}");
    }

    /// The changelog says why a server is not what it was.
    #[test]
    fn the_changelog_quotes_each_accepted_move() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let accepted = Accepted::read(&root.join(ACCEPTED)).unwrap();
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let changelog = words(&std::fs::read_to_string(root.join("CHANGELOG.md")).unwrap());
        for one in &accepted.moves {
            assert!(changelog.contains(&words(&one.reason)), "CHANGELOG.md does not quote: {}", one.reason);
        }
    }
}
