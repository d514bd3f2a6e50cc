//! A chart inside a web page: the SVG file's drawing, with a name and a description, and with colours that the page's style decides.

use super::palette::{GREY, GRID, INK, OTHERS};
use super::{COLOURS, Chart, Forest, Plot, Row, svg};

/// What stands for the paper in the drawing.
const PAPER: &str = "#fff";

/// The chart as an element of a page. `id` is one that the page has once; `title` is what a reader who can't see it hears first.
pub(in crate::report) fn inline(chart: &Chart, id: &str, title: &str) -> String {
    let drawn = svg(chart);
    let drawn = themed(&drawn);
    let head = format!("<svg role=\"img\" aria-labelledby=\"{id}-title {id}-desc\"");
    let names = format!(
        "<title id=\"{id}-title\">{}</title>\n<desc id=\"{id}-desc\">{}</desc>",
        escaped(title),
        escaped(&description(chart))
    );
    let drawn = drawn.replacen("<svg", &head, 1);
    drawn.replacen(">\n", &format!(">\n{names}\n"), 1)
}

/// The drawing with a variable of the page in place of each colour of the palette; without that variable the colour stays.
fn themed(drawn: &str) -> String {
    let mut themed = drawn.to_owned();
    for (name, colour) in variables() {
        themed = themed.replace(&format!("\"{colour}\""), &format!("\"var(--{name}, {colour})\""));
    }
    themed
}

/// The variables of a page's style that decide the colours of charts, each with the colour in a chart's file.
fn variables() -> Vec<(String, &'static str)> {
    let numbered = |name: &'static str, colours: &'static [&'static str]| {
        colours.iter().enumerate().map(move |(place, colour)| (format!("{name}-{place}"), *colour))
    };
    let single = [("chart-paper", PAPER), ("chart-ink", INK), ("chart-grid", GRID), ("chart-grey", GREY)];
    let single = single.map(|(name, colour)| (name.to_owned(), colour));
    numbered("server", &COLOURS).chain(numbered("part", &OTHERS)).chain(single).collect()
}

/// The variable of a style's colour, by its number.
pub(in crate::report) fn variable(colour: usize) -> String {
    match colour.checked_sub(COLOURS.len()) {
        None => format!("server-{colour}"),
        Some(part) if part < OTHERS.len() => format!("part-{part}"),
        Some(_) => "chart-grey".to_owned(),
    }
}

/// What is drawn, in words: the panels, and whose lines or bars stand in them.
fn description(chart: &Chart) -> String {
    let mut parts: Vec<String> = chart.rows.iter().map(row).collect();
    if !chart.legend.is_empty() {
        let names: Vec<&str> = chart.legend.iter().map(|(_, name)| name.as_str()).collect();
        parts.push(format!("Shown: {}.", names.join(", ")));
    }
    parts.push("The figures stand in the tables of this page.".to_owned());
    parts.retain(|part| !part.is_empty());
    parts.join(" ")
}

fn row(row: &Row) -> String {
    let joined = |names: &mut dyn Iterator<Item = &str>| {
        names.filter(|name| !name.is_empty()).collect::<Vec<_>>().join("; ")
    };
    match row {
        Row::Plot(Plot { title, axes, panels, .. }) => {
            let names = joined(
                &mut std::iter::once(title.as_str()).chain(panels.iter().map(|panel| panel.title.as_str())),
            );
            let axes = joined(&mut axes.iter().rev().map(|axis| axis.name.as_str()));
            format!("{names}. Axes: {axes}.")
        }
        Row::Bars(bars) => {
            format!("Bars of {}.", joined(&mut bars.names.iter().map(|(name, _)| name.as_str())))
        }
        Row::Forest(Forest { names, columns }) => format!(
            "Ratios of {} for {}.",
            joined(&mut columns.iter().map(|(title, _)| title.as_str())),
            joined(&mut names.iter().map(String::as_str))
        ),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::charts::Key;

    #[test]
    fn a_chart_has_a_name_a_description_and_the_page_s_colours() {
        let legend = vec![(Key::Patch(COLOURS[0]), "a <b>".to_owned())];
        let chart = Chart { title: "rates".to_owned(), legend, ..Chart::default() };
        let drawn = inline(&chart, "c1", "a & b");
        assert!(drawn.starts_with("<svg role=\"img\" aria-labelledby=\"c1-title c1-desc\""), "{drawn}");
        assert!(drawn.contains("<title id=\"c1-title\">a &amp; b</title>"), "{drawn}");
        assert!(drawn.contains("Shown: a &lt;b&gt;."), "{drawn}");
        assert!(drawn.contains("fill=\"var(--server-0, #0072b2)\""), "{drawn}");
        assert!(!drawn.contains("fill=\"#"), "a colour that the page does not decide: {drawn}");
    }

    /// The relative luminance of `#rrggbb`, as WCAG defines it.
    fn luminance(colour: &str) -> f64 {
        let part = |at: usize| {
            let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
    }

    #[test]
    fn every_colour_has_contrast_on_a_light_page_and_on_a_dark_one() {
        let style = include_str!("../html/assets/style.css");
        let (light, dark) = style.split_once("@media (prefers-color-scheme: dark)").unwrap();
        for theme in [light, dark] {
            let value = |name: &str| {
                let (_, rest) =
                    theme.split_once(&format!("--{name}: ")).unwrap_or_else(|| panic!("no {name}"));
                luminance(&rest[..7])
            };
            let contrast = |name: &str| {
                let (a, b) = (value(name), value("chart-paper"));
                (a.max(b) + 0.05) / (a.min(b) + 0.05)
            };
            for (name, _) in variables() {
                let least = match name.as_str() {
                    "chart-paper" | "chart-grid" => 1.0,
                    "chart-ink" => 4.5,
                    _ => 3.0,
                };
                assert!(contrast(&name) >= least, "{name}: {:.2}", contrast(&name));
            }
        }
    }
}
