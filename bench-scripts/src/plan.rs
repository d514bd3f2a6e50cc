//! From a campaign to the ordered list of its trials.
//!
//! Trials that will be compared stand next to each other, in an order drawn from the campaign's seed: on a machine that
//! drifts, what ran just before decides more than one would like.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};

use crate::config::Campaign;

/// One server, one workload, one load, once.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Trial {
    /// Its place in the plan, from 1.
    pub number: u32,
    /// Which repetition it belongs to, from 1.
    pub block: u32,
    /// The server.
    pub server: String,
    /// The workload.
    pub workload: String,
    /// Connections that the load tool holds.
    pub connections: u32,
}

/// The trials of a campaign, in order, as if nothing stopped early. Each block runs every trial of the campaign once.
pub fn trials(campaign: &Campaign) -> Vec<Trial> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(campaign.seed);
    let mut trials = Vec::new();
    for block in 1..=campaign.max_blocks {
        let mut cells: Vec<(&String, u32)> = Vec::new();
        for workload in &campaign.workloads {
            cells.extend(campaign.connections.iter().map(|connections| (workload, *connections)));
        }
        shuffle(&mut cells, &mut random);
        for (workload, connections) in cells {
            let mut servers: Vec<&String> = campaign.servers.iter().collect();
            shuffle(&mut servers, &mut random);
            for server in servers {
                trials.push(Trial {
                    number: trials.len() as u32 + 1,
                    block,
                    server: server.clone(),
                    workload: workload.clone(),
                    connections,
                });
            }
        }
    }
    trials
}

/// Fisher and Yates. The modulo's bias is below 2^-50 for lists of this length.
pub(crate) fn shuffle<T>(items: &mut [T], random: &mut impl Rng) {
    for last in (1..items.len()).rev() {
        let other = (random.next_u64() % (last as u64 + 1)) as usize;
        items.swap(last, other);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::path::PathBuf;

    use super::*;
    use crate::config::ConfigDir;

    fn quick() -> Campaign {
        ConfigDir(PathBuf::from(env!("CARGO_MANIFEST_DIR"))).campaign("quick").unwrap().0
    }

    #[test]
    fn every_block_holds_every_trial_once() {
        let campaign = quick();
        let trials = trials(&campaign);
        for block in 1..=campaign.max_blocks {
            let cells: HashSet<_> = trials
                .iter()
                .filter(|trial| trial.block == block)
                .map(|trial| (&trial.server, &trial.workload, trial.connections))
                .collect();
            let arms = campaign.servers.len() * campaign.workloads.len() * campaign.connections.len();
            assert_eq!(cells.len(), arms);
            assert_eq!(trials.iter().filter(|trial| trial.block == block).count(), arms);
        }
    }

    #[test]
    fn servers_that_are_compared_stand_together() {
        let campaign = quick();
        for group in trials(&campaign).chunks(campaign.servers.len()) {
            let cells: HashSet<_> = group.iter().map(|trial| (&trial.workload, trial.connections)).collect();
            assert_eq!(cells.len(), 1);
        }
    }

    #[test]
    fn the_seed_decides_the_order() {
        let campaign = quick();
        let other = Campaign { seed: campaign.seed + 1, ..campaign.clone() };
        assert_eq!(trials(&campaign), trials(&campaign));
        assert_ne!(trials(&campaign), trials(&other));
    }

    #[test]
    fn each_server_comes_first_about_as_often_as_any_other() {
        let campaign = Campaign { max_blocks: 400, ..quick() };
        let trials = trials(&campaign);
        for server in &campaign.servers {
            let first = trials.chunks(4).filter(|group| &group[0].server == server).count();
            let expected = trials.len() / 16;
            assert!(first.abs_diff(expected) < expected / 5, "{server}: {first} of {expected}");
        }
    }
}
