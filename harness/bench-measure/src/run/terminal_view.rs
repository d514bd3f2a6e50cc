//! What stands at the bottom of a terminal while a run measures: how far it is, what runs, what is next, and every
//! headline ratio. It is drawn when something has happened and never by a clock, so that it takes no processor time
//! from a measurement.

use bench_system::foreign_text::escaped_lines;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The most draws a second. What happens at once is drawn whole.
const MOST_DRAWS: u8 = 250;

/// Lines on standard error, and below them, where that is a terminal, the view.
pub(super) struct View {
    all: MultiProgress,
    /// An empty line: a terminal's own echo of Ctrl-C moves the cursor down by a line, and then the view is cleared
    /// without its first one.
    _top: ProgressBar,
    done: ProgressBar,
    /// What runs.
    pub running: ProgressBar,
    /// What comes after it.
    pub next: ProgressBar,
    ratios: Vec<ProgressBar>,
}

impl View {
    /// On standard error. Where that is no terminal there are lines alone.
    pub fn new() -> Self {
        Self::on(ProgressDrawTarget::stderr_with_hz(MOST_DRAWS))
    }

    fn on(target: ProgressDrawTarget) -> Self {
        let all = MultiProgress::with_draw_target(target);
        let top = row(&all, " ");
        top.tick();
        let done = row(&all, "[{wide_bar}] {pos}/{len} {msg}");
        let [running, next] = ["now:  {wide_msg}", "next: {wide_msg}"].map(|template| row(&all, template));
        Self { all, _top: top, done, running, next, ratios: Vec::new() }
    }

    /// Whether there is more than lines.
    pub fn is_shown(&self) -> bool {
        !self.all.is_hidden()
    }

    /// Writes a line that stays.
    pub fn line(&self, text: &str) {
        // A terminal that takes no text is no reason to stop measuring.
        match self.is_shown() {
            true => drop(self.all.println(escaped_lines(text))),
            false => bench_system::note!("{text}"),
        }
    }

    /// Calls what writes to the terminal itself, with the view taken away for that time.
    pub fn hidden(&self, write: impl FnOnce()) {
        self.all.suspend(write);
    }

    /// How many trials are done of those that are known to be needed, and how long the others take.
    pub fn show_done(&self, done: usize, of: usize, time: String) {
        self.done.set_length(of as u64);
        self.done.set_position(done as u64);
        self.done.set_message(time);
    }

    /// A row for each ratio, and their headings.
    pub fn show_ratios(&mut self, rows: Vec<String>) {
        while self.ratios.len() < rows.len() {
            self.ratios.push(row(&self.all, "{wide_msg}"));
        }
        self.ratios
            .iter()
            .zip(rows)
            .for_each(|(bar, text)| bar.set_message(escaped_lines(&text).into_owned()));
    }
}

impl Drop for View {
    fn drop(&mut self) {
        let _ = self.all.clear();
        // The rows are dropped after this, and none is drawn again.
        self.all.set_draw_target(ProgressDrawTarget::hidden());
    }
}

/// A row at the end of the view, as wide as the terminal at most.
fn row(all: &MultiProgress, template: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    all.add(ProgressBar::no_length().with_style(style.progress_chars("=> ")))
}

#[cfg(test)]
mod tests {
    use indicatif::InMemoryTerm;

    use super::*;

    fn shown(rows: u16, columns: u16) -> (View, InMemoryTerm) {
        let terminal = InMemoryTerm::new(rows, columns);
        let view = View::on(ProgressDrawTarget::term_like(Box::new(terminal.clone())));
        assert!(view.is_shown());
        (view, terminal)
    }

    fn ratios(actix: &str) -> Vec<String> {
        vec!["getBalance at 125: requests/s over legacy".to_owned(), format!("  actix {actix}")]
    }

    fn fill(view: &mut View) {
        view.show_done(3, 12, "about 2 min left".to_owned());
        view.running.set_message("block 1: actix, getBalance at 125".to_owned());
        view.next.set_message("axum, getBalance at 125".to_owned());
        view.show_ratios(ratios("1.30 open"));
    }

    #[test]
    fn lines_stay_above_the_view_and_the_view_is_cleared() {
        let (mut view, terminal) = shown(20, 80);
        fill(&mut view);
        view.line("a trial's result");
        view.show_ratios(ratios("1.31 [1.28, 1.34] better"));
        let contents = terminal.contents();
        let lines: Vec<&str> = contents.lines().map(str::trim_end).collect();
        assert_eq!(lines[..2], ["a trial's result", ""], "{contents}");
        assert!(lines[2].starts_with("[===") && lines[2].ends_with("] 3/12 about 2 min left"), "{contents}");
        assert_eq!(
            lines[3..],
            [
                "now:  block 1: actix, getBalance at 125",
                "next: axum, getBalance at 125",
                "getBalance at 125: requests/s over legacy",
                "  actix 1.31 [1.28, 1.34] better"
            ]
        );
        drop(view);
        assert_eq!(terminal.contents(), "a trial's result");
    }
}
