//! The colours of all charts, on a light page and on a dark one: one for each server, others for what is no server, and
//! those of paper, text and grid.
//!
//! A chart is drawn in the colours of a light page. One rule of style for each colour puts that of a dark page in its
//! place where the reader prefers dark, in a file as well as inside a report's page; a viewer that knows no style shows
//! the light ones.

use super::Style;

/// The servers' colours: after Okabe and Ito, distinguishable to most colour-blind readers, and dark enough for white
/// paper. `servers.toml` gives a server its place.
pub(crate) const COLOURS: [&str; bench_core::config::COLOURS] =
    ["#0072b2", "#d55e00", "#008a65", "#6e6e6e", "#b8608f", "#a87400", "#2b8fc4"];
const DARK_COLOURS: [&str; bench_core::config::COLOURS] =
    ["#3f9be0", "#ff8c42", "#2bc196", "#a3a8ae", "#e39ac4", "#f0b432", "#9bd5f8"];

/// Colours of what is no server, after Tol. None is a server's.
pub(super) const OTHERS: [&str; 4] = ["#332288", "#82822b", "#882255", "#94803a"];
const DARK_OTHERS: [&str; 4] = ["#9a8cf0", "#c4c45a", "#d9679b", "#e0cf86"];

/// What is drawn on.
pub(super) const PAPER: &str = "#ffffff";

/// Text and lines that matter.
pub(super) const INK: &str = "#282828";

/// Grid and ticks.
pub(super) const GRID: &str = "#dedede";

/// What is shown for comparison only.
pub(super) const GREY: &str = "#8f8f8f";

/// What has no number, on a light page and on a dark one.
const SINGLE: [(&str, &str); 4] =
    [(PAPER, "#15181c"), (INK, "#e0e2e5"), (GRID, "#3a4048"), (GREY, "#8a8f96")];

impl Style {
    pub(super) fn colour(self) -> &'static str {
        COLOURS.iter().chain(&OTHERS).nth(self.colour).copied().unwrap_or(GREY)
    }
}

/// Each colour, on a light page and on a dark one.
fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    let numbered = COLOURS.into_iter().chain(OTHERS).zip(DARK_COLOURS.into_iter().chain(DARK_OTHERS));
    numbered.chain(SINGLE)
}

/// The rules of style by which drawn elements get the colours of a dark page, for those attributes that a drawing has.
pub(crate) fn dark_rules(is_used: impl Fn(&str) -> bool) -> String {
    let mut rules = String::new();
    for (light, dark) in all() {
        for property in ["fill", "stroke"] {
            let attribute = format!("{property}=\"{light}\"");
            if is_used(&attribute) {
                rules += &format!("[{attribute}]{{{property}:{dark}}}");
            }
        }
    }
    format!("@media (prefers-color-scheme:dark){{{rules}}}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The relative luminance of `#rrggbb`, as WCAG defines it.
    fn luminance(colour: &str) -> f64 {
        let part = |at: usize| {
            let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        assert_eq!(colour.len(), 7, "{colour}");
        0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
    }

    #[test]
    fn every_colour_has_contrast_on_a_light_page_and_on_a_dark_one() {
        let (light_paper, dark_paper) = SINGLE[0];
        for (light, dark) in all() {
            for (colour, paper) in [(light, light_paper), (dark, dark_paper)] {
                let (a, b) = (luminance(colour), luminance(paper));
                let contrast = (a.max(b) + 0.05) / (a.min(b) + 0.05);
                let least = match light {
                    PAPER | GRID => 1.0,
                    INK => 4.5,
                    _ => 3.0,
                };
                assert!(contrast >= least, "{colour}: {contrast:.2}");
            }
        }
    }

    /// Rules find elements by their colour.
    #[test]
    fn no_colour_is_drawn_for_two_things() {
        let drawn: std::collections::BTreeSet<&str> = all().map(|(light, _)| light).collect();
        assert_eq!(drawn.len(), all().count());
    }
}
