//! A soak: the campaign `soak` on the server, for the time and at the rate that a person names.

use anyhow::{Context, Result, ensure};

use super::resolved;
use bench_model::config::ConfigDir;
use bench_model::plan::Plan;

/// What is soaked.
#[derive(Debug, Clone, Copy, Default)]
pub struct Soaked<'a> {
    /// The server.
    pub server: &'a str,
    /// The window, in minutes.
    pub minutes: Option<u32>,
    /// Requests a second.
    pub rate: Option<u32>,
    /// The request, by its workload's name.
    pub workload: Option<&'a str>,
    /// Connections that the requests go over.
    pub connections: Option<u32>,
}

/// Resolves the campaign of that name for one server.
///
/// # Errors
/// One line: there is no such server, the campaign is none at a rate, or a number is out of range.
pub fn resolve(config: &ConfigDir, name: &str, soaked: Soaked<'_>) -> Result<(Plan, String)> {
    let (mut campaign, text) = config.campaign(name)?;
    let hint = "leave it out, or run soak";
    ensure!(campaign.soak, "campaign {name}: is no soak, and --server is for those; {hint}");
    let ceiling = campaign.ceiling.clone().with_context(|| format!("campaign {name}: has no ceiling"))?;
    let server = soaked.server;
    ensure!(server != ceiling, "--server {server}: it answers at once and keeps nothing; name another one");
    campaign.servers = vec![server.to_owned(), ceiling];
    if let Some(open) = &mut campaign.open {
        open.rates = soaked.rate.map_or_else(|| open.rates.clone(), |rate| vec![rate]);
        open.connections = soaked.connections.unwrap_or(open.connections);
    }
    campaign.workloads = soaked.workload.map_or(campaign.workloads, |name| vec![name.to_owned()]);
    campaign.window_ms = soaked.minutes.map_or(campaign.window_ms, |minutes| u64::from(minutes) * 60_000);
    let options = || format!("campaign {name}: --server, --minutes, --rate, --workload, --connections");
    campaign.check().with_context(options)?;
    let servers = campaign.servers.iter().map(|name| config.server(name)).collect::<Result<_>>()?;
    // The ceiling shows in seconds what the load tool can send. It is not soaked itself.
    campaign.servers.truncate(1);
    Ok((resolved(config, campaign, servers)?, text))
}
