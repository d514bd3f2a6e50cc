//! The lines of a chart: a server each; in an open loop a server by each tool that its campaign names, alone and disturbed.

use super::Run;
use crate::analysis::Cell;
use crate::load::LoadTool;

/// One line.
pub(super) struct Series<'a> {
    /// What the legend calls it.
    pub name: String,
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
                    name: format!("{}{by}{beside}", server.name),
                    server: &server.name,
                    tool,
                    disturbed,
                });
            }
        }
    }
    series
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
