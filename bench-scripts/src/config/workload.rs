//! A workload: one request, and the answer that is true.

use anyhow::{Context, Result, anyhow, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use validator_state::{Ledger, SeededSpec, State, envelope};

/// One request and its true answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// The file's name without its ending.
    #[serde(default)]
    pub name: String,
    /// The request body, to the letter.
    pub body: String,
    /// Where the true answer comes from.
    pub expected: Expected,
    /// One paragraph: what this workload shows.
    pub why: String,
}

/// Where the true answer comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Expected {
    /// Worked out from the campaign's seeded ledger.
    Ledger,
    /// This JSON, to be compared by value.
    Answer(String),
}

impl Workload {
    /// The JSON-RPC method of the request.
    pub fn method(&self) -> String {
        let body: Option<Value> = serde_json::from_str(&self.body).ok();
        body.and_then(|body| body["method"].as_str().map(str::to_owned)).unwrap_or_else(|| self.name.clone())
    }

    /// The true answer, parsed.
    ///
    /// # Errors
    /// The ledger answers with an error, or the stated answer is not JSON.
    pub fn truth(&self, ledger: &SeededSpec) -> Result<Value> {
        let text = match &self.expected {
            Expected::Answer(text) => text.clone(),
            Expected::Ledger => {
                let state = State::new(Ledger::seeded(ledger));
                let mut out = Vec::new();
                envelope::answer(&state, &self.body, &mut out);
                String::from_utf8(out)?
            }
        };
        let answer: Value =
            serde_json::from_str(&text).with_context(|| format!("workload {}: field expected", self.name))?;
        ensure!(
            answer.get("result").is_some(),
            "workload {}: field body: the ledger answers it with an error: {text}",
            self.name
        );
        Ok(answer)
    }

    pub(super) fn check(&self) -> Result<()> {
        let body: Value =
            serde_json::from_str(&self.body).map_err(|error| anyhow!("field body: not JSON: {error}"))?;
        ensure!(body["method"].is_string(), "field body: has no method");
        ensure!(!body["id"].is_null(), "field body: has no id, so no server would answer it");
        if let Expected::Answer(text) = &self.expected {
            serde_json::from_str::<Value>(text)
                .map_err(|error| anyhow!("field expected: not JSON: {error}"))?;
        }
        Ok(())
    }
}
