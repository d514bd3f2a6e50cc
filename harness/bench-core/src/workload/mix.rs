//! A mix: requests with weights, whose parameters are drawn: from the ledger, or from what the mix itself says. What a
//! person writes of it, and whether that makes sense; [`crate::workload::requests`] draws.

use std::path::Path;

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;
use validator_state::{Method, SeededSpec};

use super::from_ledger::{Account, BlockRange, Place};
use super::template::{self, Template};
use super::truth::Expected;
use super::{Traffic, Workload};
use crate::field_checks::within;

impl Workload {
    /// The JSON-RPC method of its one request; the workload's name in a mix.
    pub fn method(&self) -> String {
        let Traffic::One { body, .. } = &self.traffic else { return self.name.clone() };
        let body: Option<Value> = serde_json::from_str(body).ok();
        body.and_then(|body| body["method"].as_str().map(str::to_owned)).unwrap_or_else(|| self.name.clone())
    }

    /// Whether it may call a method: the requests of a file are not read for it.
    pub fn may_call(&self, method: &str) -> bool {
        match &self.traffic {
            Traffic::One { .. } => self.method() == method,
            Traffic::Mix(requests) => requests.iter().any(|request| request.method == method),
            Traffic::Corpus(_) => true,
        }
    }
}

/// The largest weight, so that shares can be distinguished and sums can't overflow.
const MOST_WEIGHT: u64 = 1_000_000;

/// Characters of parameters that a reader is shown.
const MOST_WORDS: usize = 60;

/// A request of a mix. Of `account`, `blocks` and `params` it has at most one.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Its share is this over the sum of all weights.
    pub weight: u64,
    /// The JSON-RPC method.
    pub method: String,
    /// Which accounts it requests.
    pub account: Option<Account>,
    /// Which slots it requests.
    pub blocks: Option<BlockRange>,
    /// Parameters: an array or a table, maybe with generators in it, or the text of one.
    pub params: Option<Value>,
    /// What answers must be; the ledger says it where left out.
    #[serde(alias = "expect")]
    pub expected: Option<Expected>,
}

impl Request {
    /// What it requests, in a few words.
    pub fn words(&self) -> String {
        let Self { method, account, blocks, params, .. } = self;
        let about = match (account, blocks, params) {
            (Some(Account::Uniform), ..) => " of any account".to_owned(),
            (Some(Account::Zipf { zipf: exponent }), ..) => {
                format!(" of accounts by Zipf's law, exponent {exponent}")
            }
            (Some(Account::Absent), ..) => " of absent accounts".to_owned(),
            (_, Some(BlockRange { slots, from, .. }), _) => match from {
                Place::Tip => format!(" of the newest {slots} slots"),
                Place::Random => format!(" of {slots} slots anywhere"),
            },
            (_, _, Some(Value::String(text))) => format!(" with {text}"),
            (_, _, Some(values)) => match values.to_string() {
                text if text.len() <= MOST_WORDS => format!(" with {text}"),
                _ => " with parameters that are drawn".to_owned(),
            },
            (None, None, None) => String::new(),
        };
        format!("{method}{about}")
    }

    /// Whether the fields make sense together.
    ///
    /// # Errors
    /// One line with the field.
    pub(super) fn check(&self) -> Result<()> {
        let Self { weight, method: name, account, blocks, params, expected } = self;
        check_call(*weight, name, expected.as_ref())?;
        params.as_ref().map(Template::new).transpose()?;
        let is_known = Method::from_name(name).is_some();
        ensure!(
            is_known || self.states_answers(),
            "field method: the ledger has no {name:?}, but {}; say what makes an answer right: expected = \"no \
             error\", say",
            Method::ALL.map(Method::name).join(", ")
        );
        let given =
            usize::from(account.is_some()) + usize::from(blocks.is_some()) + usize::from(params.is_some());
        ensure!(given <= 1, "fields account, blocks and params: give at most one of them");
        account.map(|account| Template::account(account, &SeededSpec::default())).transpose()?;
        if let Some(BlockRange { slots, .. }) = blocks {
            within("blocks.slots", *slots, 1, validator_state::MAX_BLOCKS_RANGE)?;
        }
        Ok(())
    }

    /// Whether what makes an answer right is stated, so that the ledger need not know it.
    pub fn states_answers(&self) -> bool {
        self.expected.as_ref().is_some_and(|expected| *expected != Expected::Ledger)
    }

    /// Whether its parameters have a generator with this field.
    pub(super) fn draws(&self, field: &str) -> bool {
        self.params.as_ref().is_some_and(|values| template::has(values, field))
    }

    pub(super) fn locate(&mut self, folder: &Path) -> Result<()> {
        self.params.as_mut().map_or(Ok(()), |values| template::locate(values, folder))
    }
}

/// Checks what a mix's and a file's requests share. A method's name stands in a request as it is written.
pub(super) fn check_call(weight: u64, method: &str, expected: Option<&Expected>) -> Result<()> {
    within("weight", weight, 1, MOST_WEIGHT)?;
    let is_plain = |c: char| c.is_ascii_graphic() && c != '"' && c != '\\';
    ensure!(
        !method.is_empty() && method.chars().all(is_plain),
        "field method: {method:?} is no name; give one of letters, digits and signs, without quotes"
    );
    ensure!(
        !matches!(expected, Some(Expected::Answer { .. })),
        "field expected: each request has an id of its own; give result in place of answer"
    );
    expected.map_or(Ok(()), Expected::check)
}

#[cfg(test)]
mod tests {
    use crate::config::ConfigDir;
    use crate::tests::each_is_refused;
    use crate::workload::Workload;

    const GOOD: &str = "why = \"a test\"\n\n[[request]]\nweight = 3\nmethod = \"getBalance\"\naccount = { zipf = 1.5 \
        }\n\n\
                        [[request]]\nweight = 1\nmethod = \"getBlocks\"\nblocks = { slots = 50, from = \"tip\" }\n";

    fn read(text: &str) -> Result<Workload, String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("workloads")).unwrap();
        std::fs::write(folder.path().join("workloads/bad.toml"), text).unwrap();
        ConfigDir(folder.path().to_owned()).workload("bad").map_err(|error| format!("{error:#}"))
    }

    /// Each mistake, and what the one line must name.
    #[test]
    fn rubbish_in_a_mix_is_named() {
        assert!(read(GOOD).is_ok());
        let read = |text: &str| read(text).inspect_err(|said| assert!(said.contains("bad.toml"), "{said}"));
        each_is_refused("mixes", GOOD, read);
        each_is_refused("workloads of neither kind", "{}", read);
    }

    /// A plan keeps its workloads as JSON, and plans of before there were mixes must still be read.
    #[test]
    fn a_workload_survives_its_plan() {
        let old = r#"{"name":"getBalance","body":"{}","expected":"ledger","why":"a test"}"#;
        let workload: Workload = serde_json::from_str(old).unwrap();
        assert_eq!(workload.body().unwrap(), "{}");
        assert_eq!(serde_json::to_string(&workload).unwrap(), old);
        let dir = ConfigDir::of_repository();
        for (name, _) in dir.files("workloads").unwrap() {
            let workload = dir.workload(&name).unwrap();
            let text = serde_json::to_string(&workload).unwrap();
            assert_eq!(serde_json::from_str::<Workload>(&text).unwrap(), workload, "{text}");
        }
    }
}
