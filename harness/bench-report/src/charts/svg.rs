//! Draws a chart as SVG.

use super::palette::{GRID, INK, PAPER, dark_rules};
use super::scale::{Scale, range};
use super::{Axis, Chart, Key, Mark, Panel, Plot, Point, Row, Series, Style};

/// About as wide as a page on GitHub shows a picture.
pub(super) const WIDTH: f64 = 900.0;
pub(super) const FONT: f64 = 13.0;
const TITLE: f64 = 15.0;
/// The width of a letter, on average.
const LETTER: f64 = 7.2;
pub(super) const LINE: f64 = 20.0;
/// Room on the left for ticks and the axis' name, on the right, and between panels.
const LEFT: f64 = 82.0;
pub(super) const RIGHT: f64 = 24.0;
const GAP: f64 = 40.0;

/// The chart as an SVG file that is light or dark as its reader prefers. The paper is drawn too, because a page can be
/// dark for another reason than what its reader prefers.
pub(crate) fn svg(chart: &Chart) -> String {
    let drawn = drawing(chart, "", "");
    let style = format!("<style>{}</style>\n", dark_rules(|attribute| drawn.contains(attribute)));
    drawing(chart, "", &style)
}

/// The chart as an element of a page with the style of [`dark_rules`]; `name` is what a reader who can't see it hears.
pub(crate) fn inline(chart: &Chart, name: &str) -> String {
    let name = escaped(name).replace('"', "&quot;");
    drawing(chart, &format!("role=\"img\" aria-label=\"{name}\" "), "")
}

/// The chart as an SVG element with these attributes, and with `before` in front of what is drawn.
fn drawing(chart: &Chart, attributes: &str, before: &str) -> String {
    let mut page = Page { elements: String::new(), y: 12.0 };
    if !chart.title.is_empty() {
        page.heading(&chart.title, 16.0);
    }
    for row in &chart.rows {
        match row {
            Row::Plot(plot) => page.plot(plot),
            Row::Bars(bars) => page.bars(bars),
            Row::Forest(forest) => page.forest(forest),
        }
    }
    page.legend(&chart.legend);
    page.note(&chart.note);
    let height = page.y.ceil();
    // The colour of all text that names no other.
    let drawn = format!(
        "<g fill=\"{INK}\">\n<rect width=\"{WIDTH}\" height=\"{height}\" fill=\"{PAPER}\"/>\n{}</g>\n",
        page.elements
    );
    format!(
        "<svg {attributes}xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 \
         {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"{FONT}\">\n{before}{drawn}</svg>\n"
    )
}

/// Text as it stands in markup.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

pub(super) fn width(text: &str) -> f64 {
    LETTER * text.chars().count() as f64
}

/// The width of the widest of some texts.
pub(super) fn widest<'a>(texts: impl Iterator<Item = &'a str>) -> f64 {
    texts.map(width).fold(0.0, f64::max)
}

/// A chart as far as it is drawn.
pub(super) struct Page {
    elements: String,
    /// How far down, in pixels.
    pub y: f64,
}

/// Tenths of a pixel.
fn px(pixels: f64) -> String {
    let text = format!("{pixels:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// The data of a path of straight lines.
pub(super) fn path(points: impl IntoIterator<Item = (f64, f64)>) -> String {
    let points: Vec<String> = points.into_iter().map(|(x, y)| format!("{} {}", px(x), px(y))).collect();
    format!("M{}", points.join(" "))
}

impl Page {
    /// An element of a shape with its attributes.
    pub fn add(&mut self, shape: &str) {
        self.elements += &format!("<{shape}/>\n");
    }

    /// Text whose middle is at that height; `anchor` is `start`, `middle` or `end`.
    pub fn text(&mut self, (x, y): (f64, f64), anchor: &str, more: &str, text: &str) {
        let anchor = if anchor == "start" { String::new() } else { format!(" text-anchor=\"{anchor}\"") };
        let (x, y, text) = (px(x), px(y + FONT * 0.35), escaped(text));
        self.elements += &format!("<text x=\"{x}\" y=\"{y}\"{anchor}{more}>{text}</text>\n");
    }

    /// A text in smaller letters where it would not fit.
    pub fn text_within(&mut self, room: f64, at: (f64, f64), anchor: &str, more: &str, text: &str) {
        let smaller = format!("{more} font-size=\"{}\"", px(FONT * room / width(text)));
        self.text(at, anchor, if width(text) > room { &smaller } else { more }, text);
    }

    fn heading(&mut self, text: &str, x: f64) {
        self.text((x, self.y + LINE / 2.0), "start", &format!(" font-size=\"{TITLE}\""), text);
        self.y += LINE + 6.0;
    }

    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), colour: &str, width: f64) {
        self.add(&format!("path d=\"{}\"{}", path([from, to]), stroke(colour, width)));
    }

    pub fn rect(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), colour: &str) {
        let [x, y, width, height] = [x, y, width, height].map(px);
        self.add(&format!(
            "rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{colour}\""
        ));
    }

    pub fn circle(&mut self, (x, y): (f64, f64), radius: f64, paint: &str) {
        self.add(&format!("circle cx=\"{}\" cy=\"{}\" r=\"{radius}\"{paint}", px(x), px(y)));
    }

    fn plot(&mut self, plot: &Plot) {
        if !plot.title.is_empty() {
            self.heading(&plot.title, LEFT);
        }
        let points = || plot.panels.iter().flat_map(|panel| &panel.series).flat_map(|series| &series.points);
        let ends =
            |point: &Point| [point.y].into_iter().chain(point.interval.into_iter().flat_map(|(a, b)| [a, b]));
        let levels = plot.panels.iter().filter_map(|panel| panel.level);
        let x = range(&plot.axes[0], points().map(|point| point.x));
        let y = range(&plot.axes[1], points().flat_map(ends).chain(levels));
        let ranges = x.zip(y);
        let columns = plot.panels.len().min(plot.columns).max(1);
        let wide = (WIDTH - LEFT - RIGHT - GAP * (columns - 1) as f64) / columns as f64;
        for panels in plot.panels.chunks(columns) {
            let (top, bottom) = (self.y + LINE, self.y + LINE + plot.height);
            let first = panels.iter().position(Panel::has_points);
            for (index, panel) in panels.iter().enumerate() {
                let left = LEFT + index as f64 * (wide + GAP);
                self.text((left, top - LINE / 2.0), "start", "", &panel.title);
                match ranges {
                    Some((x, y)) if panel.has_points() => {
                        let scale = |axis: &Axis, values, pixels| Scale { kind: axis.kind, values, pixels };
                        let x = scale(&plot.axes[0], x, (left, left + wide));
                        let y = scale(&plot.axes[1], y, (bottom, top));
                        self.grid(&plot.axes, x, y, first == Some(index));
                        self.panel(panel, x, y);
                    }
                    _ => self.text((left, top + LINE / 2.0), "start", "", panel.empty),
                }
            }
            self.y = bottom + if ranges.is_some() { LINE } else { -plot.height + LINE };
            if ranges.is_some() {
                let middle = (top + bottom) / 2.0;
                let turned = format!(" transform=\"rotate(-90 14 {middle:.1})\"");
                let room = bottom - top + 2.0 * LINE;
                self.text_within(room, (14.0, middle), "middle", &turned, &plot.axes[1].name);
                if !plot.axes[0].name.is_empty() {
                    let middle = (LEFT + WIDTH - RIGHT) / 2.0;
                    self.text((middle, self.y + LINE / 2.0), "middle", "", &plot.axes[0].name);
                    self.y += LINE;
                }
            }
            self.y += 10.0;
        }
    }

    /// Grid and ticks; only the first panel of a row writes those of the vertical axis, which all share.
    fn grid(&mut self, axes: &[Axis; 2], x: Scale, y: Scale, is_first: bool) {
        let ((left, right), (bottom, top)) = (x.pixels, y.pixels);
        let across = x.ticks(&axes[0], |text| width(text) + 8.0);
        let up = y.ticks(&axes[1], |_| FONT + 4.0);
        for (place, _) in &across {
            self.line((*place, top), (*place, bottom), GRID, 1.0);
        }
        for (place, _) in &up {
            self.line((left, *place), (right, *place), GRID, 1.0);
        }
        self.line((left, top), (left, bottom), GRID, 1.0);
        self.line((left, bottom), (right, bottom), GRID, 1.0);
        for (place, text) in &across {
            self.text((*place, bottom + LINE / 2.0), "middle", "", text);
        }
        for (place, text) in up.iter().filter(|_| is_first) {
            self.text((left - 6.0, *place), "end", "", text);
        }
    }

    fn panel(&mut self, panel: &Panel, x: Scale, y: Scale) {
        let (left, right) = x.pixels;
        if let Some(level) = panel.level {
            self.line((left, y.at(level)), (right, y.at(level)), INK, 1.0);
        }
        let at = |point: &Point| (x.at(point.x), y.at(point.y));
        for Series { style, width, points } in &panel.series {
            if *width > 0.0 && !points.is_empty() {
                let path = path(points.iter().map(at));
                let paint = format!("{}{}", stroke(style.colour(), *width), dashes(*style));
                self.add(&format!("path d=\"{path}\" fill=\"none\"{paint}"));
            }
        }
        let points =
            || panel.series.iter().flat_map(|of| of.points.iter().map(move |point| (of.style, point)));
        for (style, point) in points() {
            if let Some((low, high)) = point.interval {
                let (x, _) = at(point);
                self.line((x, y.at(low)), (x, y.at(high)), style.colour(), 2.0);
            }
        }
        for (style, point) in points() {
            self.mark(at(point), style, point.mark);
        }
    }

    /// A mark around a point: its shape says whose it is, as its colour does.
    pub fn mark(&mut self, (x, y): (f64, f64), style: Style, mark: Mark) {
        let colour = style.colour();
        let size = match mark {
            Mark::None => return,
            Mark::Full | Mark::Hollow | Mark::Crossed => 5.0,
            Mark::Small | Mark::SmallHollow => 3.0,
        };
        let is_full = matches!(mark, Mark::Full | Mark::Small) && style.variant == 0;
        let paint = match is_full {
            true => format!(" fill=\"{colour}\"{}", stroke(PAPER, 0.7)),
            false => format!(" fill=\"{PAPER}\" fill-opacity=\"0.6\"{}", stroke(colour, 1.4)),
        };
        let corners: &[(f64, f64)] = match style.colour % 5 {
            0 => &[],
            1 => &[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
            2 => &[(0.0, -1.2), (1.2, 1.0), (-1.2, 1.0)],
            3 => &[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)],
            _ => &[(0.0, 1.2), (1.2, -1.0), (-1.2, -1.0)],
        };
        if corners.is_empty() {
            self.circle((x, y), size, &paint);
        } else {
            let place = |(right, down): &(f64, f64)| (x + right * size, y + down * size);
            self.add(&format!("path d=\"{}z\"{paint}", path(corners.iter().map(place))));
        }
        if mark == Mark::Crossed {
            self.line((x - 7.0, y - 7.0), (x + 7.0, y + 7.0), colour, 1.0);
            self.line((x - 7.0, y + 7.0), (x + 7.0, y - 7.0), colour, 1.0);
        }
    }

    fn legend(&mut self, legend: &[(Key, String)]) {
        const KEY: f64 = 36.0;
        let mut x = 16.0;
        for (key, name) in legend {
            let wide = KEY + width(name) + 20.0;
            if x > 16.0 && x + wide > WIDTH {
                x = 16.0;
                self.y += LINE + 2.0;
            }
            let y = self.y + LINE / 2.0;
            let Key { style, width, mark } = *key;
            if width > 0.0 {
                let path = path([(x, y), (x + 28.0, y)]);
                self.add(&format!("path d=\"{path}\"{}{}", stroke(style.colour(), width), dashes(style)));
            }
            self.mark((x + 14.0, y), style, mark);
            self.text((x + KEY, y), "start", "", name);
            x += wide;
        }
        self.y += if legend.is_empty() { 0.0 } else { LINE + 8.0 };
    }

    fn note(&mut self, note: &str) {
        let mut line = String::new();
        for word in note.split_whitespace() {
            if width(&line) + width(word) > WIDTH - 40.0 {
                self.text((16.0, self.y + LINE / 2.0), "start", "", &std::mem::take(&mut line));
                self.y += LINE;
            }
            line.push_str(word);
            line.push(' ');
        }
        if !line.is_empty() {
            self.text((16.0, self.y + LINE / 2.0), "start", "", line.trim_end());
            self.y += LINE + 6.0;
        }
    }
}

/// The paint of a line; one pixel is what a line has without a width.
fn stroke(colour: &str, width: f64) -> String {
    let width = if width == 1.0 { String::new() } else { format!(" stroke-width=\"{width}\"") };
    format!(" stroke=\"{colour}\"{width}")
}

/// The dashes of a line that is not the first of its colour.
fn dashes(style: Style) -> String {
    let dashes = ["", "7 3", "2 3", "9 3 2 3"][style.variant % 4];
    if dashes.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{dashes}\"") }
}
