//! What memory a request in flight takes: a line through a server's memory at several numbers of them.

use serde::{Deserialize, Serialize};

use super::fitted_lines::FittedLine;
use super::observed::Observed;
use bench_model::load::Level;
use bench_model::observation::Observation;
use bench_model::plan::Plan;

/// A server with one request of a closed loop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InFlightMemory {
    /// The server.
    pub server: String,
    /// The request.
    pub workload: String,
    /// The most resident memory in a window, in bytes, against requests in flight.
    pub line: FittedLine,
}

/// The servers of a campaign that wants to know it, but the one that shows what the load tool can send; none of any
/// other.
pub fn in_flight_memory(plan: &Plan, observations: &[Observation]) -> Vec<InFlightMemory> {
    let campaign = &plan.campaign;
    if !campaign.in_flight_memory {
        return Vec::new();
    }
    let observed = Observed::new(observations);
    let levels: Vec<(f64, Level)> =
        plan.levels().into_iter().map(|level| (level.connections.into(), level)).collect();
    let of = |(server, workload): (&String, &String)| InFlightMemory {
        server: server.clone(),
        workload: workload.clone(),
        line: FittedLine::of_memory(&observed, server, workload, &levels),
    };
    let servers = campaign.servers.iter().filter(|server| !plan.is_ceiling(server));
    let cells =
        campaign.workloads.iter().flat_map(|workload| servers.clone().map(move |server| (server, workload)));
    cells.map(of).filter(|of| !of.line.points.is_empty()).collect()
}
