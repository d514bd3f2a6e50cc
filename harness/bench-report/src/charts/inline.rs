//! A chart inside a web page: the SVG file's drawing, with a name and a description.

use super::svg::{drawing, escaped};
use super::{Chart, Forest, Plot, Row};
use crate::format::{joined, list};

/// The chart as an element of a page with the style of [`page_style`](super::page_style). `id` is one that the page has
/// once; `title` is what a reader who can't see it hears first.
pub(crate) fn inline(chart: &Chart, id: &str, title: &str) -> String {
    let names = format!(
        "<title id=\"{id}-title\">{}</title>\n<desc id=\"{id}-desc\">{}</desc>\n",
        escaped(title),
        escaped(&description(chart))
    );
    drawing(chart, &format!("role=\"img\" aria-labelledby=\"{id}-title {id}-desc\" "), |_| names)
}

/// What is drawn, in words: the panels, and whose lines or bars stand in them.
fn description(chart: &Chart) -> String {
    let mut parts: Vec<String> = chart.rows.iter().map(row).collect();
    if !chart.legend.is_empty() {
        parts.push(format!("Shown: {}.", list(chart.legend.iter().map(|(_, name)| name))));
    }
    parts.push("The figures stand in the tables of this page.".to_owned());
    parts.join(" ")
}

fn row(row: &Row) -> String {
    match row {
        Row::Plot(Plot { title, axes, panels, .. }) => {
            let titles = panels.iter().map(|panel| &panel.title);
            let axes = named(axes.iter().rev().map(|axis| &axis.name));
            format!("{}. Axes: {axes}.", named([title].into_iter().chain(titles)))
        }
        Row::Bars(bars) => format!("Bars of {}.", named(bars.rows.iter().map(|(name, _)| name))),
        Row::Forest(Forest { names, columns }) => {
            format!("Ratios of {} for {}.", named(columns.iter().map(|column| &column.title)), named(names))
        }
    }
}

/// The names that are not empty.
fn named<'a>(names: impl IntoIterator<Item = &'a String>) -> String {
    joined(names.into_iter().filter(|name| !name.is_empty()), "; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charts::{Key, Mark, Style, svg};

    #[test]
    fn a_chart_has_a_name_a_description_and_the_colours_of_its_file() {
        let legend = vec![(Key::Line(Style::default(), 2.0, Mark::Full), "a <b>".to_owned())];
        let chart = Chart { title: "rates".to_owned(), legend, ..Chart::default() };
        let drawn = inline(&chart, "c1", "a & b");
        assert!(drawn.starts_with("<svg role=\"img\" aria-labelledby=\"c1-title c1-desc\""), "{drawn}");
        assert!(drawn.contains("<title id=\"c1-title\">a &amp; b</title>"), "{drawn}");
        assert!(drawn.contains("Shown: a &lt;b&gt;."), "{drawn}");
        let after = |text: &str, end: &str| text.split_once(end).unwrap().1.to_owned();
        assert_eq!(after(&drawn, "</desc>"), after(&svg(&chart), "</style>"));
    }
}
