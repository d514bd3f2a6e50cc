//! A corpus: requests from a file, a JSON-RPC call a line, as they were recorded or as a person wrote them.

use std::path::Path;

use anyhow::{Context, Result, anyhow, ensure};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::mix::check_call;
use super::requests::Call;
use super::template::Template;
use super::text_file::TextFile;
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
}

/// In which order a corpus is sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// By weight, from the campaign's seed.
    #[default]
    Drawn,
    /// As in the file, and then again from its first line.
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
    #[serde(default = "one")]
    weight: u64,
    method: String,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(alias = "expect")]
    expected: Option<Expected>,
}

const fn one() -> u64 {
    1
}

impl Corpus {
    /// Finds its files from the workload's folder, and looks at every line.
    pub(super) fn locate(&mut self, folder: &Path) -> Result<()> {
        self.expected.locate(folder).context("field expected")?;
        ensure!(
            !matches!(self.expected, Expected::Answer { .. }),
            "field expected: the answers of a file's requests differ; give result in place of answer"
        );
        self.requests.locate(folder).and_then(|()| self.calls()).map(drop).context("field requests")
    }

    /// All requests of it.
    ///
    /// # Errors
    /// The file is too long for that, or has changed, or a line is wrong: with its number.
    pub(super) fn calls(&self) -> Result<Vec<Call>> {
        let call = |(number, line): (usize, String)| {
            let place = || format!("{}:{number}", self.requests.path.display());
            self.call(&line).map(|call| Call { place: number, ..call }).with_context(place)
        };
        self.requests.all_lines()?.into_iter().map(call).collect()
    }

    fn call(&self, line: &str) -> Result<Call> {
        ensure!(line.starts_with('{'), "no JSON object; {A_CALL}, not an array of calls (a batch)");
        let read = serde_json::from_str(line).map_err(|error: serde_json::Error| match error.is_eof() {
            true => anyhow!("a JSON object that does not end on its line; {A_CALL}"),
            false => anyhow!("{}", error.to_string().replace('\n', " ")),
        });
        let Line { weight, method, params, expected, .. } = read?;
        check_call(weight, &method, expected.as_ref())?;
        let params = params.map(RawValue::get);
        ensure!(
            params.is_none_or(|params| params.starts_with(['[', '{'])),
            "field params: give an array or an object"
        );
        ensure!(
            !matches!(expected, Some(Expected::Schema { .. } | Expected::Reference { .. })),
            "field expected: a schema or a reference is that of all lines; state it in the workload"
        );
        let expected = expected.or_else(|| Some(self.expected.clone()));
        Ok(Call { weight, method, params: params.map(Template::text), expected, place: 0 })
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
