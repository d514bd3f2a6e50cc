//! Blocks that the machine or the load tool spoiled, and which of them are run again: one rule for compared pairs and
//! for cells that no pair holds.

use std::collections::BTreeMap;

use super::observed::{Lost, Observed};
use crate::config::Campaign;
use crate::load::Level;
use crate::plan::Trial;

/// The blocks of a pair or of a cell, as far as it was observed.
#[derive(Debug, Clone, Default)]
pub(super) struct Blocks {
    /// Those that count, in order: planned counts are of these.
    pub counted: Vec<u32>,
    /// Those that are run again as later blocks, and so do not count.
    pub run_again: Vec<u32>,
    /// All that were lost, by what they were lost to.
    pub lost: BTreeMap<Lost, u32>,
}

impl Blocks {
    /// From the fates of the blocks, in order. The first `most` of the lost ones are run again: that depends on what a
    /// block was lost to and never on a figure.
    pub fn new(fates: impl Iterator<Item = Option<Lost>>, most: u32) -> Self {
        let mut blocks = Self::default();
        for (block, lost) in (1..).zip(fates) {
            if let Some(lost) = lost {
                *blocks.lost.entry(lost).or_insert(0) += 1;
            }
            if lost.is_some() && blocks.run_again.len() < most as usize {
                blocks.run_again.push(block);
            } else {
                blocks.counted.push(block);
            }
        }
        blocks
    }
}

/// The cells of a campaign that no pair holds, with their blocks.
#[derive(Debug, Default)]
pub(super) struct Uncompared {
    cells: BTreeMap<Cell, Blocks>,
    /// Whether its views pair cells by their blocks, so that cells of one request at one load are run again together.
    paired: bool,
}

/// Server, the server that runs at the same time in a duet, workload, load.
type Cell = (String, Option<String>, String, Level);

fn cell(trial: &Trial) -> Cell {
    (trial.server.clone(), trial.beside.clone(), trial.workload.clone(), trial.level())
}

impl Uncompared {
    /// Those of these trials; at most `most` blocks of each are run again.
    pub fn new<'t>(
        campaign: &Campaign,
        trials: impl Iterator<Item = &'t Trial>,
        most: u32,
        observed: &Observed<'_>,
    ) -> Self {
        let mut cells = BTreeMap::new();
        for trial in trials.filter(|trial| trial.block == 1) {
            let place =
                (trial.server.as_str(), trial.beside.as_deref(), trial.workload.as_str(), trial.level());
            let fate = |block| observed.observation(place, block).and_then(Lost::of);
            cells.insert(cell(trial), Blocks::new((1..=observed.blocks(place)).map(fate), most));
        }
        let paired = campaign.views.iter().any(|view| !view.over.is_empty() || !view.minus.is_empty());
        Self { cells, paired }
    }

    /// The blocks of each cell.
    pub fn blocks(&self) -> impl Iterator<Item = &Blocks> {
        self.cells.values()
    }

    /// The blocks that a trial's cell runs in place of lost ones.
    pub fn blocks_again(&self, trial: &Trial) -> u32 {
        let own = cell(trial);
        let same = |(_, _, workload, level): &Cell| {
            (workload, level.connections, level.rate) == (&own.2, own.3.connections, own.3.rate)
        };
        let together = self.cells.iter().filter(|(other, _)| **other == own || self.paired && same(other));
        together.map(|(_, blocks)| blocks.run_again.len() as u32).max().unwrap_or(0)
    }
}
