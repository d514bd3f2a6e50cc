//! What the sections of searches for connection counts and for rates share.

use super::Run;
use bench_analysis::grouped;
use bench_analysis::search::Ending;
use bench_model::results::Conditions;

impl Run {
    /// The searches that were given up because trials showed nothing of the server, one line each.
    pub fn searches_given_up(&self) -> Vec<String> {
        let summary = &self.summary;
        let thresholds = summary.threshold.iter().flat_map(|summary| &summary.searches);
        let thresholds =
            thresholds.map(|of| (of.found.ending, &of.searched.server, &of.searched.workload, "threshold"));
        let rates = summary.slo.iter().flat_map(|summary| &summary.searches);
        let rates = rates.map(|of| (of.found.ending, &of.searched.server, &of.searched.workload, "rate"));
        let given_up = thresholds.chain(rates).filter(|(ending, ..)| *ending == Ending::Unmeasured);
        let given_up = given_up.map(|(_, server, workload, what)| {
            format!("{server} {workload}: the search for its {what} was given up")
        });
        given_up.collect()
    }
}

/// Items by a key: groups in the order of their first items.
pub(super) fn groups<'a, T, K: PartialEq>(items: &'a [T], key: impl Fn(&'a T) -> K) -> Vec<(K, Vec<&'a T>)> {
    grouped(items.iter().map(|item| (key(item), item)))
}

/// The settings that each server reported.
pub(super) fn effective(conditions: &Conditions) -> String {
    let servers = conditions.servers.iter().map(|(name, ready)| format!("{{\"{name}\":{ready}}}\n"));
    let servers: String = servers.collect();
    format!("\nThe servers' effective settings in these trials:\n\n```json\n{servers}```\n")
}

/// How a run's loads are made again by hand: its servers' commands, what to do with them, and the loads' commands, each
/// with what it is.
pub(super) fn two_terminals(
    run: &Run,
    servers: &str,
    load: &str,
    commands: impl Iterator<Item = (String, String)>,
) -> String {
    let commands: String = commands.map(|(what, command)| format!("# {what}\n{command}\n")).collect();
    format!(
        "## By hand\n\nTo the letter, with two terminals: start a server,\n\n```sh\n{servers}```\n\n{load}\n\n\
         ```sh\n{commands}```\n\nThe whole run: `{}`.\n",
        run.conditions.command
    )
}
