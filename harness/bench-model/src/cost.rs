//! What a why run observes besides trials: what a request costs in process, and what is counted of it. A failure is an
//! observation with its reason here too, and never a zero.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::config::Why;

/// The file of [`InProcessObservation`]s.
pub const IN_PROCESS: &str = "in-process.ndjson";

/// The file of [`CountObservation`]s.
pub const COUNTS: &str = "counts.ndjson";

/// How much of a server an in-process program runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rung {
    /// The method, its parameters in the form in which this server hands them over (values of a tree, or text).
    State,
    /// From the request's bytes to the answer's, without a socket: parsing, the framework's dispatch, the method,
    /// serialising.
    Dispatch,
}

impl Rung {
    /// Both, the smaller first.
    pub const ALL: [Self; 2] = [Self::State, Self::Dispatch];

    /// As in-process programs' flag has it.
    pub const fn flag(self) -> &'static str {
        match self {
            Self::State => "state",
            Self::Dispatch => "dispatch",
        }
    }
}

/// One call of an in-process program, or what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InProcessObservation {
    /// The block that it belongs to.
    pub block: u32,
    /// The server.
    pub server: String,
    /// The request, by name.
    pub workload: String,
    /// How much of the server ran.
    pub rung: Rung,
    /// What came of it.
    pub outcome: InProcessOutcome,
}

/// What came of a call of an in-process program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum InProcessOutcome {
    /// It was measured.
    Measured {
        /// CPU time of a request in nanoseconds, by repeat.
        cpu_ns_per_request: Vec<f64>,
    },
    /// It gave no figure.
    Failed {
        /// Why.
        #[serde(with = "bench_system::foreign_text::text")]
        reason: String,
    },
}

/// One line of an in-process program's output.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct InProcessLine {
    /// The server that it ran.
    pub server: String,
    /// How much of it.
    pub rung: Rung,
    /// Requests that were measured.
    pub requests: u64,
    /// CPU time of one, in nanoseconds.
    pub cpu_ns_per_request: f64,
}

/// What was counted of one server in a run that is not timed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CountObservation {
    /// The server.
    pub server: String,
    /// What was to be counted.
    pub kind: CountKind,
    /// What came of it.
    pub outcome: CountOutcome,
}

/// What can be counted of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CountKind {
    /// Calls of the allocator.
    Allocations,
    /// Calls of the kernel.
    Syscalls,
    /// Instructions in process, by function.
    Instructions,
}

impl CountKind {
    /// All.
    pub const ALL: [Self; 3] = [Self::Allocations, Self::Syscalls, Self::Instructions];

    /// What a run with these settings counts of each server.
    pub fn of(why: &Why) -> impl Iterator<Item = Self> {
        let counts_instructions = why.instruction_requests.is_some();
        Self::ALL.into_iter().filter(move |kind| *kind != Self::Instructions || counts_instructions)
    }
}

/// What came of counting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum CountOutcome {
    /// The allocator was counted.
    Allocations {
        /// Requests meanwhile.
        requests: u64,
        /// Allocations.
        allocations: u64,
        /// Bytes that they requested.
        bytes: u64,
    },
    /// The kernel's calls were counted.
    Syscalls {
        /// Requests meanwhile.
        requests: u64,
        /// Calls by name.
        calls: BTreeMap<String, u64>,
        /// What counted them.
        tool: String,
    },
    /// The instructions of its in-process program were counted.
    Instructions {
        /// Requests meanwhile.
        requests: u64,
        /// Instructions by function, without those of what it calls; functions are named as readers know them.
        functions: BTreeMap<String, u64>,
    },
    /// It can't be counted here.
    Unavailable {
        /// Why, and what to do.
        #[serde(with = "bench_system::foreign_text::text")]
        reason: String,
    },
}
