//! Parameters that are drawn anew for each request: JSON with generators in it.

use std::fmt::Display;
use std::path::Path;

use anyhow::{Result, anyhow, bail, ensure};
use rand_distr::{Distribution, Zipf};
use rand_xoshiro::rand_core::Rng;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::mix::check_exponent;
use super::newest::NewestCall;
use super::text_file::TextFile;

/// The fields of a generator: a JSON object with one of them is one.
const FIELDS: [&str; 6] = ["one_of", "lines", "range", "newest", "join", "zipf"];

/// Where a generator's file stands in JSON.
pub(super) const LINES: &str = "lines";

/// Where its newest number's call stands.
pub(super) const NEWEST: &str = "newest";

/// What must stand in a generator.
const ONE_OF_THEM: &str = "give one of one_of, lines, range, newest and join";

/// A value that is drawn for each request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Generator {
    /// One of these values.
    one_of: Option<Vec<Value>>,
    /// A line of a file, as a text.
    lines: Option<TextFile>,
    /// A number, both ends included.
    range: Option<[u64; 2]>,
    /// The newest number that the server has.
    newest: Option<NewestCall>,
    /// What is taken from the newest, both ends included; nothing where left out.
    minus: Option<[u64; 2]>,
    /// Whether the number is a text in hexadecimal, as `"0x1a"`.
    #[serde(default)]
    hex: bool,
    /// Texts and generators, put together into one text.
    join: Option<Vec<Value>>,
    /// By Zipf's law with this exponent, the first value most often; each as often as any other where left out.
    zipf: Option<f64>,
}

/// JSON with places that are drawn.
#[derive(Debug, Clone, Default)]
pub(super) struct Template(Vec<Piece>);

#[derive(Debug, Clone)]
enum Piece {
    Text(String),
    /// One of some values, as JSON or, within a text, as what stands between its quotes.
    Value {
        values: Vec<String>,
        law: Option<Zipf<f64>>,
    },
    /// A number from the first on or, where there is a newest one, that one less such a number.
    Number {
        newest: Option<(NewestCall, u64)>,
        first: u64,
        count: u64,
        hex: bool,
        quoted: bool,
        law: Option<Zipf<f64>>,
    },
}

/// Finds the files of all generators in a value.
///
/// # Errors
/// A file can't be read, or has no line.
pub(super) fn locate(value: &mut Value, folder: &Path) -> Result<()> {
    match value {
        Value::Array(values) => values.iter_mut().try_for_each(|value| locate(value, folder)),
        Value::Object(members) => members.iter_mut().try_for_each(|(name, member)| {
            if name == LINES && member.is_string() {
                let mut file: TextFile = serde_json::from_value(member.take())?;
                file.locate(folder, |_| Ok(()))?;
                *member = serde_json::to_value(file)?;
            }
            locate(member, folder)
        }),
        _ => Ok(()),
    }
}

/// Whether a value has a generator with this field in it.
pub(super) fn has(value: &Value, field: &str) -> bool {
    match value {
        Value::Array(values) => values.iter().any(|value| has(value, field)),
        Value::Object(members) => members.iter().any(|(name, member)| name == field || has(member, field)),
        _ => false,
    }
}

impl Template {
    /// An array of parameters, or an object of them by name.
    ///
    /// # Errors
    /// They are neither, a generator makes no sense, or its file has changed.
    pub(super) fn new(parameters: &Value) -> Result<Self> {
        ensure!(
            parameters.is_array() || (parameters.is_object() && !is_generator(parameters)),
            "field params: give an array, such as [{{ one_of = [1, 2] }}], or a table of names"
        );
        let mut template = Self::default();
        template.value(parameters)?;
        Ok(template)
    }

    fn text(&mut self, text: &str) {
        match self.0.last_mut() {
            Some(Piece::Text(last)) => last.push_str(text),
            _ => self.0.push(Piece::Text(text.to_owned())),
        }
    }

    fn value(&mut self, value: &Value) -> Result<()> {
        match value {
            Value::Array(values) => {
                self.text("[");
                for (place, value) in values.iter().enumerate() {
                    self.text(if place == 0 { "" } else { "," });
                    self.value(value)?;
                }
                self.text("]");
            }
            Value::Object(_) if is_generator(value) => self.generator(value, true)?,
            Value::Object(members) => {
                self.text("{");
                for (place, (name, member)) in members.iter().enumerate() {
                    let before = if place == 0 { "" } else { "," };
                    self.text(&format!("{before}{}:", Value::from(name.as_str())));
                    self.value(member)?;
                }
                self.text("}");
            }
            plain => self.text(&plain.to_string()),
        }
        Ok(())
    }

    /// A generator; `quoted` where its texts have quotes around them.
    fn generator(&mut self, written: &Value, quoted: bool) -> Result<()> {
        let wrong = |what: &dyn Display| anyhow!("field params: {written}: {what}");
        let of: Generator = serde_json::from_value(written.clone()).map_err(|error| wrong(&error))?;
        of.zipf.iter().try_for_each(|exponent| check_exponent("params.zipf", *exponent))?;
        let law = |count: u64| {
            let law = of.zipf.map(|exponent| Zipf::new(count as f64, exponent));
            law.transpose().map_err(|error| wrong(&error))
        };
        let is_number = of.range.is_some() || of.newest.is_some();
        ensure!(is_number || !of.hex, wrong(&"hex goes with range or newest; leave it out"));
        ensure!(of.newest.is_some() || of.minus.is_none(), wrong(&"minus goes with newest; leave it out"));
        let of_newest = of.newest.as_ref().map(|_| of.minus.unwrap_or_default());
        let values = match (of.one_of, of.lines, of.range.xor(of_newest), of.join) {
            _ if of.range.is_some() && of_newest.is_some() => bail!(wrong(&ONE_OF_THEM)),
            (Some(values), None, None, None) => values,
            (None, Some(file), None, None) => file.all_lines()?.into_iter().map(Value::String).collect(),
            (None, None, Some([first, last]), None) => {
                ensure!(first <= last, wrong(&"give the smaller number first"));
                let count = (last - first).checked_add(1).ok_or_else(|| wrong(&"too wide"))?;
                let (law, hex) = (law(count)?, of.hex);
                // As long as no server is known, it has just as many as may be taken away.
                let newest = of.newest.map(|call| (call, last));
                self.0.push(Piece::Number { newest, first, count, hex, quoted: quoted && hex, law });
                return Ok(());
            }
            (None, None, None, Some(parts)) if of.zipf.is_none() => return self.joined(&parts, quoted),
            (None, None, None, Some(_)) => bail!(wrong(&"zipf stands in a part of join; move it there")),
            _ => bail!(wrong(&ONE_OF_THEM)),
        };
        ensure!(!values.is_empty(), wrong(&"give values"));
        let written = |value: &Value| match value {
            Value::String(_) if !quoted => unquoted(value),
            value => value.to_string(),
        };
        let law = law(values.len() as u64)?;
        self.0.push(Piece::Value { values: values.iter().map(written).collect(), law });
        Ok(())
    }

    /// Parts of one text.
    fn joined(&mut self, parts: &[Value], quoted: bool) -> Result<()> {
        let quote = if quoted { "\"" } else { "" };
        self.text(quote);
        for part in parts {
            match part {
                Value::String(_) => self.text(&unquoted(part)),
                Value::Object(_) => self.generator(part, false)?,
                other => bail!("field params: join: {other} is neither a text nor a generator"),
            }
        }
        self.text(quote);
        Ok(())
    }

    /// The calls that say which numbers are the newest.
    pub(super) fn newest_calls(&self) -> impl Iterator<Item = &NewestCall> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Number { newest: Some((call, _)), .. } => Some(call),
            _ => None,
        })
    }

    /// Sets what the newest numbers of a call are.
    pub(super) fn set_newest(&mut self, of: &NewestCall, number: u64) {
        for piece in &mut self.0 {
            if let Piece::Number { newest: Some((call, newest)), .. } = piece
                && call == of
            {
                *newest = number;
            }
        }
    }

    /// Appends it with values that are drawn.
    pub(super) fn write(&self, random: &mut impl Rng, out: &mut String) {
        use std::fmt::Write;
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Value { values, law } => {
                    out.push_str(&values[drawn(*law, values.len() as u64, random) as usize])
                }
                Piece::Number { newest, first, count, hex, quoted, law } => {
                    let number = first + drawn(*law, *count, random);
                    let number = newest.as_ref().map_or(number, |(_, newest)| newest.saturating_sub(number));
                    let quote = if *quoted { "\"" } else { "" };
                    // A String takes all that is written to it.
                    let _ = match hex {
                        true => write!(out, "{quote}0x{number:x}{quote}"),
                        false => write!(out, "{number}"),
                    };
                }
            }
        }
    }
}

/// Whether a value is an object with a field of a generator.
fn is_generator(value: &Value) -> bool {
    FIELDS.iter().any(|field| value.get(field).is_some())
}

/// A place below `count`.
fn drawn(law: Option<Zipf<f64>>, count: u64, random: &mut impl Rng) -> u64 {
    match law {
        // Ranks count from 1.
        Some(law) => (law.sample(random) as u64 - 1).min(count - 1),
        None => random.next_u64() % count,
    }
}

/// A text as JSON has it between quotes.
fn unquoted(text: &Value) -> String {
    let text = text.to_string();
    text[1..text.len() - 1].to_owned()
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng;
    use serde_json::json;

    use super::*;
    use crate::tests::each_is_refused;

    fn drawn(parameters: Value) -> Vec<Value> {
        let template = Template::new(&parameters).unwrap();
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let one = |_| {
            let mut out = String::new();
            template.write(&mut random, &mut out);
            serde_json::from_str(&out).unwrap()
        };
        (0..300).map(one).collect()
    }

    #[test]
    fn values_are_drawn_wherever_they_stand() {
        let all = drawn(json!([
            { "to": { "one_of": ["x", "y"] }, "data": { "join": ["0x70", { "range": [16, 17], "hex": true }, "\""] } },
            { "range": [5, 7] },
            { "range": [255, 256], "hex": true },
        ]));
        let of = |pointer: &str| {
            let mut found: Vec<String> =
                all.iter().map(|drawn| drawn.pointer(pointer).unwrap().to_string()).collect();
            found.sort();
            found.dedup();
            found
        };
        assert_eq!(of("/0/to"), ["\"x\"", "\"y\""]);
        assert_eq!(of("/0/data"), [r#""0x700x10\"""#, r#""0x700x11\"""#]);
        assert_eq!(of("/1"), ["5", "6", "7"]);
        assert_eq!(of("/2"), ["\"0x100\"", "\"0xff\""]);
    }

    #[test]
    fn parameters_by_name_are_drawn_too() {
        let all = drawn(json!({ "item": { "one_of": ["a", "b"] }, "most": 5 }));
        assert!(
            all.iter().all(|one| one["most"] == 5 && (one["item"] == "a" || one["item"] == "b")),
            "{all:?}"
        );
        assert!(all.iter().any(|one| one["item"] == "a") && all.iter().any(|one| one["item"] == "b"));
        for wrong in [json!({ "one_of": [1] }), json!(5)] {
            assert!(format!("{:#}", Template::new(&wrong).unwrap_err()).contains("field params"), "{wrong}");
        }
    }

    #[test]
    fn the_first_values_are_drawn_most_often_by_zipfs_law() {
        let all = drawn(json!([{ "one_of": ["a", "b", "c", "d"], "zipf": 2.0 }]));
        let count = |name: &str| all.iter().filter(|drawn| drawn[0] == name).count();
        assert!(count("a") > 180 && count("a") > count("b") && count("b") > count("d"), "{}", count("a"));
    }

    #[test]
    fn numbers_below_the_newest_are_drawn_once_that_is_known() {
        let parameters = json!([{ "newest": { "method": "height" }, "minus": [1, 3], "hex": true }]);
        let mut template = Template::new(&parameters).unwrap();
        let call = template.newest_calls().next().unwrap().clone();
        assert_eq!(call.body(), r#"{"id":1,"jsonrpc":"2.0","method":"height"}"#);
        assert_eq!(call.number(&json!({ "result": "0x20" })), Some(32));
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut found = |template: &Template| {
            let mut one = || {
                let mut out = String::new();
                template.write(&mut random, &mut out);
                out
            };
            let mut all: Vec<String> = std::iter::repeat_with(&mut one).take(100).collect();
            all.sort();
            all.dedup();
            all
        };
        assert_eq!(found(&template), [r#"["0x0"]"#, r#"["0x1"]"#, r#"["0x2"]"#]);
        template.set_newest(&call, 32);
        assert_eq!(found(&template), [r#"["0x1d"]"#, r#"["0x1e"]"#, r#"["0x1f"]"#]);
        template.set_newest(&NewestCall { method: "other".to_owned(), ..call }, 99);
        assert_eq!(found(&template).len(), 3);
    }

    #[test]
    fn the_lines_of_a_file_are_texts() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("names.txt"), "ann\nb \"c\"\n").unwrap();
        let mut parameters = json!([{ "of": [{ "lines": "names.txt" }] }]);
        locate(&mut parameters, folder.path()).unwrap();
        let all = drawn(parameters);
        assert!(all.iter().any(|drawn| drawn[0]["of"][0] == "ann"));
        assert!(all.iter().any(|drawn| drawn[0]["of"][0] == "b \"c\""));
    }

    #[test]
    fn a_generator_that_makes_no_sense_is_named() {
        each_is_refused("generators", "[{}]", |text| Template::new(&serde_json::from_str(text).unwrap()));
    }
}
