//! The series of a chart: a server each; in an open loop a server by each tool that its campaign names, alone and
//! disturbed.

use super::super::Run;
use super::super::format::known;
use super::{COLOURS, Key, Mark, Style};
use bench_analysis::Cell;
use bench_model::config::Server;
use bench_model::load::{Capability, LoadTool};

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
    for (server, own) in run.plan.servers.iter().zip(styles(&run.plan.servers)) {
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

/// The servers of this repository that runs whose plans have no colours name, and the colour of each, from 1. They
/// stand in `servers.toml` too; read from there when this is built, each edit of it would build the harness again.
const OWN: [(&str, usize); 12] = [
    ("legacy", 1),
    ("jsonrpsee", 2),
    ("actix", 3),
    ("control", 4),
    ("axum", 5),
    ("actix-jsonrpc-core", 6),
    ("axum-jsonrpc-core", 7),
    ("axum-ajj", 5),
    ("gateway-http", 1),
    ("gateway-ws", 2),
    ("gateway-cache", 5),
    ("gateway-limit", 6),
];

/// The colour of a server, or of the one that its name extends: `legacy-minimal` has that of `legacy`.
pub(super) fn known_colour(name: &str) -> Option<usize> {
    let extends =
        |known: &str| name.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
    let own = OWN.iter().filter(|(known, _)| extends(known)).max_by_key(|(known, _)| known.len());
    own.map(|(_, colour)| colour - 1)
}

/// How each server's series look: a server has one colour in every chart; its variants, such as another allocator, are
/// dashed.
pub(super) fn styles(servers: &[Server]) -> Vec<Style> {
    let own = |server: &Server| {
        let colour = server.colour.and_then(|colour| usize::from(colour).checked_sub(1));
        colour.or_else(|| known_colour(&server.name))
    };
    let taken: Vec<Option<usize>> = servers.iter().map(own).collect();
    let mut free = (0..COLOURS.len()).filter(|colour| !taken.contains(&Some(*colour)));
    let mut styles: Vec<Style> = Vec::new();
    for (place, own) in taken.iter().enumerate() {
        let colour = own.or_else(|| free.next()).unwrap_or(place % COLOURS.len());
        let variant = styles.iter().filter(|style| style.colour == colour).count();
        styles.push(Style { colour, variant });
    }
    styles
}

/// How one server of a run looks; the first style for one that the run does not know.
pub(crate) fn style(run: &Run, server: &str) -> Style {
    let place = run.plan.servers.iter().position(|known| known.name == server);
    place.and_then(|place| styles(&run.plan.servers).get(place).copied()).unwrap_or_default()
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
    use bench_model::config::ConfigDir;

    fn with(servers: &[(&str, Option<u8>)]) -> Vec<(usize, usize)> {
        let dir = ConfigDir::of_repository();
        let one = dir.server("legacy").unwrap();
        let server = |(name, colour): &(&str, Option<u8>)| Server {
            name: (*name).to_owned(),
            colour: *colour,
            ..one.clone()
        };
        let servers: Vec<Server> = servers.iter().map(server).collect();
        styles(&servers).into_iter().map(|style| (style.colour, style.variant)).collect()
    }

    #[test]
    fn a_server_keeps_its_colour_and_others_take_free_ones() {
        assert_eq!(with(&[("a", Some(5)), ("b", Some(1))]), [(4, 0), (0, 0)]);
        assert_eq!(with(&[("a", None), ("b", Some(1)), ("c", None)]), [(1, 0), (0, 0), (2, 0)]);
        assert_eq!(with(&[("legacy", None), ("legacy-minimal", None)]), [(0, 0), (0, 1)]);
        assert_eq!(with(&[("actix-original", None), ("actix-jsonrpc-core", None)]), [(2, 0), (5, 0)]);
        let many = with(&[("other", None); 9]);
        assert_eq!(many.iter().collect::<std::collections::HashSet<_>>().len(), 9);
    }
}
