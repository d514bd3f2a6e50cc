//! Which layout of its server each trial has.

use std::collections::BTreeMap;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::{Plan, Trial, shuffle};
use crate::config::layouts::{Layouts, can_be_drawn, plain};
use crate::config::{Campaign, Server};

/// Keeps the draw of layouts apart from that of the trials' order, which is from the same seed.
const STREAM: u64 = 0x006c_6179_6f75_7473;

/// Draws a layout for each program and block: each in turn in a drawn order, and again in another one where the blocks
/// are more. A program has one layout in all trials of a block, so that what differs in a block by its layouts does so
/// in each pair. That is also so for the same program of another commit: most of what a layout does is then the same on
/// both sides.
pub fn draw(campaign: &Campaign, servers: &[Server], trials: &mut [Trial]) {
    let Some(layouts) = campaign.layouts else { return };
    let mut random = Xoshiro256PlusPlus::seed_from_u64(campaign.seed ^ STREAM);
    let blocks = trials.iter().map(|trial| trial.block).max().unwrap_or(0) as usize;
    let mut of_programs: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for server in servers.iter().filter(|server| can_be_drawn(server)) {
        let drawn = of_programs.entry(plain(server)).or_default();
        while drawn.len() < blocks {
            let mut turn: Vec<u32> = layouts.numbers().collect();
            shuffle(&mut turn, &mut random);
            drawn.extend(turn);
        }
        for trial in trials.iter_mut().filter(|trial| trial.server == server.name) {
            trial.layout = drawn.get(trial.block as usize - 1).copied();
        }
    }
}

/// Which layouts a plan's servers have, for a reader; `None` where the campaign draws none.
pub fn words(plan: &Plan) -> Option<String> {
    let Layouts { count, seed } = plan.campaign.layouts?;
    let plain = plan.servers.iter().filter(|server| !can_be_drawn(server)).map(Server::label);
    let plain: Vec<&str> = plain.collect();
    let but = match plain.is_empty() {
        true => String::new(),
        false => format!("; of one program each, whose luck is in no interval: {}", plain.join(", ")),
    };
    Some(format!(
        "{count} of each server (seed {seed}), one drawn for each block: all functions in a drawn order, and at 64 \
         bytes in every second one. So intervals allow for what the layout of a build does{but}"
    ))
}
