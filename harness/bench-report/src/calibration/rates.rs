//! Rates in a calibration's report: false verdicts and power next to those of CPU time, and what a minute resolves.

use super::super::columns::Columns;
use super::super::format::{counted, dash};
use super::{change, handicap, relative, seen, sentence, shown};
use bench_analysis::calibration::{CalibrationSummary, Power};
use bench_model::config::Calibration;
use bench_model::figure::Figure;

/// The headline's lines: false verdicts and power.
pub(super) fn sentences(summary: &CalibrationSummary) -> impl Iterator<Item = String> {
    summary.rates.iter().flat_map(|rates| &rates.ours).map(|power| sentence("rate", power))
}

/// The section; nothing where rates were not calibrated.
pub(super) fn section(calibration: &Calibration, summary: &CalibrationSummary) -> String {
    let Some(rates) = calibration.rates.as_ref().filter(|_| summary.rates.is_some()) else {
        return String::new();
    };
    format!(
        "## False verdicts and power, CPU time and rates\n\nCPU time is compared in duets. Rates are measured as a \
         campaign's sweep measures them: one server after the other on all cores, at {}, in an order that is drawn \
         for each block, each a fresh one for its window of {} ms. All that ran took turns and got the same time. \
         Each comparison has blocks of its own and is judged by itself, with the whole error of 5 %; one of several \
         in a campaign shares the error and takes more blocks. For the twin each claim is a false \
         verdict.\n\n{}\n\"Effect, as derived\" of CPU time is the handicap over what the base needed. Of a rate it \
         is -h / (T + h): h is the handicap's CPU time and T what server and load tool together used for a request of \
         the base. It holds as long as both use as many processors as without a handicap; \"over all blocks\" is what \
         was measured.\n\n\
         ## What a minute resolves\n\nBlocks of the server and its twin. \"Time of a block\" is that of two servers, \
         with start, warm-up and lost blocks. The interval after a minute is that over all blocks, times the square \
         root of the minutes that they took. The last three columns are from resampling the blocks, as below, and \
         need 30 of them.\n\n{}",
        counted(rates.connections.into(), "connection"),
        rates.window_ms,
        verdicts(summary),
        minutes(summary)
    )
}

/// False verdicts and power.
fn verdicts(summary: &CalibrationSummary) -> String {
    let cpu =
        summary.ours.iter().filter(|power| power.figure == Figure::CpuUsPerRequest && summary.trials > 0);
    let rates = summary.rates.iter().flat_map(|rates| &rates.ours);
    let rows = cpu.map(|power| ("CPU time", power)).chain(rates.map(|power| ("rate", power)));
    Columns::of(2, rows)
        .column("figure", |(figure, _)| *figure)
        .column("handicap", |(_, power)| handicap(power.handicap))
        .column("effect, as derived", |(_, power)| dash(power.expected, relative))
        .column("over all blocks", |(_, power)| dash(power.overall, change))
        .column("comparisons", |(_, power)| power.claimed.of)
        .column("claimed a difference", |(_, power)| shown(power.claimed))
        .column("in the wrong direction", |(_, power)| power.wrong_way.count)
        .column("spread of a block", |(_, power)| format!("{:.1} %", power.spread * 100.0))
        .column("blocks, median (most)", |(_, power)| format!("{:.0} ({})", power.blocks.0, power.blocks.1))
        .column("time, median (most)", |(_, Power { seconds: (median, most), .. })| {
            format!("{median:.0} s ({most:.0} s)")
        })
        .markdown()
}

/// What a minute resolves.
fn minutes(summary: &CalibrationSummary) -> String {
    let cpu = (summary.trials > 0).then_some(("CPU time, duets", summary.sharpness, &summary.resampled));
    let rates = summary.rates.iter().map(|rates| ("rate", rates.sharpness, &rates.resampled));
    let share = |share: f64| format!("{:.2} %", share * 100.0);
    Columns::of(1, cpu.into_iter().chain(rates))
        .column("figure", |(figure, ..)| *figure)
        .column("blocks", |(_, of, _)| dash(*of, |of| of.blocks.to_string()))
        .column("spread of a block", |(_, of, _)| dash(*of, |of| share(of.spread)))
        .column("time of a block", |(_, of, _)| dash(*of, |of| format!("{:.1} s", of.block_s)))
        .column("interval after a minute", |(_, of, _)| dash(*of, |of| format!("±{}", share(of.in_a_minute))))
        .column("after three", |(_, of, _)| {
            dash(*of, |of| format!("±{}", share(of.in_a_minute / 3.0_f64.sqrt())))
        })
        .column("false verdicts", |(.., resampled)| {
            let none = resampled.iter().find(|row| row.difference <= 0.0);
            dash(none, |row| format!("{} of {}", row.claimed, row.of))
        })
        .column("smallest difference seen in 90 %", |(.., resampled)| {
            dash(seen(resampled), |row| format!("{:.1} %", row.difference * 100.0))
        })
        .column("after", |(_, of, resampled)| {
            let both = seen(resampled).zip(*of);
            dash(both, |(seen, of)| format!("{:.0} s", seen.blocks * of.block_s))
        })
        .markdown()
}
