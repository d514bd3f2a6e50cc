//! Whether the load tool limited a closed loop, also where it runs on several load hosts.

use super::observed::{Samples, middle_of};
use bench_model::figure::Figure;
use bench_model::observation::Sample;

/// The share of a host's processors from which on its load tool may be what limits the rate.
const BUSY_HOST: f64 = 0.9;

/// Whether the load tool was what limited a closed loop. `value` gives a cell's figures.
///
/// With one load tool, where it used at least as much CPU as the server: without the server's share it is not known
/// which of the two was the bottleneck. With several hosts, where one of them used nearly all of its own in most
/// trials.
pub(super) fn is_client_bound(value: impl Fn(Figure) -> Option<f64>, measured: &Samples<'_>) -> bool {
    // The largest share of its processors that a host's load tool used; none without hosts.
    let busiest =
        |sample: &&Sample| sample.load.details.hosts.iter().map(|host| host.busy).max_by(f64::total_cmp);
    match middle_of(measured.values().filter_map(busiest)) {
        Some(share) => share >= BUSY_HOST,
        None => {
            let [server, client] = [Figure::ServerCores, Figure::ClientCores].map(value);
            server.zip(client).is_some_and(|(server, client)| client > 0.0 && client >= server)
        }
    }
}
