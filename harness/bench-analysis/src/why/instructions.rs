//! What a request costs in instructions, function by function: where a part of the ladder ends in a name.

use serde::{Deserialize, Serialize};

use bench_model::cost::{CountObservation, CountOutcome};

/// The instructions of a server's request in process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Instructions {
    /// The server.
    pub server: String,
    /// Instructions for a request.
    pub per_request: f64,
    /// Of them each function's, the dearest first.
    pub functions: Vec<Function>,
}

/// What a function takes, without those that it calls and that are not compiled into it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Function {
    /// Its name.
    pub function: String,
    /// Instructions for a request.
    pub per_request: f64,
    /// Of all instructions, from 0 to 1.
    pub share: f64,
}

impl Instructions {
    /// Of a count of instructions.
    pub(super) fn new(count: &CountObservation) -> Option<Self> {
        let CountOutcome::Instructions { requests, functions } = &count.outcome else { return None };
        let each = |instructions: u64| instructions as f64 / *requests as f64;
        let all: u64 = functions.values().sum();
        let function = |(name, instructions): (&String, &u64)| Function {
            function: name.clone(),
            per_request: each(*instructions),
            share: *instructions as f64 / all as f64,
        };
        let mut functions: Vec<Function> = functions.iter().map(function).collect();
        functions.sort_by(|a, b| b.per_request.total_cmp(&a.per_request));
        Some(Self { server: count.server.clone(), per_request: each(all), functions })
    }

    /// A function's.
    pub fn function(&self, name: &str) -> Option<&Function> {
        self.functions.iter().find(|function| function.function == name)
    }
}
