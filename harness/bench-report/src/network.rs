//! The section on the network that a campaign makes between load tool and server: what it is, and what it costs.

use super::Run;
use super::format::bullets;
use bench_model::observation::Carrier;

/// The whole section; empty where the campaign makes no network.
pub(super) fn section(run: &Run) -> String {
    if !run.plan.campaign.has_network() {
        return String::new();
    }
    let mut notes = vec![
        "Load tool and server are in network namespaces of their own on this machine. The network delays every packet \
         by its time each way; packets hold 1,500 bytes at most.",
        "The round trip was timed before each trial, without load, from a connection request to its refusal by the \
         other side's kernel, so it has what the network costs above twice its delay. An idle machine wakes its \
         threads later than a busy one, so under load a round trip may be a little shorter.",
    ];
    let carriers = &run.summary.carriers;
    if carriers.contains(&Carrier::Userspace) {
        notes.push(
            "This machine's kernel has no netem, so threads of the harness carry the packets. They use the same \
             cores as server and load tool (`link_cores`), and pass packets on later than due (`packet_late_p99_us`). \
             A rate that needs many packets a second is lower for it than over a real network.",
        );
    }
    if carriers.contains(&Carrier::Netem) {
        notes.push("The kernel's netem delays the packets; what it costs is not counted.");
    }
    format!("## The network\n\n{}", bullets(notes.into_iter().map(str::to_owned)))
}
