//! Fills the templates of `src/templates`, which hold the sentences of a report. What a template gets is data; a name
//! without a value is an error.
//!
//! A text that a run wrote (a server's name, a reason) is put in as one line, and ends no cell of a table.

use std::sync::LazyLock;

use anyhow::{Context, Result};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, ValueKind};
use minijinja::{AutoEscape, Environment, Error, UndefinedBehavior, Value};
use serde::{Deserialize, Serialize};

use super::{columns, format};
use bench_core::figure::Figure;
use bench_core::stats::Estimate;

/// Each template by its name.
macro_rules! templates {
    ($($name:literal),+ $(,)?) => {
        const TEMPLATES: &[(&str, &str)] = &[$(($name, include_str!(concat!("templates/", $name, ".md.jinja")))),+];
    };
}

templates![
    "answer",
    "cause",
    "compare",
    "conditions",
    "environment",
    "failed",
    "fault",
    "headline",
    "lost",
    "moves",
    "repeat",
    "report",
    "saved",
    "search",
    "verdicts",
];

/// Stands for a bar in what a run wrote, until it is known whether a table holds it.
const BAR: char = '\u{e000}';

static ENVIRONMENT: LazyLock<Result<Environment<'static>, Error>> = LazyLock::new(environment);

fn environment() -> Result<Environment<'static>, Error> {
    let mut made = Environment::new();
    made.set_undefined_behavior(UndefinedBehavior::Strict);
    made.set_auto_escape_callback(|_| AutoEscape::None);
    made.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    made.set_formatter(|out, _, value| match value.as_str() {
        Some(text) if !value.is_safe() => Ok(out.write_str(&one_line(text))?),
        Some(text) => Ok(out.write_str(text)?),
        None if matches!(value.kind(), ValueKind::Number) => Ok(write!(out, "{value}")?),
        None => Err(Error::new(
            minijinja::ErrorKind::BadSerialization,
            format!("a {} is no text: choose one of its fields, or a filter", value.kind()),
        )),
    });
    made.add_filter("table", |text: String| {
        Value::from_safe_string(columns::aligned(&text.replace(BAR, "\\|")))
    });
    made.add_filter("folded", |text: String, heading: String| {
        Value::from_safe_string(folded(&heading, &text))
    });
    made.add_filter("code", |text: String| format!("`{}`", text.replace(['`', '|', '\n', '\r'], " ")));
    made.add_filter("count", number(format::thousands));
    made.add_filter("significant", number(format::significant));
    made.add_filter("three", number(|value| format!("{value:.3}")));
    made.add_filter("time", number(format::time_us));
    made.add_filter("time_ms", number(|ms| format::time_us(ms * 1e3)));
    made.add_filter("duration", number(duration));
    made.add_filter("bytes", number(format::bytes));
    made.add_filter("percent", number(format::percent));
    made.add_filter("percent_1", number(|share| format!("{:.1} %", share * 100.0)));
    made.add_filter("percent_2", number(|share| format!("{:.2} %", share * 100.0)));
    made.add_filter("ratio", |value: Option<Value>| estimated(value, format::ratio));
    made.add_filter("figure", |value: Option<Value>, figure: Serde<Figure>| {
        estimated(value, |value| format::estimate(value, format::writer(figure.0)))
    });
    made.add_filter("bare", |value: Option<Value>, figure: Serde<Figure>| {
        estimated(value, |value| format::writer(figure.0)(value.value))
    });
    made.add_filter("capitalised", |text: String| format::capitalised(&text));
    made.add_function("plural", |count: u64, what: &str| format::counted(count, what));
    for (name, text) in TEMPLATES {
        made.add_template(name, text)?;
    }
    Ok(made)
}

/// A time in seconds, as a reader plans with it.
fn duration(s: f64) -> String {
    match s {
        s if s >= 7_200.0 => format!("{:.1} hours", s / 3_600.0),
        s if s >= 120.0 => format!("{:.0} minutes", s / 60.0),
        s => format!("{s:.0} s"),
    }
}

/// A section that a reader opens, under its own heading; nothing where it says nothing.
pub(super) fn folded(heading: &str, text: &str) -> String {
    if text.trim().is_empty() {
        return String::new();
    }
    format!("<details>\n<summary>{heading}</summary>\n\n## {heading}\n\n{text}\n\n</details>\n")
}

/// A foreign text as one line that ends no cell.
fn one_line(text: &str) -> String {
    text.trim_end_matches(['\n', '\r']).replace(['\n', '\r'], " ").replace('|', &BAR.to_string())
}

/// A number as it is written; a dash where it is not known.
fn number(write: fn(f64) -> String) -> impl Fn(Option<f64>) -> String {
    move |value| format::dash(value, write)
}

/// An estimate as it is written; a dash where there is none.
fn estimated(value: Option<Value>, write: impl Fn(Estimate) -> String) -> Result<String, Error> {
    value.map_or_else(|| Ok("-".to_owned()), |value| Ok(write(Estimate::deserialize(value)?)))
}

/// What serialises, for a template.
pub(super) fn data(value: impl Serialize) -> Value {
    Value::from(Serde(value))
}

/// A template with its values. More than one empty line between two others becomes one.
///
/// # Errors
/// The template has no value for a name.
pub(super) fn fill(name: &str, values: Value) -> Result<String> {
    let environment = ENVIRONMENT.as_ref().map_err(|error| anyhow::anyhow!("{error:#}"))?;
    let filled = environment.get_template(name).and_then(|template| template.render(values));
    let filled = filled.with_context(|| format!("can't fill the template {name}"))?;
    let mut out = String::with_capacity(filled.len());
    let mut lines = filled.lines().skip_while(|line| line.trim().is_empty()).peekable();
    while let Some(line) = lines.next() {
        let is_doubled = line.trim().is_empty() && lines.peek().is_none_or(|next| next.trim().is_empty());
        if !is_doubled {
            out.extend([line.trim_end(), "\n"]);
        }
    }
    Ok(out.replace(BAR, "|"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use minijinja::context;

    fn filled(template: &str, values: Value) -> Result<String, Error> {
        environment().unwrap().render_str(template, values)
    }

    #[test]
    fn every_template_can_be_read() {
        assert!(ENVIRONMENT.is_ok(), "{:?}", ENVIRONMENT.as_ref().err());
        let missing = fill("fault", context! {}).unwrap_err();
        assert!(format!("{missing:#}").contains("undefined"), "what it lacks is an error: {missing:#}");
    }

    #[test]
    fn a_foreign_text_ends_no_cell_and_no_line() {
        let table = "{% filter table %}\n| name | n |\n| - | -: |\n| {{ name }} | {{ 1200 | count }} |\n{% endfilter %}";
        let text = filled(table, context! { name => "a|b\nc" }).unwrap();
        assert_eq!(text, "| name   |     n |\n| ------ | ----: |\n| a\\|b c | 1,200 |\n");
        let none = "{% filter table %}\n| name |\n| - |\n{% endfilter %}";
        assert_eq!(filled(none, context! {}).unwrap(), "", "a table without rows");
    }

    #[test]
    fn what_is_not_known_is_a_dash() {
        let values = context! { of => data(std::collections::BTreeMap::from([("p50_us", 3_000.0)])) };
        let text = "{{ of.p50_us | time }} {{ of.p99_us | time }} {{ none | ratio }}";
        assert_eq!(filled(text, values).unwrap(), "3.00 ms - -");
    }
}
