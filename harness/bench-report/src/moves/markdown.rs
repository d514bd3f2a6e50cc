//! A judgement for the page of a CI's job.

use super::{Judged, Judgement, State};

impl Judgement {
    /// A heading with the answer, and a table with a row for each comparison, in GitHub's Markdown.
    pub fn markdown(&self) -> String {
        let base: String = self.base.chars().take(12).collect();
        let rows: String = self.comparisons.iter().map(|one| self.row(one)).collect();
        format!(
            "### {}\n\nThis commit against {base}, both at the same time in one run. A ratio is new over old, with \
             its interval.\n\n\
             | server | request | figure | new over old | judged |\n|---|---|---|---|---|\n{rows}\n",
            self.answer()
        )
    }

    /// The answer in a few words.
    pub fn answer(&self) -> String {
        let mut worst: Vec<&str> =
            self.comparisons.iter().filter(|one| one.state == self.state).map(|one| &*one.server).collect();
        worst.dedup();
        let servers = worst.join(", ");
        if worst.is_empty() {
            return "nothing was measured".to_owned();
        }
        match (self.state, self.only_slower) {
            (State::Moved, true) => format!("{servers}: slower"),
            (State::Moved, false) => format!("{servers}: moved by more than {}", self.margin),
            (State::Undecided, _) => format!("{servers}: inconclusive"),
            (State::Still | State::Accepted, true) => "no server got slower".to_owned(),
            (State::Still | State::Accepted, false) => "no server moved without a reason".to_owned(),
        }
    }

    fn row(&self, one: &Judged) -> String {
        let Judged { server, request, figure, words, .. } = one;
        let said = one.said(self.margin, self.only_slower);
        let said = if one.state == State::Moved { format!("**{said}**") } else { said };
        format!("| {server} | {request} | {} | {words} | {said} |\n", figure.words())
    }
}
