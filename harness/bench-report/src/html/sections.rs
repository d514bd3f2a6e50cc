//! The parts of a report in Markdown, each in the tab where a reader looks for it.

use serde::Serialize;

/// The tabs of a page, in their order. A page has those that something stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Tab {
    Answer,
    Curves,
    Latency,
    Resources,
    Thresholds,
    Details,
    Trials,
    Environment,
}

impl Tab {
    /// Each with its name on the page.
    pub const ALL: [(Self, &'static str); 8] = [
        (Self::Answer, "Answer"),
        (Self::Curves, "Curves"),
        (Self::Latency, "Latency"),
        (Self::Resources, "Resources"),
        (Self::Thresholds, "Thresholds and causes"),
        (Self::Details, "Details"),
        (Self::Trials, "Every trial"),
        (Self::Environment, "Environment"),
    ];

    /// Where a section of a report stands. One that is not known here stands in the details.
    fn of(heading: &str) -> Self {
        match heading {
            HEADLINE | "Verdicts" | "Bounds" => Self::Answer,
            "Rate" => Self::Curves,
            "Latency" | "By method" => Self::Latency,
            "CPU and memory" => Self::Resources,
            "Where it starts to fail" | "Why it fails" => Self::Thresholds,
            "What failed" => Self::Trials,
            "Environment" | "How to repeat" => Self::Environment,
            _ => Self::Details,
        }
    }
}

/// The section with the answer, whose tab has its name already.
pub(super) const HEADLINE: &str = "Headline";

/// A part of a section.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Markdown.
    Text(String),
    /// A picture by its file, and what stands in its place where it can't be shown.
    Picture { file: String, alt: String },
}

/// A section of a report.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Section {
    pub tab: Tab,
    /// Empty where the tab's name says it.
    pub heading: String,
    pub parts: Vec<Part>,
}

/// A report, taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Report {
    pub title: String,
    /// What the run is for, in Markdown.
    pub why: String,
    pub sections: Vec<Section>,
}

/// Takes a report apart at its headings. What a reader of Markdown has to unfold stands open on a page, where tabs
/// divide it.
pub(super) fn report(markdown: &str) -> Report {
    let (mut title, mut why) = (String::new(), String::new());
    let mut found: Vec<(String, Vec<&str>)> = Vec::new();
    let mut in_code = false;
    for line in markdown.lines() {
        in_code ^= line.starts_with("```");
        let is_fold = line == "<details>" || line == "</details>" || line.starts_with("<summary>");
        match (line.strip_prefix("# "), line.strip_prefix("## ")) {
            _ if in_code => {}
            _ if is_fold => continue,
            (Some(text), _) => {
                text.clone_into(&mut title);
                continue;
            }
            (_, Some(heading)) => {
                found.push((heading.to_owned(), Vec::new()));
                continue;
            }
            _ => {}
        }
        match found.last_mut() {
            Some((_, lines)) => lines.push(line),
            None => why += &format!("{line}\n"),
        }
    }
    let sections = found.into_iter().map(|(heading, lines)| section(heading, &lines));
    Report { title, why: why.trim().to_owned(), sections: sections.collect() }
}

fn section(heading: String, lines: &[&str]) -> Section {
    // A view's heading is the campaign's own words; its chart's file is not.
    let is_view = lines.iter().any(|line| line.starts_with("![") && line.contains("](view-"));
    let tab = if is_view { Tab::Curves } else { Tab::of(&heading) };
    let heading = if heading == HEADLINE { String::new() } else { heading };
    Section { tab, heading, parts: parts(lines) }
}

fn parts(lines: &[&str]) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for line in lines {
        match (picture(line), parts.last_mut()) {
            (Some(picture), _) => parts.push(picture),
            (None, Some(Part::Text(text))) => *text += &format!("{line}\n"),
            (None, _) => parts.push(Part::Text(format!("{line}\n"))),
        }
    }
    parts.retain(|part| !matches!(part, Part::Text(text) if text.trim().is_empty()));
    parts
}

/// A picture that stands alone in its line.
fn picture(line: &str) -> Option<Part> {
    let (alt, file) = line.strip_prefix("![")?.strip_suffix(')')?.rsplit_once("](")?;
    Some(Part::Picture { file: file.to_owned(), alt: alt.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "# Benchmark report: x\n\nwhy\n\n## Headline\n\n- \
        a\n\n![ratios](ratios.svg)\n\n<details>\n<summary>Latency</summary>\n\n\
                          ## Latency\n\n![t](latency.svg)\n\nnote\n\n![q](quantiles.svg)\n\n</details>\n\n## \
                          w\n\n![v](view-1.svg)\n\n```sh\n## no heading\n```\n\n\
                          ## Something new\n\ntext\n";

    fn shape(report: &Report) -> Vec<(Tab, &str, usize)> {
        let of = |section: &'_ Section| (section.tab, section.parts.len());
        report.sections.iter().map(|s| (of(s).0, s.heading.as_str(), of(s).1)).collect()
    }

    #[test]
    fn each_section_has_a_tab() {
        let report = report(REPORT);
        assert_eq!((report.title.as_str(), report.why.as_str()), ("Benchmark report: x", "why"));
        let expected = [
            (Tab::Answer, "", 2),
            (Tab::Latency, "Latency", 3),
            (Tab::Curves, "w", 2),
            (Tab::Details, "Something new", 1),
        ];
        assert_eq!(shape(&report), expected);
        let text = format!("{report:?}");
        assert!(text.contains("no heading") && !text.contains("summary"), "{text}");
    }
}
