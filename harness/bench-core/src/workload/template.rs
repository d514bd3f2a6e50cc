//! Parameters of a request, ready to be drawn anew each time: JSON with generators in it, or from the ledger.

use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail, ensure};
use rand_distr::{Distribution, Zipf};
use rand_xoshiro::rand_core::Rng;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use validator_state::{Pubkey, SeededSpec};

use super::from_ledger::{Account, BlockRange, Place};
use super::newest::NewestCall;
use super::text_file::TextFile;

/// The steepest law: almost every draw is the first value.
const MOST_EXPONENT: f64 = 10.0;

/// A value that is drawn for each request: a JSON object with one of these fields.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "give one_of, lines or range (each with zipf, range with hex, too), newest (with minus and hex), or join"
)]
enum Generator {
    OneOf {
        one_of: Vec<Value>,
        zipf: Option<f64>,
    },
    /// A line of a file, as a text.
    Lines {
        lines: TextFile,
        zipf: Option<f64>,
    },
    /// A number, both ends included.
    Range {
        range: [u64; 2],
        #[serde(default)]
        hex: bool,
        zipf: Option<f64>,
    },
    /// The newest number that the server has, less one of a range.
    Newest {
        newest: NewestCall,
        #[serde(default)]
        minus: [u64; 2],
        /// Whether the number is a text in hexadecimal, as `"0x1a"`.
        #[serde(default)]
        hex: bool,
        /// By Zipf's law with this exponent, the first value most often; each as often as any other where left out.
        zipf: Option<f64>,
    },
    /// Texts and generators, put together into one text.
    Join {
        join: Vec<Value>,
    },
}

/// What only generators have.
const FIELDS: [&str; 6] = ["one_of", "lines", "range", "newest", "join", "zipf"];

/// JSON with places that are drawn.
#[derive(Debug, Clone, Default)]
pub(super) struct Template(Vec<Piece>);

/// How often each value is drawn: by Zipf's law, the first most often, or each as often as any other.
type Law = Option<Zipf<f64>>;

#[derive(Debug, Clone)]
enum Piece {
    Text(String),
    /// One of some values, as JSON or, within a text, as what stands between its quotes.
    Value(Vec<String>, Law),
    /// A number from the first on or, where there is a newest one, that one less such a number.
    Number {
        newest: Option<(NewestCall, u64)>,
        first: u64,
        count: u64,
        hex: bool,
        quoted: bool,
        law: Law,
    },
    /// An account of the ledger.
    Account(Law),
    /// An address that is not in the ledger.
    AbsentAccount,
    /// A number of slots from a start up to `last_start`, or always from there; then their number or the last of them.
    Slots(BlockRange, u64),
}

/// Finds the files of all generators in a value.
///
/// # Errors
/// A file can't be read, or has no line.
pub(super) fn locate(value: &mut Value, folder: &Path) -> Result<()> {
    match value {
        Value::Array(values) => values.iter_mut().try_for_each(|value| locate(value, folder)),
        Value::Object(members) => members.iter_mut().try_for_each(|(name, member)| {
            if name == "lines" && member.is_string() {
                let mut file: TextFile = serde_json::from_value(member.take())?;
                file.locate(folder)?;
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

/// Zipf's law for that many values, where an exponent is given.
fn law(field: &str, count: u64, exponent: Option<f64>) -> Result<Law> {
    let Some(exponent) = exponent else { return Ok(None) };
    ensure!(
        exponent > 0.0 && exponent <= MOST_EXPONENT,
        "field {field}: an exponent of {exponent} is out of range; give one above 0 up to {MOST_EXPONENT}"
    );
    Zipf::new(count.max(1) as f64, exponent).map(Some).map_err(|error| anyhow!("field {field}: {error}"))
}

impl Template {
    /// An array of parameters, an object of them by name, or the text of one.
    ///
    /// # Errors
    /// They are none, a generator makes no sense, or its file has changed.
    pub(super) fn new(parameters: &Value) -> Result<Self> {
        if let Value::String(text) = parameters {
            let plain: Value = serde_json::from_str(text).context("field params: not JSON")?;
            ensure!(!plain.is_string(), "field params: no JSON array or object; give one such as [0, 10]");
            return Self::new(&plain);
        }
        ensure!(
            parameters.is_array() || (parameters.is_object() && !is_generator(parameters)),
            "field params: no JSON array or object; give one such as [0, 10] or [{{ one_of = [1, 2] }}]"
        );
        let mut template = Self::default();
        template.value(parameters).with_context(|| format!("field params: {parameters}"))?;
        Ok(template)
    }

    /// Parameters as they stand.
    pub(super) fn text(text: &str) -> Self {
        Self(vec![Piece::Text(text.to_owned())])
    }

    /// One of a ledger's accounts, or an address that it lacks.
    pub(super) fn account(account: Account, ledger: &SeededSpec) -> Result<Self> {
        let piece = match account {
            Account::Uniform => Piece::Account(None),
            Account::Absent => Piece::AbsentAccount,
            Account::Zipf { zipf } => Piece::Account(law("account", ledger.accounts as u64, Some(zipf))?),
        };
        Ok(Self(vec![Piece::Text("[\"".to_owned()), piece, Piece::Text("\"]".to_owned())]))
    }

    /// Slots of a ledger.
    pub(super) fn slots(blocks: BlockRange, ledger: &SeededSpec) -> Result<Self> {
        let (slots, first_above) = (blocks.slots, ledger.finalized() + 1);
        ensure!(
            slots <= first_above,
            "field blocks: {slots} slots are requested, and the ledger has {first_above}; request fewer, or raise \
             environment.slots of the campaign"
        );
        Ok(Self(vec![Piece::Slots(blocks, first_above - slots)]))
    }

    /// Whether it needs the ledger's accounts.
    pub(super) fn names_accounts(&self) -> bool {
        self.0.iter().any(|piece| matches!(piece, Piece::Account(_)))
    }

    fn push(&mut self, text: &str) {
        match self.0.last_mut() {
            Some(Piece::Text(last)) => last.push_str(text),
            _ => self.0.push(Piece::Text(text.to_owned())),
        }
    }

    fn value(&mut self, value: &Value) -> Result<()> {
        match value {
            Value::Array(values) => {
                self.push("[");
                for (place, value) in values.iter().enumerate() {
                    self.push(if place == 0 { "" } else { "," });
                    self.value(value)?;
                }
                self.push("]");
            }
            Value::Object(_) if is_generator(value) => self.generator(value, true)?,
            Value::Object(members) => {
                self.push("{");
                for (place, (name, member)) in members.iter().enumerate() {
                    let before = if place == 0 { "" } else { "," };
                    self.push(&format!("{before}{}:", json!(name)));
                    self.value(member)?;
                }
                self.push("}");
            }
            plain => self.push(&plain.to_string()),
        }
        Ok(())
    }

    /// A generator; `quoted` where its texts have quotes around them.
    fn generator(&mut self, written: &Value, quoted: bool) -> Result<()> {
        let (values, zipf) = match serde_json::from_value(written.clone())? {
            Generator::OneOf { one_of, zipf } => (one_of, zipf),
            Generator::Lines { lines, zipf } => {
                (lines.all_lines()?.into_iter().map(|(_, line)| Value::String(line)).collect(), zipf)
            }
            Generator::Range { range, hex, zipf } => return self.number(None, range, hex, quoted, zipf),
            Generator::Newest { newest, minus, hex, zipf } => {
                // As long as no server is known, it has just as many as may be taken away.
                let newest = Some((newest, minus[1]));
                return self.number(newest, minus, hex, quoted, zipf);
            }
            Generator::Join { join } => return self.joined(&join, quoted),
        };
        ensure!(!values.is_empty(), "give values");
        let law = law("params.zipf", values.len() as u64, zipf)?;
        let written = |value: &Value| match value {
            Value::String(_) if !quoted => unquoted(value),
            value => value.to_string(),
        };
        self.0.push(Piece::Value(values.iter().map(written).collect(), law));
        Ok(())
    }

    fn number(
        &mut self,
        newest: Option<(NewestCall, u64)>,
        [first, last]: [u64; 2],
        hex: bool,
        quoted: bool,
        zipf: Option<f64>,
    ) -> Result<()> {
        ensure!(first <= last, "give the smaller number first");
        let count = (last - first).checked_add(1).context("too wide")?;
        let law = law("params.zipf", count, zipf)?;
        self.0.push(Piece::Number { newest, first, count, hex, quoted: quoted && hex, law });
        Ok(())
    }

    /// Parts of one text.
    fn joined(&mut self, parts: &[Value], quoted: bool) -> Result<()> {
        let quote = if quoted { "\"" } else { "" };
        self.push(quote);
        for part in parts {
            match part {
                Value::String(_) => self.push(&unquoted(part)),
                Value::Object(_) => self.generator(part, false)?,
                other => bail!("join: {other} is neither a text nor a generator"),
            }
        }
        self.push(quote);
        Ok(())
    }

    /// The calls that say which numbers are the newest, and what these are taken to be.
    pub(super) fn newest(&mut self) -> impl Iterator<Item = &mut (NewestCall, u64)> {
        self.0.iter_mut().filter_map(|piece| match piece {
            Piece::Number { newest, .. } => newest.as_mut(),
            _ => None,
        })
    }

    /// Appends it with values that are drawn.
    pub(super) fn write(&self, accounts: &[Pubkey], random: &mut impl Rng, out: &mut String) {
        for piece in &self.0 {
            // A String takes all that is written to it.
            let _ = match piece {
                Piece::Text(text) => out.write_str(text),
                Piece::Value(values, law) => {
                    out.write_str(&values[drawn(*law, values.len() as u64, random) as usize])
                }
                Piece::Number { newest, first, count, hex, quoted, law } => {
                    let number = first + drawn(*law, *count, random);
                    let number = newest.as_ref().map_or(number, |(_, newest)| newest.saturating_sub(number));
                    let quote = if *quoted { "\"" } else { "" };
                    match hex {
                        true => write!(out, "{quote}0x{number:x}{quote}"),
                        false => write!(out, "{number}"),
                    }
                }
                Piece::Account(law) => {
                    write!(out, "{}", accounts[drawn(*law, accounts.len() as u64, random) as usize])
                }
                Piece::AbsentAccount => {
                    let mut key = [0; 32];
                    random.fill_bytes(&mut key);
                    write!(out, "{}", Pubkey(key))
                }
                Piece::Slots(BlockRange { slots, from, limit }, last_start) => {
                    let start = match from {
                        Place::Tip => *last_start,
                        Place::Random => random.next_u64() % (last_start + 1),
                    };
                    let second = if *limit { *slots } else { start + slots - 1 };
                    write!(out, "[{start},{second}]")
                }
            };
        }
    }
}

/// Whether a value is an object with a field of a generator.
fn is_generator(value: &Value) -> bool {
    FIELDS.iter().any(|field| value.get(field).is_some())
}

/// A place below `count`.
fn drawn(law: Law, count: u64, random: &mut impl Rng) -> u64 {
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
mod tests;
