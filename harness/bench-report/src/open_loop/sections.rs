//! What only an open loop shows next to its tables: isolation from a background load, recovery from an overload, and
//! whether the load tools agree.

use super::super::Run;
use super::super::columns::Columns;
use super::super::format::{
    at, bullets, count, counted, dash, known, ratio, sections as joined, spanned, thousands, time_ms, time_us,
};
use bench_analysis::open_loop::{AGREEMENT, Agreement, Recovery};
use bench_model::config::Background;
use bench_model::figure::Figure;
use bench_stats::{Estimate, median};

/// All of them that the campaign measures.
pub(crate) fn sections(run: &Run) -> String {
    joined([stalls(run), isolation(run), recovery(run), agreement(run)])
}

/// One line for each server that another load disturbs, or that comes back from an overload.
pub(super) fn headline(run: &Run) -> String {
    let Some(other) = background(run) else { return String::new() };
    let is_measured = |server: &String| !run.plan.is_ceiling(server);
    let isolation = run.summary.isolation.iter().filter(|found| is_measured(&found.server));
    let isolation = isolation.filter(|found| found.p99_from_send_ratio.is_some()).map(|found| {
        let answered = found.other_answered.filter(|share| share.value < 0.99);
        format!(
            "**{}** on {}: p99 from the send is **{} times** as long with {} in the background.{}",
            at(&found.workload, found.level),
            run.label(&found.server),
            known(found.p99_from_send_ratio, "not measured", ratio),
            other.workload,
            known(answered, "", |share| format!(" Of that load it answers {}.", percent(share)))
        )
    });
    let recovery = run.summary.recovery.iter().filter(|found| is_measured(&found.server));
    let recovery = recovery.filter(|found| !found.after_ms.is_empty()).map(|found| {
        format!(
            "**{}** on {}: p99 is back at its old level **{}**.",
            at(&found.workload, found.level),
            run.label(&found.server),
            after(found)
        )
    });
    bullets(isolation.chain(recovery))
}

fn background(run: &Run) -> Option<&Background> {
    super::of(run)?.background.as_ref()
}

/// The other load, in words.
fn other_load(Background { workload, connections, rate, tool, .. }: &Background) -> String {
    match rate {
        Some(rate) => format!("{workload} at {} requests/s by {}", count((*rate).into()), tool.name()),
        None => {
            let connections = counted((*connections).into(), "connection");
            format!("{workload} by {connections} in a closed loop (bombardier)")
        }
    }
}

fn isolation(run: &Run) -> String {
    let Some(other) = background(run) else { return String::new() };
    let shown = |estimate: Option<Estimate>| known(estimate, "not measured", ratio);
    Columns::of(2, &run.summary.isolation)
        .column("request", |found| at(&found.workload, found.level))
        .column("server", |found| run.label(&found.server))
        .column("median from the send, times", |found| shown(found.p50_from_send_ratio))
        .column("p99 from the send, times", |found| shown(found.p99_from_send_ratio))
        .column("p99 from the intended send, times", |found| shown(found.p99_ratio))
        .column("other load sent/s", |found| dash(found.other_per_s, |rate| thousands(rate.value)))
        .column("of it answered", |found| dash(found.other_answered, percent))
        .within(|table| {
            format!(
                "## Isolation\n\nHow many times as long a request takes with {} in the background on the same server; \
                 paired by block, each interval is right by itself with 95 %. What the load tool is late by is in both \
                 latencies from the intended send and draws their ratio towards 1; those from the send are without \
                 it.{}\n\n{table}",
                other_load(other),
                of_ceiling(run),
            )
        })
}

/// How a window's stops went, where there are any.
fn stalls(run: &Run) -> String {
    let Some(stall) = super::of(run).and_then(|open| open.stall) else { return String::new() };
    let counts = run.summary.cells.iter().filter_map(|cell| cell.figure(Figure::Stalls));
    let (least, most) = counts.fold((f64::INFINITY, 0.0_f64), |(least, most), count| {
        (least.min(count.value), most.max(count.value))
    });
    if most < 1.0 {
        return String::new();
    }
    format!(
        "## Stops\n\nThe kernel held the server still for {} every {}: {} times in a window of {}.\n",
        time_ms(stall.for_ms),
        time_ms(stall.every_ms),
        spanned((least, most), |count| format!("{count:.0}")),
        time_ms(run.plan.campaign.window_ms)
    )
}

/// What the ceiling's row is for, with a background load.
fn of_ceiling(run: &Run) -> String {
    known(run.plan.campaign.ceiling.as_ref().filter(|name| run.plan.is_ceiling(name)), "", |name| {
        format!(
            " {name} answers at once, whatever the request, so its row shows what the load tools do to each other."
        )
    })
}

fn percent(share: Estimate) -> String {
    super::super::format::percent(share.value)
}

fn recovery(run: &Run) -> String {
    let (found, Some(other)) = (&run.summary.recovery, background(run)) else { return String::new() };
    let cell = |of: &Recovery| run.summary.cell(&of.server, &of.workload, of.level);
    let held = |of: &Recovery| cell(of)?.figure(Figure::EstablishedConnections);
    let turned_away = |of: &Recovery| {
        let cell = cell(of)?;
        Some(cell.listen_overflows? as f64 / cell.completed.max(1) as f64)
    };
    let time = |estimate: Option<Estimate>| dash(estimate, |estimate| time_us(estimate.value));
    let whole = |estimate: Option<Estimate>| dash(estimate, |estimate| thousands(estimate.value));
    Columns::of(2, found)
        .column("request", |of| at(&of.workload, of.level))
        .column("server", |of| run.label(&of.server))
        .column("highest p99 before", |of| time(of.before_us))
        .column("overload, requests/s", |of| whole(of.overload_per_s))
        .column("of the overload answered in time", |of| dash(of.overload_answered, percent))
        .column("connections held at most", |of| whole(held(of)))
        .column("turned away by a full listen queue", |of| dash(turned_away(of), thousands))
        .column("highest p99 in the overload", |of| time(of.peak_us))
        .column("of its requests answered in time", |of| dash(of.answered, percent))
        .column("back at its old level after", |of| after(of))
        .column("trials", |of| of.after_ms.len())
        .within(|table| {
            format!(
                "## Recovery\n\nFrom {} to {} of the window the same server also gets {}. A server is back where p99 \
                 is no higher than it was at any time before, and stays so for a second. Connections that found the \
                 listen queue full are a trial's, on average; they count each try. *Of its requests* are those of {} \
                 that were due in the overload.{}\n\n{table}\n![p99 through the window](recovery.svg)\n\n99th \
                 percentile of each part of the window, by when requests were to be sent; medians over trials.\n",
                time_ms(other.from_ms),
                time_ms(other.from_ms + other.for_ms.unwrap_or_default()),
                other_load(other),
                known(found.first(), "the measured load", |found| found.workload.clone()),
                of_ceiling(run),
            )
        })
}

/// How long after the overload: the median of the trials in which it came back, and their ends.
fn after(recovery: &Recovery) -> String {
    let Recovery { after_ms, .. } = recovery;
    let known: Vec<f64> = after_ms.iter().copied().flatten().collect();
    let Some(middle) = median(&known) else {
        return if after_ms.is_empty() { "not measured" } else { "not within the window" }.to_owned();
    };
    let ms = |value: f64| if value <= 0.0 { "0 ms".to_owned() } else { time_us(value * 1e3) };
    let low = known.iter().copied().fold(f64::INFINITY, f64::min);
    let high = known.iter().copied().fold(0.0, f64::max);
    let never = match after_ms.len() - known.len() {
        0 => String::new(),
        never => format!("; not within the window in {never} of {}", after_ms.len()),
    };
    format!("after {} ({} to {}){never}", ms(middle.value), ms(low), ms(high))
}

fn agreement(run: &Run) -> String {
    let found = &run.summary.agreement;
    let shown = |estimate: Option<Estimate>| known(estimate, "not measured", ratio);
    let time = |estimate: Option<Estimate>| dash(estimate, |time| time_us(time.value));
    let agree = |of: &Agreement| match of.holds() {
        _ if of.level.tool == of.against => "reference",
        Some(true) => "yes",
        Some(false) => "**no**",
        None => "not measured",
    };
    Columns::of(3, found)
        .column("request", |of| at(&of.workload, of.level))
        .column("server", |of| run.label(&of.server))
        .column("tool", |of| of.level.tool.name())
        .column("median from the send", |of| time(of.p50_us))
        .column("ratio of medians", |of| shown(of.ratio))
        .column("agree", |of| agree(of))
        .column("ratio of rates sent", |of| shown(of.rate_ratio))
        .within(|table| {
            format!(
                "## Do the load tools agree?\n\nThe same server at the same rate, loaded by each tool in turn. The \
                 median from the send is what all of them know; tools agree where it differs by no more than {:.0} %. \
                 Where it differs by more, the tools make the difference, since the server is the same, and their \
                 medians don't compare. bombardier held to a rate stays a closed loop: it does not report when a request \
                 was to be sent.\n\n{table}",
                AGREEMENT * 100.0
            )
        })
}
