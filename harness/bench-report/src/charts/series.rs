//! The series of a chart: a server each; in an open loop a server by each tool that its campaign names, alone and
//! disturbed.

use std::collections::BTreeMap;

use super::super::Run;
use super::super::format::known;
use super::{COLOURS, Key, Mark, Style};
use bench_core::Cell;
use bench_core::config::Server;
use bench_core::load::{Capability, LoadTool};
use bench_core::plan::Plan;

/// One series.
pub(super) struct SeriesOf<'a> {
    /// What the legend calls it.
    pub name: String,
    /// How it looks.
    pub style: Style,
    server: &'a str,
    /// The tool, where several send the same rates.
    tool: Option<LoadTool>,
    disturbed: bool,
}

/// The series of a run, in the plan's order of servers.
pub(super) fn series(run: &Run) -> Vec<SeriesOf<'_>> {
    let levels = run.plan.levels();
    let campaign = &run.plan.campaign;
    let tools = campaign.open.as_ref().map_or(campaign.closed_loop_tools(), |open| open.tools.as_slice());
    let tools: Vec<Option<LoadTool>> = match tools {
        [_, _, ..] => tools.iter().copied().map(Some).collect(),
        _ => vec![None],
    };
    let has = |disturbed: bool| levels.iter().any(|level| level.disturbed == disturbed);
    let is_alone = levels.is_empty() || has(false);
    let is_measured = |disturbed: &bool| if *disturbed { has(true) } else { is_alone };
    let kinds: Vec<bool> = [false, true].into_iter().filter(is_measured).collect();
    let mut series: Vec<SeriesOf<'_>> = Vec::new();
    for (server, own) in run.plan.servers.iter().zip(styles(&run.plan)) {
        for &tool in &tools {
            for &disturbed in &kinds {
                let by = known(tool, "", |tool| {
                    let is_from_send = campaign.open.is_some() && !tool.can(Capability::TellsWhenDue);
                    format!(" by {}{}", tool.name(), if is_from_send { ", from the send" } else { "" })
                });
                let disturbance = if disturbed && is_alone { ", disturbed" } else { "" };
                let name = format!("{}{by}{disturbance}", server.label());
                let variant = own.variant + series.iter().filter(|other| other.server == server.name).count();
                let style = Style { variant, ..own };
                series.push(SeriesOf { name, style, server: &server.name, tool, disturbed });
            }
        }
    }
    series
}

/// The legend of a run's series, whose lines are of that width.
pub(crate) fn legend(run: &Run, width: f64) -> Vec<(Key, String)> {
    let entry = |series: SeriesOf<'_>| (Key { style: series.style, width, mark: Mark::Full }, series.name);
    series(run).into_iter().map(entry).collect()
}

/// How each server's series look: an entry of `servers.toml` has one colour, its own or the next free one, in every
/// chart; its variants, such as another allocator, are dashed.
pub(super) fn styles(plan: &Plan) -> Vec<Style> {
    let own = |server: &Server| server.colour.and_then(|colour| usize::from(colour).checked_sub(1));
    let taken: Vec<usize> = plan.servers.iter().filter_map(own).collect();
    let mut free = (0..COLOURS.len()).filter(|colour| !taken.contains(colour));
    let mut entries: BTreeMap<&str, usize> = BTreeMap::new();
    let mut styles: Vec<Style> = Vec::new();
    for (place, server) in plan.servers.iter().enumerate() {
        let next = || own(server).or_else(|| free.next()).unwrap_or(place % COLOURS.len());
        let colour = *entries.entry(plan.campaign.entry_of(&server.name)).or_insert_with(next);
        let variant = styles.iter().filter(|style| style.colour == colour).count();
        styles.push(Style { colour, variant });
    }
    styles
}

/// The colour of an entry of `servers.toml`; `None` of one that no server of the run is of.
pub(super) fn colour_of(plan: &Plan, entry: &str) -> Option<usize> {
    let of_entry = |server: &Server| plan.campaign.entry_of(&server.name) == entry;
    Some(styles(plan)[plan.servers.iter().position(of_entry)?].colour)
}

/// How one server of a run looks; the first style for one that the run does not know.
pub(crate) fn style(run: &Run, server: &str) -> Style {
    let place = run.plan.servers.iter().position(|known| known.name == server);
    place.and_then(|place| styles(&run.plan).get(place).copied()).unwrap_or_default()
}

impl SeriesOf<'_> {
    /// Its cell of a workload at N connections, or at a rate.
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
    use bench_core::config::ConfigDir;

    fn with(servers: &[(&str, Option<u8>)]) -> Vec<(usize, usize)> {
        let dir = ConfigDir::of_repository();
        let one = dir.server("legacy").unwrap();
        let server = |(name, colour): &(&str, Option<u8>)| Server {
            name: (*name).to_owned(),
            colour: *colour,
            ..one.clone()
        };
        let servers: Vec<Server> = servers.iter().map(server).collect();
        styles(&Plan { servers, ..Plan::default() })
            .into_iter()
            .map(|style| (style.colour, style.variant))
            .collect()
    }

    #[test]
    fn a_server_keeps_its_colour_and_others_take_free_ones() {
        assert_eq!(with(&[("a", Some(5)), ("b", Some(1))]), [(4, 0), (0, 0)]);
        assert_eq!(with(&[("a", None), ("b", Some(1)), ("c", None)]), [(1, 0), (0, 0), (2, 0)]);
        assert_eq!(with(&[("a", Some(3)), ("b", Some(3))]), [(2, 0), (2, 1)]);
        let many = with(&[("other", None); 9]);
        assert_eq!(many.iter().collect::<std::collections::HashSet<_>>().len(), 9);
    }
}
