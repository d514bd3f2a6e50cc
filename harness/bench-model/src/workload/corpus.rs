//! A corpus: requests from a file, a JSON-RPC call a line, as they were recorded or as a person wrote them.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::mix::{MOST_WEIGHT, check_method};
use super::schema::Schema;
use super::text_file::{Lines, TextFile};
use super::truth::Expected;
use crate::field_checks::within;

/// Requests in a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Corpus {
    /// The file.
    pub requests: TextFile,
    /// In which order they are sent.
    pub order: Order,
    /// What answers must be to requests that do not say so themselves.
    pub expected: Expected,
    /// The schemas that its lines name, by their paths as these stand in the lines.
    pub schemas: BTreeMap<PathBuf, Schema>,
}

/// In which order a corpus is sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// By weight, from the campaign's seed.
    #[default]
    Drawn,
    /// As in the file, and then again from its first line. The file may be of any length.
    File,
}

/// A line of a corpus. Version and id of a recorded call are read over: each request gets an id of its own.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<'a> {
    #[serde(rename = "jsonrpc")]
    _jsonrpc: Option<IgnoredAny>,
    #[serde(rename = "id")]
    _id: Option<IgnoredAny>,
    weight: Option<u64>,
    method: String,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(alias = "expect")]
    expected: Option<Expected>,
}

/// A request of a corpus.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub weight: u64,
    pub method: String,
    /// The text of an array or an object.
    pub params: Option<String>,
    pub expected: Option<Expected>,
}

impl Call {
    fn parse(line: &str) -> Result<Self> {
        let Line { weight, method, params, expected, .. } = serde_json::from_str(line)
            .map_err(|error| anyhow::anyhow!("{}", error.to_string().replace('\n', " ")))?;
        let weight = weight.unwrap_or(1);
        within("weight", weight, 1, MOST_WEIGHT)?;
        check_method(&method)?;
        let params = params.map(|params| params.get().to_owned());
        ensure!(
            params.as_ref().is_none_or(|params| params.starts_with(['[', '{'])),
            "field params: give an array or an object"
        );
        let is_whole = matches!(expected, Some(Expected::Answer(..)));
        ensure!(
            !is_whole,
            "field expected: each request has an id of its own; give result in place of answer"
        );
        let is_other = matches!(expected, Some(Expected::Reference(..)));
        ensure!(!is_other, "field expected: a reference is that of all lines; name it in the workload");
        Ok(Self { weight, method, params, expected })
    }
}

impl Corpus {
    pub(super) fn locate(&mut self, folder: &Path) -> Result<()> {
        self.expected.locate(folder).context("field expected")?;
        let schemas = &mut self.schemas;
        self.requests
            .locate(folder, |line| {
                let Some(Expected::Schema(mut schema)) = Call::parse(line)?.expected else { return Ok(()) };
                if let Entry::Vacant(new) = schemas.entry(schema.path.clone()) {
                    schema.locate(folder).context("field expected")?;
                    new.insert(schema);
                }
                Ok(())
            })
            .context("field requests")
    }

    /// The call of a line, with the schema that it names.
    fn call(&self, line: &str) -> Result<Call> {
        let mut call = Call::parse(line)?;
        if let Some(Expected::Schema(schema)) = &mut call.expected
            && let Some(located) = self.schemas.get(&schema.path)
        {
            schema.clone_from(located);
        }
        Ok(call)
    }

    pub(super) fn check(&self) -> Result<()> {
        let is_whole = matches!(self.expected, Expected::Answer(..));
        ensure!(
            !is_whole,
            "field expected: the answers of a file's requests differ; give result in place of answer"
        );
        if self.order == Order::Drawn {
            self.requests.check_short().context("field requests")?;
        }
        Ok(())
    }

    /// All requests of it.
    ///
    /// # Errors
    /// The file is too long for that, or has changed.
    pub(super) fn calls(&self) -> Result<Vec<Call>> {
        self.requests.all_lines()?.iter().map(|line| self.call(line)).collect()
    }

    /// It in a few words.
    pub(super) fn words(&self) -> String {
        let Self { requests, order, .. } = self;
        let order = match order {
            Order::Drawn => "drawn",
            Order::File => "in their order",
        };
        format!("the {} requests of {}, {order}", requests.lines, requests.name())
    }
}

/// The requests of a corpus in the file's order, without end.
#[derive(Debug)]
pub(super) struct InOrder {
    // Boxed, so that who has no file does not carry one.
    corpus: Box<Corpus>,
    lines: Lines,
}

impl InOrder {
    pub(super) fn open(corpus: &Corpus) -> Result<Self> {
        Ok(Self { lines: Lines::open(&corpus.requests.path)?, corpus: Box::new(corpus.clone()) })
    }

    /// The next request, and the number of its line.
    pub(super) fn next_call(&mut self) -> Result<(u64, Call)> {
        let mut begun_again = false;
        loop {
            match self.lines.next_line()? {
                Some(line) if line.is_empty() => {}
                Some(line) => {
                    let number = self.lines.number;
                    let call = self.corpus.call(&line);
                    let path = self.corpus.requests.path.display();
                    return Ok((number, call.with_context(|| format!("{path}:{number}"))?));
                }
                None => {
                    ensure!(!begun_again, "{}: has no line", self.corpus.requests.path.display());
                    begun_again = true;
                    self.lines = Lines::open(&self.corpus.requests.path)?;
                }
            }
        }
    }
}
