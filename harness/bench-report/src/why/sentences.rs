//! What a why run comes to, in sentences that are true by themselves.

use std::fmt::Write;

use super::name;
use crate::format::{bullets, counted, estimate, list, percent, ratio, significant};
use crate::invalid_trials;
use bench_analysis::Terms;
use bench_analysis::why::{Ladder, Part, SlopeSummary, WhySummary};
use bench_stats::Estimate;

/// A line that misses some length by more than this is no good line, relative.
const MUCH_MISFIT: f64 = 0.15;

/// The sentences of the headline, a list in Markdown.
pub fn headline(summary: &WhySummary) -> String {
    let mut out = String::new();
    if summary.left > 0 {
        // Writing to a String can't fail, here and below.
        let _ = writeln!(
            out,
            "> **Incomplete: {} of {} observations are still to be made.**\n",
            summary.left, summary.planned
        );
    }
    let Some(terms) = &summary.terms else {
        let pair = [summary.server.as_str(), &summary.over];
        let why = invalid_trials::why_none(pair, summary.failed.iter(), summary.invalid.iter());
        let _ = writeln!(out, "- Nothing is known: {why}.");
        return out;
    };
    let mut items = vec![rates(summary, terms)];
    match &summary.ladder {
        Ok(ladder) => items.extend([parts(ladder), explained(summary, ladder)]),
        Err(reason) => {
            items.push(format!("What the difference is made of in process is **unavailable**: {reason}."));
        }
    }
    items.extend(summary.slope.as_ref().and_then(slope));
    out + &bullets(items)
}

/// How fast, and by which of the two terms.
fn rates(summary: &WhySummary, terms: &Terms) -> String {
    let WhySummary { server, over, workload, connections, .. } = summary;
    let connections = counted((*connections).into(), "connection");
    let bound = summary.sides.iter().any(|side| {
        side.client_cores.zip(side.cores).is_some_and(|(client, server)| client.value >= server.value)
    });
    let bound = if bound {
        " The load generator held at least one of the rates back, so CPU time is the truer figure."
    } else {
        ""
    };
    format!(
        "**{server} answers {workload} {} times as fast as {over}** at {connections}: it uses {} times the cores and \
         needs {} times the CPU time for a request.{bound}",
        ratio(terms.rate),
        ratio(terms.cores),
        ratio(terms.cpu)
    )
}

/// What the difference of CPU time is made of.
fn parts(ladder: &Ladder) -> String {
    let whole = ladder.measured.difference;
    if ladder.explained.is_none() {
        return format!(
            "Their CPU time for a request is **not distinguishable** ({} µs), so there is no difference to explain.",
            difference(whole)
        );
    }
    let sign = whole.value.signum();
    let by_part = Part::ALL
        .into_iter()
        .filter_map(|part| Some((name(part), sign * ladder.part(part)?.difference.value)))
        .map(|(name, value)| format!("{} {name}", significant(value)));
    format!(
        "Of the {} µs of CPU time between them on a request, {}; {} µs are **unexplained**.",
        significant(whole.value.abs()),
        list(by_part),
        significant(sign * ladder.unexplained.difference.value)
    )
}

/// How much of the difference the parts give.
fn explained(summary: &WhySummary, ladder: &Ladder) -> String {
    let Some(all) = ladder.explained else {
        return "No share is explained, because there is nothing to explain.".to_owned();
    };
    let user = ladder.explained_user.map_or_else(
        || "user time alone is not distinguishable".to_owned(),
        |user| format!("of user time alone, which is where the prediction can miss, {}", share(user)),
    );
    let predicts = match all.interval {
        Some((low, _)) if low > 1.0 => "predict more than",
        Some((_, high)) if high < 1.0 => "predict less than",
        _ => "predict",
    };
    format!(
        "The parts give **{}** of the difference ({user}): what runs in process and what HTTP costs on {} {predicts} \
         what {} costs over HTTP.",
        share(all),
        summary.transport,
        summary.workload
    )
}

/// What an element of the result costs.
fn slope(slope: &SlopeSummary) -> Option<String> {
    let [a, b] = slope.lines.as_slice() else { return None };
    let (cost_a, cost_b) = (a.slope_ns?, b.slope_ns?);
    let mut said = format!(
        "Each {} more in the answer costs {} {} ns and {} {} ns",
        slope.element,
        a.server,
        significant(cost_a.value),
        b.server,
        significant(cost_b.value)
    );
    if let Some(found) = slope.slope_ratio {
        let _ = write!(said, " ({} times as much)", ratio(found));
    }
    if let Some((a_parts, b_parts)) = a.parts_ns.zip(b.parts_ns) {
        let _ = write!(
            said,
            ", of which serialising {} and {} ns",
            significant(a_parts.serialising.value),
            significant(b_parts.serialising.value)
        );
    }
    if let Some((at_none_a, at_none_b)) = a.intercept_us.zip(b.intercept_us) {
        let _ = write!(
            said,
            "; a request that returns none costs {} and {} µs",
            significant(at_none_a.value),
            significant(at_none_b.value)
        );
    }
    said.push('.');
    let misfit = a.misfit.into_iter().chain(b.misfit).fold(0.0, f64::max);
    if misfit > MUCH_MISFIT {
        let _ = write!(
            said,
            " No straight line fits well: it misses some length by {:.0} %, so the cost of a {} depends on how many \
             there are.",
            misfit * 100.0,
            slope.element
        );
    }
    Some(said)
}

/// A difference in microseconds, with its sign.
pub(super) fn difference(value: Estimate) -> String {
    estimate(value, signed)
}

fn signed(value: f64) -> String {
    if value > 0.0 { format!("+{}", significant(value)) } else { significant(value) }
}

/// A share in percent.
pub(super) fn share(value: Estimate) -> String {
    estimate(value, percent)
}
