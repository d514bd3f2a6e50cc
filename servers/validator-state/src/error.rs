//! JSON-RPC errors as they go over the wire: code, message, optional data.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Value, json};

/// A JSON-RPC 2.0 error object.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RpcError {
    /// The error code, such as -32602.
    pub code: i32,
    /// One sentence for a person; recorded from a real node, to the letter.
    pub message: Cow<'static, str>,
    /// More about the error, where the node gives more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl RpcError {
    fn new(code: i32, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// -32700: the body is not JSON, or holds what JSON-RPC has no place for.
    pub fn parse_error() -> Self {
        Self::new(-32700, "Parse error")
    }

    /// -32600: an object that is not a request.
    pub fn invalid_request() -> Self {
        Self::new(-32600, "Invalid request")
    }

    /// -32600: a batch of more than [`crate::MAX_BATCH_ENTRIES`] entries.
    pub fn batch_too_large() -> Self {
        Self::new(-32600, format!("Batch too large; max {}", crate::MAX_BATCH_ENTRIES))
    }

    /// -32601.
    pub fn method_not_found() -> Self {
        Self::new(-32601, "Method not found")
    }

    /// -32602: no subscription of the connection has this number.
    pub fn invalid_subscription() -> Self {
        Self::invalid_params("Invalid subscription id.")
    }

    /// -32006: the connection has as many subscriptions as it may have. A node has a limit of all connections together.
    pub fn too_many_subscriptions(most: usize) -> Self {
        let mut error = Self::new(-32006, "Too many subscriptions on the connection");
        error.data = Some(Value::String(format!("Exceeded max limit of {most}")));
        error
    }

    /// -32603: the block store can't be read. The node says no more either.
    pub(crate) fn internal_error() -> Self {
        Self::new(-32603, "Internal error")
    }

    /// -32602 with the given message.
    pub(crate) fn invalid_params(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(-32602, message)
    }

    /// -32602 with details, which the node prints in Rust's debug form.
    pub(crate) fn invalid_params_with_details(message: &str, details: &dyn std::fmt::Debug) -> Self {
        let mut error = Self::invalid_params(format!("Invalid parameters: {message}"));
        error.data = Some(Value::String(format!("{details:?}")));
        error
    }

    /// -32016: the node's slot is below the caller's `minContextSlot`.
    pub(crate) fn min_context_slot(context_slot: u64) -> Self {
        let mut error = Self::new(-32016, "Minimum context slot has not been reached");
        error.data = Some(json!({ "contextSlot": context_slot }));
        error
    }
}
