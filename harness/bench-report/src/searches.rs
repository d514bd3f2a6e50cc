//! What the sections of searches for connection counts and for rates share.

use std::fmt::Write;

use super::Run;
use bench_analysis::search::Ending;
use bench_model::results::Conditions;

impl Run {
    /// The searches that were given up because trials showed nothing of the server, one line each.
    pub fn searches_given_up(&self) -> Vec<String> {
        let thresholds = self.summary.threshold.iter().flat_map(|summary| &summary.searches);
        let thresholds = thresholds.map(|search| {
            let searched = &search.searched;
            (&searched.server, &searched.workload, "threshold", search.found.ending)
        });
        let rates = self.summary.slo.iter().flat_map(|summary| &summary.searches);
        let rates = rates.map(|search| {
            let searched = &search.searched;
            (&searched.server, &searched.workload, "rate", search.found.ending)
        });
        let given_up = thresholds.chain(rates).filter(|(.., ending)| *ending == Ending::Unmeasured);
        let in_boxes = self.summary.sizes.iter().flat_map(|sizes| sizes.failed.iter().cloned());
        given_up
            .map(|(server, workload, what, _)| {
                format!("{server} {workload}: the search for its {what} was given up")
            })
            .chain(in_boxes)
            .collect()
    }
}

/// Items by a key: groups in the order of their first items.
pub(super) fn groups<'a, T, K: PartialEq>(items: &'a [T], key: impl Fn(&'a T) -> K) -> Vec<(K, Vec<&'a T>)> {
    let mut groups: Vec<(K, Vec<&T>)> = Vec::new();
    for item in items {
        let key = key(item);
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, group)) => group.push(item),
            None => groups.push((key, vec![item])),
        }
    }
    groups
}

/// The settings that each server reported.
pub(super) fn effective(conditions: &Conditions) -> String {
    let mut out = "\nThe servers' effective settings in these trials:\n\n```json\n".to_owned();
    for (name, ready) in &conditions.servers {
        // Writing to a String can't fail.
        let _ = writeln!(out, "{{\"{name}\":{ready}}}");
    }
    out.push_str("```\n");
    out
}
