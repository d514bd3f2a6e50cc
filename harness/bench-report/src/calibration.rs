//! A calibration's report: which differences this machine and this harness resolve, and what the common way would have
//! said.

mod rates;

use std::fmt::Write;

use anyhow::Result;

use super::charts;
use super::format::{
    Table, available, bullets, bytes, count, counted, dash, estimate, known, list, percent, sections,
};
use super::html;
use super::sections::facts;
use bench_analysis::Verdict;
use bench_analysis::calibration::{
    CalibrationSummary, CommonWay, Power, Resampled, Share, calibrate, calibrate_rates,
};
use bench_model::config::{Calibration, Placement};
use bench_model::figure::Figure;
use bench_model::plan::CalibrationPlan;
use bench_model::results::{Conditions, RATES_FOLDER, RunFolder, pretty};

/// The error that a verdict may have.
const NOMINAL: f64 = 0.05;

/// The share of comparisons from which a difference counts as one that is seen.
const OFTEN: f64 = 0.9;

/// A comparison that takes longer is none that a person waits for.
const PATIENCE_S: f64 = 180.0;

/// Writes `summary.json`, the chart and `report.md` of a calibration, in place of earlier ones.
pub fn write(folder: &RunFolder) -> Result<CalibrationSummary> {
    let (plan, summary) = read(folder)?;
    folder.write_derived("summary.json", &pretty(&summary)?)?;
    let drawn = drawn(&summary);
    for (file, chart) in &drawn {
        folder.write_derived(file, &charts::svg(chart))?;
    }
    let text = text(folder, &plan, &folder.conditions()?, &summary);
    folder.write_derived("report.md", &text)?;
    html::write(folder, &text, &drawn)?;
    Ok(summary)
}

/// The charts of a calibration's report, by their files.
pub(super) fn drawn(summary: &CalibrationSummary) -> Vec<(String, charts::Chart)> {
    charts::power(summary).map(|chart| ("power.svg".to_owned(), chart)).into_iter().collect()
}

/// The report of a calibration.
pub fn markdown(folder: &RunFolder) -> Result<String> {
    let (plan, summary) = read(folder)?;
    Ok(text(folder, &plan, &folder.conditions()?, &summary))
}

/// What a calibration's observations come to.
pub fn summary(folder: &RunFolder) -> Result<CalibrationSummary> {
    Ok(read(folder)?.1)
}

fn read(folder: &RunFolder) -> Result<(CalibrationPlan, CalibrationSummary)> {
    let plan = folder.calibration()?;
    let round_ns = plan.sizing.round_ns.value;
    let mut summary = calibrate(&plan.calibration, round_ns, &plan.arms, &folder.observations()?);
    if let (Some(rates), Some(inner)) = (&plan.calibration.rates, folder.inside(RATES_FOLDER)) {
        let observations = inner.observations()?;
        // A part that did not run has no rows.
        summary.rates = (!observations.is_empty())
            .then(|| calibrate_rates(&plan.calibration.of_rates(rates), &plan.sizing, &observations));
    }
    Ok((plan, summary))
}

/// The figure's name, as a heading.
fn name(figure: Figure) -> &'static str {
    match figure {
        Figure::CpuUsPerRequest => "server CPU per request",
        _ => "successful requests/s",
    }
}

/// Lines that say what was found, true by themselves.
pub fn headline(summary: &CalibrationSummary) -> String {
    // Rates of duets say nothing of rates as a campaign measures them; a calibration of these has its own.
    let is_of_cpu = |power: &Power| power.figure == Figure::CpuUsPerRequest && summary.trials > 0;
    let is_shown = |power: &&Power| summary.rates.is_none() || is_of_cpu(power);
    let cpu = summary.ours.iter().filter(is_shown).map(sentence);
    let resampled = (!summary.resampled.is_empty()).then(|| resolution(summary));
    bullets(cpu.chain(resampled).chain(rates::sentences(summary)))
}

/// The smallest difference that would be seen nine times of ten, as far as the twins' blocks show.
fn resolution(summary: &CalibrationSummary) -> String {
    let seen = |row: &&Resampled| row.difference > 0.0 && f64::from(row.claimed) >= OFTEN * f64::from(row.of);
    match summary.resampled.iter().find(seen) {
        Some(row) => format!(
            "from the spread of the twins alone (resampled): a difference of {:.1} % in server CPU per request would \
             be seen in {} of comparisons, after {:.0} blocks on average.",
            row.difference * 100.0,
            percent(f64::from(row.claimed) / f64::from(row.of)),
            row.blocks
        ),
        None => {
            "from the spread of the twins alone (resampled): no difference of up to 15 % in server CPU per request \
            would be seen in 90 % of comparisons."
                .to_owned()
        }
    }
}

fn sentence(power: &Power) -> String {
    sentence_of(name(power.figure), power)
}

fn sentence_of(figure: &str, power: &Power) -> String {
    let share = power.claimed;
    if share.of == 0 {
        return format!("{figure}, {}: no comparison was finished.", what(power));
    }
    let time = format!("median {:.0} s and at most {:.0} s each", power.seconds.0, power.seconds.1);
    if power.handicap == 0.0 {
        let (low, _) = share.interval;
        let fits = if low <= NOMINAL { "within" } else { "**above**" };
        return format!(
            "{figure}, the server against itself: {} of {} comparisons claimed a difference ({}), {fits} the nominal \
             5 %; {time}.",
            share.count,
            share.of,
            shown(share)
        );
    }
    let (seen, of) = (share.count, share.of);
    format!("{figure}, {}: seen in {seen} of {of} comparisons ({}); {time}.", what(power), shown(share))
}

fn what(power: &Power) -> String {
    if power.handicap == 0.0 { "the server against itself".to_owned() } else { handicap(power.handicap) }
}

fn handicap(handicap: f64) -> String {
    if handicap == 0.0 { "none (twin)".to_owned() } else { format!("+{:.0} % CPU", handicap * 100.0) }
}

fn shown(share: Share) -> String {
    let (low, high) = share.interval;
    format!("{:.0} % [{:.0}, {:.0}]", share.value() * 100.0, low * 100.0, high * 100.0)
}

fn text(
    folder: &RunFolder,
    plan: &CalibrationPlan,
    conditions: &Conditions,
    summary: &CalibrationSummary,
) -> String {
    let calibration = &plan.calibration;
    sections([
        "# Calibration report\n\nWhich differences this machine and this harness resolve, found by comparisons whose \
         true answer is known: a server against itself under another name, and against itself with extra CPU work for \
         each request.\n"
            .to_owned(),
        format!("## Headline\n\n{}", headline(summary)),
        drawn(summary)
            .iter()
            .map(|(file, _)| format!("![Share of comparisons in which a handicap was seen]({file})\n"))
            .collect(),
        rates::section(calibration, summary),
        of_cpu(summary, || ours(calibration.margin.0, summary)),
        of_cpu(summary, || resampled(summary)),
        of_cpu(summary, || common(calibration.environment.placement, summary)),
        sizing(plan),
        failed(summary),
        environment(folder, plan, conditions, summary),
    ])
}

/// A section on the comparisons of CPU time; nothing where none was made.
fn of_cpu(summary: &CalibrationSummary, section: impl Fn() -> String) -> String {
    if summary.trials > 0 { section() } else { String::new() }
}

fn ours(margin: f64, summary: &CalibrationSummary) -> String {
    let mut out = format!(
        "## Our way\n\nEach comparison has blocks of its own and is judged as in a campaign: after {} blocks, stopped \
         once it is answered, margin {:.0} %. A claim is \"faster\", \"slower\" or \"different\"; for the twin each \
         one is false. Shares have 95 % intervals (Clopper and Pearson). \"As these blocks had it\" is the handicap's \
         CPU time over what the base needed in each block, which moves where the machine slows a server more than \
         plain arithmetic. \"Difference, as estimated\" is the median over the comparisons, \"over all blocks\" one \
         estimate from everything.\n",
        list(&summary.block_counts),
        margin * 100.0
    );
    for figure in [Figure::CpuUsPerRequest, Figure::RequestsPerSecond] {
        let headers = "handicap | as these blocks had it | comparisons | claimed a difference | in the wrong \
            direction | faster / slower / small / equivalent / inconclusive | difference, as estimated | over all \
            blocks | spread of a block | blocks | time, median (most)";
        let relative = |value: f64| format!("{:+.2} %", value * 100.0);
        let row = |power: &Power| {
            let verdicts = [
                Verdict::Faster,
                Verdict::Slower,
                Verdict::DifferentButSmall,
                Verdict::Equivalent,
                Verdict::Inconclusive,
            ]
            .map(|verdict| power.verdicts.get(&verdict).copied().unwrap_or(0).to_string());
            vec![
                handicap(power.handicap),
                dash(power.expected, relative),
                power.claimed.of.to_string(),
                shown(power.claimed),
                power.wrong_way.count.to_string(),
                verdicts.join(" / "),
                dash(power.estimate, |value| estimate(value, relative)),
                dash(power.overall, |value| estimate(value, relative)),
                format!("{:.1} %", power.spread * 100.0),
                format!("{:.0} ({})", power.blocks.0, power.blocks.1),
                format!("{:.0} s ({:.0} s)", power.seconds.0, power.seconds.1),
            ]
        };
        let table =
            Table::of(headers, 1, summary.ours.iter().filter(|power| power.figure == figure).map(row));
        let _ = write!(out, "\n### By {}\n\n{}", name(figure), table.markdown());
    }
    let slow = summary.ours.iter().filter(|power| power.seconds.1 > PATIENCE_S).count();
    if slow > 0 {
        let _ = writeln!(out, "\n{slow} rows hold a comparison that took more than three minutes.");
    }
    out.push_str(
        "\nThe handicap is of the server's CPU time. The rate of a closed loop that shares its cores also holds the \
         load generator's time, so the same handicap shows there as less.\n",
    );
    out
}

fn resampled(summary: &CalibrationSummary) -> String {
    if summary.resampled.is_empty() {
        return String::new();
    }
    let rows = summary.resampled.iter().map(|row| {
        vec![
            format!("{:.1} %", row.difference * 100.0),
            percent(f64::from(row.claimed) / f64::from(row.of)),
            format!("{:.0}", row.blocks),
        ]
    });
    let table = Table::of("difference put in | claimed a difference | blocks, on average", 1, rows);
    let of = summary.resampled.first().map_or(0, |row| row.of);
    format!(
        "## What the noise alone says\n\nBlocks of the server with its twin, drawn with replacement into {of} \
         comparisons for each difference, which is put in by arithmetic; by server CPU per request. This is no proof, \
         since it takes blocks for independent, but it says from few blocks what to expect.\n\n{}",
        table.markdown()
    )
}

fn common(placement: Placement, summary: &CalibrationSummary) -> String {
    let apart = match placement {
        Placement::Free | Placement::OneCore => "",
        Placement::Duet => {
            " No script runs both at the same time, so the runs that are compared here are of different blocks: those \
             of the base, and of the blocks after them those of the other."
        }
    };
    let mut out = format!(
        "## The common way\n\nThe same observations, judged as most published comparisons are: the base runs first, \
         then the other server; one run each, or the means of three; whoever is ahead by more than a threshold is \
         called faster.{apart} Shares of comparisons that claim a difference in the true direction (wrong direction \
         in brackets); for the twin each claim is false.\n"
    );
    for figure in [Figure::CpuUsPerRequest, Figure::RequestsPerSecond] {
        let of_figure: Vec<&CommonWay> = summary.common.iter().filter(|row| row.figure == figure).collect();
        let mut thresholds: Vec<f64> = of_figure.iter().map(|row| row.threshold).collect();
        thresholds.dedup();
        thresholds.truncate(4);
        let heads = thresholds.iter().map(|threshold| match threshold {
            0.0 => " | any difference".to_owned(),
            threshold => format!(" | over {}", percent(*threshold)),
        });
        let headers = format!("runs | handicap | comparisons{}", heads.collect::<String>());
        let mut table = Table::of(&headers, 2, []);
        for rows in of_figure.chunks(thresholds.len().max(1)) {
            let Some(first) = rows.first() else { continue };
            let mut cells =
                vec![first.runs.to_string(), handicap(first.handicap), first.claimed.of.to_string()];
            cells.extend(rows.iter().map(|row| {
                let wrong = (row.handicap > 0.0).then(|| format!(" ({})", percent(row.wrong_way.value())));
                percent(row.claimed.value()) + &wrong.unwrap_or_default()
            }));
            table.row(cells);
        }
        let _ = write!(out, "\n### By {}\n\n{}", name(figure), table.markdown());
    }
    out
}

fn sizing(plan: &CalibrationPlan) -> String {
    let sizing = &plan.sizing;
    let rounds = plan.arms.iter().filter(|arm| arm.handicap > 0.0);
    let rounds = rounds.map(|arm| format!("{} rounds for {}", count(arm.rounds), percent(arm.handicap)));
    format!(
        "## How the handicaps were sized\n\nA round is a fixed piece of integer arithmetic; `--handicap-rounds N` \
         makes the server do N of them for each request. Every server here does one round and those of its handicap, \
         so that all run the same code. In trials of their own (folder `sizing`) the server needed {} µs for a \
         request, and a round {} ns. So: {}. The handicaps are known as well as the round's interval.\n",
        estimate(sizing.base_cpu_us, |value| format!("{value:.2}")),
        estimate(sizing.round_ns, |value| format!("{value:.3}")),
        list(rounds)
    )
}

fn failed(summary: &CalibrationSummary) -> String {
    if summary.all_failed() == 0 {
        return format!("## What failed\n\nNothing: all {} trials were measured.\n", summary.all_trials());
    }
    let failed = summary.failed.iter().map(|(number, reason)| format!("trial {number}: {reason}"));
    let of_rates = summary.rates.iter().flat_map(|rates| &rates.failed);
    let of_rates = of_rates.map(|(number, reason)| format!("rates, trial {number}: {reason}"));
    let failed = failed.chain(of_rates);
    format!("## What failed\n\n{}", bullets(failed))
}

/// A trial of a part in words.
fn trial(part: &Calibration) -> String {
    let placement = match part.environment.placement {
        Placement::Free => "server and load generator share all cores",
        Placement::OneCore => "server and load generator share one core",
        Placement::Duet => "two servers and their load generators share one core, at the same time",
    };
    format!(
        "{} {} at {}, {} ms of load before a window of {} ms, {placement}",
        part.server,
        part.workload,
        counted(part.connections.into(), "connection"),
        part.warmup_ms,
        part.window_ms
    )
}

fn environment(
    folder: &RunFolder,
    plan: &CalibrationPlan,
    conditions: &Conditions,
    summary: &CalibrationSummary,
) -> String {
    let calibration = &plan.calibration;
    let host = &conditions.host;
    // Only what was measured: a calibration may be of CPU time, of rates, or of both.
    let cpu = (summary.trials > 0).then(|| ("CPU time", calibration.clone()));
    let rates = calibration.rates.as_ref().filter(|_| summary.rates.is_some());
    let rates = rates.map(|rates| ("rates", calibration.of_rates(rates)));
    let trials = cpu.into_iter().chain(rates).map(|(what, part)| format!("{what}: {}", trial(&part)));
    let rows = [
        ("run", conditions.history()),
        ("trials", summary.all_trials().to_string()),
        ("each trial", trials.collect::<Vec<_>>().join("; ")),
        ("commit", available(host.commit.as_ref())),
        ("processor", format!("{}, {} cores", host.processor_name(), host.cores)),
        ("memory", known(host.memory_bytes, "unavailable", |size| bytes(size as f64))),
        ("kernel", available(host.kernel.as_ref())),
        ("load tool", format!("{} {}", conditions.tool.name, conditions.tool.version)),
    ];
    format!(
        "## Environment\n\n{}\nResume it: `cargo rpc-bench calibrate --resume results/{}`. The tools' own output is \
         kept only of trials that failed.\n",
        facts(rows).markdown(),
        folder.name()
    )
}
