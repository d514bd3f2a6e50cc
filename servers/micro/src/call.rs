//! One call: the body that is sent, and the answer that is true.

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use validator_state::{Answer, Method, Params, State};

/// A body that holds one call of a method.
#[derive(Debug, Clone)]
pub struct Call {
    body: String,
    method: Method,
    params: Option<String>,
    id: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body<'a> {
    jsonrpc: String,
    method: String,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    id: Value,
}

impl Call {
    /// Reads a body.
    ///
    /// # Errors
    /// It is not one JSON-RPC 2.0 call of a method that the contract knows.
    pub fn read(body: &str) -> Result<Self> {
        let read: Body<'_> = serde_json::from_str(body).context("the request is not one JSON-RPC call")?;
        ensure!(read.jsonrpc == "2.0", "the request's version is {:?}, not \"2.0\"", read.jsonrpc);
        let Some(method) = Method::from_name(&read.method) else {
            bail!("the request's method {:?} is none of the contract's", read.method)
        };
        let params = read.params.map(|params| params.get().to_owned());
        Ok(Self { body: body.to_owned(), method, params, id: read.id })
    }

    /// The body, to the letter.
    pub fn body(&self) -> &str {
        &self.body
    }

    /// What the state answers.
    ///
    /// # Errors
    /// It answers with an error: that is not what is measured here.
    pub fn ask(&self, state: &State) -> Result<Answer> {
        let params = self.params.as_deref().map_or(Params::None, Params::Raw);
        state.call(self.method, params).map_err(|error| {
            anyhow::anyhow!("{} answers error {}: {}", self.method, error.code, error.message)
        })
    }

    /// Holds a server's answer against the state's.
    ///
    /// # Errors
    /// It is another, or no JSON-RPC answer to this call.
    pub fn check(&self, state: &State, answer: &[u8]) -> Result<()> {
        let answer: Value = serde_json::from_slice(answer).context("the answer is not JSON")?;
        let result = serde_json::to_value(self.ask(state)?).context("the state's answer has no JSON")?;
        let truth = serde_json::json!({"jsonrpc": "2.0", "id": self.id, "result": result});
        ensure!(answer == truth, "the answer to {} is not the state's", self.method);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use validator_state::{Ledger, SeededSpec};

    #[test]
    fn another_answer_is_found_out() {
        let state = State::new(Ledger::seeded(&SeededSpec { accounts: 1, slots: 40, seed: 1 }));
        let call = Call::read(r#"{"jsonrpc":"2.0","id":7,"method":"getBlocks","params":[38]}"#).unwrap();
        call.check(&state, br#"{"result":[38,39],"id":7,"jsonrpc":"2.0"}"#).unwrap();
        for wrong in [
            r#"{"jsonrpc":"2.0","id":7,"result":[38,40]}"#,
            r#"{"jsonrpc":"2.0","id":8,"result":[38,39]}"#,
            r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"Method not found"}}"#,
            "",
        ] {
            assert!(call.check(&state, wrong.as_bytes()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_not_one_call_of_the_contract_is_refused() {
        for wrong in [
            "[]",
            "{",
            r#"{"jsonrpc":"2.0","method":"getSlot"}"#,
            r#"{"jsonrpc":"1.0","id":1,"method":"getSlot"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"getslot"}"#,
        ] {
            assert!(Call::read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_error_is_nothing_to_measure() {
        let state = State::new(Ledger::seeded(&SeededSpec { accounts: 1, slots: 40, seed: 1 }));
        let call = Call::read(r#"{"jsonrpc":"2.0","id":7,"method":"getBalance","params":["x"]}"#).unwrap();
        assert!(call.ask(&state).unwrap_err().to_string().contains("-32602"));
    }
}
