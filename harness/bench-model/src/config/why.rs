//! A why run: how two servers' CPU time for a request is measured, broken down and set against the length of the
//! answer.

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::campaign::CONNECT_MS;
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
    /// How the cost of an answer's length is found.
    pub slope: Slope,
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

/// CPU time for a getBlocks request against the slots that it returns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slope {
    /// Lengths of the requested range, rising; about one slot in twenty is skipped and not returned.
    pub slots: Vec<u64>,
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
        let slots = &self.slope.slots;
        ensure!(slots.len() >= 3, "field slope.slots: a line takes three lengths or more");
        ensure!(slots.windows(2).all(|two| two[0] < two[1]), "field slope.slots: give them in rising order");
        slots.iter().try_for_each(|slots| within("slope.slots", *slots, 1, LONGEST_RANGE))?;
        within("slope.blocks", self.slope.blocks.into(), 1, 1_000)?;
        let pair = ["a".to_owned(), "b".to_owned()];
        within("ladder.blocks", self.ladder.blocks.into(), 1, 1_000)?;
        self.campaign(&pair, "request", self.connections).check()?;
        self.ladder_campaign(&pair, "request", self.connections).check()?;
        self.slope_campaign(&pair).check()
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
            connect_ms: CONNECT_MS,
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
    pub fn slope_campaign(&self, pair: &[String; 2]) -> Campaign {
        let slope = &self.slope;
        let slots = slope.slots.last().copied().unwrap_or(1);
        Campaign {
            why: "CPU time for a getBlocks request against the slots that it returns.".to_owned(),
            workloads: self.slope_workloads().into_iter().map(|workload| workload.name).collect(),
            max_blocks: slope.blocks,
            warmup_ms: slope.warmup_ms,
            window_ms: slope.window_ms,
            timeout_ms: slope.timeout_ms,
            connect_ms: CONNECT_MS,
            // The tip is above every range, so that none is cut.
            environment: Environment {
                slots: slots + slots / 10 + 100,
                placement: Placement::Duet,
                ..self.environment.clone()
            },
            ..self.campaign(pair, "", slope.connections)
        }
    }

    /// The requests of the slope, by rising length.
    pub fn slope_workloads(&self) -> Vec<Workload> {
        let request = |slots: &u64| Workload {
            name: format!("getBlocks-{slots}"),
            traffic: Traffic::One {
                body: json!({"jsonrpc": "2.0", "id": 1, "method": "getBlocks", "params": [0, slots - 1]})
                    .to_string(),
                expected: Expected::Ledger,
                needs_slots: None,
            },
            why: format!("The produced ones of {slots} slots."),
        };
        self.slope.slots.iter().map(request).collect()
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
        why.slope.slots = vec![10, 100, 1_000];
        let campaign = why.slope_campaign(&["a".to_owned(), "b".to_owned()]);
        for (workload, slots) in why.slope_workloads().into_iter().zip(&why.slope.slots) {
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
