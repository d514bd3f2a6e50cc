//! The report of connections that are held in boxes: how many fit, predicted and tried.

use super::Run;
use super::charts::{self, Picture};
use super::format::{Table, bullets, bytes, count, dash, estimate, known};
use bench_analysis::boxed::{Boxed, BoxedLevel, BoxedVerdict};
use bench_model::transport::Transport;

/// The chart's file.
const FILE: &str = "boxed-connections.svg";

/// A line for each server.
fn headline(run: &Run) -> String {
    let line = |of: &Boxed| {
        let [server, transport, size] = names(run, of);
        let number = |connections: Option<u32>, none: &str| known(connections, none, |n| count(n.into()));
        format!(
            "**{server} over {transport}** in {size}: {} connections were held, {} killed it. Predicted from few: {}, \
             which {}.",
            number(of.most_held, "no"),
            number(of.least_killed, "none"),
            dash(of.predicted, |predicted| estimate(predicted, whole)),
            match of.verdict {
                BoxedVerdict::Agrees => "agrees",
                BoxedVerdict::TooHigh => "is too high",
                BoxedVerdict::TooLow => "is too low",
                BoxedVerdict::NotReached => "was not reached",
                BoxedVerdict::NotPredicted => "decides nothing",
            }
        )
    };
    bullets(run.summary.boxed.iter().map(line))
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
    let headers = "server | transport | box | without connections | for a connection | trials fitted | predicted \
        connections | most held | fewest killed | prediction";
    let fits = Table::of(headers, 3, boxed.iter().map(|of| fit(run, of)));
    let headers = "server | transport | box | connections | held | killed for want of memory | ended otherwise | \
        group's memory";
    let levels = boxed.iter().flat_map(|of| of.levels.iter().map(|level| tried(run, of, level)));
    let picture = chart(run).map_or_else(String::new, |picture| picture.markdown() + "\n");
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
        Table::of(headers, 3, levels).markdown()
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

fn fit(run: &Run, of: &Boxed) -> Vec<String> {
    let figures = [
        dash(of.line, |(at_0, _)| bytes(at_0.max(0.0))),
        dash(of.line, |(_, each)| bytes(each)),
        of.fitted.to_string(),
        dash(of.predicted, |predicted| estimate(predicted, whole)),
        known(of.most_held, "none", |held| count(held.into())),
        known(of.least_killed, "none", |killed| count(killed.into())),
        verdict(of.verdict).to_owned(),
    ];
    names(run, of).into_iter().chain(figures).collect()
}

fn verdict(verdict: BoxedVerdict) -> &'static str {
    match verdict {
        BoxedVerdict::Agrees => "agrees",
        BoxedVerdict::TooHigh => "**too high**: killed before",
        BoxedVerdict::TooLow => "**too low**: more were held",
        BoxedVerdict::NotReached => "not tested: none was killed",
        BoxedVerdict::NotPredicted => "no prediction with an interval",
    }
}

fn tried(run: &Run, of: &Boxed, level: &BoxedLevel) -> Vec<String> {
    let figures = [
        count(level.connections.into()),
        count(level.held as u64),
        count(level.killed as u64),
        count(level.other as u64),
        dash(level.memory_bytes, bytes),
    ];
    names(run, of).into_iter().chain(figures).collect()
}

/// The memory of each server's group against the connections that it held, with its line and the limit.
pub(super) fn chart(run: &Run) -> Option<Picture> {
    Some(Picture {
        file: FILE.to_owned(),
        alt: "The memory of each server's group against the connections that it held, with fitted lines and the \
            limits".to_owned(),
        note: "Lines go on to the limit, which is the horizontal line; a point is hollow where it is not in the fit. \
            Crossed on the limit: the kernel killed the server at that number of connections."
            .to_owned(),
        chart: charts::boxed(run)?,
    })
}
