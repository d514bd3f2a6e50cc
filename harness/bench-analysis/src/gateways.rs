//! What a gateway adds to the latency of the server behind it, paired by block.

use serde::{Deserialize, Serialize};

use super::observed::{Observed, median_of};
use bench_model::config::Server;
use bench_model::figure::Figure;
use bench_model::load::Level;
use bench_model::observation::Observation;
use bench_model::plan::Plan;
use bench_stats::Estimate;

/// What a gateway adds to one request at one load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GatewayAdds {
    /// The gateway.
    pub server: String,
    /// The request.
    pub workload: String,
    /// The load.
    #[serde(flatten)]
    pub level: Level,
    /// Median latency through the gateway less that of the same block without it, the median over blocks, in
    /// microseconds.
    pub p50_us: Option<Estimate>,
    /// The same of the 99th percentile.
    pub p99_us: Option<Estimate>,
}

/// Whether a server is the one behind a gateway, reached as the gateway is.
pub fn is_direct(plan: &Plan, gateway: &Server, server: &Server) -> bool {
    let transport = |server: &Server| plan.environment_of(server).transport();
    let behind = gateway.upstream.as_ref().and_then(|upstream| upstream.entry.as_ref());
    behind.is_some_and(|behind| (&behind.program, &behind.args) == (&server.program, &server.args))
        && transport(gateway) == transport(server)
}

/// Each gateway of a plan at each load, where the server behind it is also measured by itself.
pub fn gateway_adds(plan: &Plan, observations: &[Observation]) -> Vec<GatewayAdds> {
    let observed = Observed::new(observations);
    let pairs = plan.servers.iter().filter(|server| server.upstream.is_some()).filter_map(|gateway| {
        let direct = plan.servers.iter().find(|server| is_direct(plan, gateway, server))?;
        Some((gateway.name.as_str(), direct.name.as_str()))
    });
    let mut found = Vec::new();
    for (gateway, direct) in pairs {
        for workload in &plan.campaign.workloads {
            for level in plan.levels() {
                let through = observed.samples(gateway, workload, level);
                let without = observed.samples(direct, workload, level);
                let added = |figure: Figure| {
                    let differences = through.iter().filter_map(|(block, sample)| {
                        Some(sample.figure(figure)? - without.get(block)?.figure(figure)?)
                    });
                    median_of(differences)
                };
                found.push(GatewayAdds {
                    server: gateway.to_owned(),
                    workload: workload.clone(),
                    level,
                    p50_us: added(Figure::P50Us),
                    p99_us: added(Figure::P99Us),
                });
            }
        }
    }
    found
}
