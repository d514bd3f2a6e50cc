//! A soak: the campaign `soak` on the server, for the time and at the rate that a person names.

use anyhow::{Context, Result, ensure};

use super::resolved;
use crate::config::{ConfigDir, Open};
use crate::plan::Plan;

/// What is soaked.
#[derive(Debug, Clone, Copy)]
pub struct Soaked<'a> {
    /// The server.
    pub server: &'a str,
    /// The window, in minutes.
    pub minutes: Option<u32>,
    /// Requests a second.
    pub rate: Option<u32>,
}

/// Resolves the campaign of that name for one server.
///
/// # Errors
/// One line: there is no such server, the campaign is none at a rate, or a number is out of range.
pub fn resolve(config: &ConfigDir, name: &str, soaked: Soaked<'_>) -> Result<(Plan, String)> {
    let (mut campaign, text) = config.campaign(name)?;
    let ceiling = campaign.ceiling.clone().with_context(|| format!("campaign {name}: has no ceiling"))?;
    let open = campaign.open.clone();
    let open = open.with_context(|| {
        format!("campaign {name}: has no [open], so that no rate can be held; --server is for soak")
    })?;
    ensure!(
        soaked.server != ceiling,
        "--server {}: it answers at once and keeps nothing; name another one",
        soaked.server
    );
    let rates = soaked.rate.map_or_else(|| open.rates.clone(), |rate| vec![rate]);
    campaign.servers = vec![soaked.server.to_owned(), ceiling];
    campaign.baseline = None;
    campaign.open = Some(Open { rates, ..open });
    campaign.window_ms = soaked.minutes.map_or(campaign.window_ms, |minutes| u64::from(minutes) * 60_000);
    campaign.check().with_context(|| format!("campaign {name}: --server, --minutes, --rate"))?;
    let servers = campaign.servers.iter().map(|name| config.server(name)).collect::<Result<_>>()?;
    Ok((resolved(config, campaign, servers)?, text))
}
