//! The methods registered with jsonrpc-core 18, the same for every HTTP server that answers with it.
//!
//! A call takes the library's own path: its parameters come as a tree of values and are moved to the method, and its result
//! goes back as another tree. Not for: HTTP, and what the methods mean (`validator-state`).

#![forbid(unsafe_code)]

use std::future::ready;
use std::sync::Arc;

pub use jsonrpc_core::IoHandler;
use jsonrpc_core::{Error, ErrorCode, Params as CoreParams, Result, Value};
use server_kit::Counters;
use validator_state::{Method, Params, State};

/// All methods, counted when one is called. What the library answers by itself (parse errors, invalid requests, unknown
/// methods) it tells nobody, so that is not counted.
pub fn handler(state: &Arc<State>, counters: &Counters) -> IoHandler {
    let mut handler = IoHandler::default();
    for method in Method::ALL {
        let (state, counters) = (Arc::clone(state), counters.clone());
        handler.add_method(method.name(), move |params| {
            let result = call(&state, method, params);
            counters.count(1, u64::from(result.is_err()));
            ready(result)
        });
    }
    handler
}

fn call(state: &State, method: Method, params: CoreParams) -> Result<Value> {
    let params = match params {
        CoreParams::None => Params::None,
        CoreParams::Array(values) => Params::Array(values),
        CoreParams::Map(map) => Params::Map(map),
    };
    let answer = state.call(method, params).map_err(|error| Error {
        code: ErrorCode::from(i64::from(error.code)),
        message: error.message.into_owned(),
        data: error.data,
    })?;
    serde_json::to_value(answer).map_err(|_| Error::internal_error())
}
