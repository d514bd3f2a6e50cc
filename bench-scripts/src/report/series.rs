//! The lines of a chart: a server each; in an open loop a server by each tool that its campaign names, alone and disturbed.

use super::Run;
use crate::analysis::Cell;
use crate::config::{COLOURS, Server};
use crate::load::LoadTool;

/// One line.
pub(super) struct Series<'a> {
    /// What the legend calls it.
    pub name: String,
    /// Its place among the charts' colours and markers.
    pub style: usize,
    server: &'a str,
    /// The tool, where several send the same rates.
    tool: Option<LoadTool>,
    disturbed: bool,
}

/// The lines of a run, in the plan's order of servers.
pub(super) fn series(run: &Run) -> Vec<Series<'_>> {
    let levels = run.plan.levels();
    let tools = run.plan.campaign.open.as_ref().map_or(&[] as &[LoadTool], |open| open.tools.as_slice());
    let tools: Vec<Option<LoadTool>> = match tools {
        [_, _, ..] => tools.iter().copied().map(Some).collect(),
        _ => vec![None],
    };
    let is_always = !levels.is_empty() && levels.iter().all(|level| level.disturbed);
    let mut series = Vec::new();
    for server in &run.plan.servers {
        // Of a search for rates the ceiling only tells what the tool can send.
        if !run.has_sweep() && run.plan.campaign.ceiling.as_ref() == Some(&server.name) {
            continue;
        }
        for &tool in &tools {
            for disturbed in [false, true] {
                if disturbed && !levels.iter().any(|level| level.disturbed) {
                    continue;
                }
                if !disturbed && is_always {
                    continue;
                }
                let by = tool.map_or_else(String::new, |tool| {
                    let from = if tool.tells_when_due() { "" } else { ", from the send" };
                    format!(" by {}{from}", tool.name())
                });
                let beside = if disturbed && !is_always { ", disturbed" } else { "" };
                series.push(Series {
                    name: format!("{}{by}{beside}", server.label()),
                    style: series.len(),
                    server: &server.name,
                    tool,
                    disturbed,
                });
            }
        }
    }
    // A line a server: each has its own colour in every chart.
    if series.windows(2).all(|two| two[0].server != two[1].server) {
        let styles = styles(&run.plan.servers);
        for one in &mut series {
            let place = run.plan.servers.iter().position(|server| server.name == one.server);
            one.style = place.map_or(one.style, |place| styles[place]);
        }
    }
    series
}

/// Each server's place among the colours and markers: its own, or the first that is free. No two have the same while there are
/// enough.
pub(super) fn styles(servers: &[Server]) -> Vec<usize> {
    let mut taken = vec![false; COLOURS.max(servers.len())];
    let mut styles: Vec<Option<usize>> = Vec::new();
    for server in servers {
        let own = server.colour.map(|colour| usize::from(colour).saturating_sub(1));
        let own = own.filter(|own| taken.get(*own) == Some(&false));
        if let Some(own) = own {
            taken[own] = true;
        }
        styles.push(own);
    }
    let mut free = (0..taken.len()).filter(|place| !taken[*place]);
    styles.into_iter().map(|own| own.or_else(|| free.next()).unwrap_or_default()).collect()
}

impl Series<'_> {
    /// Its cell of a workload at so many connections, or at such a rate.
    pub fn cell<'a>(&self, run: &'a Run, workload: &str, amount: u32) -> Option<&'a Cell> {
        run.summary.cells.iter().find(|cell| {
            cell.server == self.server
                && cell.workload == workload
                && cell.level.amount() == amount
                && cell.level.disturbed == self.disturbed
                && self.tool.is_none_or(|tool| cell.level.tool == tool)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ConfigDir;

    fn with(colours: &[Option<u8>]) -> Vec<usize> {
        let dir = ConfigDir(std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")));
        let one = dir.server("legacy").unwrap();
        let servers: Vec<Server> =
            colours.iter().map(|colour| Server { colour: *colour, ..one.clone() }).collect();
        styles(&servers)
    }

    #[test]
    fn a_server_keeps_its_colour_whatever_runs_beside_it_and_others_take_what_is_free() {
        assert_eq!(with(&[Some(5), Some(1)]), [4, 0]);
        assert_eq!(with(&[None, Some(1), None]), [1, 0, 2]);
        assert_eq!(with(&[Some(3), Some(3)]), [2, 0], "two lines of a chart are never alike");
        let many = with(&[None; 9]);
        assert_eq!(many.iter().collect::<std::collections::HashSet<_>>().len(), 9);
    }
}
