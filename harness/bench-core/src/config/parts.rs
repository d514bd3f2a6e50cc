//! Which parts of a campaign exclude each other: one table.

use anyhow::{Result, bail};

use super::{Campaign, Placement};

/// A part, as a campaign writes it, and whether a campaign has it.
pub type Part = (&'static str, fn(&Campaign) -> bool);

/// A sweep of closed loops, or of connections that are held.
const CONNECTIONS: Part = ("connections", |campaign| !campaign.connections.is_empty());
/// Connections that are held.
pub const HOLD: Part = ("hold", |campaign| campaign.hold);
/// Rates.
pub const OPEN: Part = ("[open]", |campaign| campaign.open.is_some());
/// Another load next to them.
pub const BACKGROUND: Part = ("open.background", |campaign| campaign.background().is_some());
/// Servers that are stopped.
pub const STALL: Part =
    ("open.stall", |campaign| campaign.open.as_ref().is_some_and(|open| open.stall.is_some()));
/// Users in stages.
pub const STAGES: Part = ("[stages]", |campaign| campaign.stages.is_some());
/// Pairs side by side, besides the sweep.
pub const DUETS: Part = ("[duets]", |campaign| campaign.duets.is_some());
/// Any search.
const SEARCH: Part = ("[search]", |campaign| campaign.search.is_some());
/// A search along a rate.
const SEARCH_RATE: Part = ("[search.along.rate]", |campaign| campaign.searched_rate().is_some());
/// Remedies of likely causes.
const REMEDIES: Part = ("remedy_trials", |campaign| campaign.remedy_trials > 0);
/// Builds in layouts.
const LAYOUTS: Part = ("layouts", |campaign| campaign.layouts.is_some());
/// A network between load tool and server.
pub const NETWORK: Part = ("network", Campaign::has_network);
/// Servers or load tools that are kept to some cores.
pub const PLACEMENT: Part = ("placement", |campaign| campaign.environment.placement != Placement::Free);
/// Pairs side by side in place of the sweep.
const DUET: Part = ("placement = \"duet\"", |campaign| campaign.environment.placement == Placement::Duet);
/// Whatever is compared or bound.
const COMPARED: Part = ("what compares (baseline, comparisons, ceiling, pass, precision)", |campaign| {
    let is_compared = !campaign.compared().is_empty() || campaign.ceiling.is_some();
    is_compared || !campaign.pass.is_empty() || campaign.precision.is_some()
});

/// A part, those that can't stand in the same campaign, and why.
const APART: [(Part, &[Part], &str); 6] = [
    (HOLD, &[OPEN, DUETS, SEARCH, STAGES, DUET, COMPARED], "connections that are held carry no requests"),
    (
        OPEN,
        &[CONNECTIONS, DUETS, SEARCH, REMEDIES, PLACEMENT],
        "figures of closed loops don't compare with those at rates, which need all cores",
    ),
    (
        SEARCH_RATE,
        &[CONNECTIONS, DUETS, REMEDIES, PLACEMENT],
        "a search for a rate needs all cores to itself",
    ),
    (STAGES, &[SEARCH, DUETS, PLACEMENT], "users in stages need all cores to themselves"),
    (
        NETWORK,
        &[DUETS, SEARCH, STAGES, REMEDIES, DUET],
        "a network is made for a trial of a sweep or at a rate",
    ),
    (LAYOUTS, &[SEARCH, REMEDIES, OPEN, HOLD], "layouts are drawn for closed loops and duets"),
];

impl Campaign {
    /// The first of these parts that it has, as a campaign writes it.
    pub fn first_of(&self, parts: &[Part]) -> Option<&'static str> {
        parts.iter().find(|(_, has)| has(self)).map(|(name, _)| *name)
    }

    /// Whether its parts may stand in one campaign.
    ///
    /// # Errors
    /// One line: which two don't, and why.
    pub(super) fn check_parts(&self) -> Result<()> {
        for ((part, has), others, why) in APART {
            if let Some(other) = self.first_of(others).filter(|_| has(self)) {
                bail!("field {part}: it can't be in one campaign with {other}: {why}; leave one of them out");
            }
        }
        Ok(())
    }
}
