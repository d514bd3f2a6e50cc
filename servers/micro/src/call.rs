//! One call: the body that is sent, its parameters as a server hands them to the method, and the answer that is true.

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
    /// The same parameters, parsed.
    values: Value,
    id: Value,
}

/// How a server hands parameters to the method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Given {
    /// As the text that came: jsonrpsee and `typed-rpc`.
    Text,
    /// As values that are moved: jsonrpc-core.
    Values,
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
        let values = params.as_deref().map_or(Ok(Value::Null), serde_json::from_str);
        let values = values.context("the request's parameters hold what no value can")?;
        Ok(Self { body: body.to_owned(), method, params, values, id: read.id })
    }

    /// The body, to the letter.
    pub fn body(&self) -> &str {
        &self.body
    }

    /// The parameters of one call, as a server hands them over.
    pub fn params(&self, given: Given) -> Params<'_> {
        match (given, &self.values) {
            (Given::Text, _) => self.params.as_deref().map_or(Params::None, Params::Raw),
            (Given::Values, Value::Array(values)) => Params::Array(values.clone()),
            (Given::Values, Value::Object(map)) => Params::Map(map.clone()),
            (Given::Values, _) => Params::None,
        }
    }

    /// What the state answers.
    ///
    /// # Errors
    /// It answers with an error: that is not what is measured here.
    pub fn ask(&self, state: &State) -> Result<Answer> {
        self.ask_with(state, self.params(Given::Text))
    }

    /// What the state answers to these [`Self::params`].
    ///
    /// # Errors
    /// It answers with an error: that is not what is measured here.
    pub fn ask_with(&self, state: &State, params: Params<'_>) -> Result<Answer> {
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
    fn text_and_values_have_the_same_answer() {
        let state = State::new(Ledger::seeded(&SeededSpec { accounts: 1, slots: 40, seed: 1 }));
        for (method, params) in [("getBlocks", "[30,{\"minContextSlot\":1}]"), ("getSlot", "[]")] {
            let body = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{params}}}"#);
            let call = Call::read(&body).unwrap();
            assert!(matches!(call.params(Given::Text), Params::Raw(text) if text == params));
            assert!(matches!(call.params(Given::Values), Params::Array(_)));
            let answer = |given| serde_json::to_value(call.ask_with(&state, call.params(given)).unwrap());
            assert_eq!(answer(Given::Values).unwrap(), answer(Given::Text).unwrap());
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
