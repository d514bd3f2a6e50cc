//! A why run: how two servers' CPU time for a request is measured, broken down and set against the length of the
//! answer.

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use super::campaign::default_connect_ms;
use super::{Campaign, Environment, Percent, Placement};
use crate::field_checks::within;
use crate::workload::{Expected, Traffic, Workload};

/// Longest range of slots that a server answers.
const LONGEST_RANGE: u64 = 500_000;

/// `why.toml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Why {
    /// The request, by name, from which the cost of HTTP is taken: the cheapest there is.
    pub transport: String,
    /// Connections, where the call names none.
    pub connections: u32,
    /// Blocks of the pair.
    pub blocks: u32,
    /// How many blocks more each part may run in place of blocks that the machine spoiled; see
    /// [`Campaign::extra_blocks`].
    pub max_extra_blocks: Option<u32>,
    /// Decides the order within blocks.
    pub seed: u64,
    /// Load before the measured window, in milliseconds.
    pub warmup_ms: u64,
    /// The measured window, in milliseconds.
    pub window_ms: u64,
    /// When the load tool gives a request up, in milliseconds.
    pub timeout_ms: u64,
    /// Load under which allocations and system calls are counted, in milliseconds.
    pub counting_ms: u64,
    /// Requests at most whose instructions are counted by function; none in runs older than such a count.
    pub instruction_requests: Option<u64>,
    /// How often an in-process program measures within one call.
    pub repeats: u32,
    /// Bytes of answers that one such measurement makes; decides how many requests it has.
    pub answer_bytes: u64,
    /// Requests of one such measurement at most.
    pub most_requests: u64,
    /// What the servers run in.
    pub environment: Environment,
    /// How the CPU time is taken apart.
    pub ladder: Blocks,
    /// How the cost of an answer's length is found; left out where no method's answer has one.
    pub slope: Option<Slope>,
}

/// Blocks of both servers at the same time on one core, and as many runs in process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Blocks {
    /// Blocks.
    pub blocks: u32,
    /// Load before the measured window, in milliseconds.
    pub warmup_ms: u64,
    /// The measured window, in milliseconds.
    pub window_ms: u64,
}

/// CPU time for a request against the elements of its result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slope {
    /// The request, with `{last}` for one less than the elements that it requests: a question about any request of its
    /// method has this part. None in runs that were before this field.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub body: String,
    /// What an element is, in the singular. Runs that were before this field have slots.
    #[serde(default = "slot")]
    pub element: String,
    /// The requested elements, rising; a result may hold fewer.
    #[serde(alias = "slots")]
    pub lengths: Vec<u64>,
    /// Connections: few, because one answer takes megabytes.
    pub connections: u32,
    /// Blocks.
    pub blocks: u32,
    /// Load before the measured window, in milliseconds.
    pub warmup_ms: u64,
    /// The measured window, in milliseconds.
    pub window_ms: u64,
    /// When the load tool gives a request up, in milliseconds.
    pub timeout_ms: u64,
}

fn slot() -> String {
    "slot".to_owned()
}

/// What the request of a slope has in place of the last element's number.
const LAST: &str = "{last}";

impl Slope {
    /// The request for N elements.
    fn workload(&self, length: u64) -> Workload {
        let body = self.body.replace(LAST, &length.saturating_sub(1).to_string());
        let traffic = Traffic::One { body, expected: Expected::Ledger, needs_slots: None };
        let why = format!("A request for {length} {}s.", self.element);
        let mut workload = Workload { name: String::new(), traffic, why };
        workload.name = format!("{}-{length}", workload.method());
        workload
    }

    /// The requests, by rising length.
    pub fn workloads(&self) -> Vec<Workload> {
        self.lengths.iter().map(|length| self.workload(*length)).collect()
    }

    /// The method whose answer has a length.
    pub fn method(&self) -> String {
        self.workload(1).method()
    }

    fn check(&self) -> Result<()> {
        ensure!(self.body.contains(LAST), "field slope.body: has no {LAST}, so its answers have one length");
        ensure!(!self.method().is_empty(), "field slope.body: is no JSON-RPC call: {}", self.body);
        let lengths = &self.lengths;
        ensure!(lengths.len() >= 3, "field slope.lengths: a line takes three lengths or more");
        let rising = lengths.is_sorted_by(|one, next| one < next);
        ensure!(rising, "field slope.lengths: give them in rising order");
        lengths.iter().try_for_each(|length| within("slope.lengths", *length, 1, LONGEST_RANGE))?;
        within("slope.blocks", self.blocks.into(), 1, 1_000)
    }
}

impl Why {
    /// Whether the fields make sense together.
    ///
    /// # Errors
    /// One line with the field.
    pub fn check(&self) -> Result<()> {
        ensure!(!self.transport.is_empty(), "field transport: is empty; name a request");
        self.environment.has_no_network()?;
        within("blocks", self.blocks.into(), 1, 1_000)?;
        within("counting_ms", self.counting_ms, 100, 60_000)?;
        within("instruction_requests", self.instruction_requests.unwrap_or(1), 1, 1_000_000)?;
        within("repeats", self.repeats.into(), 1, 1_000)?;
        within("answer_bytes", self.answer_bytes, 1, 1 << 40)?;
        within("most_requests", self.most_requests, 1, 1_000_000_000)?;
        self.slope.iter().try_for_each(Slope::check)?;
        let pair = ["a".to_owned(), "b".to_owned()];
        within("ladder.blocks", self.ladder.blocks.into(), 1, 1_000)?;
        self.campaign(&pair, "request", self.connections).check()?;
        self.ladder_campaign(&pair, "request", self.connections).check()?;
        self.slope.iter().try_for_each(|slope| self.slope_campaign(slope, &pair).check())
    }

    /// The campaign of the pair on a request, one after the other, with the machine to themselves.
    pub fn campaign(&self, pair: &[String; 2], workload: &str, connections: u32) -> Campaign {
        Campaign {
            name: "why".to_owned(),
            why: "Two servers' CPU time for a request, taken apart.".to_owned(),
            servers: pair.to_vec(),
            workloads: vec![workload.to_owned()],
            connections: vec![connections],
            comparisons: vec![pair.clone().into()],
            max_blocks: self.blocks,
            max_extra_blocks: self.max_extra_blocks,
            margin: Percent(0.02),
            seed: self.seed,
            warmup_ms: self.warmup_ms,
            window_ms: self.window_ms,
            timeout_ms: self.timeout_ms,
            connect_ms: default_connect_ms(),
            environment: self.environment.clone(),
            ..Campaign::default()
        }
    }

    /// The campaign of the ladder: the request and that of the transport, both servers at the same time on one core,
    /// because what disturbs one then disturbs the other as much.
    pub fn ladder_campaign(&self, pair: &[String; 2], workload: &str, connections: u32) -> Campaign {
        let Blocks { blocks, warmup_ms, window_ms } = self.ladder;
        Campaign {
            workloads: vec![workload.to_owned(), self.transport.clone()],
            max_blocks: blocks,
            warmup_ms,
            window_ms,
            environment: Environment { placement: Placement::Duet, ..self.environment.clone() },
            ..self.campaign(pair, workload, connections)
        }
    }

    /// The campaign of the slope, placed as the ladder's.
    pub fn slope_campaign(&self, slope: &Slope, pair: &[String; 2]) -> Campaign {
        let most = slope.lengths.last().copied().unwrap_or(1);
        Campaign {
            why: format!("CPU time for a request against the {}s of its result.", slope.element),
            workloads: slope.workloads().into_iter().map(|workload| workload.name).collect(),
            max_blocks: slope.blocks,
            warmup_ms: slope.warmup_ms,
            window_ms: slope.window_ms,
            timeout_ms: slope.timeout_ms,
            // The ledger's tip is above every range, so that none is cut.
            environment: Environment {
                slots: most + most / 10 + 100,
                placement: Placement::Duet,
                ..self.environment.clone()
            },
            ..self.campaign(pair, "", slope.connections)
        }
    }

    /// Requests of one in-process measurement of a request with so long an answer.
    pub fn in_process_requests(&self, answer_bytes: u64) -> u64 {
        (self.answer_bytes / answer_bytes.max(1)).max(LEAST_REQUESTS).min(self.most_requests)
    }
}

/// Requests of one in-process measurement at least.
const LEAST_REQUESTS: u64 = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ConfigDir;

    #[test]
    fn answers_of_the_slope_have_about_its_lengths() {
        let (mut why, _) = ConfigDir::of_repository().why().unwrap();
        let slope = Slope { lengths: vec![10, 100, 1_000], ..why.slope.take().unwrap() };
        let campaign = why.slope_campaign(&slope, &["a".to_owned(), "b".to_owned()]);
        for (workload, slots) in slope.workloads().into_iter().zip(&slope.lengths) {
            let truth = workload.truth(&campaign.environment.ledger()).unwrap();
            let returned = truth.answer().unwrap()["result"].as_array().unwrap().len() as u64;
            assert!((slots * 4 / 5..=*slots).contains(&returned), "{returned} of {slots}");
        }
    }

    #[test]
    fn long_answers_are_requested_less_often() {
        let (why, _) = ConfigDir::of_repository().why().unwrap();
        assert_eq!(why.in_process_requests(50), why.most_requests);
        assert_eq!(why.in_process_requests(why.answer_bytes / 100), 100);
        assert_eq!(why.in_process_requests(why.answer_bytes), LEAST_REQUESTS);
    }
}
