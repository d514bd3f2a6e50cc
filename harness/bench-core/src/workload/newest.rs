//! The newest number of something that a server has.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::leeway::number;

/// A call that says the newest number of something, such as a block's. It is sent before each trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewestCall {
    /// Its method.
    pub method: String,
    /// Its parameters; none where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params: Option<Value>,
    /// Where its answer has the number, or the text of one, also in hexadecimal: a JSON pointer.
    #[serde(default = "result")]
    pub pointer: String,
}

fn result() -> String {
    "/result".to_owned()
}

impl NewestCall {
    /// The request.
    pub fn body(&self) -> String {
        let mut call = json!({ "jsonrpc": "2.0", "id": 1, "method": self.method });
        if let Some(params) = &self.params {
            call["params"].clone_from(params);
        }
        call.to_string()
    }

    /// The number in an answer to it, where there is one.
    pub fn number(&self, answer: &Value) -> Option<u64> {
        number(answer.pointer(&self.pointer)?)
    }
}
