//! What a why run comes to, in sentences that are true by themselves.

use super::name;
use crate::format::{bullets, counted, estimate, known, list, percent, ratio, significant};
use crate::invalid_trials;
use bench_analysis::Terms;
use bench_analysis::why::{Ladder, Part, SlopeSummary, WhySummary};
use bench_stats::Estimate;

/// A line that misses some length by more than this is no good line, relative.
const MUCH_MISFIT: f64 = 0.15;

/// The sentences of the headline, a list in Markdown.
pub fn headline(summary: &WhySummary) -> String {
    let incomplete = match summary.left {
        0 => String::new(),
        left => {
            let all = summary.planned;
            format!("> **Incomplete: {left} of {all} observations are still to be made.**\n\n")
        }
    };
    let Some(terms) = &summary.terms else {
        let pair = [summary.server.as_str(), &summary.over];
        let why = invalid_trials::why_none(pair, summary.failed.iter(), summary.invalid.iter());
        return format!("{incomplete}- Nothing is known: {why}.\n");
    };
    let mut items = vec![rates(summary, terms)];
    match &summary.ladder {
        Ok(ladder) => items.extend([parts(ladder), explained(summary, ladder)]),
        Err(reason) => {
            items.push(format!("What the difference is made of in process is **unavailable**: {reason}."));
        }
    }
    items.extend(summary.slope.as_ref().and_then(slope));
    incomplete + &bullets(items)
}

/// How fast, and by which of the two terms.
fn rates(summary: &WhySummary, terms: &Terms) -> String {
    let WhySummary { server, over, workload, connections, .. } = summary;
    let connections = counted((*connections).into(), "connection");
    let bound = summary.sides.iter().any(|side| {
        side.client_cores.zip(side.cores).is_some_and(|(client, server)| client.value >= server.value)
    });
    let bound = match bound {
        true => " The load generator held at least one of the rates back, so CPU time is the truer figure.",
        false => "",
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
    let by_part = Part::ALL.into_iter().filter_map(|part| {
        let difference = sign * ladder.part(part)?.difference.value;
        Some(format!("{} {}", significant(difference), name(part)))
    });
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
    let user = known(ladder.explained_user, "user time alone is not distinguishable", |user| {
        format!("of user time alone, which is where the prediction can miss, {}", share(user))
    });
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
    let both = |a: Estimate, b: Estimate| format!("{} and {}", significant(a.value), significant(b.value));
    let element = &slope.element;
    let (cost_a, cost_b) = (significant(a.slope_ns?.value), significant(b.slope_ns?.value));
    let ratio = known(slope.slope_ratio, "", |found| format!(" ({} times as much)", ratio(found)));
    let serialising = known(a.parts_ns.zip(b.parts_ns), "", |(a, b)| {
        format!(", of which serialising {} ns", both(a.serialising, b.serialising))
    });
    let of_none = known(a.intercept_us.zip(b.intercept_us), "", |(a, b)| {
        format!("; a request that returns none costs {} µs", both(a, b))
    });
    let misfit = a.misfit.into_iter().chain(b.misfit).fold(0.0, f64::max);
    let misfit = known((misfit > MUCH_MISFIT).then_some(misfit), "", |misfit| {
        format!(
            " No straight line fits well: it misses some length by {}, so the cost of a {element} depends on how many \
             there are.",
            percent(misfit)
        )
    });
    Some(format!(
        "Each {element} more in the answer costs {} {cost_a} ns and {} {cost_b} \
         ns{ratio}{serialising}{of_none}.{misfit}",
        a.server, b.server
    ))
}

/// A difference in microseconds, with its sign.
pub(super) fn difference(value: Estimate) -> String {
    estimate(value, |value| format!("{}{}", if value > 0.0 { "+" } else { "" }, significant(value)))
}

/// A share in percent.
pub(super) fn share(value: Estimate) -> String {
    estimate(value, percent)
}
