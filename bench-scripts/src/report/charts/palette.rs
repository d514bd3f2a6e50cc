//! The colours of all charts: one for each server, others for what is no server, and those of text and grid.

use super::Style;

/// The servers' colours: those of Okabe and Ito, distinguishable to most colour-blind readers. `servers.toml` gives a server its place.
pub(in crate::report) const COLOURS: [&str; crate::config::COLOURS] =
    ["#0072b2", "#d55e00", "#009e73", "#6e6e6e", "#cc79a7", "#e69f00", "#56b4e9"];

/// Colours of what is no server, by Tol. None is a server's.
pub(super) const OTHERS: [&str; 4] = ["#332288", "#999933", "#882255", "#c9b458"];

/// What is shown for comparison only.
pub(super) const GREY: &str = "#c0c0c0";

/// Text and lines that matter.
pub(super) const INK: &str = "#282828";

/// Grid and ticks.
pub(super) const GRID: &str = "#dedede";

impl Style {
    pub(super) fn colour(self) -> &'static str {
        COLOURS.iter().chain(&OTHERS).nth(self.colour).copied().unwrap_or(GREY)
    }
}
