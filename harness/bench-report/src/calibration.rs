//! A calibration's report: which differences this machine and this harness resolve, and what the common way would have
//! said.

mod rates;

use std::fmt::Write;

use anyhow::Result;

use super::charts;
use super::columns::Columns;
use super::format::{
    available, bullets, bytes, count, counted, dash, estimate, joined, known, list, percent, sections,
};
use super::sections::facts;
use bench_analysis::Verdict;
use bench_analysis::calibration::{
    COMMON_THRESHOLDS, CalibrationSummary, CommonWay, Power, Resampled, Share, calibrate, calibrate_rates,
};
use bench_model::config::{Calibration, Placement};
use bench_model::figure::Figure;
use bench_model::plan::CalibrationPlan;
use bench_model::results::{RATES_FOLDER, RunFolder, pretty};
use bench_stats::Estimate;

/// The figures that are compared.
const FIGURES: [Figure; 2] = [Figure::CpuUsPerRequest, Figure::RequestsPerSecond];

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
    let text = text(folder, &plan, &summary)?;
    super::write_report(folder, &text, &drawn(&summary))?;
    Ok(summary)
}

/// The charts of a calibration's report, by their files.
pub(super) fn drawn(summary: &CalibrationSummary) -> Vec<(String, charts::Chart)> {
    charts::power(summary).map(|chart| ("power.svg".to_owned(), chart)).into_iter().collect()
}

/// The report of a calibration.
pub fn markdown(folder: &RunFolder) -> Result<String> {
    let (plan, summary) = read(folder)?;
    text(folder, &plan, &summary)
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
    let cpu = summary.ours.iter().filter(is_shown).map(|power| sentence(name(power.figure), power));
    let resampled = (!summary.resampled.is_empty()).then(|| resolution(summary));
    bullets(cpu.chain(resampled).chain(rates::sentences(summary)))
}

/// The smallest difference that would be seen nine times of ten.
fn seen(resampled: &[Resampled]) -> Option<&Resampled> {
    let often = |row: &&Resampled| f64::from(row.claimed) >= OFTEN * f64::from(row.of);
    resampled.iter().filter(|row| row.difference > 0.0).find(often)
}

/// The same in a sentence, as far as the twins' blocks show.
fn resolution(summary: &CalibrationSummary) -> String {
    let said = match seen(&summary.resampled) {
        Some(row) => format!(
            "a difference of {:.1} % in server CPU per request would be seen in {} of comparisons, after {:.0} blocks \
             on average.",
            row.difference * 100.0,
            percent(f64::from(row.claimed) / f64::from(row.of)),
            row.blocks
        ),
        None => "no difference of up to 15 % in server CPU per request would be seen in 90 % of comparisons."
            .into(),
    };
    format!("from the spread of the twins alone (resampled): {said}")
}

/// What the comparisons of an arm showed, by a figure.
fn sentence(figure: &str, power: &Power) -> String {
    let Share { count, of, interval: (low, _) } = power.claimed;
    let what = match power.handicap {
        0.0 => "the server against itself".to_owned(),
        of => handicap(of),
    };
    if of == 0 {
        return format!("{figure}, {what}: no comparison was finished.");
    }
    let share = shown(power.claimed);
    let said = match power.handicap {
        0.0 => {
            let fits = if low <= NOMINAL { "within" } else { "**above**" };
            format!("{count} of {of} comparisons claimed a difference ({share}), {fits} the nominal 5 %")
        }
        _ => format!("seen in {count} of {of} comparisons ({share})"),
    };
    let (median, most) = power.seconds;
    format!("{figure}, {what}: {said}; median {median:.0} s and at most {most:.0} s each.")
}

fn handicap(handicap: f64) -> String {
    if handicap == 0.0 { "none (twin)".to_owned() } else { format!("+{:.0} % CPU", handicap * 100.0) }
}

fn shown(share: Share) -> String {
    let (low, high) = share.interval;
    format!("{:.0} % [{:.0}, {:.0}]", share.value() * 100.0, low * 100.0, high * 100.0)
}

fn text(folder: &RunFolder, plan: &CalibrationPlan, summary: &CalibrationSummary) -> Result<String> {
    let calibration = &plan.calibration;
    // Where no comparison of CPU time was made, there is nothing to say of them.
    let of_cpu = summary.trials > 0;
    Ok(sections([
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
        if of_cpu { ours(calibration.margin.0, summary) } else { String::new() },
        resampled(summary),
        if of_cpu { common(calibration.environment.placement, summary) } else { String::new() },
        sizing(plan),
        failed(summary),
        environment(folder, plan, summary)?,
    ]))
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
    let verdicts = |power: &Power| {
        let count = |verdict| power.verdicts.get(&verdict).copied().unwrap_or(0).to_string();
        [
            Verdict::Faster,
            Verdict::Slower,
            Verdict::DifferentButSmall,
            Verdict::Equivalent,
            Verdict::Inconclusive,
        ]
        .map(count)
        .join(" / ")
    };
    for figure in FIGURES {
        let table = Columns::of(1, summary.ours.iter().filter(|power| power.figure == figure))
            .column("handicap", |power| handicap(power.handicap))
            .column("as these blocks had it", |power| dash(power.expected, relative))
            .column("comparisons", |power| power.claimed.of)
            .column("claimed a difference", |power| shown(power.claimed))
            .column("in the wrong direction", |power| power.wrong_way.count)
            .column("faster / slower / small / equivalent / inconclusive", |power| verdicts(power))
            .column("difference, as estimated", |power| dash(power.estimate, change))
            .column("over all blocks", |power| dash(power.overall, change))
            .column("spread of a block", |power| format!("{:.1} %", power.spread * 100.0))
            .column("blocks", |power| format!("{:.0} ({})", power.blocks.0, power.blocks.1))
            .column("time, median (most)", |power| {
                format!("{:.0} s ({:.0} s)", power.seconds.0, power.seconds.1)
            });
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

/// A relative change with its sign.
fn relative(value: f64) -> String {
    format!("{:+.2} %", value * 100.0)
}

fn change(value: Estimate) -> String {
    estimate(value, relative)
}

fn resampled(summary: &CalibrationSummary) -> String {
    let of = summary.resampled.first().map_or(0, |row| row.of);
    Columns::of(1, &summary.resampled)
        .column("difference put in", |row| format!("{:.1} %", row.difference * 100.0))
        .column("claimed a difference", |row| percent(f64::from(row.claimed) / f64::from(row.of)))
        .column("blocks, on average", |row| format!("{:.0}", row.blocks))
        .within(|table| {
            format!(
                "## What the noise alone says\n\nBlocks of the server with its twin, drawn with replacement into {of} \
                 comparisons for each difference, which is put in by arithmetic; by server CPU per request. This is no \
                 proof, since it takes blocks for independent, but it says from few blocks what to expect.\n\n{table}"
            )
        })
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
    let threshold = |threshold: f64| match threshold {
        0.0 => "any difference".to_owned(),
        threshold => format!("over {}", percent(threshold)),
    };
    let claimed = |row: &CommonWay| {
        let wrong = (row.handicap > 0.0).then(|| format!(" ({})", percent(row.wrong_way.value())));
        percent(row.claimed.value()) + &wrong.unwrap_or_default()
    };
    for figure in FIGURES {
        let of_figure: Vec<&CommonWay> = summary.common.iter().filter(|row| row.figure == figure).collect();
        let table = Columns::of(2, of_figure.chunks_exact(COMMON_THRESHOLDS.len()))
            .column("runs", |rows| rows[0].runs)
            .column("handicap", |rows| handicap(rows[0].handicap))
            .column("comparisons", |rows| rows[0].claimed.of)
            .columns(COMMON_THRESHOLDS.map(threshold).into_iter().zip(0..), |rows, at: &usize| {
                claimed(rows[*at])
            });
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
    let failed = summary.failed.iter().map(|(number, reason)| format!("trial {number}: {reason}"));
    let of_rates = summary.rates.iter().flat_map(|rates| &rates.failed);
    let of_rates = of_rates.map(|(number, reason)| format!("rates, trial {number}: {reason}"));
    let failed = match summary.all_failed() {
        0 => format!("Nothing: all {} trials were measured.\n", summary.all_trials()),
        _ => bullets(failed.chain(of_rates)),
    };
    format!("## What failed\n\n{failed}")
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

fn environment(folder: &RunFolder, plan: &CalibrationPlan, summary: &CalibrationSummary) -> Result<String> {
    let conditions = folder.conditions()?;
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
        ("each trial", joined(trials, "; ")),
        ("commit", available(host.commit.as_ref())),
        ("processor", format!("{}, {} cores", host.processor_name(), host.cores)),
        ("memory", known(host.memory_bytes, "unavailable", |size| bytes(size as f64))),
        ("kernel", available(host.kernel.as_ref())),
        ("load tool", format!("{} {}", conditions.tool.name, conditions.tool.version)),
    ];
    Ok(format!(
        "## Environment\n\n{}\nResume it: {}. The tools' own output is kept only of trials that failed.\n",
        facts(rows),
        resumed_by(folder)
    ))
}

/// The command that resumes it. A report names no path of the machine that it was made on, so a folder that was chosen
/// has none.
fn resumed_by(folder: &RunFolder) -> String {
    let path = folder.0.canonicalize().unwrap_or_default();
    match path.parent().is_some_and(|parent| parent.ends_with("results")) {
        true => format!("`cargo rpc-bench calibrate --resume results/{}`", folder.name()),
        false => {
            "`cargo rpc-bench calibrate --resume FOLDER`, where FOLDER is that of this report".to_owned()
        }
    }
}
