//! The section on the network that a campaign makes between load tool and server: what it is, and what it costs.

use super::Run;
use super::format::bullets;

/// The whole section; empty where the campaign makes no network.
pub(super) fn section(run: &Run) -> String {
    if !run.plan.campaign.has_network() {
        return String::new();
    }
    let notes = [
        "Load tool and server are in network namespaces of their own on this machine. The network delays every packet \
         by its time each way; packets hold 1,500 bytes at most.",
        "The round trip was timed before each trial, without load, from a connection request to its refusal by the \
         other side's kernel, so it has what the network costs above twice its delay. An idle machine wakes its \
         threads later than a busy one, so under load a round trip may be a little shorter.",
        "The kernel's netem delays the packets; what it costs is not counted.",
    ];
    format!("## The network\n\n{}", bullets(notes.into_iter().map(str::to_owned)))
}
