//! A corpus: requests from a file, a JSON-RPC call a line, as they were recorded or as a person wrote them.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, anyhow, ensure};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::drawn_params::Params;
use super::mix::check_call;
use super::text_file::{Lines, TextFile};
use super::truth::Expected;

/// Requests in a file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Corpus {
    /// What answers must be to requests that do not say so themselves.
    pub expected: Expected,
    /// The file.
    pub requests: TextFile,
    /// In which order they are sent.
    pub order: Order,
    /// What its lines name of files and servers, as found: schemas by their paths as these stand in the lines, and
    /// references by their servers.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub found: BTreeMap<String, Expected>,
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

/// What to give.
const A_CALL: &str = r#"give a call a line, such as {"method":"name","params":[]}"#;

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

/// A request of a corpus or of a mix.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub weight: u64,
    pub method: String,
    pub params: Params,
    /// What its answer must be; the ledger says it where left out.
    pub expected: Option<Expected>,
}

impl Call {
    fn parse(line: &str) -> Result<Self> {
        ensure!(!line.starts_with('['), "an array; give a call a line, not an array of calls (a batch)");
        ensure!(line.starts_with('{'), "no JSON object; {A_CALL}");
        let read = serde_json::from_str(line).map_err(|error: serde_json::Error| match error.is_eof() {
            true => anyhow!("a JSON object that does not end on its line; {A_CALL}"),
            false => anyhow!("{}", error.to_string().replace('\n', " ")),
        });
        let Line { weight, method, params, expected, .. } = read?;
        let weight = weight.unwrap_or(1);
        check_call(weight, &method, expected.as_ref())?;
        let params = params.map(RawValue::get);
        ensure!(
            params.is_none_or(|params| params.starts_with(['[', '{'])),
            "field params: give an array or an object"
        );
        let params = params.map_or(Params::None, |params| Params::Fixed(params.to_owned()));
        Ok(Self { weight, method, params, expected })
    }
}

/// What of an expectation must be found: the path of a schema, or the name of a server.
fn name(expected: &Expected) -> Option<String> {
    match expected {
        Expected::Schema(schema) => Some(format!("schema {}", schema.path.display())),
        Expected::Reference(reference, _) => Some(format!("reference {}", reference.server)),
        _ => None,
    }
}

impl Corpus {
    pub(super) fn locate(&mut self, folder: &Path) -> Result<()> {
        self.expected.locate(folder).context("field expected")?;
        let found = &mut self.found;
        self.requests
            .locate(folder, |line| {
                let Some(mut expected) = Call::parse(line)?.expected else { return Ok(()) };
                let Some(name) = name(&expected) else { return Ok(()) };
                let Some(known) = found.get_mut(&name) else {
                    expected.locate(folder).context("field expected")?;
                    found.insert(name, expected);
                    return Ok(());
                };
                if let (Some(known), Some(again)) = (known.reference(), expected.reference()) {
                    // Counted for all lines where it is for one.
                    known.differences = known.differences.max(again.differences);
                }
                Ok(())
            })
            .context("field requests")
    }

    /// The call of a line, with the schema or the server that it names, and what answers to all must be.
    fn call(&self, line: &str) -> Result<Call> {
        let mut call = Call::parse(line)?;
        let Some(expected) = &mut call.expected else {
            call.expected = Some(self.expected.clone());
            return Ok(call);
        };
        match (name(expected).and_then(|name| self.found.get(&name)), expected) {
            (Some(Expected::Schema(found)), Expected::Schema(schema)) => schema.clone_from(found),
            (Some(Expected::Reference(found, _)), Expected::Reference(reference, _)) => {
                reference.url.clone_from(&found.url);
                reference.access.clone_from(&found.access);
            }
            _ => {}
        }
        Ok(call)
    }

    pub(super) fn check(&self) -> Result<()> {
        ensure!(
            !matches!(self.expected, Expected::Answer(..)),
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
        let path = &self.corpus.requests.path;
        let mut begun_again = false;
        loop {
            let Some(line) = self.lines.next_line()? else {
                ensure!(!begun_again, "{}: has no line", path.display());
                begun_again = true;
                self.lines = Lines::open(path)?;
                continue;
            };
            if !line.is_empty() {
                let number = self.lines.number;
                let call = self.corpus.call(&line).with_context(|| format!("{}:{number}", path.display()))?;
                return Ok((number, call));
            }
        }
    }
}
