//! The report of connections that are held in boxes: how many fit, predicted and tried.

use super::Run;
use super::charts::{self, Picture};
use super::columns::Columns;
use super::format::{bullets, bytes, count, dash, estimate, known};
use bench_analysis::boxed::{Boxed, BoxedVerdict};
use bench_model::transport::Transport;

/// A line for each server.
fn headline(run: &Run) -> String {
    bullets(run.summary.boxed.iter().map(|of| {
        let [server, transport, size] = names(run, of);
        format!(
            "**{server} over {transport}** in {size}: {} connections were held, {} killed it. Predicted from few: {}, \
             which {}.",
            connections(of.most_held, "no"),
            connections(of.least_killed, "none"),
            dash(of.predicted, |predicted| estimate(predicted, whole)),
            verdict(of.verdict).0
        )
    }))
}

/// A number of connections.
fn whole(value: f64) -> String {
    count(value.max(0.0).round() as u64)
}

/// The whole section; empty where no server that holds connections has a limit of memory.
pub(super) fn section(run: &Run) -> String {
    let boxed = &run.summary.boxed;
    if boxed.is_empty() {
        return String::new();
    }
    let fits = named(run, boxed, |of| of)
        .column("without connections", |of| dash(of.line, |(at_0, _)| bytes(at_0.max(0.0))))
        .column("for a connection", |of| dash(of.line, |(_, each)| bytes(each)))
        .column("trials fitted", |of| of.fitted)
        .column("predicted connections", |of| dash(of.predicted, |predicted| estimate(predicted, whole)))
        .column("most held", |of| connections(of.most_held, "none"))
        .column("fewest killed", |of| connections(of.least_killed, "none"))
        .column("prediction", |of| verdict(of.verdict).1);
    let levels = boxed.iter().flat_map(|of| of.levels.iter().map(move |level| (of, level)));
    let levels = named(run, levels, |(of, _)| of)
        .column("connections", |(_, level)| count(level.connections.into()))
        .column("held", |(_, level)| count(level.held as u64))
        .column("killed for want of memory", |(_, level)| count(level.killed as u64))
        .column("ended otherwise", |(_, level)| count(level.other as u64))
        .column("group's memory", |(_, level)| dash(level.memory_bytes, bytes));
    let picture = known(chart(run), "", |picture| picture.markdown() + "\n");
    format!(
        "## How many connections fit in a box\n\n{}\nEach server is in a control group with a limit of memory. \
         Group's memory is what the limit counts, at its highest: the server's own, the kernel's for its connections, \
         and caches of files. With cgroups of version 2 the connections' buffers are in it, with version 1 they are \
         not. So it is not the resident memory of the table below. A straight line goes by least squares through the \
         trials that took up to half of the box; where it reaches the limit is the predicted number of connections, \
         with the interval of an inverse prediction at 95 %. Nothing above half of the box is in the line, so what \
         was held and killed there tests it. The prediction *agrees* where its interval reaches into the range from \
         the most connections that were held to the fewest at which the kernel killed the server.\n\n{picture}{}\n### \
         Every number of connections\n\n{}",
        headline(run),
        fits.markdown(),
        levels.markdown()
    )
}

/// How a server is reached.
pub(super) fn transport(run: &Run, server: &str) -> Transport {
    let server = run.plan.servers.iter().find(|known| known.name == server);
    server.map_or_else(Transport::default, |server| run.plan.environment_of(server).transport())
}

fn names(run: &Run, of: &Boxed) -> [String; 3] {
    [
        run.plan.campaign.entry_of(&of.server).to_owned(),
        transport(run, &of.server).name().to_owned(),
        bytes(of.memory_max_bytes as f64),
    ]
}

/// A table's first columns: which box a row is about.
fn named<T>(run: &Run, rows: impl IntoIterator<Item = T>, of: fn(&T) -> &Boxed) -> Columns<T> {
    let headers = ["server", "transport", "box"].into_iter().zip(0..);
    Columns::of(3, rows).columns(headers, |row, place: &usize| names(run, of(row))[*place].clone())
}

/// A number of connections, where there is one.
fn connections(connections: Option<u32>, none: &str) -> String {
    known(connections, none, |connections| count(connections.into()))
}

/// What came of a prediction, in a sentence and in a table.
const fn verdict(verdict: BoxedVerdict) -> (&'static str, &'static str) {
    match verdict {
        BoxedVerdict::Agrees => ("agrees", "agrees"),
        BoxedVerdict::TooHigh => ("is too high", "**too high**: killed before"),
        BoxedVerdict::TooLow => ("is too low", "**too low**: more were held"),
        BoxedVerdict::NotReached => ("was not reached", "not tested: none was killed"),
        BoxedVerdict::NotPredicted => ("decides nothing", "no prediction with an interval"),
    }
}

/// The memory of each server's group against the connections that it held, with its line and the limit.
pub(super) fn chart(run: &Run) -> Option<Picture> {
    Some(Picture {
        file: "boxed-connections.svg".to_owned(),
        alt: "The memory of each server's group against the connections that it held, with fitted lines and the \
            limits".to_owned(),
        note: "Lines go on to the limit, which is the horizontal line; a point is hollow where it is not in the fit. \
            Crossed on the limit: the kernel killed the server at that number of connections."
            .to_owned(),
        chart: charts::boxed(run)?,
    })
}
